"""`ostinato jobs …`: look at jobs, and do something about them."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any

import typer
from psycopg import AsyncConnection
from rich.console import Group, RenderableType
from rich.text import Text

from ostinato._core.base.errors import OstinatoError
from ostinato._core.engine import clock, inspect, queues
from ostinato._core.engine import jobs as engine_jobs
from ostinato._core.engine import steps as engine_steps
from ostinato._core.engine.inspect import Attempt, JobDetails, JobSummary
from ostinato._core.engine.jobs import ANY_QUEUE, State
from ostinato._core.engine.steps import Step
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli, command
from ostinato._faces.cli.frame.document import fields_of, parsed
from ostinato._faces.cli.frame.output import error_document, table
from ostinato._faces.cli.operate import jobview

__all__ = ["JobId", "register"]

JobId = Annotated[int, typer.Argument(metavar="JOB", min=0, help="The job's id.")]
JobIds = Annotated[list[int], typer.Argument(metavar="JOB", min=0, help="The jobs' ids.")]
Queue = Annotated[str | None, typer.Option("--queue", metavar="NAME", help="Only of this queue.")]
Kind = Annotated[str | None, typer.Option("--kind", metavar="NAME", help="Only of this kind.")]
Tenant = Annotated[str | None, typer.Option("--tenant", metavar="ID", help="Only of this tenant.")]
Before = Annotated[
    int | None, typer.Option(metavar="JOB", help="The next page: only jobs older than this id.")
]
Most = Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="At most this many.")]

Act = Callable[[AsyncConnection[Any], int], Awaitable[str]]
NOTHING: Mapping[str, str] = MappingProxyType({})
NOT_CANCELLED = MappingProxyType(
    {
        "running": "is asked to stop; it is running",
        "done": "stays as it is: it is done",
        "cancelled": "stays as it is: it was cancelled before",
    }
)
Seen = tuple[JobDetails, list[Attempt], list[Step], datetime]


def list_(
    cli: Cli,
    *,
    state: Annotated[
        State | None,
        typer.Option(metavar="STATE", help="scheduled, ready, running, dead, done or cancelled."),
    ] = None,
    queue: Queue = None,
    kind: Kind = None,
    tenant: Tenant = None,
    correlation: Annotated[
        str | None, typer.Option(metavar="ID", help="Only of this correlation id.")
    ] = None,
    before: Before = None,
    most: Most = 50,
) -> None:
    """List jobs, newest first.

    Example: `ostinato jobs list --state dead --queue mail`
    """

    async def look(conn: AsyncConnection[Any]) -> tuple[list[JobSummary], datetime]:
        found = await inspect.list_jobs(
            conn,
            state=state,
            queue=queue,
            kind=kind,
            tenant_id=tenant,
            correlation_id=correlation,
            before=before,
            most=most,
        )
        return found, await clock.now(conn)

    found, now = attach.ask(cli, look)
    following = found[-1].id if len(found) == most else None
    shown = table(
        "id", "kind", "state", "queue", "attempt", "added", "last", right=("id", "attempt")
    )
    if cli.out.verbose:
        shown.add_column("tenant")
        shown.add_column("priority", justify="right")
        shown.add_column("correlation")
    for job in found:
        more = [job.tenant_id, str(job.priority), job.correlation_id or ""]
        shown.add_row(
            str(job.id),
            job.kind,
            words.state(job.state),
            job.queue,
            str(job.attempt),
            words.age(job.created_at, now),
            jobview.latest(job, now),
            *(more if cli.out.verbose else ()),
        )
    cli.out.show({"jobs": found, "next": following}, shown if found else Text("No jobs."))
    if following is not None:
        cli.out.note(f"There may be more: add --before {following}")


def show(cli: Cli, job: JobId) -> None:
    """Everything about one job: arguments, result, error, every attempt, and its steps.

    Example: `ostinato jobs show 3190000000042`
    """

    async def look(conn: AsyncConnection[Any]) -> Seen:
        found = await inspect.show_job(conn, job)
        attempts = await inspect.attempts(conn, job)
        return found, attempts, await engine_steps.of_job(conn, job), await clock.now(conn)

    found, attempts, steps, now = attach.ask(cli, look)
    parts: list[RenderableType] = [jobview.facts(found, now)]
    if attempts:
        parts += ["", jobview.attempts(attempts, now)]
    if steps:
        parts += ["", jobview.steps(steps, now)]
    if found.error is not None and found.state != "done":
        parts += ["", *jobview.error(parsed(found.error))]
    cli.out.show({**fields_of(found), "attempts": attempts, "steps": steps}, Group(*parts))


def retry(cli: Cli, jobs: JobIds) -> None:
    """Run jobs now: those that wait for their time, are dead, or were cancelled.

    Example: `ostinato jobs retry 3190000000042`
    """
    _each(cli, jobs, engine_jobs.retry, "runs again; it was", rings=True)


def restart(
    cli: Cli,
    jobs: JobIds,
    step: Annotated[
        str | None,
        typer.Option("--from", metavar="STEP", help="A step by name or number; else the first."),
    ] = None,
) -> None:
    """Run jobs again from one of their steps: it and all after it are forgotten.

    For jobs that are scheduled, dead, cancelled or done.

    Example: `ostinato jobs restart 3190000000042 --from charge`
    """

    async def again(conn: AsyncConnection[Any], job: int) -> str:
        return await engine_steps.restart(conn, job, step)

    _each(cli, jobs, again, "runs again; it was", rings=True)


def cancel(
    cli: Cli,
    jobs: JobIds,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Kept with the job.")
    ] = "cancelled by an operator",
) -> None:
    """Cancel jobs: waiting ones at once, running ones by asking and then by force.

    Example: `ostinato jobs cancel 3190000000042 --reason "the order was withdrawn"`
    """

    async def stop(conn: AsyncConnection[Any], job: int) -> str:
        return await engine_jobs.cancel(conn, job, reason)

    _each(cli, jobs, stop, "is cancelled; it was", others=NOT_CANCELLED)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "list")(list_)
    command(app)(show)
    command(app)(retry)
    command(app)(restart)
    command(app)(cancel)


def _each(
    cli: Cli,
    jobs: list[int],
    act: Act,
    done: str,
    *,
    others: Mapping[str, str] = NOTHING,
    rings: bool = False,
) -> None:
    """Act on each job by itself: one that cannot be done does not stop the others.

    `others` has the words for jobs that were in a state in which `done` would not be true. With
    `rings`, idle workers look at once instead of at their next poll.
    """
    failures: list[OstinatoError] = []

    async def work(conn: AsyncConnection[Any]) -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = []
        for job in dict.fromkeys(jobs):
            try:
                told.append({"id": job, "was": await act(conn, job)})
            except OstinatoError as error:
                failures.append(error)
                told.append({"id": job, **error_document(error)})
        if rings:
            await queues.ring(conn, ANY_QUEUE)
        return told

    told = attach.ask(cli, work)
    ends = {each["id"]: str(each["was"]) for each in told if "was" in each}
    lines = [f"job {job} {others.get(was, f'{done} {was}')}" for job, was in ends.items()]
    cli.out.show({"jobs": told}, *lines)
    for error in failures:
        if not cli.out.json:
            cli.out.error(error)
    if failures:
        raise typer.Exit(failures[0].exit_code)
