"""`/api/v1/engine/jobs` lists, adds, retries and cancels the tenant's jobs."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Annotated, Any, cast

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse
from psycopg import AsyncConnection

from ostinato._core.base.errors import Forbidden, InvalidInput, NotFound, TooManyRequests, UniqueConflict, WrongState
from ostinato._core.base.jsonio import dump_args
from ostinato._core.base.traceparent import current_traceparent
from ostinato._core.engine import audit, inspect, jobs
from ostinato._core.engine.inspect import Search
from ostinato._core.engine.jobs import NewJob, State
from ostinato._core.runtime.handlers.kinds import MAX_ARGS_BYTES
from ostinato._core.web.caller import Caller
from ostinato._core.web.idempotent import IDEMPOTENT, Key
from ostinato._core.web.routes import Router
from ostinato._faces.api.asking import AsTenant, check_may_search, may_look
from ostinato._faces.api.audit_http import Since
from ostinato._faces.api.following import check_seen
from ostinato._faces.api.job_views import (
    Cancelled,
    CancelRequest,
    Effect,
    Enqueued,
    EnqueueRequest,
    JobPage,
    JobView,
    RedriveAnswer,
    RedriveRequest,
    Retried,
    RetryRequest,
    Why,
    view_of,
)
from ostinato._faces.api.parts import Parts, parts_of
from ostinato._faces.api.permissions import ENGINE_READ, ENGINE_WRITE
from ostinato._faces.api.views import MAX_NAME, PREFIX, Before, JobId, Limit, Name, read_json

__all__ = ["PREFIX", "router"]

PARTS_SHOWN = 100
LONGEST_SHOWN = 16_384
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

Signature = Annotated[
    str | None, Query(min_length=1, max_length=1_000, description="The error signature of dead letters.")
]
Until = Annotated[Since, Query(description="Added before this time.", examples=[None])]
Contained = Annotated[
    str | None,
    Query(min_length=2, max_length=2_000, description='JSON that the arguments contain: `{"invoice_id": 7}`.'),
]

router = Router(prefix=PREFIX, tags=["jobs"])


@router.get("/jobs", needs=ENGINE_READ)
async def list_jobs(
    caller: AsTenant,
    *,
    state: Annotated[State | None, Query(description="Where it stands.")] = None,
    queue: Name = None,
    kind: Name = None,
    correlation_id: Name = None,
    signature: Signature = None,
    since: Since = None,
    until: Until = None,
    args: Contained = None,
    text: Annotated[
        str | None, Query(min_length=1, max_length=MAX_NAME, description="Part of the text of the arguments.")
    ] = None,
    before: Before = None,
    limit: Limit = 50,
) -> JobPage:
    """Return the jobs that match every filter, newest first. A page may be short, even empty, and have a `next`."""
    given: dict[str, Any] = {
        "queue": queue,
        "kind": kind,
        "correlation_id": correlation_id,
        "signature": signature,
        "since": since and since.isoformat(),
        "until": until and until.isoformat(),
        "args": None if args is None else object_of(args),
        "text": text,
    }
    check_may_search(caller, args, text)
    which = cast("Search", {name: value for name, value in given.items() if value is not None})
    async with caller.reading() as conn:
        found = await inspect.search_jobs(conn, which, state=state, before=before, most=limit)
    return JobPage.model_validate({"items": found.jobs, "next": found.next})


@router.post(
    "/jobs",
    needs=ENGINE_WRITE,
    raises=IDEMPOTENT,
    status_code=202,
    response_model=Enqueued,
    responses={202: {"headers": LOCATION | REPLAYED, "description": "It was added."}},
)
async def enqueue_job(caller: AsTenant, request: Request, key: Key, body: EnqueueRequest) -> Response:
    """Add a job. Its correlation id is that of the request."""
    try:
        job = described_job(caller, parts_of(request), body)
    except InvalidInput:
        # The args of a closed kind are no caller's business, and an answered key has its answer.
        async with key.once(caller) as once:
            if once.is_new:
                await check_open(once.conn, body)
                raise
        return once.response()
    with closed_is_forbidden():
        return await key.answer(caller, "enqueue_job_as", place=f"{PREFIX}/jobs/", **job)


@router.post(
    "/jobs/redrive",
    needs=ENGINE_WRITE,
    raises=IDEMPOTENT,
    response_model=RedriveAnswer,
    responses={200: {"headers": REPLAYED, "description": "What was found, and done."}},
)
async def redrive_jobs(caller: AsTenant, key: Key, body: RedriveRequest) -> Response:
    """Retry dead letters, or count how many match: `preview` is true by default."""
    async with key.once(caller) as once:
        if once.is_new:
            await audit.act_as(once.conn, reason=body.reason)
            found = await jobs.redrive(
                once.conn,
                kind=body.kind,
                queue=body.queue,
                signature=body.signature,
                most=body.limit,
                preview=body.preview,
            )
            once.reply(200, RedriveAnswer.of(**asdict(found), preview=body.preview))
    return once.response()


@router.get("/jobs/{job_id:digits}", needs=ENGINE_READ, raises=(NotFound,), response_model=JobView)
async def show_job(caller: AsTenant, job_id: JobId) -> Response:
    """Return a job with its attempts, its steps, and the events and the trail of its correlation id.

    For a reader its arguments and all results are null.
    """
    (found,) = await caller.call(
        "show_job_as",
        _read=True,
        job_id=job_id,
        parts=PARTS_SHOWN,
        longest=LONGEST_SHOWN,
        most_events=EVENTS_SHOWN,
        most_lines=TRAIL_SHOWN,
    )
    return Response(view_of(*found, hidden=not may_look(caller)).model_dump_json(), media_type="application/json")


@router.get("/jobs/{job_id:digits}/why", needs=ENGINE_READ, raises=(NotFound,))
async def explain_job(caller: AsTenant, job_id: JobId) -> Why:
    """Explain why a job is not running, or what became of it."""
    async with caller.reading() as conn:
        return Why.of(job_id=job_id, reasons=await inspect.why(conn, job_id, loads=read_json))


@router.get(
    "/jobs/{job_id:digits}/events",
    needs=ENGINE_READ,
    raises=(NotFound, TooManyRequests),
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "Its progress."}},
)
async def follow_job(caller: AsTenant, request: Request, job_id: JobId) -> Response:
    """Follow a job: an event `progress` for each change of its state or progress, and `end` when it has ended."""
    parts = parts_of(request)
    await check_seen(parts.client, caller.tenant_id, job_id)
    parts.followers.check_room(caller.tenant_id, caller.subject)

    async def still() -> bool:
        return await request.app.state.authenticate.still_knows(request)  # type: ignore[no-any-return]

    async def events() -> AsyncIterator[bytes]:
        with suppress(TooManyRequests), parts.followers.seat(caller.tenant_id, caller.subject):
            async for event in parts.followers.follow(caller.tenant_id, job_id, still):
                yield event

    return StreamingResponse(events(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@router.post(
    "/jobs/{job_id:digits}/retry",
    needs=ENGINE_WRITE,
    raises=(NotFound, *IDEMPOTENT, UniqueConflict, WrongState),
    response_model=Retried,
    responses={200: {"headers": REPLAYED, "description": "It runs again."}},
)
async def retry_job(caller: AsTenant, key: Key, job_id: JobId, body: RetryRequest | None = None) -> Response:
    """Run a scheduled, dead or cancelled job now."""
    async with key.once(caller) as once:
        if once.is_new:
            await audit.act_as(once.conn, reason=None if body is None else body.reason)
            was = await jobs.retry(once.conn, job_id)
            once.reply(200, Retried(job_id=job_id, was=was))
    return once.response()


@router.post(
    "/jobs/{job_id:digits}/cancel",
    needs=ENGINE_WRITE,
    raises=(NotFound, *IDEMPOTENT),
    response_model=Cancelled,
    responses={200: {"headers": REPLAYED, "description": "What became of it."}},
)
async def cancel_job(caller: AsTenant, key: Key, job_id: JobId, body: CancelRequest | None = None) -> Response:
    """Cancel a job: a waiting one at once, a running one by asking its worker."""
    reason = (body or CancelRequest()).reason
    async with key.once(caller) as once:
        if once.is_new:
            was = await jobs.cancel(once.conn, job_id, reason)
            effect = EFFECTS.get(was, "cancelled")
            once.reply(200, Cancelled(job_id=job_id, was=was, effect=effect))
    return once.response()


def object_of(text: str) -> dict[str, Any]:
    """Parse a JSON object in an address."""
    found = read_json(text)
    if not isinstance(found, dict) or set(found) == {"unreadable"}:
        raise InvalidInput(f"args is not a JSON object: {text[:100]!r}", hint='Write one, such as {"invoice_id": 7}.')
    return found


async def check_open(conn: AsyncConnection[object], body: EnqueueRequest) -> None:
    """Refuse a kind or a queue that is closed to tenants: the request is fine, but not the caller's to make."""
    with closed_is_forbidden():
        await jobs.check_open_kind(conn, body.kind, body.queue)


@contextmanager
def closed_is_forbidden() -> Iterator[None]:
    """Turn the refusal of a closed kind or queue into a 403; others stay what they are."""
    try:
        yield
    except InvalidInput as error:
        if "closed" not in error.values:
            raise
        values = {name: value for name, value in error.values.items() if name != "closed"}
        raise Forbidden(error.message, hint=error.hint, **values) from error


def described_job(caller: Caller, parts: Parts, body: EnqueueRequest) -> dict[str, Any]:
    """Return what a request says of a job, as it is added; if this process knows its kind, the args are checked."""
    given = body.model_dump(exclude={"args"}, exclude_none=True)
    if (traceparent := current_traceparent()) is not None:
        given["traceparent"] = traceparent
    kind = next((app.kinds[body.kind] for app in parts.apps if body.kind in app.kinds), None)
    if kind is None:
        return given | {"args": dump_args(body.args, MAX_ARGS_BYTES)}
    job = NewJob(kind.name, kind.arguments.dump_values(body.args), secret_args=kind.arguments.secrets)
    own = {"queue": kind.queue, "priority": kind.priority, "args": jobs.sealed_for(job, caller.vault, caller.tenant_id)}
    return {name: value for name, value in own.items() if value is not None} | given
