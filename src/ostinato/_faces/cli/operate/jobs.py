"""`ostinato jobs …` lists and shows jobs, and retries, restarts or cancels them."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any

import typer
from psycopg import AsyncConnection
from rich.console import Group, RenderableType

from ostinato._core.base.errors import OstinatoError
from ostinato._core.engine import audit, inspect, queues
from ostinato._core.engine import children as engine_children
from ostinato._core.engine import jobs as engine_jobs
from ostinato._core.engine import steps as engine_steps
from ostinato._core.engine.audit import Entry
from ostinato._core.engine.inspect import Attempt, JobDetails
from ostinato._core.engine.jobs import ANY_QUEUE, State
from ostinato._core.engine.steps import Step
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.document import fields_of, parsed
from ostinato._faces.cli.frame.listing import Columns, details, paged
from ostinato._faces.cli.frame.options import Before, JobId, JobIds, Kind, Most, Queue, Tenant, option
from ostinato._faces.cli.frame.output import error_document
from ostinato._faces.cli.frame.verbs import commands
from ostinato._faces.cli.operate import jobview
from ostinato._faces.cli.operate.audit import ACTIONS

__all__ = ["Most", "Tenant", "register"]

Act = Callable[[AsyncConnection[Any], int], Awaitable[str]]
NOTHING: Mapping[str, str] = MappingProxyType({})
NOT_CANCELLED = MappingProxyType(
    {
        "running": "is asked to stop; it is running",
        "done": "stays as it is: it is done",
        "cancelled": "stays as it is: it was cancelled before",
    }
)
ACTIONS_SHOWN = 20
COLUMNS = "id> | kind | state | queue? | attempt>? | added=created_at | last?"
MORE = " | tenant=tenant_id | priority> | correlation=correlation_id"


def list_(
    cli: Cli,
    *,
    state: Annotated[State | None, option("STATE", "scheduled, ready, running, dead, done or cancelled.")] = None,
    queue: Queue = None,
    kind: Kind = None,
    tenant: Tenant = None,
    correlation: Annotated[str | None, option("ID", "Only of this correlation id.")] = None,
    before: Before = None,
    most: Most = 50,
) -> None:
    """List jobs, newest first.

    Example: `ostinato jobs list --state dead --queue mail`
    """
    found = attach.ask_at(
        cli,
        inspect.list_jobs,
        state=state,
        queue=queue,
        kind=kind,
        tenant_id=tenant,
        correlation_id=correlation,
        before=before,
        most=most,
    )
    line = COLUMNS + (MORE if cli.out.verbose else "")
    columns = Columns(line, state=lambda job, _: words.state(job.state), last=jobview.latest)
    paged(cli, "jobs", found, columns, empty="No jobs.", most=most)


def show(cli: Cli, job: JobId) -> None:
    """Show one job: arguments, result, error, attempts, steps, and what operators did to it.

    Example: `ostinato jobs show 3190000000042`
    """
    (found, attempts, steps, actions), now = attach.ask_at(cli, _seen, job)
    parts: list[RenderableType] = [details(jobview.facts(found, now), now)]
    if attempts:
        parts += ["", jobview.ATTEMPTS.table(attempts, now)]
    if steps:
        parts += ["", jobview.STEPS.table(steps, now)]
    if actions:
        parts += ["", ACTIONS.table(actions, now)]
    if found.error is not None and found.state != "done":
        parts += ["", *jobview.error(parsed(found.error))]
    cli.out.show({**fields_of(found), "attempts": attempts, "steps": steps, "actions": actions}, Group(*parts))


def retry(cli: Cli, jobs: JobIds) -> None:
    """Run jobs now: those that wait for their time, are dead, or were cancelled.

    Example: `ostinato jobs retry 3190000000042`
    """
    _each(cli, jobs, engine_jobs.retry, "runs again; it was", rings=True)


def restart(
    cli: Cli,
    jobs: JobIds,
    step: Annotated[str | None, option("STEP", "A step by name or number; else the first.", "--from")] = None,
) -> None:
    """Run jobs again from one of their steps: it and all after it are forgotten.

    For jobs that are scheduled, dead, cancelled or done.

    Example: `ostinato jobs restart 3190000000042 --from charge`
    """
    _each(cli, jobs, partial(engine_steps.restart, from_step=step), "runs again; it was", rings=True)


def cancel(
    cli: Cli, jobs: JobIds, reason: Annotated[str, option("TEXT", "Kept with the job.")] = "cancelled by an operator"
) -> None:
    """Cancel jobs: waiting ones at once, running ones by asking and then by force.

    Example: `ostinato jobs cancel 3190000000042 --reason "the order was withdrawn"`
    """
    stop = partial(engine_jobs.cancel, reason=reason)
    _each(cli, jobs, stop, "is cancelled; it was", others=NOT_CANCELLED)


def rekind(
    cli: Cli,
    old: Annotated[str, typer.Argument(metavar="OLD", help="The name that the jobs have.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="A kind that a worker has declared.")],
) -> None:
    """Rename the waiting and dead jobs of a kind, and its schedules, for all tenants.

    An alias in the code does the same without touching them: `@app.job(aliases=("OLD",))`.

    Example: `ostinato jobs rekind billing.old_name billing.send_invoice`
    """

    async def work(conn: AsyncConnection[Any]) -> int:
        total = count = await engine_jobs.rekind(conn, old, new)
        while count:
            count = await engine_jobs.rekind(conn, old, new)
            total += count
        await queues.ring(conn, ANY_QUEUE)
        return total

    count = attach.ask(cli, work)
    cli.out.show({"old": old, "new": new, "renamed": count}, f"{count} jobs of {old} are {new} now")


def children(cli: Cli, job: JobId) -> None:
    """Show the groups of children that a job spawned, with how many of them have ended.

    Example: `ostinato jobs children 3190000000042`
    """
    found = attach.ask_at(cli, engine_children.groups, job_id=job)
    columns = Columns("group=group_id> | step=position> | kind | total> | done> | failed> | cancelled> | state")
    paged(cli, "groups", found, columns, empty="It has no children.", most=len(found[0]) + 1)


Seen = tuple[JobDetails, list[Attempt], list[Step], list[Entry]]


async def _seen(conn: AsyncConnection[Any], job: int) -> Seen:
    found = await inspect.show_job(conn, job)
    actions = await audit.list_entries(conn, target=str(job), most=ACTIONS_SHOWN)
    return found, await inspect.attempts(conn, job), await engine_steps.of_job(conn, job), actions


def _each(
    cli: Cli, jobs: list[int], act: Act, done: str, *, others: Mapping[str, str] = NOTHING, rings: bool = False
) -> None:
    """Act on each job by itself: one that cannot be done does not stop the others.

    `others` has the words for jobs that were in a state in which `done` would not be true. With
    `rings`, idle workers look at once instead of at their next poll.
    """
    failures: list[OstinatoError] = []

    async def work(conn: AsyncConnection[Any]) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = []
        for job in dict.fromkeys(jobs):
            try:
                results.append({"id": job, "was": await act(conn, job)})
            except OstinatoError as error:
                failures.append(error)
                results.append({"id": job, **error_document(error)})
        if rings:
            await queues.ring(conn, ANY_QUEUE)
        return results

    results = attach.ask(cli, work)
    ends = {each["id"]: str(each["was"]) for each in results if "was" in each}
    lines = [f"job {job} {others.get(was, f'{done} {was}')}" for job, was in ends.items()]
    cli.out.show({"jobs": results}, *lines)
    for error in failures:
        if not cli.out.json:
            cli.out.error(error)
    if failures:
        raise typer.Exit(failures[0].exit_code)


register = commands(list_, show, children, retry, restart, cancel, rekind)
