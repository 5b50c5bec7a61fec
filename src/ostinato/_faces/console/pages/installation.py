"""The installation: leases, and how one is taken away from a holder that is gone."""

from typing import Annotated

from fastapi import Query, Response

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import leases
from ostinato._faces.api.permissions import CONSOLE_READ, ENGINE_WRITE
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking

pages = Pages()

PAGE = 50
Text = Annotated[str, Query(max_length=200)]


@pages.page("/leases", needs=CONSOLE_READ)
async def list_leases(view: Looking, *, prefix: Text = "", tenant: Text = "", name: Text = "") -> Response:
    """Show the leases: who holds what, with which token; `tenant` and `name` are the last of the page before."""
    async with view.reading() as conn:
        found = await leases.list_leases(
            conn, prefix=prefix.strip(), tenant=view.tenant, after=(tenant, name), most=PAGE + 1
        )
    return view.page(
        "leases.html",
        leases=found[:PAGE],
        prefix=prefix.strip(),
        more=len(found) > PAGE,
        first=not name,
        may_act=view.may(ENGINE_WRITE),
    )


@pages.action("/leases/{tenant:named}/{name:named}/release", needs=ENGINE_WRITE)
async def release(view: Looking, tenant: str, name: str) -> Response:
    """Take a lease away; one that is held only if the form says that this is meant."""
    if view.tenant not in {None, tenant}:
        raise NotFound(f"nobody has a lease {name[:100]!r}", hint="The page Leases lists those that are held.")
    async with view.acting() as conn:
        released = await leases.force_release(conn, name, tenant=tenant, force=view.form.get("force") == "1")
    words = view.words.gettext
    if not released:
        return view.see("/leases", words("Nobody has this lease any more."), bad=True)
    return view.see("/leases", words("The lease is free; its last holder is refused from now on."))
