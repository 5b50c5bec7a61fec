"""Live figures: one snapshot a second serves every open page of a scope.

A scope is a tenant, or the installation. While somebody looks, its snapshot is read once a second:
the queues each time, what changes slowly every five or ten seconds. Pages that are drawn and streams
that are open share it, so two hundred tabs cost the database as much as one. A scope beyond the most
that are watched at once is read for each page that asks. Who has just acted is shown no snapshot from
before: all of it is read again, from the primary, and so are the next ones until a replica has caught up.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus

from ostinato._core.base.errors import OstinatoError, TooManyRequests
from ostinato._core.base.log import get_logger
from ostinato._core.engine import alerts, clock, inspect, schedules, series, subscriptions, webhooks
from ostinato._core.engine.alerts import Firing
from ostinato._core.engine.inspect import DeadLetterGroup, QueueSummary, WorkerSummary
from ostinato._core.engine.schedules import Upcoming
from ostinato._core.engine.series import QueueRate, Step
from ostinato._core.engine.subscriptions import Subscription
from ostinato._core.engine.webhooks import Endpoint
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.replica import from_primary, lacks_for, showing
from ostinato._faces.api.ratelimit import Bounded

log = get_logger("console")

EVERY_SECONDS = 1.0
EVERY_SECONDS_OF_TENANT = 2.0
SLOW_SECONDS = 5.0
SLOWEST_SECONDS = 10.0
LINGER_SECONDS = 15.0
"""A scope that nobody looks at is read no more after this long."""
HOUR = timedelta(hours=1)
SHOWN = 50
MOST_SCOPES = 200
MOST_STREAMS = 1_000
MOST_STREAMS_OF_TENANT = 200
"""However often its people sign in: the streams of this process are there for all tenants."""
MOST_STREAMS_OF_SESSION = 20

MOST_MARKS = 100
"""So many actions are remembered that a snapshot was read after."""

Scope = str | None
"""A tenant; None means the installation."""


@dataclass
class Snapshot:
    """What the first page shows, at one moment."""

    at: datetime
    queues: list[QueueSummary] = field(default_factory=list)
    hour: list[Step] = field(default_factory=list)
    """The last hour by minutes, those without work left out."""
    rates: dict[str, QueueRate] = field(default_factory=dict)
    """What each queue did in the last minutes; empty for a tenant."""
    workers: list[WorkerSummary] = field(default_factory=list)
    firings: list[Firing] = field(default_factory=list)
    dead: list[DeadLetterGroup] = field(default_factory=list)
    upcoming: list[Upcoming] = field(default_factory=list)
    subscriptions: list[Subscription] = field(default_factory=list)
    """How far each subscription is; empty for a tenant."""
    failing: list[Endpoint] = field(default_factory=list)
    """Webhook endpoints that refuse, or that nothing is sent to."""
    waits: dict[str, int] = field(default_factory=dict)
    """What waits for a person, by the key of the panel that says so."""
    lag: float | None = None
    """How many seconds the replica was behind that it was read from; None: it is the primary's."""
    sent: bytes | None = field(default=None, init=False, compare=False)
    """The event that all streams send for it; made by the first."""
    shape: object = field(default=None, init=False, compare=False)
    """What a page has to be drawn anew for, likewise."""

    @property
    def waiting(self) -> int:
        """Jobs that could run now."""
        return sum(queue.ready for queue in self.queues)

    @property
    def scheduled(self) -> int:
        """Jobs whose time has not come."""
        return sum(queue.scheduled for queue in self.queues)

    @property
    def running(self) -> int:
        """Jobs that workers hold."""
        return sum(queue.running for queue in self.queues)

    @property
    def dead_letters(self) -> int:
        """Jobs that are not retried any more."""
        return sum(queue.dead for queue in self.queues)

    @property
    def about(self) -> bool:
        """Whether the counts are lower bounds."""
        return any(queue.capped for queue in self.queues)

    @property
    def oldest(self) -> float | None:
        """The longest wait of a job that could run."""
        return max((queue.oldest_wait for queue in self.queues if queue.oldest_wait is not None), default=None)

    @property
    def last_minute(self) -> Step | None:
        """The last whole minute, if anything happened in it."""
        whole = self.at.replace(second=0, microsecond=0) - timedelta(minutes=1)
        return next((step for step in self.hour if step.at == whole), None)

    @property
    def this_minute(self) -> Step | None:
        """The minute that runs, as far as workers have told of it; they do every ten seconds."""
        start = self.at.replace(second=0, microsecond=0)
        return next((step for step in self.hour if step.at == start), None)

    def usually(self, figure: Callable[[Step], float]) -> float:
        """Return the median of a figure over the minutes of the hour before the last; one without work counts as 0."""
        found = [figure(step) for step in self._before]
        values = sorted([0.0] * max(0, 59 - len(found)) + found)
        return values[len(values) // 2]

    @property
    def usual_p99(self) -> float | None:
        """The median start latency of the minutes of the hour before the last in which anything started."""
        values = sorted(step.p99 for step in self._before if step.p99 is not None)
        return values[len(values) // 2] if values else None

    @property
    def _before(self) -> list[Step]:
        last = self.at.replace(second=0, microsecond=0) - timedelta(minutes=1)
        return [step for step in self.hour if step.at < last]


Count = Callable[[AsyncConnection[Any]], Awaitable[int]]


class Watched:
    """The snapshot of one scope, kept fresh while somebody looks."""

    def __init__(self, scope: Scope, client: Client, counts: Mapping[str, Count], *, alone: bool = False) -> None:
        self._counts = counts
        self.snapshot: Snapshot | None = None
        self._scope = scope
        self._client = client
        self._due = {"slow": 0.0, "slowest": 0.0}
        self._clock: tuple[datetime, float] | None = None
        self._asked = time.monotonic()
        self._alone = alone
        self._reading = asyncio.Lock()
        self._marks: Bounded[str, None] = Bounded(MOST_MARKS)
        self._primary_until = 0.0
        # One event for each snapshot, and no condition: a stream that is cancelled while it waits leaves no lock.
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_read(self) -> bool:
        """Whether the scope is being read."""
        return self._task is not None and not self._task.done()

    @property
    def is_alone(self) -> bool:
        """Whether each snapshot is read for the one who asks, and nothing is kept fresh."""
        return self._alone

    async def now(self, acted: str | None = None) -> Snapshot:
        """Return the newest snapshot; the first one is waited for.

        `acted` marks what the reader has just done: a snapshot from before is not returned.
        """
        if not self._alone:
            await self._first()
        if acted is not None and acted not in self._marks:
            self._primary_until = time.monotonic() + lacks_for(self._client.replica)
            await self._read(anew=True)
            self._marks.keep(acted, None)
        elif self.snapshot is None or self._alone:
            await self._read()
        assert self.snapshot is not None  # noqa: S101 - it was just read
        return self.snapshot

    async def news(self) -> None:
        """Wait for the next snapshot, or for as long as one may take."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SLOWEST_SECONDS):
                await self._news.wait()

    def stop(self) -> None:
        """Stop reading, and wake those who wait."""
        self._alone = True
        if self._task is not None:
            self._task.cancel()
        self._tell()

    async def _first(self) -> None:
        self._asked = time.monotonic()
        if not self.is_read:
            self.snapshot = None
            self._due = dict.fromkeys(self._due, 0.0)
            self._task = asyncio.create_task(self._watch(), name="console")
        task = self._task
        assert task is not None  # noqa: S101 - just made
        while self.snapshot is None and not task.done():
            await self._news.wait()
        if self.snapshot is None and not task.cancelled():
            await task  # raises what went wrong

    async def _watch(self) -> None:
        every = EVERY_SECONDS if self._scope is None else EVERY_SECONDS_OF_TENANT
        try:
            while time.monotonic() - self._asked < LINGER_SECONDS:
                try:
                    await self._read()
                except OstinatoError as error:
                    if self.snapshot is None:
                        raise
                    log.warning("snapshot_failed", error=error.message)
                self._tell()
                await asyncio.sleep(every)
        finally:
            self._tell()

    def _tell(self) -> None:
        told, self._news = self._news, asyncio.Event()
        told.set()

    async def _read(self, *, anew: bool = False) -> None:
        async with self._reading:
            due = dict.fromkeys(self._due, 0.0) if anew else dict(self._due)

            async def read() -> Snapshot:
                self._due = dict(due)  # it may be read again, from the primary
                return await self._read_new()

            if anew or time.monotonic() < self._primary_until:
                new, lag = await from_primary(read), None
            else:
                new, lag = await showing(read)
            new.lag = lag
            self.snapshot = new

    async def _read_new(self) -> Snapshot:
        async with reading(self._client, self._scope) as conn:
            slow = self._is_due("slow", SLOW_SECONDS)
            if slow or self._clock is None:  # in between, the seconds that went by are added to the database's clock
                self._clock = (await clock.now(conn), time.monotonic())
            at = self._clock[0] + timedelta(seconds=time.monotonic() - self._clock[1])
            new = Snapshot(at) if self.snapshot is None else replace(self.snapshot, at=at)
            new.queues = await inspect.list_queues(conn)
            if slow:
                new.workers = await inspect.list_workers(conn)
                new.firings = await _firings(conn, self._scope)
            if slowest := self._is_due("slowest", SLOWEST_SECONDS):
                await self._read_slowest(conn, new)
        if slowest:  # the role of a tenant cannot read endpoints, because of the secrets beside them
            async with self._client.reading() as conn:
                new.failing = await webhooks.list_endpoints(
                    conn, tenant_id=self._scope, failing=True, most=SHOWN, sample=1
                )
        return new

    async def _read_slowest(self, conn: AsyncConnection[Any], new: Snapshot) -> None:
        """Read what workers write every ten seconds, and what changes when people or schedules act."""
        new.hour = await series.list_series(conn, new.at - HOUR, tenant_id=self._scope)
        new.waits = {key: await _counted(conn, key, count) for key, count in self._counts.items()}
        new.dead = await inspect.dead_letter_groups(conn, most=SHOWN)
        new.upcoming = await schedules.upcoming(conn, tenant_id=self._scope, most=8)
        if self._scope is None:
            since = new.at - timedelta(minutes=5)
            new.rates = {rate.queue: rate for rate in await series.queue_rates(conn, since)}
            new.subscriptions = await subscriptions.list_subscriptions(conn)

    def _is_due(self, name: str, seconds: float) -> bool:
        if time.monotonic() < self._due[name]:
            return False
        self._due[name] = time.monotonic() + seconds
        return True


class Live:
    """The snapshots of all scopes that somebody looks at, and the streams that follow them."""

    def __init__(self, client: Client, counts: Mapping[str, Count] | None = None) -> None:
        self._client = client
        self._counts = counts or {}
        self._watched: dict[Scope, Watched] = {}
        self._streams: Counter[tuple[Scope, int]] = Counter()
        self._stopped = False

    def of(self, scope: Scope) -> Watched:
        """Return the snapshot of a scope."""
        found = self._watched.get(scope)
        if found is None:
            if len(self._watched) >= MOST_SCOPES:
                self._watched = {each: kept for each, kept in self._watched.items() if kept.is_read}
            alone = self._stopped or len(self._watched) >= MOST_SCOPES
            found = Watched(scope, self._client, self._counts, alone=alone)
            if not alone:
                self._watched[scope] = found
        return found

    async def following(self, scope: Scope) -> AsyncIterator[Snapshot]:
        """Yield each snapshot from now on, until the process stops; one only, where no scope more can be watched."""
        last: datetime | None = None
        while not self._stopped:
            watched = self.of(scope)
            found = await watched.now()
            if found.at != last:
                last = found.at
                yield found
            if watched.is_alone:
                return
            await watched.news()

    @contextmanager
    def stream(self, tenant: Scope, session_id: int) -> Iterator[None]:
        """Count a stream of a session of a tenant (None: of the installation) while it is open."""
        self._streams[tenant, session_id] += 1
        try:
            yield
        finally:
            self._streams[tenant, session_id] -= 1
            self._streams += Counter()  # drops what is zero

    def check_streams(self, tenant: Scope, session_id: int) -> None:
        """Refuse a stream beyond the most that a session, a tenant, or this process may have open."""
        of_tenant = sum(count for (whose, _), count in self._streams.items() if whose == tenant)
        if (
            self._streams[tenant, session_id] >= MOST_STREAMS_OF_SESSION
            or (tenant is not None and of_tenant >= MOST_STREAMS_OF_TENANT)
            or self._streams.total() >= MOST_STREAMS
        ):
            raise TooManyRequests(
                f"{MOST_STREAMS_OF_SESSION} pages of a session are live at most, {MOST_STREAMS_OF_TENANT} of a tenant",
                hint="Close some of its tabs.",
                retry_after=int(LINGER_SECONDS),
            )

    def stop(self) -> None:
        """Stop all reading, and end the streams."""
        self._stopped = True
        for watched in self._watched.values():
            watched.stop()


@asynccontextmanager
async def reading(client: Client, scope: Scope) -> AsyncIterator[AsyncConnection[Any]]:
    """Open a connection that shows one tenant, or the installation."""
    if scope is None:
        async with client.reading() as conn:
            yield conn
    else:
        async with client.for_tenant(scope).reading() as conn:
            yield conn


async def _firings(conn: AsyncConnection[Any], scope: Scope) -> list[Firing]:
    if scope is None:
        return await alerts.firings(conn, only_open=True, most=SHOWN)
    return await alerts.own_firings(conn, only_open=True, most=SHOWN)


async def _counted(conn: AsyncConnection[Any], key: str, count: Count) -> int:
    """Return what one application says that waits; one that cannot be asked takes nothing from the others."""
    try:
        # One statement alone needs no transaction; within one, a savepoint keeps a failure to itself.
        alone = conn.info.transaction_status == TransactionStatus.IDLE
        async with nullcontext() if alone else conn.transaction():
            return await count(conn)
    except Exception as error:
        if conn.broken:
            raise
        log.warning("items_not_counted", panel=key, error=f"{type(error).__name__}: {error}")
        return 0


def event(name: str, value: object) -> bytes:
    """Format a server-sent event."""
    return f"event: {name}\ndata: {json.dumps(value, separators=(',', ':'))}\n\n".encode()
