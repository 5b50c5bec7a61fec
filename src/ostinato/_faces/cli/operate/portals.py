"""`ostinato webhooks portal`: a link by which a customer looks after its endpoints."""

from typing import Annotated

from ostinato._core.engine import portals
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.options import flag, option

Tenant = Annotated[str, option("TENANT", "Whose endpoints.")]


def portal(
    cli: Cli,
    *,
    tenant: Tenant = "default",
    lasting: Annotated[str, option("TIME", "The link works once within this time: a minute to a day.", "--for")] = "1h",
    url: Annotated[str | None, option("URL", "Where customers reach the API; without it, as it listens.")] = None,
    revoke: Annotated[bool, flag("End all links of the tenant instead, used or not.", "--revoke")] = False,
) -> None:
    """Make a link to the endpoints of one tenant, for people without a key.

    They list and add endpoints, see deliveries with their answers, send again, and rotate secrets.

    Example: `ostinato webhooks portal --tenant acme --url https://jobs.example.com`
    """
    if revoke:
        count = attach.ask(cli, portals.close_portals, tenant_id=tenant)
        cli.out.show({"tenant_id": tenant, "closed": count}, f"{words.counted(count, 'link')} of {tenant} ended")
        return
    seconds = words.seconds(lasting, "--for")
    made = attach.ask(cli, portals.open_portal, tenant_id=tenant, seconds=seconds)
    base = (url or f"http://{cli.settings.api_host}:{cli.settings.api_port}").rstrip("/")
    cli.out.show({"tenant_id": tenant, "url": f"{base}{made.path}", "until": made.until}, f"{base}{made.path}")
    cli.out.note(f"It works once, until {made.until:%Y-%m-%d %H:%M:%S %Z}.")
