"""Bulk actions: a preview, a job that does it with its progress, and what was refused."""

import json
from typing import Annotated, cast, get_args

from fastapi import Query, Response

from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine import bulk, inspect
from ostinato._core.engine.bulk import Verb
from ostinato._faces.api.permissions import CONSOLE_READ, ENGINE_WRITE
from ostinato._faces.api.views import JobId
from ostinato._faces.console.pages.filters import Chosen, Filter
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking
from ostinato._faces.console.words import N_

pages = Pages()

PAGE = 50
VERBS = get_args(Verb)
TITLES = {
    "cancel": N_("Cancel jobs"),
    "retry": N_("Run jobs now"),
    "discard": N_("Discard dead letters"),
    "redrive": N_("Run dead letters again"),
}
DONE = {
    "cancel": N_("Cancelled so far"),
    "retry": N_("Sent to run"),
    "discard": N_("Discarded so far"),
    "redrive": N_("Sent to run again"),
}
"""What was done to the jobs: of one that is sent to run nobody knows yet whether it will be done."""
EFFECTS = {
    "cancel": N_("Jobs that wait are cancelled at once; those that run are asked to stop."),
    "retry": N_("Jobs that wait for their time, dead letters and, if you chose that state, cancelled jobs run now."),
    "discard": N_("The dead letters are given up, and leave the list. They can be run again one by one."),
    "redrive": N_("The dead letters run again, oldest first."),
}
CANARY = N_("One dead letter runs first, then ten, then the rest. It stops by itself when they fail again.")
NAMES = {"tenant_id": "tenant", "correlation_id": "correlation", "text": "args"}
"""How a form names the fields of a filter, where the engine has other names."""
STANDINGS = (N_("stopped"), N_("halted"))
Page = Annotated[int | None, Query(ge=1, lt=2**63)]


@pages.page("/bulk", needs=CONSOLE_READ)
async def list_bulks(view: Looking, *, before: Page = None) -> Response:
    """Show the bulk actions, newest first."""
    async with view.reading() as conn:
        rows = await bulk.list_(conn, before=before, most=PAGE + 1)
    older = rows[PAGE - 1].id if len(rows) > PAGE else None
    return view.page("bulks.html", bulks=rows[:PAGE], older=older, first=before is None, titles=TITLES)


@pages.page("/bulk/new", needs=CONSOLE_READ)
async def preview(view: Looking, chosen: Chosen, *, verb: str = "", canary: str = "") -> Response:
    """Show how many jobs a bulk action would meet, and five of them."""
    ENGINE_WRITE.check(view.roles)
    checked = verb_of(verb)
    which = chosen.search(view)
    async with view.reading() as conn:
        found = await bulk.preview(conn, checked, which, state=chosen.asked_state)
        samples = [await inspect.show_job(conn, job_id) for job_id in found.samples]
    return view.page(
        "bulk_new.html",
        verb=checked,
        title=TITLES[checked],
        effect=CANARY if canary else EFFECTS[checked],
        canary=bool(canary),
        chosen=chosen,
        found=found,
        samples=samples,
    )


@pages.action("/bulk", needs=ENGINE_WRITE)
async def start(view: Looking) -> Response:
    """Start a bulk action."""
    checked, chosen = verb_of(view.form.get("verb", "")), Filter.of(view.form)
    canary = bool(view.form.get("canary"))
    async with view.acting() as conn:
        given = {"state": chosen.asked_state, "canary": canary, "reason": view.reason}
        started = await bulk.start(conn, checked, chosen.search(view), **given)  # type: ignore[arg-type]
    return view.see(f"/bulk/{started}", view.words.gettext("The bulk action has started."))


@pages.page("/bulk/{bulk_id:digits}", needs=CONSOLE_READ)
async def show(view: Looking, bulk_id: JobId) -> Response:
    """Show one bulk action: how far it is, and what it left as it is."""
    async with view.reading() as conn:
        found = await bulk.show(conn, bulk_id)
        refused = await bulk.refusals(conn, bulk_id)
    return view.page(
        "bulk.html",
        bulk=found,
        title=TITLES[found.verb],
        done=DONE[found.verb],
        shown=_shown(found.filter, may_see=view.may(ENGINE_WRITE)),
        again={"verb": found.verb, "canary": 1 if found.canary else None, **_typed(found.filter)},
        refused=refused,
        may_act=view.may(ENGINE_WRITE),
    )


@pages.action("/bulk/{bulk_id:digits}/stop", needs=ENGINE_WRITE)
async def stop(view: Looking, bulk_id: JobId) -> Response:
    """Stop a bulk action after the batch that is on."""
    async with view.acting() as conn:
        was = await bulk.stop(conn, bulk_id)
    words = view.words.gettext
    said = words("The bulk action is stopped.") if was == "running" else words("The bulk action had ended already.")
    return view.see(f"/bulk/{bulk_id}", said)


def verb_of(text: str) -> Verb:
    """Return the verb of a bulk action."""
    if text not in VERBS:
        raise InvalidInput(f"there is no bulk action {text[:40]!r}", hint=f"Choose one of: {', '.join(VERBS)}.")
    return cast("Verb", text)


def _typed(which: dict[str, object]) -> dict[str, str]:
    """Return a filter as addresses and forms have it."""
    return {
        NAMES.get(name, name): value if isinstance(value, str) else json.dumps(value) for name, value in which.items()
    }


def _shown(which: dict[str, object], *, may_see: bool) -> dict[str, str]:
    """Return the fields of a filter, without what it says about arguments for those who may not see any."""
    return {name: value if may_see or name != "args" else "…" for name, value in _typed(which).items()}
