"""`ostinato idempotency list` shows the keys of requests that may come twice."""

from typing import Annotated

from rich.text import Text

from ostinato._core.engine import idempotency_keys
from ostinato._faces.cli.frame import attach
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.listing import Columns, listed
from ostinato._faces.cli.frame.options import Most, Tenant, option
from ostinato._faces.cli.frame.verbs import commands

COLOURS = {"in_flight": "yellow", "abandoned": "red", "done": "green"}
COLUMNS = Columns(
    "tenant | scope | key | state | attempt> | holder? | started=started_at | until? | expires=expires_at",
    state=lambda line, _: Text(line.state, style=COLOURS[line.state]),
)


def list_(
    cli: Cli,
    *,
    scope: Annotated[str | None, option("SCOPE", "Only of this scope.")] = None,
    prefix: Annotated[str, option("TEXT", "Only keys that begin so.")] = "",
    tenant: Tenant = None,
    after: Annotated[
        tuple[str, str, str], option("TENANT SCOPE KEY", "The next page: only what comes after this one.")
    ] = ("", "", ""),
    most: Most = 50,
) -> None:
    """List idempotency keys, by tenant, scope and key: how far each request is, and until when its answer is kept.

    Example: `ostinato idempotency list --scope payments --tenant acme`
    """
    found, now = attach.ask_at(
        cli, idempotency_keys.list_keys, scope=scope, prefix=prefix, tenant_id=tenant, after=after, most=most
    )
    listed(cli, "keys", (found, now), COLUMNS, empty="No keys are kept.")
    if len(found) == most:
        last = found[-1]
        cli.out.note(f"There may be more: add --after {last.tenant!r} {last.scope!r} {last.key!r}")


register = commands(list_)
