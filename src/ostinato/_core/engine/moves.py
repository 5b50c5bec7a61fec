"""Moves one tenant from a cell to another: pause, copy, switch, resume; each step can be repeated after a kill.

    1 drain    the cell that it leaves claims no more of its jobs; those that run end
    2 expect   the other cell writes down that it comes: nothing of it begins there before it is loaded
    3 close    nothing of it begins in the cell that it leaves; transactions that began before have ended
    4 dump     its rows, in one snapshot, into a file
    5 load     one transaction in the other cell, with the mark that it is here: this commit is the switch
    6 point    the cell that it left, and the home of all pointers, name the cell where it is
    7 remove   its rows are deleted where it was

What may go wrong, and what then: killed before 5, the tenant waits (nobody serves it) until the move is repeated or
given up. Killed after 5, the other cell serves it; the repeated move finds the mark and goes on with 6. A load that a
killed move has left behind either commits, with the mark, or finds the row of its move gone. Nothing is ever in both
cells for workers or callers: one of them refuses (`cells.sql`). What fails before 5 is given up at once, and the tenant
resumes.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from psycopg import AsyncConnection

from ostinato._core.base.errors import Conflict, NotFound
from ostinato._core.engine import cells, tenant_copy, tenant_tables

LOOK_SECONDS = 0.05
MOST_HOPS = 20  # a look while it moves may go back and forth

Step = Callable[[str], None]


class Side(NamedTuple):
    """A cell that takes part in a move, as an administrator."""

    name: str
    conn: AsyncConnection[Any]


@dataclass(frozen=True, slots=True)
class Moved:
    """What a move did."""

    tenant_id: str
    source: str
    target: str
    rows: int
    """Rows that were copied; 0: an earlier move that was interrupted had copied them."""
    removed: int
    jobs_paused: float
    """Seconds in which no job of it was started."""
    callers_paused: float
    """Seconds in which nothing of it could be asked or added; a part of the other."""


class Move:
    """One move, from whichever step it stopped at."""

    def __init__(
        self,
        tenant_id: str,
        source: Side,
        target: Side,
        home: Side,
        *,
        file: Path,
        schemas: Sequence[str],
        wait_seconds: float = 60.0,
        step: Step = lambda _name: None,
    ) -> None:
        self._tenant = tenant_id
        self._source, self._target, self._home = source, target, home
        self._file, self._schemas = file, schemas
        self._wait_seconds = wait_seconds
        self._step = step

    async def run(self) -> Moved:
        """Do the steps of the move that are left."""
        await self._refuse_nobody()
        move_id, loaded = await self._standing()
        began = closed = time.monotonic()
        rows = 0
        if not loaded:
            try:
                await self._drain(move_id)
                closed = time.monotonic()
                rows = await self._copy(move_id)
            except Exception:  # what was not loaded is given up, and goes on where it was
                if not (await self._standing())[1]:
                    await self.give_up(move_id)
                raise
            self._step("load")
        await cells.set_place(self._source.conn, self._tenant, "leaving", self._target.name, move_id)
        done = time.monotonic()
        if self._home.name not in (self._source.name, self._target.name):
            await cells.set_place(self._home.conn, self._tenant, "left", self._target.name)
        self._step("point")
        removed = await tenant_copy.remove(self._source.conn, self._tenant, self._schemas)
        await cells.set_place(self._source.conn, self._tenant, "left", self._target.name, move_id)
        self._file.unlink(missing_ok=True)
        self._step("remove")
        names = (self._source.name, self._target.name)
        return Moved(self._tenant, *names, rows, removed, done - began, done - closed)

    async def give_up(self, move_id: UUID) -> None:
        """Let the tenant go on where it was: first nothing may be loaded any more, then it is opened again."""
        if not await cells.give_up(self._target.conn, self._tenant, move_id):
            raise Conflict(
                f"{self._tenant} is in the cell {self._target.name} already: its move can only go on",
                hint="Repeat `ostinato tenants move`.",
            )
        await cells.give_up(self._source.conn, self._tenant, move_id)
        self._file.unlink(missing_ok=True)

    async def under_way(self) -> UUID | None:
        """Return the move that was begun and not finished, if there is one."""
        found = await cells.place(self._source.conn, self._tenant)
        return found.move_id if found is not None and found.state in cells.MOVING else None

    async def _refuse_nobody(self) -> None:
        """Refuse a tenant that has nothing and was placed nowhere: a wrong name would be pointed to for ever."""
        conn = self._source.conn
        if await cells.place(conn, self._tenant) is not None or await cells.knows(conn, self._tenant):
            return
        tables = await tenant_tables.tables_of(conn, self._schemas)
        if await tenant_copy.table_with_rows(conn, self._tenant, tables) is None:
            raise NotFound(
                f"there is nothing of the tenant {self._tenant} in any cell",
                hint=f"Check the name. Where a new tenant will live: ostinato cells place {self._tenant} --in CELL",
            )

    async def _standing(self) -> tuple[UUID, bool]:
        """Return the move to go on with, or a new one, and whether the tenant was loaded by it."""
        move_id = await self.under_way() or uuid4()
        there = await cells.place(self._target.conn, self._tenant)
        return move_id, there is not None and (there.state, there.move_id) == ("here", move_id)

    async def _drain(self, move_id: UUID) -> None:
        here, there = self._source, self._target
        await cells.set_place(here.conn, self._tenant, "draining", there.name, move_id)
        self._step("drain")
        await cells.set_place(there.conn, self._tenant, "coming", here.name, move_id)
        self._step("expect")
        await self._ended()
        await self._until(self._none_held, "workers hold jobs of it")

    async def _copy(self, move_id: UUID) -> int:
        await cells.set_place(self._source.conn, self._tenant, "closed", self._target.name, move_id)
        self._step("close")
        await self._ended()

        async def dumped() -> bool:
            try:
                self._file.unlink(missing_ok=True)
                await tenant_copy.dump(self._source.conn, self._tenant, self._file, self._schemas, refuse_held=True)
            except Conflict:  # its events are on their way to some subscriptions
                return False
            return True

        await self._until(dumped, "its events are on their way to some subscriptions, or workers hold jobs of it")
        self._step("dump")
        return (await tenant_copy.load(self._target.conn, self._file, self._schemas, move_id)).total

    async def _ended(self) -> None:
        """Wait until the transactions have ended that may not have seen what was just written."""
        running = await cells.older(self._source.conn)

        async def over() -> bool:
            return not await cells.older(self._source.conn, running)

        await self._until(over, "transactions of the cell that it leaves do not end")

    async def _none_held(self) -> bool:
        return await cells.held(self._source.conn, self._tenant) == 0

    async def _until(self, is_so: Callable[[], Awaitable[bool]], otherwise: str) -> None:
        give_up = time.monotonic() + self._wait_seconds
        while not await is_so():
            if time.monotonic() >= give_up:
                raise Conflict(
                    f"{self._tenant} was not moved, and goes on where it is: {otherwise}",
                    hint=f"Wait longer than {self._wait_seconds:g} s (--wait), or end what holds it up.",
                )
            await asyncio.sleep(LOOK_SECONDS)


async def where(tenant_id: str, home: str, ask: Callable[[str], Awaitable[cells.Place | None]]) -> str:
    """Return the cell where a tenant lives: the home says, or who it points to."""
    cell = home
    for _ in range(MOST_HOPS):
        found = await ask(cell)
        if found is not None and found.state == "closed":  # a move that died after the load has not pointed yet
            there = await ask(found.cell)
            loaded = there is not None and (there.state, there.move_id) == ("here", found.move_id)
            return found.cell if loaded else cell
        if found is None or found.state not in {*cells.GONE, "coming"}:
            return cell
        cell = found.cell
    raise Conflict(
        f"the cells point to each other for {tenant_id}", hint="`ostinato cells where` shows what each says."
    )
