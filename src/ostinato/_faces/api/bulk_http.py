"""`/api/v1/engine/bulk` cancels, retries, discards or redrives all of the tenant's jobs that match a filter."""

from dataclasses import asdict
from typing import Annotated, Any, cast

from fastapi import Query, Response
from pydantic import Field

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import bulk
from ostinato._core.engine.bulk import Bulk, Preview, Refusal, Standing, Verb
from ostinato._core.engine.inspect import Search
from ostinato._core.engine.jobs import State
from ostinato._core.web.caller import Caller
from ostinato._core.web.idempotent import IDEMPOTENT, Key
from ostinato._core.web.routes import Router
from ostinato._faces.api.asking import AsTenant, may_look
from ostinato._faces.api.job_views import Because, Instant, Text
from ostinato._faces.api.permissions import ENGINE_READ, ENGINE_WRITE
from ostinato._faces.api.views import (
    BIGGEST,
    JOB,
    KIND,
    PREFIX,
    Before,
    Checked,
    JobId,
    JsonObject,
    Limit,
    Page,
    View,
    page_of,
    shows,
)

router = Router(prefix=PREFIX, tags=["jobs"])


class Which(Checked):
    """Jobs that match every given field are meant."""

    kind: Text | None = Field(default=None, examples=[KIND])
    queue: Text | None = Field(default=None, examples=[None])
    correlation_id: Text | None = Field(default=None, examples=[None])
    signature: str | None = Field(default=None, min_length=1, max_length=1_000, examples=[None])
    """The error signature of dead letters, from `GET /dead-letters/groups`."""
    since: Instant | None = Field(default=None, examples=[None])
    """Added at this time or later."""
    until: Instant | None = Field(default=None, examples=[None])
    """Added before this time."""
    args: dict[str, Any] | None = Field(default=None, examples=[None])
    """Contained in the arguments, as `@>` of PostgreSQL means it."""
    text: Text | None = Field(default=None, examples=[None])
    """Part of the text of the arguments."""

    def search(self) -> Search:
        """Return the filter as the engine takes it."""
        return cast("Search", self.model_dump(mode="json", exclude_none=True))


class BulkRequest(Checked):
    """A bulk action."""

    verb: Verb = Field(examples=["cancel"])
    """`discard` gives dead letters up, `redrive` runs them again."""
    state: State | None = Field(default=None, examples=[None])
    """Only jobs in this state; null means all that the verb is for."""
    filter: Which = Field(default_factory=Which)
    canary: bool = False
    """Redrive one, then ten, then the rest, and halt when they fail again."""
    preview: bool = True
    """Only count them; send false to start."""
    reason: Because | None = Field(default=None, examples=["the order was withdrawn"])
    """The audit tells why."""


@shows(Preview, matching=12, samples=[JOB])
class BulkAnswer(View):
    """The count says how many match; the bulk action is there if one was started."""

    bulk_id: int | None = Field(examples=[JOB])
    """The id of the bulk action and of its job; null for a preview."""


@shows(Bulk, id=JOB, verb="cancel", actor="ann", matching=12, done=5)
class BulkView(View):
    """A bulk action, and how far it is."""

    filter: JsonObject
    """For a reader without what it says of arguments."""


class BulkPage(Page[BulkView]):
    """Bulk actions, newest first."""


@shows(Refusal, reason="it is done by now")
class RefusalView(View):
    """A job that a bulk action left as it is."""


class Refusals(View):
    """Jobs that were refused, by id."""

    items: list[RefusalView]
    next: int | None = Field(examples=[None])
    """The `after` of the next page; null means that this is the last one."""


class Stopped(View):
    """A bulk action that does not go on."""

    bulk_id: int = Field(examples=[JOB])
    was: Standing = Field(examples=["running"])
    """The state it was in."""


@router.post("/bulk", needs=ENGINE_WRITE, raises=IDEMPOTENT, response_model=BulkAnswer)
async def start_bulk(caller: AsTenant, key: Key, body: BulkRequest) -> Response:
    """Count the jobs that match, or start the bulk action: `preview` is true by default."""
    which = body.filter.search()
    async with key.once(caller) as once:
        if once.is_new:
            found = await bulk.preview(once.conn, body.verb, which, state=body.state)
            started = None
            if not body.preview:
                started = await bulk.start(
                    once.conn, body.verb, which, state=body.state, canary=body.canary, reason=body.reason
                )
            once.reply(200, BulkAnswer.of(**asdict(found), bulk_id=started))
    return once.response()


@router.get("/bulk", needs=ENGINE_READ)
async def list_bulk(caller: AsTenant, *, before: Before = None, limit: Limit = 50) -> BulkPage:
    """Return the bulk actions of the tenant, newest first."""
    async with caller.reading() as conn:
        rows = await bulk.list_(conn, before=before, most=limit + 1)
    page = page_of(BulkPage, rows, limit)
    return page.model_copy(update={"items": [_seen(caller, each) for each in page.items]})


@router.get("/bulk/{job_id:digits}", needs=ENGINE_READ, raises=(NotFound,))
async def show_bulk(caller: AsTenant, job_id: JobId) -> BulkView:
    """Return a bulk action, and how far it is."""
    async with caller.reading() as conn:
        return _seen(caller, BulkView.of(**asdict(await bulk.show(conn, job_id))))


@router.get("/bulk/{job_id:digits}/refusals", needs=ENGINE_READ, raises=(NotFound,))
async def list_refusals(
    caller: AsTenant,
    job_id: JobId,
    *,
    after: Annotated[int, Query(ge=0, le=BIGGEST, description="The `next` of the page before.", examples=[0])] = 0,
    limit: Limit = 50,
) -> Refusals:
    """Return the jobs that a bulk action left as they are, and why: the first thousand are kept."""
    async with caller.reading() as conn:
        await bulk.show(conn, job_id)
        rows = await bulk.refusals(conn, job_id, after=after, most=limit + 1)
    return Refusals.of(items=rows[:limit], next=rows[limit - 1].job_id if len(rows) > limit else None)


@router.post("/bulk/{job_id:digits}/stop", needs=ENGINE_WRITE, raises=(NotFound, *IDEMPOTENT), response_model=Stopped)
async def stop_bulk(caller: AsTenant, key: Key, job_id: JobId) -> Response:
    """Stop a bulk action after the batch that is on."""
    async with key.once(caller) as once:
        if once.is_new:
            once.reply(200, Stopped(bulk_id=job_id, was=await bulk.stop(once.conn, job_id)))
    return once.response()


def _seen(caller: Caller, found: BulkView) -> BulkView:
    """Return a bulk action as the caller may see it."""
    if may_look(caller):
        return found
    kept = {name: value for name, value in found.filter.items() if name not in {"args", "text"}}
    return found.model_copy(update={"filter": kept})
