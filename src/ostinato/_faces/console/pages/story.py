"""Trail: one correlation id as a drawn time line. And the box that finds things."""

import re
from typing import Annotated

from fastapi import Query, Response

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import inspect
from ostinato._core.engine.inspect import TrailLine
from ostinato._core.runtime.observe.panels import all_panels
from ostinato._faces.api.permissions import CONSOLE_READ
from ostinato._faces.console import draw
from ostinato._faces.console.draw import Bar
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking, View

pages = Pages()

LONGEST = 200
"""The longest name, and the longest correlation id."""
MOST_LINES = 500
MOST_DRAWN = 40
BAD = {"failed", "dead", "lost", "buried", "refused"}
GOOD = {"done", "delivered", "kept", "call", "fired"}
_NUMBER = re.compile(r"[0-9]{1,18}")
_KIND = re.compile(r"[a-z][a-z0-9_]*\.[a-z0-9_.]+")


@pages.page("/trail", needs=CONSOLE_READ)
async def ask(view: Looking, q: Annotated[str, Query(max_length=20_000)] = "") -> Response:
    """Show everything that happened for a correlation id; without one, the page that asks for it.

    Links name the id so, and not in the path, where a browser resolves an id such as `..`.
    """
    if asked := q.strip()[:LONGEST]:
        return await trail(view, asked)
    return view.page("trail.html", part_of="", lines=[], story=None, became=became)


@pages.page("/trail/{part_of:path}", needs=CONSOLE_READ)
async def trail(view: Looking, part_of: str) -> Response:
    """Show the same, by an address that can be typed."""
    async with view.reading() as conn:
        lines = await inspect.trail(conn, part_of[:LONGEST], tenant_id=view.tenant, most=MOST_LINES)
    return view.page("trail.html", part_of=part_of[:LONGEST], lines=lines, story=_story(view, lines), became=became)


@pages.page("/find", needs=CONSOLE_READ)
async def find(view: Looking, q: Annotated[str, Query(max_length=20_000)] = "") -> Response:
    """Lead to what was asked for: a job by its id, a kind; else to all that it may be."""
    asked = q.strip()
    if _NUMBER.fullmatch(asked) and await _is_job(view, int(asked)):
        return view.see(f"/jobs/{int(asked)}")
    if _KIND.fullmatch(asked) and len(asked) <= LONGEST:
        return view.see("/jobs", kind=asked)
    if not asked or len(asked) > LONGEST:
        return view.page("find.html", status=422 if asked else 200, asked=asked[:LONGEST], too_long=True)
    snapshot = await view.site.live.of(view.tenant).now()
    known = sorted({kind for worker in snapshot.workers for kind in worker.kinds})
    return view.page(
        "find.html",
        asked=asked,
        too_long=False,
        kinds=[kind for kind in known if asked.lower() in kind.lower()][:MOST_DRAWN],
        queues=[queue.name for queue in snapshot.queues if asked.lower() in queue.name.lower()][:MOST_DRAWN],
        searches=[
            (app.name, panel)
            for app in view.parts.apps
            for panel in all_panels(app)
            if panel.name and panel.search and view.may(panel.needs or CONSOLE_READ)
        ],
    )


async def _is_job(view: View, number: int) -> bool:
    """Return whether there is a job of that id; numbers of companies and invoices are looked for too."""
    try:
        async with view.reading() as conn:
            await inspect.show_job(conn, number)
    except NotFound:
        return False
    return True


def became(line: TrailLine) -> str:
    """Return what came of a line of the trail, as a word: a step that ran is kept."""
    return "kept" if (line.source, line.state) == ("step", "call") else line.state


def _story(view: View, lines: list[TrailLine]) -> object:
    """Draw what has happened; what is still to come would press it all into a corner, and stands in the table."""
    past = [line for line in lines if line.at <= view.clock.now]
    bars = [
        Bar(
            f"{view.words.gettext(line.source)} {line.what}",
            line.at,
            None,
            "bad" if line.state in BAD else "ok" if line.state in GOOD else "accent",
            view.words.gettext(became(line)),
        )
        for line in past[:MOST_DRAWN]
    ]
    return draw.timeline(view.words.gettext("Trail"), bars, view.clock.tick)
