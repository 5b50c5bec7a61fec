"""Trail: one correlation id as a drawn time line. And the box that finds things."""

import re
from typing import Annotated

from fastapi import Query, Response

from ostinato._core.engine import inspect
from ostinato._core.engine.inspect import TrailLine
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
GOOD = {"done", "delivered", "kept", "fired"}
_NUMBER = re.compile(r"[0-9]{1,18}")
_KIND = re.compile(r"[a-z][a-z0-9_]*\.[a-z0-9_.]+")


@pages.page("/trail", needs=CONSOLE_READ)
async def ask(view: Looking, q: Annotated[str, Query(max_length=20_000)] = "") -> Response:
    """Everything that happened for a correlation id; without one, the page that asks for it.

    Links name the id so, and not in the path, where a browser resolves an id such as `..`.
    """
    if asked := q.strip()[:LONGEST]:
        return await trail(view, asked)
    return view.page("trail.html", part_of="", lines=[], story=None)


@pages.page("/trail/{part_of:path}", needs=CONSOLE_READ)
async def trail(view: Looking, part_of: str) -> Response:
    """The same, by an address that can be typed."""
    async with view.reading() as conn:
        lines = await inspect.trail(conn, part_of[:LONGEST], tenant_id=view.tenant, most=MOST_LINES)
    return view.page("trail.html", part_of=part_of[:LONGEST], lines=lines, story=_story(view, lines))


@pages.page("/find", needs=CONSOLE_READ)
async def find(view: Looking, q: Annotated[str, Query(max_length=20_000)] = "") -> Response:
    """Lead to what was asked for: a job by its id, a kind, or a correlation id."""
    asked = q.strip()
    if _NUMBER.fullmatch(asked):
        return view.see(f"/jobs/{int(asked)}")
    if _KIND.fullmatch(asked) and len(asked) <= LONGEST:
        return view.see("/jobs", kind=asked)
    if not asked or len(asked) > LONGEST:
        return view.page("find.html", status=422 if asked else 200, asked=asked[:LONGEST], kinds=[])
    # A kind that runs somewhere and has this in its name; else it can only be a correlation id.
    snapshot = await view.site.live.of(view.tenant).now()
    known = sorted({kind for worker in snapshot.workers for kind in worker.kinds})
    if kinds := [kind for kind in known if asked.lower() in kind.lower()][:MOST_DRAWN]:
        return view.page("find.html", asked=asked, kinds=kinds)
    return view.see("/jobs", correlation=asked)


def _story(view: View, lines: list[TrailLine]) -> object:
    """Draw what has happened; what is still to come would press it all into a corner, and stands in the table."""
    past = [line for line in lines if line.at <= view.clock.now]
    bars = [
        Bar(
            f"{view.words.gettext(line.source)} {line.what}",
            line.at,
            None,
            "bad" if line.state in BAD else "ok" if line.state in GOOD else "accent",
            view.words.gettext(line.state),
        )
        for line in past[:MOST_DRAWN]
    ]
    return draw.timeline(view.words.gettext("Trail"), bars, view.clock.tick)
