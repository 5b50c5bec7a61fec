"""`/api/v1/engine/panels` shows the panels of each application."""

from typing import Annotated, Literal

from fastapi import Path, Request
from pydantic import Field

from ostinato._core.base.errors import NotFound
from ostinato._core.runtime.observe.panels import Block, Cell, Counts, Table, panels_of
from ostinato._core.web.caller import Who
from ostinato._core.web.routes import Router
from ostinato._faces.api.jobs_http import PREFIX
from ostinato._faces.api.parts import parts_of
from ostinato._faces.api.permissions import ENGINE_READ
from ostinato._faces.api.views import MAX_NAME, View

router = Router(prefix=PREFIX, tags=["panels"])

AppName = Annotated[
    str, Path(min_length=1, max_length=MAX_NAME, description="The name of an application.", examples=["billing"])
]


class CountsView(View):
    """Numbers by name."""

    type: Literal["counts"] = "counts"
    title: str = Field(examples=["Requests by status"])
    values: dict[str, int | float] = Field(examples=[{"SUCCESS": 12, "FAILED": 1}])


class TableView(View):
    """Rows below named columns."""

    type: Literal["table"] = "table"
    title: str = Field(examples=["Sources"])
    columns: list[str] = Field(examples=[["source", "state"]])
    rows: list[list[Cell]] = Field(examples=[[["bank", "ok"]]])


class PanelView(View):
    """A panel: its title and its blocks, from top to bottom."""

    title: str = Field(examples=["Billing"])
    blocks: list[Annotated[CountsView | TableView, Field(discriminator="type")]]


class AppPanels(View):
    """The panels of an application."""

    app: str = Field(examples=["billing"])
    panels: list[PanelView]


class PanelApps(View):
    """The applications that have panels."""

    items: list[str] = Field(examples=[["billing"]])


@router.get("/panels", needs=ENGINE_READ)
async def list_panels(request: Request) -> PanelApps:
    """The names of the applications that have panels, by name."""
    return PanelApps(items=[app.name for app in parts_of(request).apps if app.panels])


@router.get("/panels/{app}", needs=ENGINE_READ, raises=(NotFound,))
async def show_panels(request: Request, caller: Who, app: AppName) -> AppPanels:
    """The panels of one application, with the rows of the tenant only."""
    panels = panels_of(parts_of(request).apps, app)
    async with caller.transaction() as conn:
        read = [(each.title, await each.read(conn)) for each in panels]
    shown = [PanelView(title=title, blocks=[_view(block) for block in blocks]) for title, blocks in read]
    return AppPanels(app=app, panels=shown)


def _view(block: Block) -> CountsView | TableView:
    match block:
        case Counts():
            return CountsView(title=block.title, values=dict(block.values))
        case Table():
            rows = [list(row) for row in block.rows]
            return TableView(title=block.title, columns=list(block.columns), rows=rows)
