"""`/api/v1/engine/panels` shows the panels of each application."""

from datetime import date, datetime
from typing import Annotated, Literal, TypeAlias

from fastapi import Path, Request
from pydantic import Field

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import clock
from ostinato._core.runtime.observe.blocks import Block, Cell, Counts, Facts, Link, State, Table
from ostinato._core.runtime.observe.panels import Look, panels_of
from ostinato._core.web.caller import Who
from ostinato._core.web.routes import Router
from ostinato._faces.api.jobs_http import PREFIX
from ostinato._faces.api.parts import parts_of
from ostinato._faces.api.permissions import ENGINE_READ
from ostinato._faces.api.views import MAX_NAME, View

router = Router(prefix=PREFIX, tags=["panels"])

Plain: TypeAlias = str | int | float | bool | datetime | date | None
"""A cell as JSON has it."""

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
    rows: list[list[Plain]] = Field(examples=[[["bank", "ok"]]])


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
    """Return the names of the applications that have panels, by name."""
    return PanelApps(items=[app.name for app in parts_of(request).apps if app.panels])


@router.get("/panels/{app}", needs=ENGINE_READ, raises=(NotFound,))
async def show_panels(request: Request, caller: Who, app: AppName) -> AppPanels:
    """Return the panels of one application, with the rows of the tenant only."""
    parts = parts_of(request)
    # Pages with a name have an address of their own in the console; what they show are routes of the application here.
    front = [each for each in panels_of(parts.apps, app) if not each.name and each.read is not None]
    panels = [each for each in front if each.needs is None or each.needs.allows(caller.roles)]
    async with caller.reading() as conn:
        now = await clock.now(conn)
        look = Look(caller.tenant_id, caller.subject, caller.roles, {}, now, parts.settings)
        read = [(each.title, await each.blocks(conn, look)) for each in panels]
    shown = [
        PanelView(title=title, blocks=[made for block in blocks if (made := _view(block)) is not None])
        for title, blocks in read
    ]
    return AppPanels(app=app, panels=shown)


def _view(block: Block) -> CountsView | TableView | None:
    """Return the values of a block; None for what only a page can show."""
    match block:
        case Counts():
            return CountsView(title=block.title, values=dict(block.values))
        case Table():
            rows = [[_plain(cell) for cell in row] for row in block.rows]
            return TableView(title=block.title, columns=list(block.columns), rows=rows)
        case Facts():
            pairs = [[name, _plain(cell)] for name, cell in block.values.items()]
            return TableView(title=block.title, columns=["name", "value"], rows=pairs)
        case _:
            return None


def _plain(cell: Cell) -> Plain:
    match cell:
        case Link():
            return cell.text
        case State():
            return cell.word
        case _:
            return cell
