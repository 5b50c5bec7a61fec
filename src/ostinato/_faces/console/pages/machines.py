"""Machines: each drawn, with how many rows stand in each state now."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from fastapi import Response
from markupsafe import Markup
from psycopg import AsyncConnection

from ostinato._core.base.lifecycle import JOB
from ostinato._core.base.log import get_logger
from ostinato._core.base.machine import Machine
from ostinato._core.engine import machines
from ostinato._core.engine.inspect import QueueSummary
from ostinato._core.engine.machines import Standing
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.named import named
from ostinato._faces.api.permissions import CONSOLE_READ
from ostinato._faces.console.draw_machine import draw_machine
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.text import DASH, Language
from ostinato._faces.console.view import Looking

log = get_logger("console")

pages = Pages()


@dataclass(frozen=True, slots=True)
class Drawn:
    """A machine as its page shows it."""

    machine: Machine
    owner: str
    """The application that it belongs to; empty means the engine."""
    counts: dict[str, str]
    """How many rows stand in each state, as texts."""
    drawing: Markup


@pages.page("/machines", needs=CONSOLE_READ)
async def list_machines(view: Looking) -> Response:
    """Show the state machines of the engine and of the applications."""
    words = view.words
    snapshot = await view.site.live.of(view.tenant).now()
    found = [_drawn(words, JOB, "", _of_jobs(words, snapshot.queues))]
    declared = [(app, named(place, Machine)) for app in view.parts.apps for place in app.machines]
    async with view.reading() as conn:
        for app, machine in declared:
            standing = await _standing(conn, app, machine)
            found.append(_drawn(words, machine, app.name, _counts(words, machine, standing)))
    return view.page("machines.html", machines=found)


async def _standing(conn: AsyncConnection[Any], app: App, machine: Machine) -> Sequence[Standing]:
    """Count the rows in each state: the engine does for tables that obey the machine, the application for others."""
    place = app.standing.get(machine.name)
    if place is None:
        return await machines.count_states(conn, machine.name)
    count: Callable[[AsyncConnection[Any]], Awaitable[Sequence[Standing]]] = named(place, FunctionType)
    try:
        async with conn.transaction():
            return await count(conn)
    except Exception as error:
        if conn.broken:
            raise
        log.warning("states_not_counted", machine=machine.name, error=f"{type(error).__name__}: {error}")
        return []


def _counts(words: Language, machine: Machine, standing: Sequence[Standing]) -> dict[str, str]:
    """Return the rows in each state as texts, over all tables; a dash where none is counted."""
    found: dict[str, tuple[int, bool]] = {}
    for each in standing:
        count, capped = found.get(each.state, (0, False))
        found[each.state] = (count + each.count, capped or each.capped)
    return {state: _count(words, *found[state]) if state in found else DASH for state in machine.states}


def _of_jobs(words: Language, queues: Sequence[QueueSummary]) -> dict[str, str]:
    """Count the jobs that are not in the history, as the page Queues has them."""
    counted = ("ready", "scheduled", "running", "dead")
    return {
        state: _count(words, sum(getattr(queue, state) for queue in queues), any(state in q.capped for q in queues))
        if state in counted
        else DASH
        for state in JOB.states
    }


def _count(words: Language, count: int, capped: bool) -> str:  # noqa: FBT001 - a fact of the count
    return f"≥ {words.number(count)}" if capped else words.number(count)


def _drawn(words: Language, machine: Machine, owner: str, counts: dict[str, str]) -> Drawn:
    title = words.gettext("The machine %(name)s: its states, and what leads from one to another") % {
        "name": machine.name
    }
    return Drawn(machine, owner, counts, draw_machine(title, machine, counts))
