"""A worker is one process that claims and runs jobs.

    heart    (thread)  beats on a connection of its own, listens to the doorbell, watches the loop
    warden   (process) beats while the GIL is held, ends this process when a handler blocks it
    poller   (loop)    every `poll_seconds` (1.5): rescues, promotes, finds what to claim and cancel
    claimer  (loop)    claims jobs for the lanes
    lanes    (tasks)   run the handlers
    finisher (loop)    writes the verdicts
    saver    (loop)    writes the steps
    marker   (loop)    marks what begins, and what is held in a transaction of its own
    intakes  (loops)   take messages from brokers: runtime.brokers.intakes
    services (loops)   work for the whole installation: runtime.services

States of a worker: starting, running, draining (SIGTERM: claims nothing, gives back what has not
started, waits for what runs), stopped. What may go wrong, and then:
- the database goes away: loops retry with growing pauses until it is back; verdicts wait in the
  finisher;
- this process is declared dead (paused for too long): the heart learns it at its next beat;
  handlers are stopped, the fence refuses late verdicts, and the worker goes on under a new id;
- this process dies: its row expires, and any other worker takes its jobs back.
"""

import asyncio
import contextlib
import os
import platform
import random
from collections.abc import Sequence
from uuid import UUID

from ostinato._core.base.errors import NotConfigured, OstinatoError
from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import DATABASE_ERRORS, Recorder
from ostinato._core.base.settings import Settings
from ostinato._core.db.keep import Keeper
from ostinato._core.db.pool import Pool
from ostinato._core.engine import workers
from ostinato._core.engine.jobs import ANY_QUEUE
from ostinato._core.runtime.brokers.broker import url_of
from ostinato._core.runtime.brokers.intakes import Taking, closed_at_the_end
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.handlers.merged import event_kinds, merged_kinds
from ostinato._core.runtime.observe import tracing
from ostinato._core.runtime.services import bulk, webhooks
from ostinato._core.runtime.services.services import Service, Site, background
from ostinato._core.runtime.worker.claimer import Claimer
from ostinato._core.runtime.worker.doorbell import Doorbell
from ostinato._core.runtime.worker.enrol import enrol, queues_of
from ostinato._core.runtime.worker.finisher import Finisher
from ostinato._core.runtime.worker.heart import Heart
from ostinato._core.runtime.worker.host import WorkerHost
from ostinato._core.runtime.worker.lanes import Lanes
from ostinato._core.runtime.worker.loop import Loop
from ostinato._core.runtime.worker.marker import Marker
from ostinato._core.runtime.worker.poller import Poller
from ostinato._core.runtime.worker.saver import Saver
from ostinato._core.runtime.worker.slots import Slots
from ostinato._core.runtime.worker.tally import Tally
from ostinato._core.runtime.worker.ward import Ward

log = get_logger("worker")

SERVICE_CONNECTIONS = 8
SPARE_CONNECTIONS = 10
SERVER_SHARE = 4
"""By default the handlers of one worker use at most one in four of the server's connections."""
LAST_WRITES_SECONDS = 0.01


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
        for kind in () if only else sorted({kind for app in apps for kind in app.brokers}):
            url_of(kind, self.settings)  # refuses what is not configured, before anything starts
        self.recorder = Recorder()
        self._rng = rng or random.Random()  # noqa: S311  # spreads load, guards nothing
        apps = bulk.with_app(webhooks.with_app(apps, self.settings, self.recorder, self._rng))
        self.kinds = {} if only else merged_kinds(apps)
        self.queues = () if only else tuple(dict.fromkeys(queues or queues_of(apps)))
        self._only = frozenset(only) if only else None
        self.name = name or f"{platform.node()}-{os.getpid()}"
        self.id: UUID | None = None
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
            vault=self.settings.vault,
        )
        self._handler_pool = Pool(
            database.url,
            role="handler",
            pooled=database.pooled,
            min_size=0,
            max_size=self._most_connections(),
            spares=SPARE_CONNECTIONS,
            patient=True,
            seconds=seconds,
            vault=self.settings.vault,
        )
        self._build()

    def _most_connections(self) -> int:
        """Return the connections that handlers get at most: one for each job that may run."""
        settings = self.settings
        return min(settings.handler_connections or settings.concurrency, settings.concurrency)

    def _keep(self) -> Keeper:
        keeper = Keeper(self._pool)
        self._keepers.append(keeper)
        return keeper

    def _build(self) -> None:
        """Make the parts: a ring reaches the claimer, a claim the lanes, a verdict the finisher."""
        settings = self.settings
        self._keepers: list[Keeper] = []
        self._finish_loop = Loop(
            "finisher",
            lambda: self._finisher.tick(),  # noqa: PLW0108 - made next: each wakes the other
            on_error=self._database_error,
            rng=self._rng,
        )
        self.tally = Tally(self._pool, rng=self._rng, on_error=self._database_error)
        self._finisher = Finisher(
            self._keep(),
            self.recorder,
            wake=self._finish_loop.wake,
            on_written=lambda queue, plainly: self._claimer.ended(queue, plainly=plainly),
            events=event_kinds(self.kinds),
            tally=self.tally,
        )
        self._marker = Marker(self._keep(), self._rng, self._database_error)
        slots = Slots(self._most_connections(), self._connections_free)
        self.host = WorkerHost(
            self._handler_pool,
            self._database,
            settings,
            Saver(self._keep(), self.recorder, self._rng, self._database_error),
            marker=self._marker,
            slots=slots,
            hear=lambda queue: self._doorbell.heard(queue),  # noqa: PLW0108 - made last
            note=lambda *noted: self._heart.call_in_loop(self._finisher.note_progress, *noted),
        )
        self.lanes = Lanes(
            self.kinds,
            self.host,
            self._finisher.add,
            self._marker,
            concurrency=settings.concurrency,
            prefetch=settings.prefetch,
            grace_seconds=settings.cancel_grace_seconds,
            on_room=lambda: self._claimer.has_room(),  # noqa: PLW0108 - made next
            connections=slots.room,
            execute=tracing.chosen(traces=settings.traces),
            rng=self._rng,
        )
        self._claimer = Claimer(
            self._keep(),
            self.lanes,
            queues=self.queues,
            kinds=list(self.kinds),
            marker=self._marker,
            connections=slots.room,
            recorder=self.recorder,
            rng=self._rng,
            worker_id=self._worker_id,
            heart=lambda: self._heart,
            on_error=self._claim_failed,
        )
        taken = [] if self._only else [intake for app in self._apps for intake in app.intakes]
        self._taking = [Taking(each, settings, self.recorder, self.host.transaction) for each in taken]
        self._watch()

    def _connections_free(self) -> None:
        """Go on with jobs that use connections: there are some again."""
        self.lanes.wake()
        self._claimer.has_connections()

    def _watch(self) -> None:
        """Make the parts that find work: the services, the poller, the doorbell, the heart."""
        parts = background(Site(self._apps, self.settings, self.recorder, self._rng, self._only))
        self._services = {service.name: self._serve(service) for service in parts}
        self._poller = Poller(
            self._keep(),
            self._pool,
            self._claimer,
            self.lanes,
            self._finisher,
            services=self._services,
            settings=self.settings,
            recorder=self.recorder,
            rng=self._rng,
            worker_id=self._worker_id,
            on_error=self._database_error,
            drain=self.stop,
        )
        self._doorbell = Doorbell(self._claimer, self._poller.loop, self._services, self.recorder)
        self._ward = Ward(self.name, self._database, self.settings, self.kinds)
        self._heart = Heart(
            self._database,
            self.settings,
            queues=(*self._rung_for(), *(f"@{name}" for name in self._services)),
            kinds=self.kinds,
            running=self.lanes.contexts,
            ward=self._ward,
            on_ring=self._doorbell.rang,
            on_death=self._declared_dead,
        )

    def _rung_for(self) -> tuple[str, ...]:
        """Return the queues to listen for: a ring that reaches a process without jobs would be lost."""
        return (*self.queues, ANY_QUEUE) if self.queues else ()

    def _serve(self, service: Service) -> Loop:
        async def tick() -> float:
            async with self._pool.connection() as conn:
                return await service.tick(conn)

        return Loop(service.name, tick, on_error=self._database_error, rng=self._rng)

    async def run(self) -> None:
        """Work until `stop` is called; then drain and return."""
        async with self._pool, self._handler_pool, self.host.shared, closed_at_the_end(self._taking):
            await self._register()
            self.lanes.board = self._ward.open()
            self._heart.start(self._worker_id())
            loops = [
                self._finish_loop,
                self._claimer.loop,
                self._poller.loop,
                self.host.saver.loop,
                self._marker.loop,
                self._poller.reconciling,
                self.tally.loop,
                *self._services.values(),
                *(Loop(each.name, each.tick, on_error=self._database_error, rng=self._rng) for each in self._taking),
            ]
            tasks = [asyncio.create_task(loop.run(), name=loop.name) for loop in loops]
            log.info("worker_started", worker=self.name, id=str(self.id), queues=self.queues, kinds=len(self.kinds))
            self.started.set()
            self.rouse()
            try:
                await self._stop.wait()
            finally:
                await self._shut_down(loops, tasks)

    @property
    def recorders(self) -> tuple[Recorder, Recorder]:
        """The recorders of the loop and of the heart's thread."""
        return self.recorder, self._heart.recorder

    def stop(self) -> None:
        """Drain and end; safe to call more than once, and from a signal handler."""
        self._stop.set()

    def rouse(self, queue: str | None = None) -> None:
        """Look for work now, in one queue or all."""
        self._claimer.rouse(queue)

    async def _shut_down(self, loops: list[Loop], tasks: list[asyncio.Task[None]]) -> None:
        log.info("worker_draining", worker=self.name, running=self.lanes.running, seconds=self.settings.drain_seconds)
        self._claimer.paused = True
        self._heart.drain()
        await self.lanes.drain(self.settings.drain_seconds)
        # The finisher stops last, after it has written what the others leave behind.
        finish_loop, *others = loops
        for loop in others:
            loop.stop()
        await asyncio.wait(tasks[1:], timeout=self.settings.call_timeout_seconds)
        await self._write_last()
        finish_loop.stop()
        await asyncio.wait(tasks[:1], timeout=self.settings.call_timeout_seconds)
        with contextlib.suppress(OstinatoError):
            await self.tally.write()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for keeper in self._keepers:
            await keeper.release()
        unwritten = self._finisher.pending
        self._heart.stop()
        self.lanes.board = None
        self._ward.close()
        try:
            async with asyncio.timeout(self.settings.call_timeout_seconds), self._pool.connection() as conn:
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
                places=self.settings.concurrency,
            )
            most = self._most_connections()
            if not self.settings.handler_connections:
                most = max(1, min(most, await workers.connections(conn) // SERVER_SHARE))
            self.host.open(most)

    def _worker_id(self) -> UUID:
        if self.id is None:
            raise NotConfigured("this worker has not started", hint="Await worker.run().")
        return self.id

    async def _declared_dead(self) -> None:
        """Go on under a new id after other workers declared this one dead and took its jobs.

        The handlers of those jobs are stopped here.
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
        self._poller.claim_failed(error)

    def _database_error(self, error: BaseException) -> None:
        self.recorder.add(DATABASE_ERRORS, getattr(error, "code", type(error).__name__))
