"""A client lends connections to code that enqueues and asks, outside of workers.

async with ostinato.connect() as client:
    await send_invoice.enqueue(client, invoice_id=7)

    async with client.transaction() as conn:      # your writes and the job, together or not at all
        await conn.execute(...)
        await send_invoice.enqueue(conn, invoice_id=8)
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any, Self, Unpack

from psycopg import AsyncConnection

from ostinato._core.base.errors import InvalidInput, OstinatoError
from ostinato._core.base.settings import Settings, load
from ostinato._core.db.pool import Pool, transaction
from ostinato._core.engine import queues
from ostinato._core.engine.ends import End
from ostinato._core.engine.jobs import added_queues
from ostinato._core.runtime.bell import Bell
from ostinato._core.runtime.database import Database, from_settings
from ostinato._core.runtime.ends import Ends, JobHandle
from ostinato._core.runtime.handlers.options import Options
from ostinato._core.runtime.replica import Replica, to_read
from ostinato._core.runtime.seats import Seats
from ostinato._core.runtime.tenants import TenantClient, enqueue_named


class Client:
    """A pool of connections that rings the doorbell after each commit that added jobs."""

    def __init__(
        self,
        database: Database,
        settings: Settings | None = None,
        *,
        max_size: int = 10,
        role: str = "client",
        shows: bool = False,
    ) -> None:
        """`role` is how its sessions are named in the database; `shows` says that it may read from `read_url`."""
        self.database = database
        self.settings = settings or Settings()
        seconds = self.settings.call_timeout_seconds
        self._pool = Pool(
            database.url,
            role=role,
            pooled=database.pooled,
            min_size=min(2, max_size),  # one for the caller, one to ring
            max_size=max_size,
            seconds=seconds,
            vault=self.settings.vault,
        )
        # What a caller of the API takes before a connection: a tenant has three of five.
        self.seats = Seats(max(1, max_size * 3 // 5), seconds)
        self.replica: Replica | None = None
        if shows and self.settings.read_url is not None:
            self.replica = Replica(
                database.url, self._pool, self.settings, role=role, most=max_size, pooled=database.pooled
            )
        self._bell = Bell(self._ring)
        self.ends = Ends(database)

    async def __aenter__(self) -> Self:
        await self._pool.open()
        if self.replica is not None:
            await self.replica.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.ends.close()
        await self._bell.close()
        if self.replica is not None:
            await self.replica.__aexit__()
        await self._pool.close()

    @asynccontextmanager
    async def transaction(self, statement_seconds: float | None = None) -> AsyncIterator[AsyncConnection[Any]]:
        """Open a transaction; jobs that it adds wake idle workers when it has committed.

        `statement_seconds` replaces the setting of that name: so long one statement may take, so
        that nobody waits for a frozen server for ever.
        """
        limit = statement_seconds or self.settings.statement_seconds
        with self._ringing():
            async with transaction(self._pool, statement_seconds=limit) as conn:
                yield conn

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """Return a connection in autocommit, for single calls; jobs that they add wake idle workers."""
        return _Single(self._pool, self.ring)

    def reading(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """Return a connection in autocommit for what is only shown: of the replica, where there is one."""
        return to_read(self.replica, self._pool)

    async def enqueue(self, kind: str, args: Mapping[str, object] | None = None, **options: Unpack[Options]) -> int:
        """Add a job by the name of its kind, which this process need not know."""
        return await enqueue_named(self, kind, args, options)

    async def wait(self, job_id: int, timeout: float | None = None) -> End:  # noqa: ASYNC109 - as callers know it
        """Wait until a job has ended, well or not; raises `StillRunning` after the time (in seconds).

        A ring wakes it; through a pooler, which gives none, it asks about once a second.
        """
        return await self.ends.wait(self, job_id, timeout)

    async def result(self, job_id: int, timeout: float | None = None) -> Any:  # noqa: ANN401, ASYNC109 - as above
        """Wait for what the handler returned; raises `JobFailed`, `JobCancelled` or, after the time, `StillRunning`."""
        return (await self.wait(job_id, timeout)).value()

    def job(self, job_id: int) -> JobHandle:
        """Return a job, to be waited for: `await client.job(job_id).result(timeout=30)`."""
        return JobHandle(job_id, self)

    def for_tenant(self, tenant_id: str, user_id: str | None = None, key_id: int | None = None) -> TenantClient:
        """Return the same client acting as one tenant, who sees and adds its own rows only.

        `user_id` and `key_id` say who acts for it: the audit records both.
        """
        return TenantClient(self, tenant_id, user_id, key_id)

    def ring(self, queue: str) -> None:
        """Wake idle workers: at once, or under load after a pause of 50 ms at the most."""
        self._bell.ring(queue)

    @contextmanager
    def _ringing(self) -> Iterator[None]:
        """Ring for the queues that jobs were added to in this block, if it ends well."""
        added: set[str] = set()
        token = added_queues.set(added)
        try:
            yield
        finally:
            added_queues.reset(token)
        for queue in added:
            self.ring(queue)

    async def _ring(self, queue: str) -> None:
        # On a connection and in a transaction of its own, which need not reach the disk: a lost
        # ring is a late poll.
        try:
            async with self._pool.connection() as conn:
                await queues.ring(conn, queue)
        except OstinatoError:
            pass  # the workers poll


class _Single(AbstractAsyncContextManager[AsyncConnection[Any]]):
    """A connection for single calls, and a ring after them. A class: it is made for every call."""

    __slots__ = ("_added", "_loan", "_ring", "_token")

    def __init__(self, pool: Pool, ring: Callable[[str], None]) -> None:
        self._loan = pool.connection()
        self._ring = ring
        self._added: set[str] = set()

    async def __aenter__(self) -> AsyncConnection[Any]:
        conn = await self._loan.__aenter__()
        self._token = added_queues.set(self._added)
        return conn

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        added_queues.reset(self._token)
        await self._loan.__aexit__()
        if kind is None:
            for queue in self._added:
                self._ring(queue)


@asynccontextmanager
async def connect(
    database_url: str | None = None, *, data_dir: str | None = None, settings: Settings | None = None
) -> AsyncIterator[Client]:
    """Connect a client to a database: the one named, the one configured, or the embedded one."""
    chosen = settings or load({"database_url": database_url, "data_dir": data_dir})
    async with from_settings(chosen) as database, Client(database, chosen) as client:
        yield client


def _refuse_in_loop(job_id: int) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise InvalidInput(
        f"job {job_id} cannot be waited for in sync code while an event loop runs in this thread",
        hint=f"Write: await client.job({job_id}).result(timeout=30), with a client of ostinato.connect().",
        job_id=job_id,
    )


def wait_sync(
    job_id: int, timeout: float | None = None, *, database_url: str | None = None, data_dir: str | None = None
) -> End:
    """Wait in sync code until a job has ended; raises `StillRunning` after the time (in seconds).

    It opens connections of its own for this one wait.
    """
    _refuse_in_loop(job_id)

    async def waited() -> End:
        async with connect(database_url, data_dir=data_dir) as client:
            return await client.wait(job_id, timeout)

    return asyncio.run(waited())


def result_sync(
    job_id: int, timeout: float | None = None, *, database_url: str | None = None, data_dir: str | None = None
) -> Any:  # noqa: ANN401 - whatever the handler returned
    """Wait in sync code for what the handler returned, as `Client.result` does."""
    return wait_sync(job_id, timeout, database_url=database_url, data_dir=data_dir).value()
