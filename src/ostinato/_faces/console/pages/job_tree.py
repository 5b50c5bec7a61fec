"""Draws the children of a job as a tree, and lists those of one group page by page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Query, Response

from ostinato._core.engine import children, inspect
from ostinato._core.engine.children import Leaf
from ostinato._faces.api.permissions import CONSOLE_READ
from ostinato._faces.api.views import JobId, read_json
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking

pages = Pages()

PAGE = 100
Id = Annotated[int, Query(ge=0, lt=2**63)]


@dataclass(frozen=True, slots=True)
class Branch:
    """One job of a tree, and those that it spawned."""

    leaf: Leaf
    branches: list["Branch"] = field(default_factory=list)


def grown(leaves: Sequence[Leaf]) -> dict[int, list[Branch]]:
    """Return the children of a job by their groups; `leaves` has parents before their children."""
    by_id: dict[int, Branch] = {}
    roots: dict[int, list[Branch]] = {}
    for leaf in leaves:
        branch = by_id[leaf.id] = Branch(leaf)
        parent = by_id.get(leaf.parent_id)
        (roots.setdefault(leaf.group_id, []) if parent is None else parent.branches).append(branch)
    return roots


@pages.page("/jobs/{job_id:digits}/children", needs=CONSOLE_READ)
async def list_children(view: Looking, job_id: JobId, *, group: Id, after: Id = 0) -> Response:
    """Show the children of one group, in the order in which they were spawned."""
    async with view.reading() as conn:
        job = await inspect.show_job(conn, job_id, loads=read_json)
        found = await children.page(conn, job_id, group, after=after, most=PAGE + 1)
    older = found[PAGE - 1].job_id if len(found) > PAGE else None
    return view.page("children.html", job=job, group=group, children=found[:PAGE], more=older, first=not after)
