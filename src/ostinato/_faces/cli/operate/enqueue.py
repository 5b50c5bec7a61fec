"""`ostinato enqueue` adds a job by hand."""

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any, Literal, NamedTuple

import typer
from psycopg import AsyncConnection
from rich.text import Text

from ostinato._core.base.errors import InvalidInput
from ostinato._core.db.pool import transaction
from ostinato._core.engine import audit, clock, inspect, jobs, queues, workers
from ostinato._core.engine.inspect import JobDetails, Reason
from ostinato._core.engine.jobs import NewJob, Unique
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.arguments import fitted
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.document import parsed
from ostinato._faces.cli.frame.files import read_given
from ostinato._faces.cli.frame.loading import load_app
from ostinato._faces.cli.frame.options import argument, option
from ostinato._faces.cli.frame.verbs import commands

# What keeps a job waiting although nobody may know it: a misspelt kind, a queue that nobody serves.
OBSTACLES = ("no_worker_for_kind", "no_worker_for_queue", "queue_paused")

Policy = Annotated[
    Literal["return", "refuse", "replace"], typer.Option(help="What a second job with the unique key gets.")
]


class Added(NamedTuple):
    """A job as it stands right after it was added."""

    job: JobDetails
    is_new: bool
    """False: it is the one that holds the unique key."""
    obstacles: list[Reason]


def enqueue(
    cli: Cli,
    *,
    kind: Annotated[str, argument("KIND", "Such as billing.send_invoice.")],
    args: Annotated[list[str], argument("ARGS", "A JSON object, or name=value pairs.")] = [],  # noqa: B006 - Typer copies it
    args_file: Annotated[str | None, option("FILE", "Take ARGS as a JSON object from it; - reads stdin.")] = None,
    queue: Annotated[str | None, option("NAME", "Instead of the kind's own.")] = None,
    priority: Annotated[int | None, option("N", "Lower runs first.", min=-32768, max=32767)] = None,
    in_: Annotated[str | None, option("TIME", "Run it later: 90, 5m, 2h, 1d.", "--in")] = None,
    at: Annotated[str | None, option("ISO", "Run it then: 2026-03-01T09:00:00Z.")] = None,
    tenant: Annotated[str | None, option("ID", "For this tenant.")] = None,
    unique: Annotated[str | None, option("KEY", "At most one live job with this key.")] = None,
    policy: Policy = "return",
    limit_key: Annotated[str | None, option("KEY", "The key that the queue's limits count.")] = None,
    correlation: Annotated[str | None, option("ID", "Ties jobs of one request together.")] = None,
    max_attempts: Annotated[int | None, option("N", "Instead of the kind's own.", min=1, max=32767)] = None,
    closed: Annotated[bool, typer.Option("--closed", help="With --tenant: also what is closed to tenants.")] = False,
    subject: Annotated[str | None, option("NAME", "Whom it is about: `erase` finds it by this.")] = None,
    app: Annotated[str | None, option("MODULE:APP", "Check the arguments with it.", "--app")] = None,
) -> None:
    """Add a job and say its id.

    A value that reads as JSON is JSON (n=7, vip=true), anything else is text (name=Ada). A secret is taken from a
    file or stdin only.

    Example: `ostinato enqueue billing.send_invoice invoice_id=7 --in 5m --unique invoice-7`
    """
    if in_ is not None and at is not None:
        raise InvalidInput("--in and --at are both given", hint="Give one of them.")
    if args and args_file is not None:
        raise InvalidInput("ARGS and --args-file are both given", hint="Give one of them.")
    given = args if args_file is None else [_object(args_file)]
    job = NewJob(
        kind,
        words.named_args(given),
        queue=queue,
        priority=priority,
        run_at=None if at is None else words.moment(at, "--at"),
        tenant_id=tenant,
        correlation_id=correlation,
        limit_key=limit_key,
        unique=None if unique is None else Unique(unique, policy),
        max_attempts=max_attempts,
        subject=subject,
    )
    if app is not None:
        job = _checked(job, app)
        if args_file is None:
            _refuse_typed(job.kind, job.secret_args & parsed(words.named_args(args)).keys())
    delay = None if in_ is None else words.seconds(in_, "--in")
    unchecked = None if app is not None else given
    _tell(cli, attach.ask(cli, _add, job, delay, closed=closed, given=unchecked, typed=args_file is None))


def _checked(job: NewJob, path: str) -> NewJob:
    """Return the job with its arguments as the handler's type hints want them."""
    kind = load_app(path)[job.kind]
    values = parsed(job.args)
    if not isinstance(values, dict):
        raise InvalidInput(f"args of {job.kind} must be a JSON object", hint='Such as {"id": 7}.')
    return replace(
        job,
        args=kind.arguments.dump_values(values),
        secret_args=kind.arguments.secrets,
        queue=job.queue or kind.queue,
        priority=kind.priority if job.priority is None else job.priority,
    )


def _object(path: str) -> str:
    """Return the JSON object of a file, which no error quotes: it may hold secrets."""
    text = read_given(path, "--args-file").strip()
    if not text.startswith("{"):
        raise InvalidInput("--args-file has no JSON object", hint='Such as {"invoice_id": 7}.')
    return text


def _refuse_typed(kind: str, names: Collection[str]) -> None:
    """Refuse secrets that were typed: others on this machine see a command line, and the shell keeps it."""
    if names:
        raise InvalidInput(
            f"{kind} has secret arguments, which are not taken from a command line: {', '.join(sorted(names))}",
            hint=f"Send all arguments as one JSON object on stdin: ostinato enqueue {kind} --args-file - < args.json",
            kind=kind,
            secret_args=sorted(names),
        )


async def _add(
    conn: AsyncConnection[Any], job: NewJob, delay: float | None, *, closed: bool, given: list[str] | None, typed: bool
) -> Added:
    """Add a job; `given` are its arguments, unless an app has checked them, `typed` those of the command line."""
    schema = parsed(await workers.kind_schema(conn, job.kind)) if given is not None else None
    if given is not None and schema:
        job = replace(job, args=fitted(job.kind, given, schema))
    if job.tenant_id is not None and not closed:
        await jobs.check_open_kind(conn, job.kind, job.queue)
    began = await clock.now(conn)
    if delay is not None:
        job = replace(job, run_at=began + timedelta(seconds=delay))
    try:
        job_id = await _add_recorded(conn, job)
    except InvalidInput as error:
        named = jobs.naming_secrets(job, error)
        if typed:
            _refuse_typed(job.kind, named.secret_args)
        job_id = await _add_recorded(conn, named)
    added = await inspect.show_job(conn, job_id)
    await queues.ring(conn, added.queue)
    obstacles = [each for each in await inspect.why(conn, job_id) if each.code in OBSTACLES]
    return Added(added, added.created_at >= began, obstacles)


async def _add_recorded(conn: AsyncConnection[Any], job: NewJob) -> int:
    """Add a job, and record who did."""
    async with transaction(conn):
        job_id = await jobs.enqueue(conn, job)
        await audit.note(conn, "enqueue", "job", str(job_id), job_ids=[job_id], detail={"kind": job.kind})
    return job_id


def _tell(cli: Cli, added: Added) -> None:
    job = added.job
    answer = {
        "id": job.id,
        "kind": job.kind,
        "queue": job.queue,
        "tenant_id": job.tenant_id,
        "state": job.state,
        "run_at": job.run_at,
        "new": added.is_new,
        "obstacles": added.obstacles,
        "why": f"ostinato why {job.id}",
    }
    held = "" if added.is_new else f" already holds the unique key {job.unique_key}"
    line = Text.assemble("job ", (str(job.id), "bold"), f"{held}  ({job.kind}, queue {job.queue}, {job.state})")
    after = Text.assemble(("→ ", "green"), cli.try_("why", str(job.id)))
    if cli.out.quiet:
        cli.out.show(answer, str(job.id))
    else:
        cli.out.show(answer, line, after)
        for obstacle in added.obstacles:
            cli.out.warn(obstacle.message)


register = commands(enqueue)
