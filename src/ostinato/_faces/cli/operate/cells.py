"""`ostinato cells …`: the databases that tenants live in, and which lives where."""

from dataclasses import dataclass
from typing import Annotated

from rich.text import Text

from ostinato._core.base.cellmap import read_cells
from ostinato._core.base.errors import Conflict, DatabaseUnavailable
from ostinato._core.engine import cell_setup, moves
from ostinato._core.engine import cells as engine
from ostinato._core.runtime.cells import CellStatus, status_of
from ostinato._faces.cli.frame import attach
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.options import argument, option
from ostinato._faces.cli.frame.output import table
from ostinato._faces.cli.frame.verbs import commands
from ostinato._faces.cli.operate.tenant_moves import schemas_of, sides

Tenant = Annotated[str, argument("TENANT", "Who.")]


def list_(cli: Cli) -> None:
    """List the cells: whether each answers, its workers and jobs, and who is on the way.

    Example: `ostinato cells list`
    """

    async def work() -> list[CellStatus]:
        found = read_cells(cli.settings)
        return [await status_of(cell, is_home=name == found.home) for name, cell in found.cells.items()]

    lines = attach.run(work())
    shown = table("cell", "number", "state", "workers", "ready", "running", "dead", "moving", "left", right=("number",))
    for line in lines:
        figures = (line.workers, line.ready, line.running, line.dead, len(line.moving), line.left)
        name = f"{line.name} (home)" if line.is_home else line.name
        shown.add_row(name, str(line.number), line.error or "ok", *(f"{figure:,}" for figure in figures))
    cli.out.show({"cells": lines}, shown)
    for line in lines:
        for place in line.moving:
            cli.out.warn(
                f"{place.tenant_id} is {place.state} in {line.name} since {place.changed_at:%Y-%m-%d %H:%M:%S}."
            )


def where(cli: Cli, tenant: Tenant) -> None:
    """Say in which cell a tenant lives, and what each cell knows of it.

    Example: `ostinato cells where acme`
    """

    async def work() -> tuple[str, dict[str, engine.Place | None]]:
        found = read_cells(cli.settings)
        async with sides(found) as side:

            async def ask(name: str) -> engine.Place | None:
                return await engine.place((await side(name)).conn, tenant)

            said = {}
            for name in found.cells:
                try:
                    said[name] = await ask(name)
                except DatabaseUnavailable as error:  # for tenants of that cell, this is the answer below
                    cli.out.warn(f"{name} is away: {error.message}")
            return await moves.where(tenant, found.home, ask), said

    cell, said = attach.run(work())
    lines = [f"  {name}: {place.state}, {place.cell}" for name, place in said.items() if place is not None]
    cli.out.show(
        {"tenant": tenant, "cell": cell, "known": said}, Text("\n".join([f"{tenant} lives in {cell}", *lines]))
    )


def place(cli: Cli, tenant: Tenant, *, cell: Annotated[str, option("CELL", "Where it will live.", "--in")]) -> None:
    """Say where a tenant will live that has nothing yet; one that has is moved (`ostinato tenants move`).

    Without it, a new tenant lives at home.

    Example: `ostinato cells place globex --in two`
    """

    async def work() -> None:
        found = read_cells(cli.settings)
        found.cell(cell)
        async with sides(found) as side:
            for name in found.cells:
                conn = (await side(name)).conn
                if await engine.place(conn, tenant) is not None or await engine.knows(conn, tenant):
                    raise Conflict(
                        f"{tenant} is known in the cell {name}", hint=f"ostinato tenants move {tenant} --to {cell}"
                    )
            if cell != found.home:
                await engine.set_place((await side(found.home)).conn, tenant, "left", cell)
                await engine.set_place((await side(cell)).conn, tenant, "here", found.home)  # it says so without home

    attach.run(work())
    cli.out.show({"tenant": tenant, "cell": cell}, Text(f"{tenant} lives in {cell}."))


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was done to a cell."""

    cell: str
    sequences: int
    took_secret: bool


def init(cli: Cli) -> None:
    """Make the databases of the map cells: ids of their own, and the home's secret for hashes.

    Migrate each first (`ostinato db migrate` with its URLs), and do it before the first job. It may be repeated.

    Example: `ostinato cells init`
    """

    async def work() -> list[Prepared]:
        found, schemas = read_cells(cli.settings), schemas_of(cli)
        done = []
        async with sides(found) as side:
            home = (await side(found.home)).conn
            for name, cell in found.cells.items():
                conn = (await side(name)).conn
                took = name != found.home and await cell_setup.share_secrets(home, conn, schemas)
                done.append(Prepared(name, await cell_setup.number_ids(conn, cell.number, schemas), took))
        return done

    done = attach.run(work())
    shown = table("cell", "sequences changed", "took the home's secret")
    for line in done:
        shown.add_row(line.cell, f"{line.sequences:,}", "yes" if line.took_secret else "no")
    cli.out.show({"cells": done}, shown)


register = commands(list_, where, place, init)
