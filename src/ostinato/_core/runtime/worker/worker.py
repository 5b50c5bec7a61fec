"""A worker: one process's share of the work.

    heart    (thread)  beats on a connection of its own, hears the doorbell, watches the loop
    poller   (loop)    every second or so: rescues, promotes, learns what to claim and to cancel
    claimer  (loop)    keeps the lanes supplied
    lanes    (tasks)   run the handlers
    finisher (loop)    writes the verdicts
    saver    (loop)    writes the steps
    services (loops)   what a worker does for everybody: runtime.services

States of a worker: starting, running, draining (SIGTERM: claims nothing, gives back what has not
started, waits for what runs), stopped. What may go wrong, and then:
- the database goes away: loops fail with growing pauses and go on when it is back; verdicts wait
  in the finisher;
- this process is declared dead (paused for too long): the heart is told at its next beat; handlers
  are stopped, late verdicts are refused by the fence, and the worker goes on under a new id;
- this process dies: its row expires, and any other worker takes its jobs back.
"""

import asyncio
import contextlib
import os
import platform
import random
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any
from uuid import UUID

import psycopg
from psycopg import AsyncConnection

from ostinato._core.base.errors import CommitUnknown, NotConfigured
from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import (
    BUFFER_JOBS,
    DATABASE_ERRORS,
    DOORBELL_RINGS,
    RESCUED_JOBS,
    Recorder,
)
from ostinato._core.base.settings import Settings
from ostinato._core.db.keep import Keeper
from ostinato._core.db.listen import POLL_NOW
from ostinato._core.db.pool import Pool
from ostinato._core.engine import workers
from ostinato._core.engine.claims import Job
from ostinato._core.engine.jobs import ANY_QUEUE
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.handlers.app import App, merged_kinds
from ostinato._core.runtime.handlers.shared import Shared
from ostinato._core.runtime.observe import tracing
from ostinato._core.runtime.services import webhooks
from ostinato._core.runtime.services.services import Service, Site, background, close
from ostinato._core.runtime.worker.claimer import Claimer
from ostinato._core.runtime.worker.enrol import enrol, queues_of
from ostinato._core.runtime.worker.finisher import Finisher
from ostinato._core.runtime.worker.heart import Heart
from ostinato._core.runtime.worker.host import WorkerHost
from ostinato._core.runtime.worker.lanes import Lanes
from ostinato._core.runtime.worker.loop import FOREVER, Loop
from ostinato._core.runtime.worker.saver import Saver

__all__ = ["Worker"]

log = get_logger("worker")

SERVICE_CONNECTIONS = 7
RECONCILE_SECONDS = 30.0
LAST_WRITES_SECONDS = 0.01
OVERDUE_SECONDS = 0.05
SILENT_SECONDS = 0.05


class Worker:
    """Runs the jobs of some apps until it is stopped; with `only`, no jobs but these services."""

    def __init__(
        self,
        apps: Sequence[App],
        database: Database,
        settings: Settings | None = None,
        *,
        queues: Sequence[str] | None = None,
        name: str | None = None,
        rng: random.Random | None = None,
        only: Sequence[str] | None = None,
    ) -> None:
        self.settings = settings or Settings()
        if not only and not merged_kinds(apps) and not any(app.subscribers for app in apps):
            raise NotConfigured(
                "a worker needs at least one kind of job, or one subscription",
                hint="Decorate a function with @app.job() or @app.on().",
            )
        self.recorder = Recorder()
        self._rng = rng or random.Random()  # noqa: S311  # spreads load, guards nothing
        apps = webhooks.with_app(apps, self.settings, self.recorder, self._rng)
        self.kinds = {} if only else merged_kinds(apps)
        self.queues = () if only else tuple(dict.fromkeys(queues or queues_of(apps)))
        self._only = frozenset(only) if only else None
        self.name = name or f"{platform.node()}-{os.getpid()}"
        self.id: UUID | None = None
        self.shared = Shared()
        self.started = asyncio.Event()
        self._apps = tuple(apps)
        self._database = database
        self._stop = asyncio.Event()
        seconds = self.settings.call_timeout_seconds
        self._pool = Pool(
            database.url,
            role="worker",
            pooled=database.pooled,
            min_size=4,
            max_size=SERVICE_CONNECTIONS,
            seconds=seconds,
        )
        self._handler_pool = Pool(
            database.url,
            role="handler",
            pooled=database.pooled,
            min_size=0,
            max_size=min(self.settings.handler_connections, self.settings.concurrency),
            seconds=seconds,
        )
        self._build()

    def _keep(self) -> Keeper:
        keeper = Keeper(self._pool)
        self._keepers.append(keeper)
        return keeper

    def _build(self) -> None:
        settings = self.settings
        self._keepers: list[Keeper] = []
        self._poll_keeper = self._keep()
        self._finish_loop = Loop(
            "finisher", self._finish_tick, on_error=self._database_error, rng=self._rng
        )
        self._finisher = Finisher(
            self._keep(),
            self.recorder,
            wake=self._finish_loop.wake,
            on_written=self.rouse,
        )
        self.saver = Saver(self._keep(), self.recorder, self._rng, self._database_error)
        self._claim_loop = Loop(
            "claimer", self._claim_tick, on_error=self._claim_failed, rng=self._rng
        )
        self.lanes = Lanes(
            self.kinds,
            self,
            self._finisher.add,
            concurrency=settings.concurrency,
            prefetch=settings.prefetch,
            grace_seconds=settings.cancel_grace_seconds,
            on_room=self._claim_loop.wake,
            execute=tracing.chosen(traces=settings.traces),
            rng=self._rng,
        )
        self._claimer = Claimer(
            self._keep(),
            self.lanes,
            queues=self.queues,
            kinds=list(self.kinds),
            recorder=self.recorder,
            worker_id=self._worker_id,
        )
        self._poll_loop = Loop(
            "poller", self._poll_tick, on_error=self._database_error, rng=self._rng
        )
        self._reconcile_loop = Loop(
            "reconciler", self._reconcile_tick, on_error=self._database_error, rng=self._rng
        )
        self._host = WorkerHost(self._handler_pool, self._database, self._worker_id, self._heard)
        self._background = background(
            Site(self._apps, settings, self.recorder, self._rng, self._host, self._only)
        )
        self._services = {service.name: self._serve(service) for service in self._background}
        self._heart = Heart(
            self._database,
            settings,
            queues=(*self._rung_for(), *(f"@{name}" for name in self._services)),
            kinds=self.kinds,
            on_ring=self._rang,
            on_death=self._declared_dead,
        )

    def _rung_for(self) -> tuple[str, ...]:
        """The queues to be rung for; a ring that somebody takes who runs no jobs is lost."""
        return (*self.queues, ANY_QUEUE) if self.queues else ()

    def _serve(self, service: Service) -> Loop:
        async def tick() -> float:
            async with self._pool.connection() as conn:
                return await service.tick(conn)

        return Loop(service.name, tick, on_error=self._database_error, rng=self._rng)

    async def run(self) -> None:
        """Work until `stop` is called; then drain and return."""
        async with self._pool, self._handler_pool, self.shared:
            await self._register()
            self._heart.start(self._worker_id())
            loops = [
                self._finish_loop,
                self._claim_loop,
                self._poll_loop,
                self.saver.loop,
                self._reconcile_loop,
                *self._services.values(),
            ]
            tasks = [asyncio.create_task(loop.run(), name=loop.name) for loop in loops]
            log.info(
                "worker_started",
                worker=self.name,
                id=str(self.id),
                queues=self.queues,
                kinds=len(self.kinds),
            )
            self.started.set()
            self.rouse()
            try:
                await self._stop.wait()
            finally:
                await self._shut_down(loops, tasks)

    @property
    def recorders(self) -> tuple[Recorder, Recorder]:
        """What is counted here: in the loop, and in the heart's thread."""
        return self.recorder, self._heart.recorder

    def stop(self) -> None:
        """Drain and end; safe to call more than once, and from a signal handler."""
        self._stop.set()

    def rouse(self, queue: str | None = None) -> None:
        """Look for work now, in one queue or all."""
        self._claimer.rouse(queue)
        self._claim_loop.wake()

    async def _shut_down(self, loops: list[Loop], tasks: list[asyncio.Task[None]]) -> None:
        log.info(
            "worker_draining",
            worker=self.name,
            running=self.lanes.running,
            seconds=self.settings.drain_seconds,
        )
        self._claimer.paused = True
        self._heart.drain()
        await self.lanes.drain(self.settings.drain_seconds)
        # The finisher goes last, and not before it has written what the others leave behind.
        finish_loop, *others = loops
        for loop in others:
            loop.stop()
        await asyncio.wait(tasks[1:], timeout=self.settings.call_timeout_seconds)
        await close(self._background, self._pool, self.settings.cancel_grace_seconds)
        await self._write_last()
        finish_loop.stop()
        await asyncio.wait(tasks[:1], timeout=self.settings.call_timeout_seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for keeper in self._keepers:
            await keeper.release()
        unwritten = self._finisher.pending
        self._heart.stop()
        try:
            async with (
                asyncio.timeout(self.settings.call_timeout_seconds),
                self._pool.connection() as conn,
            ):
                await workers.unregister(conn, self._worker_id())
        except Exception as error:  # noqa: BLE001  # the row expires by itself
            log.warning("worker_not_unregistered", worker=self.name, error=str(error))
        log.info("worker_stopped", worker=self.name, unwritten=unwritten)

    async def _write_last(self) -> None:
        """Let the finisher write what is left, within the time of a call."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.settings.call_timeout_seconds):
                while self._finisher.pending:
                    self._finish_loop.wake()
                    await asyncio.sleep(LAST_WRITES_SECONDS)
        if self._finisher.pending:
            log.warning("verdicts_not_written", jobs=self._finisher.pending)

    async def _register(self) -> None:
        async with self._pool.connection() as conn:
            self.id = await enrol(
                conn,
                self._apps,
                name=self.name,
                queues=self.queues,
                kinds=list(self.kinds),
                expiry_seconds=self.settings.expiry_seconds,
            )

    def _worker_id(self) -> UUID:
        if self.id is None:
            raise NotConfigured("this worker has not started", hint="Await worker.run().")
        return self.id

    async def _claim_tick(self) -> float:
        if self._heart.may_be_dead:
            return SILENT_SECONDS  # what we took now, others might take from us at once
        pause = await self._claimer.tick()
        self.recorder.set(BUFFER_JOBS, self.lanes.buffered)
        self._heart.set_waiting(waiting=pause == FOREVER and self.lanes.room() > 0)
        return pause

    async def _finish_tick(self) -> float:
        return await self._finisher.tick()

    async def _poll_tick(self) -> float:
        queues = self._claimer.resting()
        async with self._poll_keeper.connection() as conn:
            poll = await workers.poll(conn, self._worker_id(), queues, self.settings.max_crashes)
        if poll.rescued:
            self.recorder.add(RESCUED_JOBS, by=poll.rescued)
            log.warning("rescued", jobs=poll.rescued, worker=self.name)
        self.lanes.request_cancel(poll.cancels)
        self._claimer.saw_ready(queues, poll.ready_queues)
        self._claim_loop.wake()
        for service in poll.chores:
            if service in self._services:
                self._services[service].wake()
        pause = self.settings.poll_seconds * self._rng.uniform(0.75, 1.25)
        if poll.next_due is not None:
            # What is overdue and still there is in somebody's hands: no hurry.
            pause = min(pause, poll.next_due + 0.001 if poll.next_due > 0 else OVERDUE_SECONDS)
        return pause

    async def _reconcile_tick(self) -> float:
        """Give back what we never heard of."""
        async with self._pool.connection() as conn:
            held = [*self.lanes.held(), *self._finisher.held()]
            lost = await workers.reconcile(conn, self._worker_id(), held, self._unheard_seconds())
        if lost:
            log.warning("claim_never_heard_of", worker=self.name, jobs=lost)
        return RECONCILE_SECONDS * self._rng.uniform(0.5, 1.5)

    def _rang(self, queue: str) -> None:
        self.recorder.add(DOORBELL_RINGS)
        self._heard(queue)

    def _heard(self, queue: str) -> None:
        if queue == POLL_NOW:  # services may have missed a ring too
            self._poll_loop.wake()
        service = self._services.get(queue.removeprefix("@"))
        if queue.startswith("@") and service is not None:
            service.wake()
        else:
            self.rouse(queue)

    async def _declared_dead(self) -> None:
        """Others think that we died and took our jobs.

        Stop them here, and go on as a new worker.
        """
        log.error("declared_dead", worker=self.name, id=str(self.id), running=self.lanes.running)
        self.lanes.interrupt_all("lost")
        self.lanes.forget_buffer()
        self._claimer.forget()
        await self._register()
        self._heart.rebirth(self._worker_id())
        self.rouse()

    def _claim_failed(self, error: BaseException) -> None:
        self._database_error(error)
        if isinstance(error, CommitUnknown):
            # We may hold jobs that we never heard of: look as soon as that is sure.
            loop = asyncio.get_running_loop()
            loop.call_later(1.1 * self._unheard_seconds(), self._reconcile_loop.wake)

    def _unheard_seconds(self) -> float:
        """The age of a claim whose answer is not on its way any more."""
        return 2 * self.settings.call_timeout_seconds

    def _database_error(self, error: BaseException) -> None:
        self.recorder.add(DATABASE_ERRORS, getattr(error, "code", type(error).__name__))

    # What contexts borrow (runtime.context.Services).

    def transaction(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """A transaction on a connection for handlers."""
        return self._host.transaction()

    def transaction_in_thread(self) -> AbstractContextManager[psycopg.Connection[Any]]:
        """A transaction on a connection for one plain function."""
        return self._host.transaction_in_thread()

    def note_progress(self, job: Job, done: float, total: float | None, note: str | None) -> None:
        """Pass progress on, from the loop or from a thread."""
        self._heart.call_in_loop(self._finisher.note_progress, job, done, total, note)
