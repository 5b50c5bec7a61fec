"""`/api/v1/engine/audit` lists what operators did to the tenant's jobs, schedules, keys and webhooks."""

from typing import Annotated

from fastapi import Query
from pydantic import AwareDatetime, BeforeValidator

from ostinato._core.engine import audit
from ostinato._core.engine.audit import Entry
from ostinato._core.web.routes import Router
from ostinato._faces.api.asking import AsTenant
from ostinato._faces.api.permissions import ENGINE_LOOK
from ostinato._faces.api.views import JOB, PREFIX, Before, Limit, Name, Page, View, page_of, read_json, shows

router = Router(prefix=PREFIX, tags=["audit"])


@shows(
    Entry,
    without=["login", "program"],
    id=JOB,
    actor="ann",
    key_id=7,
    verb="cancel",
    noun="job",
    target=str(JOB),
    count=1,
    reason="the order was withdrawn",
    job_ids=[JOB],
    detail={"was": "ready"},
)
class EntryView(View):
    """One action of an operator."""


def _dated(value: object) -> object:
    """Refuse a bare number, which would be read as seconds since 1970."""
    if isinstance(value, str) and value[4:5] != "-":
        raise ValueError("a date and a time with its zone, such as 2026-11-17T08:00:00Z")
    return value


Since = Annotated[
    AwareDatetime | None, BeforeValidator(_dated), Query(description="Not before this time.", examples=[None])
]


class AuditPage(Page[EntryView]):
    """Actions of operators, newest first."""


@router.get("/audit", needs=ENGINE_LOOK)
async def list_audit(
    caller: AsTenant,
    *,
    actor: Name = None,
    verb: Name = None,
    target: Name = None,
    since: Since = None,
    before: Before = None,
    limit: Limit = 50,
) -> AuditPage:
    """Return what operators did that concerns the tenant, newest first."""
    async with caller.reading() as conn:
        rows = await audit.list_entries(
            conn, actor=actor, verb=verb, target=target, since=since, before=before, most=limit + 1, loads=read_json
        )
    return page_of(AuditPage, rows, limit)
