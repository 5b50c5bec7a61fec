"""Jobs: a list with filters, whose address is the filter; and one job with its whole story."""

from datetime import timedelta
from typing import Annotated, Literal

from fastapi import Query, Response

from ostinato._core.engine import children, inspect, jobs, steps
from ostinato._core.engine.inspect import TrailLine
from ostinato._faces.api.permissions import CONSOLE_READ, ENGINE_WRITE
from ostinato._faces.api.views import JobId, read_json
from ostinato._faces.console.pages import job_story, job_tree
from ostinato._faces.console.pages.filters import STATES, Chosen
from ostinato._faces.console.pages.story import became
from ostinato._faces.console.reasons import explain
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.signing import inside
from ostinato._faces.console.view import Looking, View

pages = Pages()

FAR = timedelta(days=2)
"""A job that runs later than this is shown with its day, and not with how far away it is."""

PAGE = 50
LONGEST = 16_384
MOST_PARTS = 100
SHOWN_LINES = 15


@pages.page("/jobs", needs=CONSOLE_READ)
async def list_jobs(
    view: Looking, chosen: Chosen, *, before: Annotated[int | None, Query(ge=1, lt=2**63)] = None
) -> Response:
    """Show the jobs that match every filter, newest first."""
    async with view.reading() as conn:
        found = await inspect.search_jobs(conn, chosen.search(view), state=chosen.asked_state, before=before, most=PAGE)
    return view.page(
        "jobs.html",
        jobs=found.jobs,
        chosen=chosen,
        older=found.next,
        first=before is None,
        states=STATES,
        far=FAR,
        may_act=view.may(ENGINE_WRITE),
    )


@pages.page("/jobs/{job_id:digits}", needs=CONSOLE_READ)
async def show_job(view: Looking, job_id: JobId) -> Response:
    """Show one job: why it waits, its time line, its attempts, what it was given and what it gave."""
    async with view.reading() as conn:
        job = await inspect.show_job(conn, job_id, loads=read_json)
        reasons = await inspect.why(conn, job_id, loads=read_json)
        runs = await inspect.attempts(conn, job_id, most=MOST_PARTS, longest=LONGEST, loads=read_json)
        done = await steps.of_job(conn, job_id, most=MOST_PARTS, longest=LONGEST, loads=read_json)
        part_of = job.correlation_id or f"job-{job_id}"
        trail = await inspect.trail(conn, part_of, tenant_id=view.tenant, most=MOST_PARTS)
        groups = await children.groups(conn, job_id)
        leaves = await children.tree(conn, job_id) if groups else []
    return view.page(
        "job.html",
        job=job,
        reasons=explain(view.words, view.clock, job, reasons),
        runs=runs,
        steps=done,
        trail=_nearest(job_id, trail),
        lines=len(trail),
        became=became,
        part_of=part_of,
        story=job_story.drawn(view, job, runs, done, trail),
        groups=groups,
        tree=job_tree.grown(leaves),
        may_act=view.may(ENGINE_WRITE),
    )


@pages.action("/jobs/{job_id:digits}/{verb}", needs=ENGINE_WRITE)
async def act(view: Looking, job_id: JobId, verb: Literal["cancel", "retry"]) -> Response:
    """Cancel a job, or run it now."""
    words = view.words.gettext
    async with view.acting() as conn:
        if verb == "cancel":
            was = await jobs.cancel(conn, job_id, view.form.get("reason") or "cancelled on the console")
            said = words("The worker is asked to stop it.") if was == "running" else words("The job is cancelled.")
        else:
            await jobs.retry(conn, job_id)
            said = words("The job runs as soon as a worker is free.")
    return _back(view, said, job_id)


def _nearest(job_id: int, trail: list[TrailLine]) -> list[TrailLine]:
    """Return the lines of a trail that a job's page shows: its own, then others until there are enough."""
    own = [line for line in trail if line.job_id == job_id]
    others = [line for line in trail if line.job_id != job_id]
    kept = {id(line) for line in [*own, *others][:SHOWN_LINES]}
    return [line for line in trail if id(line) in kept]


def _back(view: View, said: str, job_id: int) -> Response:
    response = view.see(f"/jobs/{job_id}", said)
    response.headers["location"] = inside(view, view.form.get("next", "")) or response.headers["location"]
    return response
