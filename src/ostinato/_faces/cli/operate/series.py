"""`ostinato series` shows what was done over time, by minute or by hour."""

from datetime import datetime
from typing import Annotated, Any

from psycopg import AsyncConnection

from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine import clock
from ostinato._core.engine import series as engine_series
from ostinato._core.engine.series import Step
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.listing import Columns, listed
from ostinato._faces.cli.frame.options import Tenant, flag, option
from ostinato._faces.cli.frame.verbs import commands


def series(
    cli: Cli,
    *,
    queue: Annotated[str | None, option("QUEUE", "Only this queue.")] = None,
    kind: Annotated[str | None, option("KIND", "Only this kind.")] = None,
    tenant: Tenant = None,
    since: Annotated[str, option("TIME", "A time, or how long ago: 90, 5m, 2h, 1d.")] = "1h",
    until: Annotated[str | None, option("TIME", "The same; the steps before it.")] = None,
    hours: Annotated[bool, flag("By hour, as long as the history; minutes are kept for 48 hours.", "--hours")] = False,
) -> None:
    """Show how many jobs were started, done and failed over time, and how long they waited for their start.

    Workers write it every ten seconds. A tenant has its whole only, by minute for three hours: no queues or kinds.

    Example: `ostinato series --queue mail --since 2h`
    """
    if tenant is not None and (queue is not None or kind is not None):
        raise InvalidInput(
            "--tenant is not taken with --queue or --kind", hint="A tenant has one series, of all its jobs."
        )

    async def look(conn: AsyncConnection[Any]) -> tuple[list[Step], datetime]:
        now = await clock.now(conn)
        found = await engine_series.list_series(
            conn,
            words.past(since, "--since", now),
            until=None if until is None else words.past(until, "--until", now),
            step=3600 if hours else 60,
            queue=queue,
            kind=kind,
            tenant_id=tenant,
        )
        return found, now

    listed(cli, "steps", attach.ask(cli, look), COLUMNS, empty="Nothing was done in this time.")


def _took(step: Step, _: datetime) -> str:
    return words.span(step.run_seconds)


def _latency(seconds: float | None) -> str:
    """Return the bound of a percentile: below a second in milliseconds."""
    if seconds is None:
        return ""
    return words.span(seconds) if seconds >= 1 else f"{seconds * 1000:g} ms"


COLUMNS = Columns(
    "at | started> | done> | failed> | dead> | p50> | p95> | p99> | ran>",
    at=lambda step, _: f"{step.at:%Y-%m-%d %H:%M}",
    started=lambda step, _: step.first,
    p50=lambda step, _: _latency(step.p50),
    p95=lambda step, _: _latency(step.p95),
    p99=lambda step, _: _latency(step.p99),
    ran=_took,
)

register = commands(series)
