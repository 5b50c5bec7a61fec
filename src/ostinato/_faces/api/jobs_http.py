"""`/api/v1/engine/jobs`: look at the tenant's jobs, add some, run them again, end them."""

from typing import Annotated

from fastapi import Query, Request, Response
from psycopg import AsyncConnection

from ostinato._core.base.errors import NotFound, UniqueConflict, WrongState
from ostinato._core.base.jsonio import dump_args
from ostinato._core.engine import inspect, operators, outbox
from ostinato._core.engine.jobs import NewJob, State, Unique
from ostinato._core.runtime.handlers.kinds import MAX_ARGS_BYTES, Options, new_job
from ostinato._core.web.caller import Who
from ostinato._core.web.idempotent import IDEMPOTENT, Key
from ostinato._core.web.routes import Router
from ostinato._faces.api.event_views import EventItem, TrailItem
from ostinato._faces.api.job_views import (
    AttemptView,
    Cancelled,
    CancelRequest,
    Effect,
    Enqueued,
    EnqueueRequest,
    JobFacts,
    JobItem,
    JobPage,
    JobView,
    ReasonView,
    RedriveAnswer,
    RedriveRequest,
    Retried,
    StepView,
    Why,
)
from ostinato._faces.api.parts import Parts, parts_of
from ostinato._faces.api.permissions import ENGINE_READ, ENGINE_WRITE
from ostinato._faces.api.views import Before, JobId, Limit, Name, page_of

__all__ = ["PREFIX", "router"]

PREFIX = "/api/v1/engine"
EVENTS_SHOWN = 50
TRAIL_SHOWN = 200
EFFECTS: dict[State, Effect] = {"running": "requested", "done": "none", "cancelled": "none"}
REPLAYED = {
    "Idempotency-Replayed": {
        "description": "`true`: this is the stored answer of the first request with the key.",
        "schema": {"type": "string", "enum": ["true"]},
    }
}
LOCATION = {"Location": {"description": "Where the job is.", "schema": {"type": "string"}}}

router = Router(prefix=PREFIX, tags=["jobs"])


@router.get("/jobs", needs=ENGINE_READ)
async def list_jobs(
    caller: Who,
    *,
    state: Annotated[State | None, Query(description="Where it stands.")] = None,
    queue: Name = None,
    kind: Name = None,
    correlation_id: Name = None,
    before: Before = None,
    limit: Limit = 50,
) -> JobPage:
    """Jobs that match every filter, newest first."""
    async with caller.transaction() as conn:
        rows = await operators.jobs(
            conn,
            state=state,
            queue=queue,
            kind=kind,
            correlation_id=correlation_id,
            before=before,
            most=limit + 1,
        )
    items, following = page_of(JobItem, rows, limit, lambda job: job.id)
    return JobPage(items=items, next=following)


@router.post(
    "/jobs",
    needs=ENGINE_WRITE,
    raises=IDEMPOTENT,
    status_code=202,
    response_model=Enqueued,
    responses={202: {"headers": LOCATION | REPLAYED, "description": "It was added."}},
)
async def enqueue_job(caller: Who, request: Request, key: Key, body: EnqueueRequest) -> Response:
    """Add a job. Its correlation id is that of the request."""
    async with key.once(caller) as once:
        if once.is_new:
            job = await _new_job(once.conn, parts_of(request), body)
            job_id = await operators.enqueue(once.conn, job)
            place = {"Location": f"{PREFIX}/jobs/{job_id}"}
            once.reply(202, Enqueued(job_id=job_id), place)
    return once.response()


@router.post(
    "/jobs/redrive",
    needs=ENGINE_WRITE,
    raises=IDEMPOTENT,
    response_model=RedriveAnswer,
    responses={200: {"headers": REPLAYED, "description": "What was found, and done."}},
)
async def redrive_jobs(caller: Who, key: Key, body: RedriveRequest) -> Response:
    """Run dead letters again, or count how many that would be: `preview` is true unless said."""
    async with key.once(caller) as once:
        if once.is_new:
            found = await operators.redrive(
                once.conn,
                kind=body.kind,
                queue=body.queue,
                signature=body.signature,
                most=body.limit,
                preview=body.preview,
            )
            counts = {"matching": found.matching, "redriven": found.redriven}
            answer = RedriveAnswer(**counts, conflicts=found.conflicts, preview=body.preview)
            once.reply(200, answer)
    return once.response()


@router.get("/jobs/{job_id:digits}", needs=ENGINE_READ, raises=(NotFound,))
async def show_job(caller: Who, job_id: JobId) -> JobView:
    """A job with its attempts, its steps, and the events and the trail of its correlation id."""
    async with caller.transaction() as conn:
        job = await operators.show(conn, job_id)
        attempts = await operators.attempts(conn, job_id)
        steps = await operators.steps(conn, job_id)
        part_of = job.correlation_id or f"job-{job_id}"
        events = await outbox.list_events(conn, correlation_id=part_of, most=EVENTS_SHOWN)
        trail = await inspect.trail(conn, part_of, tenant_id=caller.tenant_id, most=TRAIL_SHOWN)
    facts = {name: getattr(job, name) for name in JobFacts.model_fields}
    return JobView(
        **facts,
        attempts=[AttemptView.model_validate(each) for each in attempts],
        steps=[StepView.model_validate(each) for each in steps],
        events=[EventItem.model_validate(each) for each in events],
        trail=[TrailItem.model_validate(each) for each in trail],
    )


@router.get("/jobs/{job_id:digits}/why", needs=ENGINE_READ, raises=(NotFound,))
async def explain_job(caller: Who, job_id: JobId) -> Why:
    """Why a job is not running, or what became of it."""
    async with caller.transaction() as conn:
        found = await operators.why(conn, job_id)
    return Why(job_id=job_id, reasons=[ReasonView.model_validate(each) for each in found])


@router.post(
    "/jobs/{job_id:digits}/retry",
    needs=ENGINE_WRITE,
    raises=(NotFound, *IDEMPOTENT, UniqueConflict, WrongState),
    response_model=Retried,
    responses={200: {"headers": REPLAYED, "description": "It runs again."}},
)
async def retry_job(caller: Who, key: Key, job_id: JobId) -> Response:
    """Run a job now that waits for its time, is dead, or was cancelled."""
    async with key.once(caller) as once:
        if once.is_new:
            was = await operators.retry(once.conn, job_id)
            once.reply(200, Retried(job_id=job_id, was=was))
    return once.response()


@router.post(
    "/jobs/{job_id:digits}/cancel",
    needs=ENGINE_WRITE,
    raises=(NotFound, *IDEMPOTENT),
    response_model=Cancelled,
    responses={200: {"headers": REPLAYED, "description": "What became of it."}},
)
async def cancel_job(
    caller: Who, key: Key, job_id: JobId, body: CancelRequest | None = None
) -> Response:
    """Cancel a job: a waiting one at once, a running one by asking its worker."""
    reason = (body or CancelRequest()).reason
    async with key.once(caller) as once:
        if once.is_new:
            was = await operators.cancel(once.conn, job_id, reason)
            effect = EFFECTS.get(was, "cancelled")
            once.reply(200, Cancelled(job_id=job_id, was=was, effect=effect))
    return once.response()


async def _new_job(conn: AsyncConnection[object], parts: Parts, body: EnqueueRequest) -> NewJob:
    """The job that a request describes; of a kind that this process knows, its args are checked."""
    kind = next((app.kinds[body.kind] for app in parts.apps if body.kind in app.kinds), None)
    if kind is None:
        job = NewJob(body.kind, dump_args(body.args, MAX_ARGS_BYTES))
    else:
        job = NewJob(kind.name, kind.arguments.dump_values(body.args), kind.queue, kind.priority)
    options = Options()
    if body.queue is not None:
        options["queue"] = body.queue
    if body.priority is not None:
        options["priority"] = body.priority
    if body.run_at is not None:
        options["run_at"] = body.run_at
    if body.delay is not None:
        options["delay"] = body.delay
    if body.unique_key is not None:
        options["unique"] = Unique(body.unique_key)
    if body.limit_key is not None:
        options["limit_key"] = body.limit_key
    if body.max_attempts is not None:
        options["max_attempts"] = body.max_attempts
    return await new_job(conn, job, options)
