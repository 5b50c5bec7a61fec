"""Applications: the pages that each of them brings as panels, their verbs, and their files."""

import calendar
import io
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Annotated

from fastapi import Path as InPath
from fastapi import Response
from fastapi.responses import StreamingResponse

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import audit
from ostinato._core.runtime.observe.blocks import Block, Calendar, Chart, Timeline
from ostinato._core.runtime.observe.panels import File, Look, Panel, Verb, panels_of
from ostinato._faces.api.permissions import CONSOLE_READ
from ostinato._faces.api.views import MAX_NAME
from ostinato._faces.console import draw
from ostinato._faces.console.pages.schedules import moved
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.signing import inside
from ostinato._faces.console.view import Looking, View

Name = Annotated[str, InPath(min_length=1, max_length=MAX_NAME)]


LINES = ("a", "b", "c")
TICKS = 3
PICTURES = {"image/jpeg": b"\xff\xd8\xff", "image/png": b"\x89PNG\r\n\x1a\n"}
"""What is shown in the page: the bytes that such a file begins with."""
CHUNK = 1 << 20
OFFERED = ("application/pdf", "text/plain")
TAKEN = frozenset({"token", "next", "tenant", "reason"})
"""Fields of a form that are the console's own."""
POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"

pages = Pages()


@pages.page("/apps/{name}", needs=CONSOLE_READ)
async def show_app(view: Looking, name: Name) -> Response:
    """Show the first page of an application: its panels without a name."""
    panels = panels_of(view.parts.apps, name)
    front = [panel for panel in panels if not panel.name and panel.read is not None]
    if front and not any(may_see(view, panel) for panel in front):
        (front[0].needs or CONSOLE_READ).check(view.roles)
    front = [panel for panel in front if may_see(view, panel)]
    return await _drawn(view, name, "", front)


@pages.page("/apps/{name}/{page}", needs=CONSOLE_READ)
async def show_page(view: Looking, name: Name, page: Name) -> Response:
    """Show one page of an application."""
    panels = panels_of(view.parts.apps, name)
    found = [panel for panel in panels if panel.name == page and panel.read is not None]
    if not found:
        raise NotFound(f"the application {name!r} has no page {page!r}")
    for panel in found:
        (panel.needs or CONSOLE_READ).check(view.roles)
    return await _drawn(view, name, page, found)


@pages.page("/apps/{name}/file/{file}", needs=CONSOLE_READ)
async def show_file(view: Looking, name: Name, file: Name) -> Response:
    """Serve a file of a panel: read by the application, from its own rows or its own folders."""
    panel = next((each for each in panels_of(view.parts.apps, name) if file in each.files), None)
    if panel is None:
        raise NotFound(f"the application {name!r} has no file {file!r}")
    (panel.needs or CONSOLE_READ).check(view.roles)
    async with view.reading() as conn:
        found = await panel.files[file](conn, look_of(view, name))
    return file_response(found)


@pages.action("/apps/{name}/do/{verb}", needs=CONSOLE_READ)
async def act(view: Looking, name: Name, verb: Name) -> Response:
    """Do what a button of an application says; the audit records who, what and on which values."""
    found = _verb(panels_of(view.parts.apps, name), name, verb)
    found.needs.check(view.roles)
    tenant = acting_tenant(view)
    given = {key: value for key, value in view.form.items() if key not in TAKEN}
    look = look_of(view, name, tenant_id=tenant, asked=given)
    as_worker = found.by_installation and view.sees_all
    async with view.administering() if as_worker else view.caller(tenant).transaction() as conn:
        await audit.act_as(conn, reason=view.reason)
        said = await found.act(conn, look)
        target = " ".join(given.values())[:500] or None
        await audit.note(conn, verb, name, target, tenant_id=tenant if as_worker else None)
    return answered(view, said, f"/apps/{name}")


def may_see(view: View, panel: Panel) -> bool:
    """Return whether the viewer may see a panel."""
    return view.may(panel.needs or CONSOLE_READ)


def may_do(view: View, panels: Iterable[Panel]) -> set[str]:
    """Return the verbs of an application that the viewer may use."""
    return {verb for panel in panels for verb, each in panel.verbs.items() if view.may(each.needs)}


def look_of(view: View, app: str, *, tenant_id: str | None = None, asked: dict[str, str] | None = None) -> Look:
    """Return the viewer, as a panel of an application knows it."""
    assert view.visit is not None  # noqa: S101 - only pages for signed-in people ask
    values = dict(view.request.query_params) if asked is None else asked
    return Look(
        tenant_id or view.tenant,
        view.visit.session.subject,
        view.roles,
        values,
        view.now,
        view.parts.settings,
        view.words_of(app).gettext,
    )


def acting_tenant(view: View) -> str:
    """Return the tenant that a form is about: one's own, or for the installation the one that the form names."""
    named = view.form.get("tenant", "")
    if view.tenant is not None:
        if named not in {"", view.tenant}:
            raise NotFound(f"there is no tenant {named[:100]!r} here")
        return view.tenant
    if not named or not view.sees_all:
        raise NotFound("the form does not say which tenant it is about", hint="Load its page again.")
    return named


def answered(view: View, said: str, otherwise: str) -> Response:
    """Answer a form: go back to the page that it came from, which shows `said` once."""
    response = view.see(otherwise, said)
    if given := view.form.get("next", ""):
        response.headers["location"] = inside(view, given)
    return response


def file_response(found: File) -> Response:
    """Answer with a file that can do nothing in a browser: a picture as one, all else to be kept."""
    begins = PICTURES.get(found.type)
    if begins is None and found.type not in OFFERED:
        raise NotFound(f"files of the type {found.type!r} are not served")
    file = io.BytesIO(found.content) if isinstance(found.content, bytes) else _plain(found.content)
    start = file.read(CHUNK)
    if begins is not None and not start.startswith(begins):
        file.close()
        raise NotFound("the file is no picture")
    name = "".join(each if each.isascii() and (each.isalnum() or each in "-_.") else "_" for each in found.name)
    headers = {
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
        "Content-Disposition": f'{"inline" if begins else "attachment"}; filename="{name[:120]}"',
    }
    return StreamingResponse(_chunks(start, file), headers=headers, media_type=found.type)


def _chunks(start: bytes, file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while start:
            yield start
            start = file.read(CHUNK)


def _plain(path: Path) -> IO[bytes]:
    """Open a plain file: never through a link, never waiting for a FIFO."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        raise NotFound(
            "the file is not on this machine, or is gone", hint="Ask on the machine of the worker that keeps it."
        ) from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise NotFound("there is no plain file")
    return os.fdopen(number, "rb")


def _verb(panels: list[Panel], name: str, verb: str) -> Verb:
    for panel in panels:
        if verb in panel.verbs:
            return panel.verbs[verb]
    raise NotFound(f"the application {name!r} has no action {verb!r}")


async def _drawn(view: View, name: str, page: str, panels: list[Panel]) -> Response:
    look = look_of(view, name)
    async with view.reading() as conn:
        read = [(panel.title, await panel.blocks(conn, look)) for panel in panels]
    everything = panels_of(view.parts.apps, name)
    tabs = [each for each in everything if each.name and each.listed and each.read and may_see(view, each)]
    may = may_do(view, everything)
    return view.page("app.html", name=name, page=page, panels=read, tabs=tabs, may_do=may, drawn=Drawn(view))


class Drawn:
    """Draws the blocks that are more than text."""

    def __init__(self, view: View) -> None:
        self._view = view

    def say(self, app: str, text: str) -> str:
        """Return a text of an application in the reader's language: by its own catalogue, then by ours."""
        return self._view.words_of(app).gettext(text) if text else ""

    def drawing(self, block: Block, app: str) -> object:
        """Draw a chart or a time line, as SVG."""
        view = self._view
        title = self.say(app, block.title) if isinstance(block, Chart | Timeline) else ""
        if isinstance(block, Chart):
            lines = [
                draw.Line(name, list(values), LINES[i % len(LINES)], filled=i == 0)
                for i, (name, values) in enumerate(block.lines.items())
            ]
            ticks = draw.ticks_of(block.first, block.last, TICKS, view.clock.time)
            return draw.chart(title, lines, ticks, view.words.number)
        if isinstance(block, Timeline):
            bars = [
                draw.Bar(self.say(app, each.row), each.at, each.until, each.tone, each.note) for each in block.moments
            ]
            return draw.timeline(title, bars, view.clock.tick)
        return ""

    def weeks(self, block: Calendar) -> object:
        """Return the weeks of a calendar, with what is on each day."""
        weeks = calendar.Calendar().monthdatescalendar(block.month.year, block.month.month)
        return [
            [(day, day.month == block.month.month, moved(day, block.zone), block.days.get(day, ())) for day in week]
            for week in weeks
        ]

    def to(self, app: str, to: str, asked: dict[str, object] | None = None) -> str:
        """Return the address that a link of an application leads to."""
        path = to if to.startswith("/") else f"/apps/{app}/{to}" if to else f"/apps/{app}"
        return self._view.at(path, **(asked or {}))
