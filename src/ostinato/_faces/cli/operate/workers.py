"""`ostinato workers` and `ostinato why`: who works, and why a job does not run."""

from datetime import datetime
from typing import Any

import typer
from psycopg import AsyncConnection
from rich.text import Text

from ostinato._core.engine import clock, inspect
from ostinato._core.engine.inspect import JobDetails, Reason, WorkerSummary
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli, command
from ostinato._faces.cli.frame.output import table
from ostinato._faces.cli.operate.jobs import JobId

__all__ = ["register"]

FEW = 5


def workers(cli: Cli) -> None:
    """List the workers: who is alive, what they serve, what they hold.

    Example: `ostinato workers`
    """

    async def look(conn: AsyncConnection[Any]) -> tuple[list[WorkerSummary], datetime]:
        return await inspect.list_workers(conn), await clock.now(conn)

    found, now = attach.ask(cli, look)
    shown = table("worker", "state", "holds", "last beat", "started", "queues", "kinds")
    for line in found:
        shown.add_row(
            line.name,
            _state(line),
            f"{line.held:,}",
            f"{words.span(max(0.0, line.beat_age))} ago",
            words.age(line.started_at, now),
            ", ".join(line.queues),
            _few(line.kinds, all_=cli.out.verbose),
        )
    nobody = Text("No workers. Start one: ostinato worker --app package.module:app")
    cli.out.show({"workers": found}, shown if found else nobody)


def why(cli: Cli, job: JobId) -> None:
    """Say why a job is not running, or what became of it.

    Example: `ostinato why 3190000000042`
    """

    async def look(conn: AsyncConnection[Any]) -> tuple[JobDetails, list[Reason]]:
        return await inspect.show_job(conn, job), await inspect.why(conn, job)

    shown, reasons = attach.ask(cli, look)
    title = Text.assemble(f"job {job}  {shown.kind}  ", words.state(shown.state))
    lines: list[Text] = [title]
    for number, reason in enumerate(reasons):
        lines.append(Text(reason.message, style="" if number else "bold"))
        if reason.hint:
            lines.append(Text.assemble(("  → ", "green"), reason.hint))
    answer = {"job_id": job, "kind": shown.kind, "state": shown.state, "reasons": reasons}
    cli.out.show(answer, *lines)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app)(workers)
    command(app)(why)


def _few(names: list[str], *, all_: bool) -> str:
    shown = names if all_ else names[:FEW]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f", and {more} more" if more else "")


def _state(worker: WorkerSummary) -> Text:
    if worker.expired:
        return Text("silent", style="red")
    return Text("draining", style="yellow") if worker.draining else Text("alive", style="green")
