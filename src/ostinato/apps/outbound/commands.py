"""`ostinato outbound …` says whose a number, a sender name or a mail domain is."""

from typing import Annotated

import typer

from ostinato import commands
from ostinato.apps.outbound.model import Channel
from ostinato.commands import Cli, command, table
from ostinato.commands import group as group_of

BY = "administrator"
ChannelName = Annotated[
    Channel, typer.Argument(metavar="CHANNEL", help="WHATSAPP, SMS or EMAIL.", case_sensitive=False)
]
Key = Annotated[
    str, typer.Argument(metavar="KEY", help="A phone_number_id; a number or a name; a mail address or a domain.")
]


def grant(
    cli: Cli,
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="Whose it is.")],
    channel: ChannelName,
    key: Key,
    *,
    own_account: Annotated[
        bool, typer.Option("--own-account", help="It sends with an account of its own, not with the installation's.")
    ] = False,
) -> None:
    """Say whose a number, a sender name or a mail domain is, and lend it the installation's account.

    Example: `ostinato outbound grant acme WHATSAPP 100200300`
    """
    from ostinato.apps.outbound.senders import ownership

    found = commands.ask(cli, ownership.grant, tenant, channel, key, account=not own_account, by=BY)
    account = "the installation's account" if found.account else "an account of its own"
    cli.out.show(found, f"{found.channel} {found.key} is {found.tenant_id}'s, and sends with {account}.")


def revoke(cli: Cli, channel: ChannelName, key: Key) -> None:
    """Take a number, a sender name or a mail domain away: nothing more goes out by it.

    Example: `ostinato outbound revoke EMAIL example.org`
    """
    from ostinato.apps.outbound.senders import ownership

    found = commands.ask(cli, ownership.withdraw, channel, key, by=BY)
    cli.out.show(found, f"{found.channel} {found.key} is not {found.tenant_id}'s any more.")


def owners(
    cli: Cli, *, tenant: Annotated[str | None, typer.Option(metavar="ID", help="Of this tenant.")] = None
) -> None:
    """List the owners of numbers, names and domains, with the proof; BEFORE: taken by an earlier release without one.

    Example: `ostinato outbound owners --tenant acme`
    """
    from ostinato.apps.outbound.senders import ownership

    found = commands.ask(cli, ownership.owners, tenant)
    shown = table("channel", "key", "tenant", "proof", "account", "since")
    for each in found:
        account = "installation" if each.account else "own"
        shown.add_row(each.channel, each.key, each.tenant_id, each.proof, account, f"{each.proven_at:%Y-%m-%d}")
    cli.out.show(found, shown if found else "Nothing is proven to be anybody's.")


def register(root: typer.Typer) -> None:
    """Add them to the command line."""
    outbound = group_of(root, "outbound", "Say whose numbers, sender names and mail domains are.")
    command(outbound)(grant)
    command(outbound)(revoke)
    command(outbound)(owners)
