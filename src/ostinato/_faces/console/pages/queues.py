"""Queues: depth, limits and who serves them. Workers: their beats, and what they hold."""

from typing import Literal
from uuid import UUID

from fastapi import Response

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import inspect, queues, workers
from ostinato._faces.api.permissions import CONSOLE_READ, ENGINE_WRITE
from ostinato._faces.console.pages.now import rate_of, state_of
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking, View

pages = Pages()

MOST_HELD = 200


@pages.page("/queues", needs=CONSOLE_READ)
async def list_queues(view: Looking) -> Response:
    """Show every queue."""
    found = await view.site.live.of(view.tenant).now()
    return view.page("queues.html", now=found, rate_of=rate_of, state_of=state_of, may_act=_may_act(view))


@pages.action("/queues/{name:named}/{verb}", needs=ENGINE_WRITE)
async def act(view: Looking, name: str, verb: Literal["pause", "resume"]) -> Response:
    """Pause a queue, or let it go on: for the whole installation, so a tenant cannot."""
    view.check_installation()
    words = view.words.gettext
    async with view.administering() as conn:
        if verb == "pause":
            await queues.pause(conn, name)
        else:
            await queues.resume(conn, name)
    said = words("Nothing more is claimed from %(queue)s.") if verb == "pause" else words("%(queue)s goes on.")
    return view.see("/queues", said % {"queue": name})


@pages.page("/workers", needs=CONSOLE_READ)
async def list_workers(view: Looking) -> Response:
    """Show every worker, the longest silent first."""
    async with view.reading() as conn:
        found = await inspect.list_workers(conn)
    return view.page("workers.html", workers=found, may_act=_may_act(view))


@pages.page("/workers/{worker_id}", needs=CONSOLE_READ)
async def show_worker(view: Looking, worker_id: UUID) -> Response:
    """Show one worker, and the jobs that it holds, as far as the viewer may see them."""
    async with view.reading() as conn:
        found = next((each for each in await inspect.list_workers(conn) if each.id == worker_id), None)
        held = await workers.held(conn, worker_id, most=MOST_HELD)
    if found is None:
        raise NotFound("there is no such worker", hint="It has ended; the page Workers lists those that are there.")
    return view.page("worker.html", worker=found, held=held, most=MOST_HELD, may_act=_may_act(view))


def _may_act(view: View) -> bool:
    return view.sees_all and view.may(ENGINE_WRITE)
