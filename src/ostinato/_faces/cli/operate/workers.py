"""`ostinato workers` lists workers, `ostinato why` explains why a job does not run."""

from datetime import datetime
from typing import Any

from psycopg import AsyncConnection
from rich.text import Text

from ostinato._core.engine import inspect
from ostinato._core.engine.inspect import JobDetails, Reason, WorkerSummary
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.listing import Columns, listed
from ostinato._faces.cli.frame.options import JobId
from ostinato._faces.cli.frame.verbs import commands

FEW = 5


def workers(cli: Cli) -> None:
    """List the workers: who is alive, what they serve, what they hold.

    Example: `ostinato workers`
    """
    columns = Columns(
        "worker=name | state | holds | last beat=beat | started=started_at | queues | kinds",
        state=_state,
        holds=lambda worker, _: f"{worker.held:,}",
        beat=lambda worker, _: f"{words.span(max(0.0, worker.beat_age))} ago",
        kinds=lambda worker, _: _few(worker.kinds, all_=cli.out.verbose),
    )
    nobody = "No workers. Start one: ostinato worker --app package.module:app"
    listed(cli, "workers", attach.ask_at(cli, inspect.list_workers), columns, empty=nobody)


def why(cli: Cli, job: JobId) -> None:
    """Say why a job is not running, or what became of it.

    Example: `ostinato why 3190000000042`
    """
    shown, reasons = attach.ask(cli, _reasons, job)
    title = Text.assemble(f"job {job}  {shown.kind}  ", words.state(shown.state))
    lines: list[Text] = [title]
    for number, reason in enumerate(reasons):
        lines.append(Text(reason.message, style="" if number else "bold"))
        if reason.hint:
            lines.append(Text.assemble(("  → ", "green"), reason.hint))
    answer = {"job_id": job, "kind": shown.kind, "state": shown.state, "reasons": reasons}
    cli.out.show(answer, *lines)


async def _reasons(conn: AsyncConnection[Any], job: int) -> tuple[JobDetails, list[Reason]]:
    return await inspect.show_job(conn, job), await inspect.why(conn, job)


def _few(names: list[str], *, all_: bool) -> str:
    shown = names if all_ else names[:FEW]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f", and {more} more" if more else "")


def _state(worker: WorkerSummary, _: datetime) -> Text:
    if worker.expired:
        return Text("silent", style="red")
    return Text("draining", style="yellow") if worker.draining else Text("alive", style="green")


register = commands(workers, why)
