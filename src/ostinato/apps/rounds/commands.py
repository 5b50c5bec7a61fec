"""`ostinato rounds …` shows when the rounds of a group open."""

from datetime import datetime
from typing import Annotated, Any

import typer
from psycopg import AsyncConnection
from rich.console import Group
from rich.text import Text

from ostinato import commands
from ostinato.commands import Cli, command, table
from ostinato.commands import group as group_of


def next_(
    cli: Cli,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The group's id, or its name.")],
    *,
    number: Annotated[int, typer.Option("--number", "-n", min=1, max=366, help="So many.")] = 14,
    after: Annotated[str | None, typer.Option(metavar="ISO", help="Those after a time: 2026-10-24T00:00:00Z.")] = None,
    tenant: Annotated[str | None, typer.Option(metavar="ID", help="Of this tenant.")] = None,
) -> None:
    """Show when the next rounds of a group open: local time, UTC, and days with a moved clock.

    Example: `ostinato rounds next 42`
    """
    from ostinato import database
    from ostinato.apps.rounds import groups, rules
    from ostinato.apps.rounds.settings import RoundsSettings

    start = None if after is None else commands.moment(after, "--after")

    async def look(conn: AsyncConnection[Any]) -> tuple[groups.Found, datetime]:
        found = await groups.find(conn, group, tenant)
        return found, await database.now(conn) if start is None else start

    found, now = commands.ask(cli, look)
    timing = groups.timing_of(found, cli.settings.section(RoundsSettings))
    openings = rules.openings(now, timing, number)
    shown = table("day", "local", "UTC", "lasts", "")
    for opening in openings:
        shown.add_row(
            f"{opening.local_date:%a %Y-%m-%d}",
            f"{opening.local:%H:%M:%S %z}",
            f"{opening.open_at:%Y-%m-%d %H:%M:%S}Z",
            f"{opening.hours:g} h",
            Text(opening.note, style="yellow"),
        )
    rests = "" if found.is_active else " It is not active: no rounds are created."
    head = Text(f"{found.name}: {timing.drop_time:%H:%M} in {timing.zone}.{rests}")
    document = {
        "group": {"id": found.id, "tenant_id": found.tenant_id, "name": found.name},
        "drop_time": timing.drop_time.isoformat(),
        "zone": timing.zone,
        "openings": openings,
    }
    cli.out.show(document, Group(head, "", shown))


def register(root: typer.Typer) -> None:
    """Add the commands."""
    command(group_of(root, "rounds", "Say when the rounds of a group open."), "next")(next_)
