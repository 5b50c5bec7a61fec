"""Clients for all cells: a tenant's work goes to the database where the tenant lives.

async with tenants.connect_cells() as cells:
    acme = cells.for_tenant("acme")
    await send_invoice.enqueue(acme, invoice_id=7)
    async with acme.transaction() as conn: ...        # in one cell; none crosses two

Where a tenant lives is remembered. A cell that it has left refuses, with the first statement and before anything is
done; then the others are asked, and while it moves it is waited for. Home, which is asked first, may be away: then what
is remembered counts however old it is, and who is not remembered is looked for in the other cells.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self, Unpack

from psycopg import AsyncConnection

from ostinato._core.base.cellmap import Cell, CellMap, read_cells
from ostinato._core.base.enderrors import TenantMoved
from ostinato._core.base.errors import DatabaseUnavailable, OstinatoError
from ostinato._core.base.settings import Settings, load
from ostinato._core.db.pool import connect
from ostinato._core.engine import cells as engine
from ostinato._core.engine import inspect, moves
from ostinato._core.engine.cell_setup import check_number
from ostinato._core.engine.ends import End
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.ends import JobHandle
from ostinato._core.runtime.handlers.options import Options
from ostinato._core.runtime.tenants import TenantClient, enqueue_named

KNOWN_SECONDS = 60.0
MOST_KNOWN = 100_000
AGAIN_SECONDS = 0.1
PATIENCE_SECONDS = 30.0
HURRY_SECONDS = 0.5
"""How long one cell is asked alone: one that is away takes seconds to say nothing."""
AWAY_SECONDS = 5.0
"""How long home, once found to be away, is asked last."""
EVERYWHERE = "default"  # the tenant of who names none: each cell has its own


class Cells:
    """A client for each cell, and where tenants live."""

    def __init__(
        self, found: CellMap, *, max_size: int = 10, role: str = "client", known_seconds: float = KNOWN_SECONDS
    ) -> None:
        """`known_seconds` is how long home is not asked again where a tenant lives."""
        self.map = found
        self._known_seconds = known_seconds
        self._clients = {
            name: Client(Database.configured(cell.settings), cell.settings, max_size=max_size, role=role)
            for name, cell in found.cells.items()
        }
        self._known: dict[str, tuple[str, float]] = {}
        self._checked: set[str] = set()
        self._away_until = 0.0
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for client in self._clients.values():
            await self._open.enter_async_context(client)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    @property
    def names(self) -> list[str]:
        """The cells, by name."""
        return list(self._clients)

    def client(self, cell: str) -> Client:
        """Return the client of one cell."""
        self.map.cell(cell)
        return self._clients[cell]

    async def where(self, tenant_id: str) -> str:
        """Return the name of the cell where a tenant lives; one that nobody knows yet lives at home."""
        cell, until = self._known.get(tenant_id, ("", 0.0))
        if time.monotonic() < until:
            return cell
        if not self._home_is_away:
            try:
                return self._keep(tenant_id, await moves.where(tenant_id, self.map.home, partial(self._ask, tenant_id)))
            except DatabaseUnavailable:
                if not self._home_is_away:  # it has answered, and the cell that it points to does not
                    raise
        found = cell or (await first_to(self._others, partial(self._serves, tenant_id)))[0]
        if found is None:
            raise DatabaseUnavailable(
                f"the home of the cells, {self.map.home}, is away, and no other cell says that {tenant_id} lives there",
                hint="Tenants of other cells are served; this one is once home answers.",
                cell=self.map.home,
                tenant_id=tenant_id,
            )
        return self._keep(tenant_id, found)

    @property
    def _home_is_away(self) -> bool:
        return time.monotonic() < self._away_until

    @property
    def _others(self) -> list[str]:
        return [name for name in self._clients if name != self.map.home]

    @asynccontextmanager
    async def _asking(self, name: str) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a connection to a cell, of which the first checks that it is the one that the map means."""
        async with self.client(name).connection() as conn:
            if name not in self._checked:
                await check_number(conn, name, self.map.cell(name).number)
                self._checked.add(name)
            yield conn

    async def _ask(self, tenant_id: str, name: str) -> engine.Place | None:
        try:
            async with self._asking(name) as conn:
                return await engine.place(conn, tenant_id)
        except DatabaseUnavailable:
            if name == self.map.home:
                self._away_until = time.monotonic() + AWAY_SECONDS
            raise

    async def _serves(self, tenant_id: str, name: str) -> bool:
        """Return whether a cell says by itself that it serves a tenant: it was placed there, or has work there."""
        async with self._asking(name) as conn:
            found = await engine.place(conn, tenant_id)
            if found is not None:
                return found.state in engine.SERVED
            return tenant_id != EVERYWHERE and await engine.knows(conn, tenant_id)

    def _keep(self, tenant_id: str, cell: str) -> str:
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[tenant_id] = (cell, time.monotonic() + self._known_seconds)
        return cell

    def forget(self, tenant_id: str) -> None:
        """Ask again where a tenant lives, the next time."""
        self._known.pop(tenant_id, None)

    def for_tenant(
        self,
        tenant_id: str,
        user_id: str | None = None,
        key_id: int | None = None,
        *,
        patience: float = PATIENCE_SECONDS,
    ) -> "CellTenant":
        """Return a client that acts as one tenant, wherever it lives; waits so many seconds while it moves."""
        return CellTenant(self, tenant_id, user_id, key_id, patience=patience)


class CellTenant:
    """A client that acts as one tenant, in the cell where it lives. Made by `Cells.for_tenant`."""

    def __init__(
        self, cells: Cells, tenant_id: str, user_id: str | None, key_id: int | None, *, patience: float
    ) -> None:
        self.tenant_id = tenant_id
        self._who = (tenant_id, user_id, key_id)
        self._cells = cells
        self._patience = patience

    async def here(self) -> TenantClient:
        """Return the client of the tenant in its cell, as it is known now."""
        return self._cells.client(await self._cells.where(self.tenant_id)).for_tenant(*self._who)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a transaction of the tenant where it lives; while it moves, that is waited for."""
        async with AsyncExitStack() as stack:
            yield await self._entered(stack)

    async def _entered(self, stack: AsyncExitStack) -> AsyncConnection[Any]:
        give_up = time.monotonic() + self._patience
        while True:
            client = await self.here()
            try:
                return await stack.enter_async_context(client.transaction())
            except TenantMoved:  # nothing was done
                self._cells.forget(self.tenant_id)
                if time.monotonic() >= give_up:
                    raise
            await asyncio.sleep(AGAIN_SECONDS)

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """Return the same: there is no acting as a tenant outside of a transaction."""
        return self.transaction()

    async def enqueue(self, kind: str, args: Mapping[str, object] | None = None, **options: Unpack[Options]) -> int:
        """Add a job of the tenant by the name of its kind."""
        return await enqueue_named(self, kind, args, options)

    def job(self, job_id: int) -> JobHandle:
        """Return a job of the tenant, to be waited for."""
        return JobHandle(job_id, self)

    async def wait(self, job_id: int, timeout: float | None = None) -> End:  # noqa: ASYNC109 - as callers know it
        """Wait until a job of the tenant has ended; raises `TenantMoved` if the tenant moves meanwhile."""
        return await (await self.here()).wait(job_id, timeout)

    async def result(self, job_id: int, timeout: float | None = None) -> Any:  # noqa: ANN401, ASYNC109 - as above
        """Wait for the result of a job of the tenant, as `wait` does."""
        return (await self.wait(job_id, timeout)).value()


async def first_to(names: Sequence[str], says: Callable[[str], Awaitable[bool]]) -> tuple[str | None, list[str]]:
    """Return the first cell that says yes, if one does, and those that were found to be away.

    The first of the names is asked alone; the others as soon as it says no, is away, or takes its time.
    """
    begun, waiting = list(names[:1]), list(names[1:])
    asked: dict[asyncio.Future[bool], str] = {}
    away: list[str] = []
    try:
        while begun or asked:
            asked |= {asyncio.ensure_future(says(name)): name for name in begun}
            seconds = HURRY_SECONDS if waiting else None
            done, _ = await asyncio.wait(asked, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            begun, waiting = waiting, []
            for task in done:
                name = asked.pop(task)
                try:
                    if task.result():
                        return name, away
                except OstinatoError:
                    away.append(name)
    finally:
        for task in asked:
            task.cancel()
    return None, away


@asynccontextmanager
async def connect_cells(*, settings: Settings | None = None, max_size: int = 10) -> AsyncIterator[Cells]:
    """Connect to all cells of `cells_file`."""
    async with Cells(read_cells(settings or load()), max_size=max_size) as cells:
        yield cells


@dataclass(frozen=True, slots=True)
class CellStatus:
    """What a cell says of itself."""

    name: str
    number: int
    is_home: bool
    error: str | None = None
    """Why it cannot be asked; None: it answers."""
    workers: int = 0
    ready: int = 0
    running: int = 0
    dead: int = 0
    left: int = 0
    """Tenants that left it, and that it points to others for; counted to a thousand."""
    moving: list[engine.PlaceLine] = field(default_factory=list)


async def status_of(cell: Cell, *, is_home: bool) -> CellStatus:
    """Ask a cell how it is; one that does not answer says so."""
    about = (cell.name, cell.number, is_home)
    database = Database.configured(cell.settings)
    try:
        async with await connect(database.url, role="cells", pooled=database.pooled) as conn:
            await check_number(conn, cell.name, cell.number)
            queues = await inspect.list_queues(conn)
            stats = await inspect.stats(conn)
            places = await engine.list_places(conn)
    except OstinatoError as error:
        return CellStatus(*about, error=error.message)
    return CellStatus(
        *about,
        workers=stats.workers,
        ready=sum(queue.ready for queue in queues),
        running=sum(queue.running for queue in queues),
        dead=sum(queue.dead for queue in queues),
        left=sum(place.state == "left" for place in places),
        moving=[place for place in places if place.state in engine.MOVING],
    )
