"""Four hosts for real: the database, two with workers, and the API; the network between them is broken in every way.

Each host is a network name space (lab/torture/network.py), and every connection goes by TCP from one to another. Jobs
come in through the API all the time; at the end the history says whether leases, limits, the outbox and schedules held.
"""

import asyncio
import http.client
import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Json

from ostinato._core.db import migrate
from ostinato._core.engine import clock, keys, schedules
from ostinato._core.engine.schedules import Schedule
from ostinato._core.engine.schema import ENGINE
from ostinato._core.runtime.testing import KEY
from ostinato.lab.torture import network
from ostinato.lab.torture.crew import Crew, Hand
from ostinato.lab.torture.network import Host, Network
from ostinato.lab.torture.pair import serve, urls
from tests.faults.site import QUICK, Site, say
from tests.needs import needs
from tests.proxy import between
from tests.waiting import until

pytestmark = [
    pytest.mark.proof,
    needs("hosts", here=network.missing() is None, reason=f"no hosts here: {network.missing()}"),
]

APP = "tests.faults.hosts_app:app"
PORT = 8000
NAMES = ("db", "left", "right", "api")
KINDS: Iterator[dict[str, Any]] = itertools.cycle(
    [
        {"kind": "hosts.leased"},
        {"kind": "hosts.narrow", "limit_key": "k"},
        {"kind": "hosts.emitting", "args": {"key": "a"}},
        {"kind": "hosts.emitting", "args": {"key": "b"}},
    ]
)
SLOTS = 20
MORE = 8
SOON: dict[str, Any] = {"beat_seconds": 0.5, "expiry_seconds": 3, "call_timeout_seconds": 2}
BEHIND = "select from ostinato.list_subscriptions() s where s.behind + s.waiting + s.held > 0"
LOST = "select exists (select from ostinato_data.outcome o where o.worker_id = %s and o.outcome = 'lost')"
HOLD = "select ostinato.enqueue_job('hosts.holding', %s)"
HELD = (
    "select c.worker_id from ostinato_data.claim c join ostinato_data.worker w on w.id = c.worker_id"
    " where w.name = %s and c.job_ids && %s::bigint[]"
)
HISTORY = """
create table history
    (n bigint generated always as identity, what text, key text, number bigint, job_id bigint, attempt int);
grant select, insert on history to ostinato_worker;
"""


class Callers:
    """A thread on the API's host that adds jobs by HTTP, each until it is answered, under one Idempotency-Key."""

    def __init__(self, host: Host, key: str) -> None:
        self._host, self._key = host, key
        self._stop = threading.Event()
        self.added: list[int] = []
        self.refused = 0
        """Requests that had no answer, or one that says to come again."""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with self._host.inside():
            for number in itertools.count():
                if self._stop.wait(0.05):
                    return
                self._add(f"request-{number}", next(KINDS))

    def _add(self, name: str, body: dict[str, Any]) -> None:
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json", "Idempotency-Key": name}
        while not self._stop.is_set():
            try:
                status, answer = asked(self._host, "POST", "/api/v1/engine/jobs", json.dumps(body), headers)
            except OSError:
                status, answer = HTTPStatus.SERVICE_UNAVAILABLE, b""
            if status == HTTPStatus.ACCEPTED:
                self.added.append(int(json.loads(answer)["job_id"]))
                return
            assert status in (HTTPStatus.CONFLICT, HTTPStatus.SERVICE_UNAVAILABLE), answer
            self.refused += 1
            self._stop.wait(0.1)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


@contextmanager
def serving(host: Host, url: str, folder: Path) -> Iterator[None]:
    """Run the API on a host, until it answers and until the end of the block."""
    argv = [sys.executable, "-m", "ostinato", "api", f"--app={APP}", f"--host={host.address}", f"--port={PORT}"]
    ours = {"OSTINATO_DATABASE_URL": url, "OSTINATO_SECRET_KEY": KEY, "OSTINATO_CALL_TIMEOUT_SECONDS": "3"}
    with host.inside(), (folder / "api.log").open("wb") as log:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | ours)
    try:
        until(lambda: process.poll() is not None or answers(host))
        assert process.poll() is None, (folder / "api.log").read_text()[-3000:]
        yield
    finally:
        process.terminate()
        process.wait()


def asked(
    host: Host, method: str, path: str, body: str = "", headers: dict[str, str] | None = None
) -> tuple[int, bytes]:
    """What the API of a host answers."""
    connection = http.client.HTTPConnection(host.address, PORT, timeout=10)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def answers(host: Host) -> bool:
    with host.inside():
        try:
            asked(host, "GET", "/health/live")
        except OSError:
            return False
    return True


async def prepare(admin: str, worker: str) -> str:
    """Make the schema, schedules for the next seconds, and a key of the API."""
    await migrate.migrate(admin, [ENGINE])
    async with await psycopg.AsyncConnection.connect(admin, autocommit=True) as conn:
        await conn.execute("select ostinato.upkeep_partitions(14)")
        await conn.execute(HISTORY)
        now = await clock.now(conn)
    async with await psycopg.AsyncConnection.connect(worker, autocommit=True) as conn:
        times = [now + timedelta(seconds=5 + n) for n in range(SLOTS)]
        slots = [Schedule(f"slot-{n}", "hosts.serve", at=at, key=f"{n}") for n, at in enumerate(times)]
        await schedules.upsert_many(conn, slots)
    async with await psycopg.AsyncConnection.connect(admin, autocommit=True) as conn:
        made = await keys.create(conn, tenant_id="default", subject="tests", roles=["admin"])
    return made.key


class Field:
    """The hosts at work, and what must be felt of each fault."""

    def __init__(self, net: Network, site: Site, callers: Callers, hands: dict[str, Hand]) -> None:
        self.net, self.site, self.callers, self.hands = net, site, callers, hands
        self._told = 0

    def goes_on(self) -> None:
        """Wait until more was done than before."""
        enough = self.site.ended() + MORE
        until(lambda: self.site.ended() >= enough)

    def part(self, one: str, other: str) -> None:
        before, held = self._noticed(), self._hold({one, other})
        with self.net.parted(self.net[one], self.net[other]):
            self._feel({one, other}, before, held)
        self._recover()

    def part_one_way(self, source: str, target: str) -> None:
        before, held = self._noticed(), self._hold({source, target})
        self.net.drop(self.net[source], self.net[target])
        self._feel({source, target}, before, held)
        self.net.heal(self.net[target])
        self._recover()

    def _hold(self, ends: set[str]) -> UUID | None:
        """Give the worker that is to lose the database a job that it holds on to; returns its id. None: none does."""
        hand = next((self.hands[name] for name in ends if name in self.hands), None)
        if hand is None or "db" not in ends:
            return None
        self._told += 1
        jobs, held = list[int](), set[UUID]()

        def has_one() -> bool:
            jobs.append(self.site.value(HOLD, Json({"until": self._told})))
            held.update(row[0] for row in self.site.rows(HELD, hand.name, jobs))
            return bool(held)

        until(has_one)
        return held.pop()

    def lose(self, one: str, other: str, share: float) -> None:
        for source, target in ((one, other), (other, one)):
            self.net.drop(self.net[source], self.net[target], share)
        self.goes_on()
        self.net.heal()
        self._recover()

    def _recover(self) -> None:
        """Wait until both workers do something again, under the name that they had or a new one."""
        since = self.site.now()
        for hand in self.hands.values():
            self.site.until(
                "select exists (select from ostinato_data.outcome o join ostinato_data.worker w on w.id = o.worker_id"
                " where w.name = %s and o.finished_at > %s)",
                hand.name,
                since,
            )

    def _noticed(self) -> dict[str, int]:
        """How often each has lost the database so far: counted before it is parted, because it may notice at once."""
        lost = {name: hand.said("heart_lost_connection") for name, hand in self.hands.items()}
        return lost | {"api": self.callers.refused}

    def _feel(self, ends: set[str], before: dict[str, int], held: UUID | None) -> None:
        """Wait until whoever lost the database has noticed, its work was taken over, and the others have gone on."""
        say(f"parted: {' and '.join(sorted(ends))}")
        if "db" in ends:
            (name,) = ends - {"db"}
            until(lambda: self._noticed()[name] > before[name])
        if held is not None:
            self.site.until(LOST, held)
            self.site.rows("insert into history (what, number) values ('told', %s)", self._told)
        if ends != {"db", "api"}:
            self.goes_on()


def test_leases_limits_the_outbox_and_schedules_hold_while_hosts_are_parted(tmp_path: Path) -> None:
    with Network(*NAMES) as net:
        server = serve(tmp_path / "data", net["db"])
        try:
            key = asyncio.run(prepare(server.admin_url, server.worker_url))
            addresses = urls(net["db"])
            values = QUICK | {"secret_key": KEY} | SOON
            with (
                Site(server, server.urls(), tmp_path) as site,
                Crew(APP, addresses.worker, tmp_path, values, [net["left"], net["right"]]) as crew,
                between(server.worker_url, tmp_path) as slow_way,
                serving(net["api"], addresses.api, tmp_path),
            ):
                hands = {"left": crew.start(), "right": crew.start()}
                site.ready(*hands.values())
                callers = Callers(net["api"], key)
                try:
                    break_everything(Field(net, site, callers, hands))
                    # A slow link: the kernel here delays nothing, so a proxy does, for a worker of its own.
                    slow_way.trickle(400, [0.0, 0.0, 0.01, 0.05])
                    site.ready(crew.start(database_url=slow_way.url(server.worker_url), expiry_seconds=60))
                    Field(net, site, callers, hands).goes_on()
                finally:
                    callers.stop()
                site.until("select count(*) = %s from ostinato_data.schedule_fire", SLOTS)
                site.until_idle()
                site.until("select not ostinato_internal.has_unsequenced()")
                site.until(f"select not exists ({BEHIND})")
                say(f"{len(callers.added)} jobs added by HTTP, {callers.refused} requests repeated")
                check_history(site, callers.added)
        finally:
            server.stop(force=True)


def break_everything(field: Field) -> None:
    field.goes_on()
    for one, other in itertools.combinations(NAMES, 2):
        field.part(one, other)
    field.part_one_way("db", "left")
    field.part_one_way("left", "db")
    field.part_one_way("api", "db")
    field.lose("db", "right", 0.2)


def check_history(site: Site, added: list[int]) -> None:
    history: dict[str, list[tuple[str, int, int, int]]] = {}
    for what, *rest in site.rows("select what, key, number, job_id, attempt from history order by n"):
        history.setdefault(what, []).append((rest[0], rest[1], rest[2], rest[3]))
    done = {row[:2] for row in site.rows("select job_id, attempt from ostinato_data.outcome where outcome = 'done'")}
    assert set(added) <= {job_id for job_id, _ in done}
    assert len(set(added)) == len(added)

    # One holder after the other: tokens only grow, and each job wrote once, in the attempt that ended it.
    tokens = [number for _, number, _, _ in history["lease"]]
    assert tokens == sorted(set(tokens)) != []
    # One of the key at a time: of attempts that ended, none began while another ran.
    running: set[tuple[int, int]] = set()
    narrow = site.rows("select what, job_id, attempt from history where what in ('begin', 'end') order by n")
    assert narrow != []
    for what, *attempt in narrow:
        mine = (attempt[0], attempt[1])
        if what == "begin" and mine in done:
            assert running == set()
            running.add(mine)
        elif what == "end":
            running.remove(mine)
    # What was emitted is booked, once, and in its order.
    for key in ("a", "b"):
        emitted = [number for each, number, _, _ in history["emitted"] if each == key]
        assert emitted == [number for each, number, _, _ in history["booked"] if each == key]
        assert len(set(emitted)) == len(emitted)
    assert sorted(int(key) for key, *_ in history["slot"]) == list(range(SLOTS))
    for what in ("lease", "end", "emitted", "booked", "slot"):
        written = [(job_id, attempt) for _, _, job_id, attempt in history[what]]
        assert set(written) <= done
        assert len({job_id for job_id, _ in written}) == len(written)
    assert site.rows("select * from ostinato_data.dead_letter") == []
