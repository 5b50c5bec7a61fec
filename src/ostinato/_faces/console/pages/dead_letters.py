"""Dead letters: jobs that are not retried any more, grouped by what went wrong."""

from typing import Annotated

from fastapi import Query, Response

from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine import inspect, jobs
from ostinato._faces.api.permissions import CONSOLE_READ, ENGINE_WRITE
from ostinato._faces.console.pages.filters import whole
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking

pages = Pages()

PAGE = 50
MOST_GROUPS = 200
MOST_AT_ONCE = 10_000
Text = Annotated[str, Query(max_length=500)]


@pages.page("/dead-letters", needs=CONSOLE_READ)
async def groups(view: Looking) -> Response:
    """Show the causes, the largest first."""
    async with view.reading() as conn:
        found = await inspect.dead_letter_groups(conn, most=MOST_GROUPS)
    return view.page("dead_letters.html", groups=found, may_act=view.may(ENGINE_WRITE))


@pages.page("/dead-letters/cause", needs=CONSOLE_READ)
async def cause(
    view: Looking, *, signature: Text, kind: Text = "", before: Annotated[int | None, Query(ge=1, lt=2**63)] = None
) -> Response:
    """Show the dead letters of one cause."""
    async with view.reading() as conn:
        rows = await inspect.list_dead_letters(
            conn, signature=signature, kind=kind or None, tenant_id=view.tenant, before=before, most=PAGE + 1
        )
    older = rows[PAGE - 1].job_id if len(rows) > PAGE else None
    return view.page(
        "dead_letter_cause.html",
        letters=rows[:PAGE],
        signature=signature,
        kind=kind,
        older=older,
        first=before is None,
        may_act=view.may(ENGINE_WRITE),
    )


@pages.action("/dead-letters/redrive", needs=ENGINE_WRITE)
async def redrive(view: Looking) -> Response:
    """Run some dead letters of a cause again: one first, then more."""
    given = view.form.get("most", "1")
    if not 1 <= (most := whole(given)) <= MOST_AT_ONCE:
        raise InvalidInput(f"{given[:20]!r} dead letters cannot be run again", hint=f"Choose 1 to {MOST_AT_ONCE:,}.")
    async with view.acting() as conn:
        found = await jobs.redrive(
            conn, kind=view.form.get("kind") or None, signature=view.form.get("signature"), most=most
        )
    words = view.words
    said = words.ngettext("%(n)s dead letter runs again.", "%(n)s dead letters run again.", found.redriven)
    return view.see(
        "/dead-letters/cause",
        said % {"n": words.number(found.redriven)},
        signature=view.form.get("signature", ""),
        kind=view.form.get("kind", ""),
    )
