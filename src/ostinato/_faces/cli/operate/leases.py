"""`ostinato leases …`: who holds what, and a way to take it away."""

from datetime import datetime
from typing import Annotated, Any

import typer
from psycopg import AsyncConnection
from rich.text import Text

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import clock
from ostinato._core.engine import leases as engine_leases
from ostinato._core.engine.leases import LeaseLine
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli, command
from ostinato._faces.cli.frame.output import grid, table

__all__ = ["register"]

Name = Annotated[str, typer.Argument(metavar="LEASE", help="The lease's name.")]
Tenant = Annotated[str | None, typer.Option(metavar="TENANT", help="Whose lease it is.")]

COLOURS = {"held": "green", "late": "yellow", "expired": "red", "over": "dim"}
MEANINGS = {
    "held": "its holder has it",
    "late": "overdue, but its holder may be alive: nobody gets it yet",
    "expired": "its holder is gone; whoever asks next gets it",
    "over": "its job has ended; whoever asks next gets it",
}


def list_(
    cli: Cli,
    *,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Only names that begin so.")] = "",
    tenant: Tenant = None,
    most: Annotated[int, typer.Option(metavar="N", help="At most so many.")] = 100,
) -> None:
    """List leases: who holds what, since when and until when.

    Example: `ostinato leases list --prefix import:`
    """

    async def look(conn: AsyncConnection[Any]) -> tuple[list[LeaseLine], datetime]:
        found = await engine_leases.list_leases(conn, prefix=prefix, tenant=tenant, most=most)
        return found, await clock.now(conn)

    found, now = attach.ask(cli, look)
    shown = table(
        "lease", "tenant", "state", "holder", "since", "ends", "attempt", right=("attempt",)
    )
    for lease in found:
        shown.add_row(
            lease.name,
            lease.tenant,
            _state(lease),
            lease.holder,
            words.age(lease.since, now),
            _end(lease, now),
            str(lease.attempt),
        )
    cli.out.show({"leases": found}, shown if found else Text("Nobody holds a lease."))


def show(cli: Cli, lease: Name, *, tenant: Tenant = None) -> None:
    """Everything about one lease.

    Example: `ostinato leases show import:acme`
    """

    async def look(conn: AsyncConnection[Any]) -> tuple[LeaseLine, datetime]:
        return await engine_leases.show_lease(conn, lease, tenant=tenant), await clock.now(conn)

    found, now = attach.ask(cli, look)
    shown = grid()
    shown.add_row("lease", found.name)
    shown.add_row("tenant", found.tenant)
    shown.add_row("state", Text.assemble(_state(found), f": {MEANINGS[found.state]}"))
    shown.add_row("holder", found.holder)
    shown.add_row("since", words.age(found.since, now))
    if found.lifetime == "time":
        shown.add_row("renewed", words.age(found.renewed_at, now))
    shown.add_row("ends", _end(found, now))
    if found.job_id is not None:
        attempt = "" if found.job_attempt is None else f", attempt {found.job_attempt}"
        shown.add_row("job", f"{found.job_id} ({found.job_state or 'gone'}{attempt})")
    shown.add_row("token", str(found.token))
    shown.add_row("attempt", str(found.attempt))
    cli.out.show(found, shown)


def release(
    cli: Cli,
    lease: Name,
    *,
    force: Annotated[bool, typer.Option("--force", help="Even while its holder lives.")] = False,
    tenant: Tenant = None,
) -> None:
    """Take a lease away; while its holder lives only with --force, and it is refused from then on.

    Example: `ostinato leases release import:acme --force`
    """

    async def take(conn: AsyncConnection[Any]) -> bool:
        return await engine_leases.force_release(conn, lease, tenant=tenant, force=force)

    if not attach.ask(cli, take):
        raise NotFound(f"nobody has a lease {lease!r}", hint=f"See: {cli.try_('leases', 'list')}")
    cli.out.show({"lease": lease, "released": True}, f"lease {lease} is free")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "list")(list_)
    command(app)(show)
    command(app)(release)


def _state(lease: LeaseLine) -> Text:
    return Text(lease.state, style=COLOURS[lease.state])


def _end(lease: LeaseLine, now: datetime) -> str:
    if lease.lifetime == "time":
        return words.age(lease.until, now)
    return f"with job {lease.job_id}" + (
        f", attempt {lease.job_attempt}" if lease.lifetime == "attempt" else ""
    )
