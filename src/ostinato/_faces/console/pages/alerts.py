"""Alerts: what fires and what to do about it; who has seen it, and what is silenced for a while."""

from datetime import timedelta
from typing import Annotated, Literal

from fastapi import Path, Query, Response

from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine import alerts
from ostinato._faces.api.permissions import CONSOLE_READ, ENGINE_WRITE
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking, View
from ostinato._faces.console.words import N_

pages = Pages()

PAGE = 50
MOST_OPEN = 200
LENGTHS = {
    "1h": (N_("one hour"), timedelta(hours=1)),
    "4h": (N_("four hours"), timedelta(hours=4)),
    "1d": (N_("one day"), timedelta(days=1)),
    "7d": (N_("one week"), timedelta(days=7)),
}
"""How long an alert may be silenced from a page."""


@pages.page("/alerts", needs=CONSOLE_READ)
async def list_alerts(view: Looking, *, before: Annotated[int | None, Query(ge=1, lt=2**63)] = None) -> Response:
    """Show what fires, what is silenced, what is watched, and what fired before."""
    async with view.reading() as conn:
        if view.tenant is None:
            lines = await alerts.list_alerts(conn)
            bad = await alerts.firings(conn, only_open=True, most=MOST_OPEN)
            past = await alerts.firings(conn, before=before, most=PAGE + 1)
        else:
            lines = await alerts.own_alerts(conn)
            bad = await alerts.own_firings(conn, only_open=True, most=MOST_OPEN)
            past = await alerts.own_firings(conn, before=before, most=PAGE + 1)
        silences = await alerts.list_silences(conn)
    remedies = {line.name: line for line in lines}
    return view.page(
        "alerts.html",
        alerts=lines,
        bad=bad,
        past=past[:PAGE],
        older=past[PAGE - 1].id if len(past) > PAGE else None,
        first=before is None,
        silences=silences,
        remedies=remedies,
        lengths=LENGTHS,
        may_act=view.may(ENGINE_WRITE),
    )


@pages.action("/alerts/{name:named}/{verb}", needs=ENGINE_WRITE)
async def act(
    view: Looking, name: Annotated[str, Path(max_length=200)], verb: Literal["ack", "silence", "unsilence"]
) -> Response:
    """Acknowledge an alert, silence it for a while, or end a silence."""
    words = view.words
    label = view.form.get("label") if view.form.get("one") else None
    async with view.acting() as conn:
        match verb:
            case "ack":
                await alerts.acknowledge(conn, name, label=label)
                said = words.gettext("You have seen it; it fires on.")
            case "silence":
                until = view.now + _length(view)
                await alerts.silence(conn, name, until=until, reason=view.reason or "", label=label)
                said = words.gettext("Nothing is sent about it until %(time)s.") % {"time": view.clock.time(until)}
            case _:
                await alerts.unsilence(conn, name, label=label)
                said = words.gettext("Its events are sent again.")
    return view.see("/alerts", said)


def _length(view: View) -> timedelta:
    given = view.form.get("lasting", "")
    if given not in LENGTHS:
        raise InvalidInput(f"{given[:20]!r} is no length of a silence", hint=f"Choose one of: {', '.join(LENGTHS)}.")
    return LENGTHS[given][1]
