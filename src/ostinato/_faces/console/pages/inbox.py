"""Inbox: everything that waits for a person, from every application, decided by one key."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query, Response

from ostinato._core.base.log import get_logger
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.observe.blocks import Item
from ostinato._core.runtime.observe.panels import Panel, all_panels, panels_of
from ostinato._faces.api.permissions import CONSOLE_READ
from ostinato._faces.console.pages.apps import Drawn, look_of, may_do, may_see
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking, View

log = get_logger("console")

SHOWN = 50
"""Items that are listed below the one that is decided."""

pages = Pages()


@dataclass(frozen=True, slots=True)
class Waiting:
    """An item, and the panel that it comes from."""

    app: str
    panel: Panel
    item: Item
    id: str
    """What the address names it by."""


@pages.page("/inbox", needs=CONSOLE_READ)
async def inbox(view: Looking, *, item: Annotated[str, Query(max_length=400)] = "") -> Response:
    """Show one item with its choices, and the others that wait; `item` may be a panel, for the first of its items."""
    found, unread = await _items(view)
    at = next((i for i, each in enumerate(found) if f"{each.id}/".startswith(f"{item}/")), None)
    gone = bool(item) and at is None and bool(found)
    place = at or 0
    chosen = found[place] if found else None
    after = found[place + 1] if place + 1 < len(found) else None
    before = found[place - 1] if place else None
    may = set() if chosen is None else may_do(view, panels_of(view.parts.apps, chosen.app))
    return view.page(
        "inbox.html",
        found=found,
        shown=found[:SHOWN],
        chosen=chosen,
        place=place,
        before=before,
        after=after,
        gone=gone,
        unread=unread,
        may_do=may,
        drawn=Drawn(view),
    )


def waiting(apps: Iterable[App]) -> dict[str, tuple[str, Panel]]:
    """Return the panels that add to the inbox, with the names of their applications."""
    return {
        f"{app.name}/{number}": (app.name, panel)
        for app in apps
        for number, panel in enumerate(all_panels(app))
        if panel.items is not None
    }


async def _items(view: View) -> tuple[list[Waiting], list[str]]:
    """Return what waits, oldest first, and the applications that could not be asked."""
    found: list[Waiting] = []
    unread: list[str] = []
    async with view.reading() as conn:
        for key, (app, panel) in waiting(view.parts.apps).items():
            if panel.items is None or not may_see(view, panel):
                continue
            try:
                async with conn.transaction():
                    items = await panel.items(conn, look_of(view, app))
            except Exception as error:
                if conn.broken:
                    raise
                log.warning("items_not_read", panel=key, error=f"{type(error).__name__}: {error}")
                unread.append(app)
                continue
            found += [Waiting(app, panel, each, f"{key}/{each.key}") for each in items]
    return sorted(found, key=lambda each: (each.item.since, each.id)), unread
