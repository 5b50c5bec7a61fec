"""A fresh engine for tests, with a clock to move: the code behind `ostinato.testing`."""

import asyncio
import contextlib
import dataclasses
import random
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import psycopg
from psycopg import AsyncConnection

from ostinato._core.base.metrics import Recorder
from ostinato._core.base.settings import Settings
from ostinato._core.base.vault import new_key
from ostinato._core.db import embedded, migrate
from ostinato._core.db.bundle import Component
from ostinato._core.db.call import call, call_value
from ostinato._core.db.keep import Keeper
from ostinato._core.db.pool import Pool, transaction
from ostinato._core.engine import claims, clock, outbox, subscriptions, webhook_deliveries, workers
from ostinato._core.engine.claims import Job
from ostinato._core.engine.inspect import JobDetails
from ostinato._core.engine.schema import ENGINE
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database, thread_transaction
from ostinato._core.runtime.enqueued import check_enqueued, list_enqueued
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.handlers.context import Context
from ostinato._core.runtime.handlers.kinds import JobKind
from ostinato._core.runtime.handlers.merged import event_kinds, merged_kinds
from ostinato._core.runtime.handlers.shared import Shared
from ostinato._core.runtime.handlers.steps import Joining, Slept, Waiting
from ostinato._core.runtime.named import named
from ostinato._core.runtime.services.services import declare
from ostinato._core.runtime.services.ticker import Ticker
from ostinato._core.runtime.worker.enrol import declare_kinds, queues_of
from ostinato._core.runtime.worker.execute import (
    Cancelled,
    Completed,
    Deferred,
    Failed,
    Released,
    Settled,
    Snoozed,
    Verdict,
    execute,
)
from ostinato._core.runtime.worker.finisher import Finisher
from ostinato._core.runtime.worker.saver import Saver
from ostinato._core.runtime.worker.threads import Threads

BATCH = 100
MOST_ROUNDS = 10_000
KEY = new_key()
"""What seals the secrets of tests; workers on `engine.database` take it from `engine.settings`."""


class OpenWait(NamedTuple):
    """A job that still waits."""

    job_id: int
    kind: str
    event: str
    """The type of event; "ostinato.children" where it waits for its children."""
    key: str
    deadline: datetime | None


@dataclass
class Report:
    """What `run_until_idle` did."""

    done: int = 0
    failed: int = 0
    snoozed: int = 0
    cancelled: int = 0
    runs: list[tuple[str, int]] = field(default_factory=list)
    """The kind and attempt of every run, in order."""
    waiting: list[OpenWait] = field(default_factory=list)
    """The jobs that wait for an event, or for children that did not end: nothing was left to run."""


class Clock:
    """The engine's time, stopped or moved, in one database. Made by `engine()`."""

    def __init__(self, admin: AsyncConnection[Any]) -> None:
        self._admin = admin

    async def now(self) -> datetime:
        """Return what the engine takes for the present."""
        return await clock.now(self._admin)

    async def freeze(self, at: datetime | None = None) -> datetime:
        """Stop the clock, at a time or where it stands."""
        at = at or await self.now()
        await call(self._admin, "set_test_clock", frozen=at, shift=timedelta(0))
        return at

    async def move(self, by: timedelta | float) -> datetime:
        """Move the clock, forward or back, by a time or by seconds; it goes on from there."""
        step = by if isinstance(by, timedelta) else timedelta(seconds=by)
        await call(self._admin, "move_test_clock", by=step)
        return await self.now()


class Engine:
    """A fresh engine. Made by `engine()`."""

    def __init__(self, database: Database, client: Client, admin: AsyncConnection[Any]) -> None:
        self.database = database
        """Hand it to `Worker` to run a real one."""
        self.client = client
        self.settings = client.settings
        """Those of the client, with a key for secrets that lasts as long as this process."""
        self.clock = Clock(admin)
        self.admin = admin
        """A superuser's connection, to look at everything."""

    async def enqueued(self, kind: "JobKind[Any] | str | None" = None) -> list[JobDetails]:
        """Return the jobs that were added, of one kind or of all, the first one first: up to 1,000 of them."""
        found = await list_enqueued(self.admin)
        name = kind.name if isinstance(kind, JobKind) else kind
        return [job for job in found if name is None or job.kind == name]

    async def assert_enqueued(self, kind: "JobKind[Any] | str", /, times: int | None = None, **args: object) -> None:
        """Fail unless a job of this kind was added with these arguments among its own; `times`: exactly so many."""
        check_enqueued(await self.enqueued(kind), kind if isinstance(kind, str) else kind.name, times, args)

    async def run_until_idle(
        self, *apps: App, move_clock: bool = True, pass_timeouts: bool = False, seed: int = 0
    ) -> Report:
        """Run jobs, here and now, until none is left that could run.

        Jobs that wait for their time (later, retry, snooze) get it: the clock is moved to the next
        one, unless `move_clock` is false. Schedules fire when they are due, but the clock is not
        moved for them: they never end. A job that waits for an event goes on waiting, and the report
        lists it; with `pass_timeouts` its time runs out. The same seed gives the same jitter.
        """
        rng = random.Random(seed)  # noqa: S311  # jitter only
        # As a worker that starts now: the settings of applications are read anew.
        settings = dataclasses.replace(self.settings, _sections={})
        # On the connections of the client: a new one plans and compiles everything anew, which takes most of the time.
        pool = self.client._pool  # noqa: SLF001 - a client's sessions are a worker's
        runner = _Runner(self.database, pool, apps, rng, settings)
        return await runner.run(self.clock if move_clock else None, timeouts=pass_timeouts)


@asynccontextmanager
async def engine(
    data_dir: str | Path | None = None, *, name: str = "ostinato_test", apps: Sequence[App] = ()
) -> AsyncIterator[Engine]:
    """Make a database of its own on an embedded server, migrated, empty, with a clock to move.

    Without a folder the server lives in a temporary one and ends with the block. With a folder it
    is shared: blocks with different names have databases of their own there. `apps` are there as
    after the start of a worker: their schemas, and their kinds, the open ones for tenants.
    """
    with tempfile.TemporaryDirectory(prefix="ostinato-") as folder:
        server = await asyncio.to_thread(embedded.start, data_dir or folder)
        try:
            async with engine_on(server, name, copied=data_dir is not None, apps=apps) as fresh:
                yield fresh
        finally:
            await asyncio.to_thread(server.stop)


@asynccontextmanager
async def engine_on(
    server: embedded.Server, name: str, *, copied: bool = True, apps: Sequence[App] = ()
) -> AsyncIterator[Engine]:
    """Make one on a server that runs already; `copied` from one that was migrated before.

    Its clock can be moved because it was made here: no other database obeys the setting that says
    so.
    """
    template = await template_on(server) if copied else "template1"
    urls = await asyncio.to_thread(server.create_database, name, template=template)
    try:
        await migrate.migrate(urls.admin, [ENGINE, *(named(app.sql, Component) for app in apps if app.sql)])
        async with await psycopg.AsyncConnection.connect(urls.admin, autocommit=True) as admin:
            await call(admin, "use_test_clock")
            # A new connection, because a session takes the setting up when it starts.
        async with engine_in(server, urls, apps=apps) as fresh:
            yield fresh
    finally:
        with contextlib.suppress(psycopg.Error):  # the server may be down, and goes anyway
            await asyncio.to_thread(server.drop_database, name)


@asynccontextmanager
async def engine_in(server: embedded.Server, urls: embedded.Urls, *, apps: Sequence[App] = ()) -> AsyncIterator[Engine]:
    """Open the engine of a database that was made for tests."""
    database = Database(urls.worker, urls.admin, urls.worker, server=server, api_url=urls.api)
    async with (
        await psycopg.AsyncConnection.connect(urls.admin, autocommit=True) as admin,
        Client(database, Settings(secret_key=KEY)) as client,
    ):
        await declare_kinds(admin, apps)
        yield Engine(database, client, admin)


async def template_on(server: embedded.Server) -> str:
    """Return the name of a migrated database to copy: that takes a tenth of the time of a migration.

    It is made under another name and renamed when it is whole, so that of several processes that
    make it at once one wins, and a crash leaves nothing that would be taken for it.
    """
    tables = "".join(step.checksum for step in ENGINE.tables)
    known = sha256(f"{ENGINE.checksum}{tables}".encode()).hexdigest()
    name, draft = f"ostinato_template_{known[:16]}", f"ostinato_draft_{uuid4().hex}"
    if not await asyncio.to_thread(server.has_database, name):
        urls = await asyncio.to_thread(server.create_database, draft)
        await migrate.migrate(urls.admin, [ENGINE])
        if not await asyncio.to_thread(server.rename_database, draft, name):
            await asyncio.to_thread(server.drop_database, draft)
    return name


class _Runner:
    """A worker without a heart: claims, runs and finishes, one batch after the other."""

    def __init__(
        self, database: Database, pool: Pool, apps: Iterable[App], rng: random.Random, settings: Settings
    ) -> None:
        self._database = database
        self._pool = pool
        self._apps = tuple(apps)
        self._kinds: dict[str, JobKind[Any]] = merged_kinds(self._apps)
        self._queues = list(queues_of(self._apps))
        self._rng = rng
        self._keepers = Keeper(pool), Keeper(pool)
        self._finisher = Finisher(self._keepers[0], Recorder(), events=event_kinds(self._kinds))
        self.saver = Saver(self._keepers[1], Recorder(), rng)
        self.shared = Shared()
        self.settings = settings
        self._threads = Threads("ostinato-test")
        self._report = Report()

    async def run(self, moving: Clock | None, *, timeouts: bool = False) -> Report:
        saving = asyncio.create_task(self.saver.loop.run())
        try:
            async with self.shared:
                return await self._run_all(moving, timeouts=timeouts)
        finally:
            self.saver.loop.stop()
            await saving
            for keeper in self._keepers:
                await keeper.release()

    async def _run_all(self, moving: Clock | None, *, timeouts: bool) -> Report:
        async with self._pool.connection() as conn:
            worker_id = await self._register(conn)
            await declare_kinds(conn, self._apps)
            await declare(conn, self._apps)
            ticker = Ticker([each for app in self._apps for each in app.schedules], Recorder())
            await ticker.tick(conn)
            for _ in range(MOST_ROUNDS):
                if not await call_value(conn, "heartbeat_worker", worker_id=worker_id):
                    worker_id = await self._register(conn)  # it was declared dead, and goes on as a worker does
                poll = await workers.poll(conn, worker_id, self._queues, 3)
                if ticker.name in poll.chores:
                    await ticker.tick(conn)
                events = await _deliver(conn)
                if not await self._round(conn, worker_id) + events:
                    due = await call_value(conn, "next_time", _read=True, kinds=list(self._kinds), timeouts=timeouts)
                    if due is None or (moving is None and due != 0):
                        break
                    if moving is not None:
                        await moving.move(max(0.0, due) + 0.001)
            waits = await call(conn, "open_waits", _read=True, kinds=list(self._kinds))
            self._report.waiting = [OpenWait(*row) for row in waits]
            await workers.unregister(conn, worker_id)
        self._threads.shutdown()
        return self._report

    async def _register(self, conn: AsyncConnection[Any]) -> UUID:
        return await workers.register(conn, "run_until_idle", self._queues, list(self._kinds), 3600)

    async def _round(self, conn: AsyncConnection[Any], worker_id: UUID) -> int:
        ran = 0
        for queue in self._queues:
            jobs = await claims.claim(conn, worker_id, queue, BATCH, kinds=list(self._kinds))
            stopped: set[int] = set()
            together = [job for job in jobs if self._kinds[job.kind].batch is not None]
            for job, verdict in zip(together, await asyncio.gather(*map(self._verdict, together)), strict=True):
                await self._ended(job, verdict)
            for job in (job for job in jobs if self._kinds[job.kind].batch is None):
                if job.behind in stopped:
                    self._finisher.add(job, Released(), 0.0)
                    await self._finisher.tick()
                if job.behind in stopped or not await self._run(job):
                    stopped.add(job.id)
            ran += len(jobs)
        return ran

    async def _run(self, job: Job) -> bool:
        """Run one job; return whether it succeeded."""
        return await self._ended(job, await self._verdict(job))

    async def _verdict(self, job: Job) -> Verdict:
        return await execute(self._kinds[job.kind], Context(job, self), self._threads, self._rng)

    async def _ended(self, job: Job, verdict: Verdict) -> bool:
        """Write the verdict of a job; return whether it succeeded."""
        self._report.runs.append((job.kind, job.attempt))
        names = {
            Completed: "done",
            Settled: "done",
            Failed: "failed",
            Deferred: "snoozed",
            Snoozed: "snoozed",
            Slept: "snoozed",
            Waiting: "snoozed",
            Joining: "snoozed",
            Cancelled: "cancelled",
        }
        counted = Counter({names[type(verdict)]: 1} if type(verdict) in names else {})
        for name, count in counted.items():
            setattr(self._report, name, getattr(self._report, name) + count)
        self._finisher.add(job, verdict, 0.0)
        await self._finisher.tick()
        return isinstance(verdict, Completed | Settled)

    def transaction(self, statement_seconds: float | None = None) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        return transaction(self._pool, statement_seconds=statement_seconds)

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        return self._pool.connection()

    def transaction_in_thread(
        self, statement_seconds: float | None = None
    ) -> AbstractContextManager[psycopg.Connection[Any]]:
        return thread_transaction(self._database, statement_seconds=statement_seconds)

    async def set_apart(self, job: Job) -> None:
        """Do nothing: jobs run one after the other here."""

    def note_progress(self, job: Job, done: float, total: float | None, note: str | None) -> None:
        self._finisher.note_progress(job, done, total, note)


async def _deliver(conn: AsyncConnection[Any]) -> int:
    """Do one round of the relay, and return how much that was."""
    stamped, _ = await outbox.sequence(conn)
    queues = await subscriptions.dispatch(conn)
    fanned, _ = await webhook_deliveries.fan_out(conn, BATCH)
    return (stamped or 0) + len(queues) + (fanned or 0)
