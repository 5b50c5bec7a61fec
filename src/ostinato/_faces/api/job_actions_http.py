"""`/api/v1/engine/jobs/…` moves, restarts and signals one job; `/kinds` says what may be added, and with what."""

import json
from typing import Any

from fastapi import Request, Response
from pydantic import Field

from ostinato._core.base.errors import NotFound, UniqueConflict, WrongState
from ostinato._core.engine import audit, jobs, steps
from ostinato._core.web.idempotent import IDEMPOTENT, Key
from ostinato._core.web.routes import Router
from ostinato._faces.api.asking import AsTenant
from ostinato._faces.api.job_views import Because, Instant, Retried, Text
from ostinato._faces.api.parts import parts_of
from ostinato._faces.api.permissions import ENGINE_READ, ENGINE_WRITE
from ostinato._faces.api.views import JOB, KIND, PREFIX, Checked, JobId, View

router = Router(prefix=PREFIX, tags=["jobs"])


class MoveRequest(Checked):
    """Another time for a job that waits."""

    run_at: Instant = Field(examples=["2026-03-02T08:30:00Z"])
    """A time that has passed means now."""
    reason: Because | None = Field(default=None, examples=["the mail server is away until then"])
    """The audit tells why."""


class RestartRequest(Checked):
    """From where a job is to run again."""

    from_step: Text | None = Field(default=None, examples=["charge"])
    """The name or number of a step; it and all after it are forgotten. Null means from the start."""
    reason: Because | None = Field(default=None, examples=["the price was wrong"])
    """The audit tells why."""


class SignalRequest(Checked):
    """The payload is what the event that a job waits for would bring."""

    payload: Any = Field(default=None, examples=[{"euros": 900}])
    reason: Because | None = Field(default=None, examples=["confirmed by telephone"])
    """The audit tells why."""


class Signalled(View):
    """A job whose wait is over."""

    job_id: int = Field(examples=[JOB])


class KindView(View):
    """A kind of job that may be added, and what it takes."""

    name: str = Field(examples=[KIND])
    queue: str = Field(examples=["mail"])
    priority: int
    args_schema: dict[str, Any] = Field(alias="schema", examples=[{"type": "object"}])
    """The JSON schema of its arguments."""


class Kinds(View):
    """Kinds by name."""

    items: list[KindView]


ONE_JOB = (NotFound, *IDEMPOTENT, UniqueConflict, WrongState)


@router.post("/jobs/{job_id:digits}/move", needs=ENGINE_WRITE, raises=ONE_JOB, response_model=Retried)
async def move_job(caller: AsTenant, key: Key, job_id: JobId, body: MoveRequest) -> Response:
    """Move a waiting job to another time."""
    async with key.once(caller) as once:
        if once.is_new:
            await audit.act_as(once.conn, reason=body.reason)
            once.reply(200, Retried(job_id=job_id, was=await jobs.move(once.conn, job_id, body.run_at)))
    return once.response()


@router.post("/jobs/{job_id:digits}/restart", needs=ENGINE_WRITE, raises=ONE_JOB, response_model=Retried)
async def restart_job(caller: AsTenant, key: Key, job_id: JobId, body: RestartRequest | None = None) -> Response:
    """Run a job again from one of its steps, or from the start."""
    given = body or RestartRequest()
    async with key.once(caller) as once:
        if once.is_new:
            await audit.act_as(once.conn, reason=given.reason)
            was = await steps.restart(once.conn, job_id, given.from_step)
            jobs.wake_after_commit(jobs.ANY_QUEUE)
            once.reply(200, Retried(job_id=job_id, was=was))
    return once.response()


@router.post("/jobs/{job_id:digits}/signal", needs=ENGINE_WRITE, raises=ONE_JOB, response_model=Signalled)
async def signal_job(caller: AsTenant, key: Key, job_id: JobId, body: SignalRequest | None = None) -> Response:
    """End the wait of a job, as if its event had come."""
    given = body or SignalRequest()
    async with key.once(caller) as once:
        if once.is_new:
            await audit.act_as(once.conn, reason=given.reason)
            await steps.signal_own(once.conn, job_id, json.dumps(given.payload))
            once.reply(200, Signalled(job_id=job_id))
    return once.response()


@router.get("/kinds", needs=ENGINE_READ)
async def list_kinds(request: Request) -> Kinds:
    """Return the kinds that tenants may start, with the JSON schema of their arguments, as this process knows them."""
    found = [kind for app in parts_of(request).apps for kind in app.kinds.values() if kind.open]
    return Kinds(
        items=[
            KindView(
                name=kind.name, queue=kind.queue, priority=kind.priority, schema=json.loads(kind.arguments.schema())
            )
            for kind in sorted(found, key=lambda kind: kind.name)
        ]
    )
