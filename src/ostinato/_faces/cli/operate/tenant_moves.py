"""`ostinato tenants move`, and what it shares with `ostinato cells`: connections to cells as an administrator."""

import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Annotated

from rich.text import Text

from ostinato._core.base.cellmap import Cell, CellMap, read_cells
from ostinato._core.base.errors import Conflict, DatabaseUnavailable
from ostinato._core.db.backup import server
from ostinato._core.db.hostbell import own_folder
from ostinato._core.engine import cell_setup, cells, moves
from ostinato._core.engine.moves import Move, Moved, Side
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.options import argument, flag, option
from ostinato._faces.cli.frame.schema import components

DONE = {
    "drain": "no job of it is started any more",
    "expect": "the other cell expects it",
    "close": "nothing of it begins any more",
    "dump": "its rows are in a file",
    "load": "the other cell serves it",
    "point": "callers are sent there",
    "remove": "its rows are gone where it was",
}


def move(
    cli: Cli,
    tenant: Annotated[str, argument("TENANT", "Who moves.")],
    *,
    to: Annotated[str, option("CELL", "Where to.", "--to")],
    wait: Annotated[float, option("SECONDS", "For jobs and transactions to end.", "--wait")] = 60.0,
    give_up: Annotated[
        bool, flag("Give an interrupted move up: the tenant goes on where it was.", "--give-up")
    ] = False,
) -> None:
    """Move a tenant to another cell: pause it, copy it, switch, resume.

    Repeat it after an interruption: it goes on where it stopped. What fails before the switch is given up by
    itself, and the tenant goes on where it is. Jobs that run get the time to end. Needs a superuser in both cells
    (backup_url or admin_url), or the right to set session_replication_role.

    Example: `ostinato tenants move acme --to two`
    """

    async def work() -> Moved | None:
        found = read_cells(cli.settings)
        found.cell(to)
        async with sides(found) as open_side:
            source = await where_to_move(found, tenant, open_side, to)
            folder = _folder(f"ostinato-move-{source.name}-{to}")
            made = Move(
                tenant,
                source,
                await open_side(to),
                await open_side(found.home),
                file=folder / f"{tenant.encode().hex()}.gz",
                schemas=schemas_of(cli),
                wait_seconds=wait,
                step=lambda name: cli.out.note(f"{name}: {DONE[name]}"),
            )
            if not give_up:
                return await made.run()
            if (begun := await made.under_way()) is None:
                raise Conflict(f"no move of {tenant} to {to} is under way", hint="Nothing is to be given up.")
            await made.give_up(begun)
            return None

    moved = attach.run(work())
    if moved is None:
        cli.out.show({"tenant": tenant, "given_up": True}, Text(f"Given up: {tenant} goes on where it was."))
        return
    said = (
        f"Moved: {tenant} from {moved.source} to {moved.target}, {words.counted(moved.rows, 'row')}. No job of it was"
        f" started for {moved.jobs_paused:.2f} s; it could not be asked for {moved.callers_paused:.2f} s of that."
    )
    cli.out.show(moved, Text(said))


def _folder(name: str) -> Path:
    """Return a folder of this user's own for the rows on their way: its owner could replace them."""
    try:
        return own_folder(Path(tempfile.gettempdir()) / name)
    except OSError as error:
        raise Conflict(
            f"there is no place for the rows of the tenant: {error}", hint="Name a folder of your own in TMPDIR."
        ) from None


async def where_to_move(found: CellMap, tenant: str, open_side: "Opener", to: str) -> Side:
    """Return the cell that a tenant leaves, or left in a move that is not finished."""
    for name in found.cells:
        try:
            place = await cells.place((await open_side(name)).conn, tenant)
        except DatabaseUnavailable:  # for tenants of that cell, home answers below
            continue
        if place is not None and place.state in ("draining", "closed", "leaving"):
            if place.cell != to:
                raise Conflict(
                    f"a move of {tenant} from {name} to {place.cell} was begun and not finished",
                    hint=f"ostinato tenants move {tenant} --to {place.cell}, or with --give-up",
                )
            return await open_side(name)

    async def ask(name: str) -> cells.Place | None:
        return await cells.place((await open_side(name)).conn, tenant)

    source = await moves.where(tenant, found.home, ask)
    if source == to:
        raise Conflict(f"{tenant} lives in the cell {to}", hint="There is nothing to move.")
    return await open_side(source)


class Opener:
    """Opens a connection to each cell that is asked for, once."""

    def __init__(self, found: CellMap, stack: AsyncExitStack) -> None:
        self._found, self._stack = found, stack
        self._open: dict[str, Side] = {}

    async def __call__(self, name: str) -> Side:
        if name not in self._open:
            cell = self._found.cell(name)
            conn = await self._stack.enter_async_context(await server.connect(url_of(cell)))
            await cell_setup.check_number(conn, name, cell.number)
            self._open[name] = Side(name, conn)
        return self._open[name]


@asynccontextmanager
async def sides(found: CellMap) -> AsyncIterator[Opener]:
    """Open connections to cells for the block."""
    async with AsyncExitStack() as stack:
        yield Opener(found, stack)


def url_of(cell: Cell) -> str:
    """Return the URL of an administrator of a cell."""
    own = cell.settings
    return str(own.backup_url or own.admin_url or own.database_url)


def schemas_of(cli: Cli) -> Sequence[str]:
    """Return the schemas of the engine and the applications."""
    return [schema for component in components(cli.apps) for schema in component.schemas]
