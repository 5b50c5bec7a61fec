"""Runs `ostinato torture`: a database of its own, workers, work, and faults; then the count.

rage      work is enqueued, events are emitted, and things are broken, for the time asked for
quiet     nothing is broken any more; everything that is left has to end
count     the workers have gone, and the promises are counted
"""

import asyncio
import contextlib
import random
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from ostinato._core.base.settings import Settings
from ostinato._core.base.vault import new_key
from ostinato._core.db import embedded, migrate
from ostinato._core.db.sqlfile import statement
from ostinato._core.engine.schema import ENGINE
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato.lab.torture import app as kinds
from ostinato.lab.torture import checks, events, promises
from ostinato.lab.torture.apart import Apart
from ostinato.lab.torture.checks import Count, Left
from ostinato.lab.torture.crew import Crew
from ostinato.lab.torture.load import Load
from ostinato.lab.torture.nemesis import Nemesis
from ostinato.lab.torture.network import Host, Network
from ostinato.lab.torture.pair import Pair
from ostinato.lab.torture.pair import urls as pair_urls
from ostinato.lab.torture.receiver import Receiver

FILE = ("ostinato.lab.torture", "sql/torture.sql")
EVENTS = ("ostinato.lab.torture", "sql/events.sql")
APP = "ostinato.lab.torture.app:app"
EXPIRY_SECONDS = 3.0
SETTINGS: dict[str, object] = {
    "beat_seconds": 0.3,
    "expiry_seconds": EXPIRY_SECONDS,
    "poll_seconds": 0.25,
    "concurrency": 20,
    "cancel_grace_seconds": 0.5,
    "drain_seconds": 2,
    "call_timeout_seconds": 3,
}
KEEP_SECONDS = 0.1
LOOK_SECONDS = 1.0
# Only what hangs is not over by then, however busy the machine.
QUIET_SECONDS = 300.0
END_SECONDS = 120.0
MOST_REDRIVES = 10

Say = Callable[[str, float, Left | None], None]


@dataclass
class Report:
    """What was done, and which promises it broke."""

    seed: int
    minutes: float
    workers: int
    hosts: int = 0
    """On how many hosts the workers are; 0: all on this one."""
    slots: list[str] = field(default_factory=list)
    """The keys of the slots for which schedules were written."""
    harm: Counter[str] = field(default_factory=Counter)
    counts: list[Count] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    """The histories of jobs and events for which a promise was broken."""

    @property
    def holds(self) -> bool:
        """Whether every promise was kept."""
        return all(count.holds for count in self.counts)


async def run(seed: int, minutes: float, workers: int, say: Say) -> Report:
    """Torture workers for some minutes; `say` gets the phase, the progress, and what is left."""
    report = Report(seed, minutes, workers)
    with tempfile.TemporaryDirectory(prefix="ostinato-torture-") as folder:
        say("starting", 0, None)
        server = await asyncio.to_thread(embedded.start, Path(folder) / "data")
        try:
            # The superuser: the nemesis ends connections of every role.
            database = replace(Database.embedded(server), admin_url=server.admin_url)
            make = partial(Nemesis, server=server)
            await _torture(report, Place(Path(folder), database, make), say)
        finally:
            await asyncio.to_thread(server.stop, force=True)
    return report


def run_on_hosts(seed: int, minutes: float, workers: int, hosts: int, say: Say) -> Report:
    """Torture workers on some hosts, with the database and its standby on two more, and this process on another."""
    report = Report(seed, minutes, workers, hosts)
    own, names = "api", [f"worker-{number}" for number in range(1, hosts + 1)]
    with tempfile.TemporaryDirectory(prefix="ostinato-torture-") as name, Network(own, "one", "two", *names) as network:
        say("starting", 0, None)
        folder = Path(name)
        with Pair(folder, network["one"], network["two"]) as pair, network[own].inside():
            addresses = pair_urls(*pair.hosts)
            database = Database(addresses.worker, addresses.admin, addresses.worker)
            make = partial(Apart, pair=pair, network=network)
            crowd = [network[each] for each in names]
            place = Place(folder, database, make, crowd, network[own].address)
            asyncio.run(_torture(report, place, say))
    return report


@dataclass(frozen=True, slots=True)
class Place:
    """Where it happens, and who breaks what is there."""

    folder: Path
    database: Database
    nemesis: Callable[..., Nemesis]
    hosts: Sequence[Host] = ()
    address: str = "127.0.0.1"


async def _torture(report: Report, place: Place, say: Say) -> None:
    database = place.database
    logs = place.folder / "logs"
    logs.mkdir()
    await migrate.migrate(database.admin_url, [ENGINE])
    async with _admin(database) as conn:
        await conn.execute(statement(*FILE, "create_tables"))
        await conn.execute(statement(*EVENTS, "create_tables"))
        await conn.execute(statement(*promises.FILE, "create_tables"))
    receiver = Receiver(random.Random(report.seed), place.address)  # noqa: S311 - chance that can be repeated
    key = new_key()
    settings = SETTINGS | {"webhooks_allow_private": receiver.place, "secret_key": key}
    with receiver, Crew(APP, database.url, logs, settings, place.hosts) as crew:
        async with Client(database, Settings(secret_key=key)) as client, client.connection() as conn:
            await events.open_endpoint(conn, receiver)
            report.slots = await promises.plan(conn, kinds.slot.name, report.minutes)
        await _Run(report, place, crew, receiver, say).go()


class _Run:
    """The three phases."""

    def __init__(self, report: Report, place: Place, crew: Crew, receiver: Receiver, say: Say) -> None:
        self._report = report
        self._receiver = receiver
        self._database = place.database  # its addresses stay the same when the server is started again
        self._crew = crew
        self._say = say
        self._rng = random.Random(report.seed)  # noqa: S311 - chance that can be repeated
        self._nemesis = place.nemesis(
            crew, admin_url=place.database.admin_url, rng=self._chance(), expiry_seconds=EXPIRY_SECONDS
        )
        self._two_places = 0
        self._redriven = 0
        self._redelivered = 0
        self._untold = 0

    async def go(self) -> None:
        seconds = 60 * self._report.minutes
        async with Client(self._database) as client:
            # Each causes several crashes until it is found, so a few are enough for a minute.
            poison = 1 + int(2 * self._report.minutes)
            load = Load(client, self._chance(), EXPIRY_SECONDS, poison)
            async with _beside(self._keep()):
                async with _beside(load.run(), self._nemesis.run()):
                    await self._watch("rage", seconds, load)
                await self._calm(load)
            await self._end()
            await self._count(load)

    def _chance(self) -> random.Random:
        """Return a random generator for each user, so that none changes the sequence of the others."""
        return random.Random(self._rng.getrandbits(64))  # noqa: S311 - as above

    async def _keep(self) -> None:
        """Replace workers that have ended."""
        while True:
            for _ in range(self._report.workers - len(self._crew.alive)):
                self._crew.start()
            await asyncio.sleep(KEEP_SECONDS)

    async def _watch(self, phase: str, seconds: float, load: Load) -> None:
        start = time.monotonic()
        while (passed := time.monotonic() - start) < seconds:
            found = await self._look()
            if found is not None:
                load.waiting = found.alive
            self._say(phase, passed / seconds, found)
            await asyncio.sleep(min(LOOK_SECONDS, seconds - passed))

    async def _look(self) -> Left | None:
        """Return the present state, when the database can be reached."""
        try:
            async with _admin(self._database) as conn:
                self._two_places = max(self._two_places, await checks.in_two_places(conn))
                self._untold = await events.left(conn) + await promises.left(conn, self._report.slots)
                return await checks.left(conn)
        except (psycopg.Error, OSError):
            return None

    async def _calm(self, load: Load) -> None:
        """Wait until no job is left, and redrive dead letters whose jobs only ran beside a crash."""
        give_up = time.monotonic() + QUIET_SECONDS
        redrives = 0
        while time.monotonic() < give_up:
            with contextlib.suppress(Exception):  # the database may just be coming back
                await load.cancel_unwanted(keep=0)
            found = await self._look()
            self._say("quiet", 1 - (give_up - time.monotonic()) / QUIET_SECONDS, found)
            if found is not None and found.alive == 0:
                if await self._redrive():
                    redrives += 1
                elif self._untold == 0:
                    return
                if redrives == MOST_REDRIVES:
                    return
            await asyncio.sleep(KEEP_SECONDS)

    async def _redrive(self) -> int:
        async with _admin(self._database) as conn:
            cursor = await conn.execute(statement(*FILE, "redrive_innocent"), [kinds.POISON])
            row = await cursor.fetchone()
            redelivered = await events.repair(conn)
        redriven = 0 if row is None else int(row[0])
        self._redriven += redriven
        self._redelivered += redelivered
        return redriven + redelivered

    async def _end(self) -> None:
        self._say("ending", 1, None)
        for hand in self._crew.alive:
            hand.terminate()
        give_up = time.monotonic() + END_SECONDS
        while self._crew.alive and time.monotonic() < give_up:  # noqa: ASYNC110 - processes
            await asyncio.sleep(KEEP_SECONDS)

    async def _count(self, load: Load) -> None:
        async with _admin(self._database) as conn:
            found = await checks.counts(conn, load.acknowledged)
            longest = await checks.longest_rescue(conn, self._nemesis.deaths)
            kept = await promises.counts(conn, self._report.slots)
            about_events = await events.counts(conn, load.emitter, self._receiver)
            if not all(count.holds for count in found):
                self._report.evidence += await checks.evidence(conn, load.acknowledged)
            if not all(count.holds for count in about_events):
                self._report.evidence += await events.evidence(conn, self._receiver)
        self._report.harm = self._nemesis.done
        self._report.counts = [
            *found,
            Count("jobs ever seen in two places", self._two_places, 0),
            Count("workers that did not end when asked to", len(self._crew.alive), 0),
            *kept,
            *about_events,
            Count("innocent events buried by crashes and redelivered", self._redelivered),
            Count("innocent jobs buried by crashes and redriven", self._redriven),
            Count("stale writes refused", self._crew.said("fenced")),
            Count("workers declared dead that went on", self._crew.said("declared_dead")),
            Count("enqueues of unknown outcome", load.unsure),
            Count("longest time from death to rescue, seconds", round(longest, 2)),
        ]


@asynccontextmanager
async def _beside(*work: Any) -> AsyncIterator[None]:  # noqa: ANN401 - coroutines of anything
    """Run something beside the block; an error in it ends the block."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in work]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


@asynccontextmanager
async def _admin(database: Database) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    url = database.admin_url
    async with await psycopg.AsyncConnection.connect(url, autocommit=True, connect_timeout=3) as conn:
        yield conn
