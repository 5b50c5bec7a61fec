"""Applications: the panels that each of them brings."""

from fastapi import Response

from ostinato._core.runtime.observe.panels import Counts, Table, panels_of
from ostinato._faces.api.permissions import CONSOLE_READ
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking

pages = Pages()


@pages.page("/apps/{name}", needs=CONSOLE_READ)
async def show_app(view: Looking, name: str) -> Response:
    """The panels of one application, with the rows that the viewer may see."""
    panels = panels_of(view.parts.apps, name)
    async with view.reading() as conn:
        read = [(panel.title, await panel.read(conn)) for panel in panels]
    return view.page("app.html", name=name, panels=read, is_counts=lambda block: isinstance(block, Counts), table=Table)
