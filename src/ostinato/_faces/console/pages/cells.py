"""The cells of the installation: how each is, and who is on the way between them."""

import asyncio

from fastapi import Response

from ostinato._core.runtime.cells import status_of
from ostinato._faces.api.permissions import CONSOLE_READ
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import HOME, Looking

pages = Pages()


@pages.page("/cells", needs=CONSOLE_READ)
async def list_cells(view: Looking) -> Response:
    """Show all cells, each with the way to its own console."""
    view.check_installation()
    found = view.parts.cells
    above = view.request.state.prefix.removesuffix(f"/cells/{view.parts.cell}")
    lines = (
        []
        if found is None
        else await asyncio.gather(*(status_of(cell, is_home=name == found.home) for name, cell in found.cells.items()))
    )
    return view.page("cells.html", lines=lines, place=lambda name: f"{above}/cells/{name}{HOME}/")
