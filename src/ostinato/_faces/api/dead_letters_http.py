"""`/api/v1/engine/dead-letters` lists the tenant's dead letters, and groups them by error."""

from typing import Annotated

from fastapi import Query

from ostinato._core.engine import inspect
from ostinato._core.engine.inspect import DeadLetter, DeadLetterGroup
from ostinato._core.web.routes import Router
from ostinato._faces.api.asking import AsTenant
from ostinato._faces.api.permissions import ENGINE_READ
from ostinato._faces.api.views import JOB, PREFIX, Before, Limit, Name, Page, View, page_of, shows

MAX_SIGNATURE = 1_000

router = Router(prefix=PREFIX, tags=["dead letters"])


@shows(DeadLetter, attempt=8, reason="attempts_used_up")
class DeadLetterItem(View):
    """A job that is not retried any more."""


class DeadLetterPage(Page[DeadLetterItem]):
    """Dead letters, newest job first."""


@shows(DeadLetterGroup, reason="attempts_used_up", count=12, example_job_id=JOB)
class DeadLetterGroupView(View):
    """Dead letters of one kind with the same error signature."""


class DeadLetterGroups(View):
    """Dead letters grouped by their error, the largest group first."""

    items: list[DeadLetterGroupView]


@router.get("/dead-letters", needs=ENGINE_READ)
async def list_dead_letters(
    caller: AsTenant,
    *,
    queue: Name = None,
    kind: Name = None,
    signature: Annotated[str | None, Query(min_length=1, max_length=MAX_SIGNATURE)] = None,
    before: Before = None,
    limit: Limit = 50,
) -> DeadLetterPage:
    """Return the dead letters that match every filter, newest first."""
    async with caller.reading() as conn:
        rows = await inspect.list_dead_letters(
            conn, queue=queue, kind=kind, signature=signature, before=before, most=limit + 1
        )
    return page_of(DeadLetterPage, rows, limit, "job_id")


@router.get("/dead-letters/groups", needs=ENGINE_READ)
async def list_dead_letter_groups(caller: AsTenant, limit: Limit = 50) -> DeadLetterGroups:
    """Return the dead letters grouped by their error, the largest group first."""
    async with caller.reading() as conn:
        return DeadLetterGroups.of(items=await inspect.dead_letter_groups(conn, most=limit))
