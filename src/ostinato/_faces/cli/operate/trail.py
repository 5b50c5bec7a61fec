"""`ostinato trail`: everything that happened for one correlation id, in order."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import typer
from psycopg import AsyncConnection
from rich.text import Text

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import inspect
from ostinato._core.engine.inspect import TrailLine
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli, command
from ostinato._faces.cli.frame.document import parsed
from ostinato._faces.cli.frame.output import table
from ostinato._faces.cli.operate.jobs import Tenant

__all__ = ["register"]


def trail(
    cli: Cli,
    correlation: Annotated[
        str, typer.Argument(metavar="CORRELATION_ID", help="Or job-<id>, of a job without one.")
    ],
    tenant: Tenant = None,
    most: Annotated[
        int, typer.Option(metavar="N", min=1, max=10000, help="At most this many lines.")
    ] = 1000,
) -> None:
    """Everything that happened for a correlation id: jobs, attempts, steps, events, callbacks.

    Example: `ostinato trail req-42`
    """

    async def look(conn: AsyncConnection[Any]) -> list[TrailLine]:
        return await inspect.trail(conn, correlation, tenant_id=tenant, most=most)

    found = attach.ask(cli, look)
    if not found:
        raise NotFound(
            f"nothing is known of correlation id {correlation!r}",
            hint="What is past retention is gone; the id of a job without one is job-<id>.",
            correlation_id=correlation,
        )
    shown = table("time", "after", "", "what", "state", "job", "more", right=("after", "job"))
    for line in found:
        shown.add_row(
            f"{line.at:%Y-%m-%d %H:%M:%S.%f}"[:-3],
            _after(line.at, found[0].at),
            line.source,
            line.what,
            words.state(line.state),
            _job(line),
            Text(_more(parsed(line.detail)), style="dim"),
        )
    cli.out.show({"correlation_id": correlation, "trail": found}, shown)


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app)(trail)


def _after(at: datetime, first: datetime) -> str:
    return f"+{words.span(max(0.0, (at - first).total_seconds()))}"


def _job(line: TrailLine) -> str:
    if line.job_id is None:
        return ""
    return f"{line.job_id}" if line.attempt is None else f"{line.job_id}/{line.attempt}"


def _more(detail: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in detail.items() if value is not None)
