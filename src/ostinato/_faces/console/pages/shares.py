"""Shares: which tenants' jobs wait and run in a queue."""

from typing import Annotated

from fastapi import Path, Response

from ostinato._core.engine import shares
from ostinato._faces.api.permissions import CONSOLE_READ
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking

pages = Pages()


@pages.page("/queues/{name:named}/tenants", needs=CONSOLE_READ)
async def show_shares(view: Looking, name: Annotated[str, Path(max_length=200)]) -> Response:
    """Show the share of each tenant in one queue; a tenant sees its own."""
    async with view.reading() as conn:
        found = await shares.queue_shares(conn, name)
    total = sum(share.waiting for share in found)
    return view.page("shares.html", name=name, shares=found, total=total)
