"""`/api/v1/engine/jobs/{job_id}/children` shows what a job spawned, and how far it is."""

from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import Field

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import children
from ostinato._core.engine.children import Group
from ostinato._core.engine.jobs import State
from ostinato._core.web.routes import Router
from ostinato._faces.api.asking import AsTenant, may_look
from ostinato._faces.api.permissions import ENGINE_READ
from ostinato._faces.api.views import BIGGEST, JOB, KIND, PREFIX, JobId, Limit, View, read_json, shows

router = Router(prefix=PREFIX, tags=["jobs"])


@shows(Group, group_id=JOB, kind=KIND, total=12, done=5, failed=0, cancelled=0)
class GroupView(View):
    """The children of one step, with their counts."""

    pending: int
    """The children that have not ended."""


class Groups(View):
    """Groups, first to last."""

    items: list[GroupView]


class ChildView(View):
    """One child and what became of it."""

    job_id: int = Field(examples=[JOB])
    state: State
    result: Any
    """Null for a reader."""
    error: Any
    """The last error of one that failed, or the reason of one that was cancelled."""


class Children(View):
    """Children, as they were spawned."""

    items: list[ChildView]
    next: int | None = Field(examples=[None])
    """The `after` of the next page; null means that this is the last one."""


@router.get("/jobs/{job_id:digits}/children", needs=ENGINE_READ, raises=(NotFound,))
async def list_groups(caller: AsTenant, job_id: JobId) -> Groups:
    """Return the groups of children that a job spawned, with how many of them have ended."""
    async with caller.reading() as conn:
        return Groups.of(items=await children.groups(conn, job_id))


@router.get("/jobs/{job_id:digits}/children/{group_id:digits}", needs=ENGINE_READ, raises=(NotFound,))
async def list_children(
    caller: AsTenant,
    job_id: JobId,
    group_id: Annotated[int, Path(ge=1, le=BIGGEST, description="The id of a group.", examples=[JOB])],
    *,
    after: Annotated[int, Query(ge=0, le=BIGGEST, description="The `next` of the page before.", examples=[0])] = 0,
    limit: Limit = 50,
) -> Children:
    """Return the children of a group, as they were spawned, and what became of each."""
    async with caller.reading() as conn:
        if all(each.group_id != group_id for each in await children.groups(conn, job_id)):
            raise NotFound(f"job {job_id} has no group {group_id}", hint=f"GET /jobs/{job_id}/children lists them.")
        rows = await children.page(conn, job_id, group_id, after=after, most=limit + 1, loads=read_json)
    shown = [row._asdict() | ({} if may_look(caller) else {"result": None}) for row in rows[:limit]]
    return Children.of(items=shown, next=rows[limit - 1].job_id if len(rows) > limit else None)
