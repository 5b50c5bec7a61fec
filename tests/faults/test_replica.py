"""Pages, lists and figures are read from a real streaming standby; decisions are made on the primary."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from structlog.typing import EventDict

from ostinato._core.base.settings import Settings
from ostinato._core.engine import keys
from ostinato._core.runtime import replica
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato._faces.api.metrics_page import metrics_app
from ostinato._faces.api.parts import Parts
from ostinato._faces.api.server import build
from tests.faults.replicas import Replicated, copied, make_seed
from tests.opened import OPEN, opened
from tests.waiting import until

pytestmark = pytest.mark.slow

ENGINE = "/api/v1/engine"
LAG = "ostinato-replica-lag"
PATIENCE = 60.0
FAR_BEHIND = 3600.0


@dataclass
class Site:
    pair: Replicated
    parts: Parts
    http: httpx.AsyncClient
    key: str
    staff: Client

    async def get(self, path: str) -> httpx.Response:
        answer = await self.http.get(path)
        assert answer.status_code == 200, answer.text
        return answer

    async def check(self) -> None:
        """Look at the replica now, in each of the clients that read it."""
        for client in (self.parts.client, self.staff):
            assert client.replica is not None
            await client.replica.check()

    def of_standby(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.pair.standby.url(self.pair.urls.admin), autocommit=True) as conn:
            return conn.execute(statement.encode()).fetchall()

    def caught_up(self) -> None:
        (position,) = self.pair.ask("select pg_current_wal_lsn()::text")[0]
        until(lambda: self.of_standby(f"select pg_last_wal_replay_lsn() >= '{position}'") == [(True,)])


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seed")
    make_seed(folder)
    return folder


@pytest.fixture
def pair(seed: Path) -> Iterator[Replicated]:
    with copied(seed) as primary, Replicated(primary) as made:
        yield made


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A busy machine's replica is not away, and nobody looks at it but the test."""
    monkeypatch.setattr(replica, "ANSWER_SECONDS", PATIENCE)
    monkeypatch.setattr(replica, "CHECK_SECONDS", FAR_BEHIND)
    return monkeypatch


@pytest.fixture
async def site(pair: Replicated, patience: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    urls = pair.urls
    database = Database(urls.worker, urls.admin, listen_url=urls.worker, api_url=urls.api)
    place = pair.standby.url(urls.worker).partition("host=")[2].partition("&")[0]
    parts = Parts(database, Settings(read_url=f"postgresql:///?host={place}", read_lag_seconds=FAR_BEHIND))
    app = build(parts)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        Client(database) as worker,
        httpx.AsyncClient(transport=transport, base_url="http://api.test") as http,
    ):
        async with worker.connection() as conn:
            made = await keys.create(conn, tenant_id="acme", subject="ann", roles=("admin", "installation"))
        with psycopg.connect(urls.admin, autocommit=True) as conn:
            conn.execute(OPEN, opened("app.task"))
        http.headers["Authorization"] = f"Bearer {made.key}"
        found = Site(pair, parts, http, made.key, app.state.site.staff)
        found.caught_up()
        await found.check()
        yield found


async def enqueued(site: Site) -> str:
    answer = await site.http.post(f"{ENGINE}/jobs", json={"kind": "app.task"})
    assert answer.status_code == 202, answer.text
    assert LAG not in answer.headers
    return str(answer.json()["job_id"])


async def test_lists_pages_and_figures_are_read_there_and_say_how_far_behind_it_is(site: Site) -> None:
    job = await enqueued(site)
    site.caught_up()

    for path in (f"{ENGINE}/jobs", f"{ENGINE}/jobs/{job}", f"{ENGINE}/jobs/{job}/why", f"{ENGINE}/queues"):
        assert float((await site.get(path)).headers[LAG]) < FAR_BEHIND
    assert (await site.http.post("/console/sign-in", data={"key": site.key})).status_code == 303
    del site.http.headers["Authorization"]
    for path in ("/", "/jobs", f"/jobs/{job}", "/queues", "/workers", "/schedules", "/events", "/webhooks", "/alerts"):
        page = await site.get(f"/console{path}")
        assert LAG in page.headers, path
        assert "Read from a replica" in page.text, path
    transport = httpx.ASGITransport(metrics_app(site.parts), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://metrics.test") as http:
        assert "ostinato_replica_lag_seconds" in (await http.get("/metrics")).text


async def test_what_was_written_a_moment_ago_is_found_although_the_replica_has_it_not(site: Site) -> None:
    site.of_standby("select pg_wal_replay_pause()")
    until(lambda: site.of_standby("select pg_get_wal_replay_pause_state()") == [("paused",)])
    before = await enqueued(site)  # decided on the primary, although the replica stands still

    found = await site.get(f"{ENGINE}/jobs/{before}")
    assert LAG not in found.headers
    listed = await site.get(f"{ENGINE}/jobs")
    assert listed.json()["items"] == []
    assert LAG in listed.headers
    again = await site.http.post(f"{ENGINE}/jobs/{before}/cancel", json={})
    assert again.json()["effect"] == "cancelled"


def heading(page: httpx.Response) -> str:
    found = re.search("<h1.*?</h1>", page.text, re.DOTALL)
    assert found is not None
    return found[0]


async def test_who_acted_reads_the_primary_until_the_replica_must_have_it_and_others_do_not(site: Site) -> None:
    job = await enqueued(site)
    site.caught_up()
    assert (await site.http.post("/console/sign-in", data={"key": site.key})).status_code == 303
    del site.http.headers["Authorization"]
    token = re.search(r'name="token" value="(\w+)"', (await site.get("/console/")).text)
    assert token is not None
    site.of_standby("select pg_wal_replay_pause()")
    until(lambda: site.of_standby("select pg_get_wal_replay_pause_state()") == [("paused",)])

    acted = await site.http.post(f"/console/jobs/{job}/cancel", data={"token": token[1]})
    pages = [await site.get(f"/console/jobs/{job}") for _ in range(3)]

    assert acted.status_code == 303
    for page in pages:
        assert "cancelled" in heading(page)
        assert LAG not in page.headers
        assert "Read from a replica" not in page.text
    assert f"max-age={2 * FAR_BEHIND:.0f}" in acted.headers["set-cookie"].lower()
    site.http.cookies.delete("ostinato-acted")  # as in another browser
    await site.check()
    other = await site.get(f"/console/jobs/{job}")
    assert "cancelled" not in heading(other)
    assert LAG in other.headers


@pytest.mark.proof
async def test_a_replica_that_is_too_far_behind_away_or_promoted_is_not_read_and_that_is_said_once(
    site: Site, logs: list[EventDict]
) -> None:
    found = site.parts.client.replica
    assert found is not None

    def said() -> list[str]:
        return [line["event"] for line in logs if line["event"].startswith("replica_")]

    site.of_standby("select pg_wal_replay_pause()")
    until(lambda: site.of_standby("select pg_get_wal_replay_pause_state()") == [("paused",)])
    await enqueued(site)
    until(lambda: site.of_standby("select lag > 0 from ostinato.show_replication()") == [(True,)])
    found.most_behind = 0.0
    await found.check()
    await found.check()
    assert said().count("replica_lags") == 1
    assert len((await site.get(f"{ENGINE}/jobs")).json()["items"]) == 1
    found.most_behind = FAR_BEHIND
    site.of_standby("select pg_wal_replay_resume()")
    site.caught_up()
    await site.check()
    assert found.lag is not None
    assert "replica_back" in said()

    site.pair.standby.promote()
    await site.check()
    assert "replica_promoted" in said()
    assert LAG not in (await site.get(f"{ENGINE}/jobs")).headers

    found.lag = 0.0  # as before it was noticed: its connections cannot write, even now
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        async with found.pool.connection() as conn:
            await conn.execute("create table public.written ()")


@pytest.mark.slow
async def test_a_request_that_meets_a_dead_replica_is_answered_by_the_primary(
    site: Site, logs: list[EventDict], patience: pytest.MonkeyPatch
) -> None:
    job = await enqueued(site)
    site.caught_up()
    assert LAG in (await site.get(f"{ENGINE}/jobs/{job}")).headers

    patience.setattr(replica, "ANSWER_SECONDS", 1.0)
    site.pair.standby.stop()
    for _ in range(3):
        assert LAG not in (await site.get(f"{ENGINE}/jobs/{job}")).headers
    away = [line for line in logs if line["event"] == "replica_away"]
    assert 1 <= len(away) <= 2  # once for each of the two clients that read it
