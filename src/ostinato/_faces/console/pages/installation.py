"""The installation: leases."""

from fastapi import Response

from ostinato._core.engine import leases
from ostinato._faces.api.permissions import CONSOLE_READ
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking

pages = Pages()

MOST = 200


@pages.page("/leases", needs=CONSOLE_READ)
async def list_leases(view: Looking) -> Response:
    """Show the leases: who holds what, with which token."""
    async with view.reading() as conn:
        found = await leases.list_leases(conn, tenant=view.tenant, most=MOST)
    return view.page("leases.html", leases=found, most=MOST)
