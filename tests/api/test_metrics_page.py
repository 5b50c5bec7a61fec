"""The metrics page: on an address of its own, one snapshot a second, and no word of a tenant."""

import asyncio

import pytest

from ostinato._core.base.metrics import Recorder
from ostinato._core.db.call import Connection
from ostinato._core.engine import observe
from ostinato._core.engine.jobs import NewJob, enqueue
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato._faces.api.metrics_page import FRESH_SECONDS, MetricsPage
from tests.api.conftest import Api
from tests.waiting import until_async

PERSON = "patient-Zebulon-Erasme"


class Time:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def snapshots(monkeypatch: pytest.MonkeyPatch) -> list[Recorder]:
    """The snapshots that were taken."""
    taken: list[Recorder] = []
    really = observe.record

    async def counted(conn: Connection) -> Recorder:
        taken.append(await really(conn))
        return taken[-1]

    monkeypatch.setattr("ostinato._faces.api.metrics_page.observe.record", counted)
    return taken


async def test_24_readers_at_once_cost_one_snapshot(api: Api, snapshots: list[Recorder]) -> None:
    """24 strangers slowed another caller from 5 to 726 ms."""
    page = MetricsPage(api.parts, clock=Time())

    for _ in range(20):
        pages = await asyncio.gather(*(page.read() for _ in range(24)))
        assert {each.status_code for each in pages} == {200}

    assert len(snapshots) == 1


async def test_the_next_second_has_a_snapshot_of_its_own(api: Api, snapshots: list[Recorder]) -> None:
    clock = Time()
    page = MetricsPage(api.parts, clock=clock)
    await page.read()
    clock.now += FRESH_SECONDS

    await asyncio.gather(page.read(), page.read())

    assert len(snapshots) == 2


async def test_a_reader_that_leaves_takes_the_page_from_nobody(api: Api, snapshots: list[Recorder]) -> None:
    page = MetricsPage(api.parts, clock=Time())
    first, second = (asyncio.create_task(page.read()) for _ in range(2))
    await until_async(lambda: page._making is not None)

    first.cancel()

    assert (await second).status_code == 200
    assert len(snapshots) == 1


async def test_a_tenant_writes_nothing_on_the_page_and_makes_it_no_longer(api: Api) -> None:
    async with api.worker.connection() as conn:
        await enqueue(conn, NewJob("app.task", tenant_id="acme", queue=f"{PERSON}-0"))
    before = (await api.metrics()).text
    async with api.worker.connection() as conn:
        for number in range(1, 40):
            await enqueue(conn, NewJob(f"{PERSON}.{number}", tenant_id="acme", queue=f"{PERSON}-{number}"))
    after = (await api.metrics()).text

    assert PERSON not in after
    assert 'ostinato_queue_ready_jobs{queue="other"} 40.0' in after
    assert len(after.splitlines()) == len(before.splitlines())


async def test_a_caller_makes_up_no_label(api: Api) -> None:
    for number in range(5):
        await api.http.request(f"{PERSON}{number}", f"/{PERSON}/{number}")

    page = (await api.metrics()).text

    assert PERSON not in page
    assert 'ostinato_http_requests_total{method="other",path="-",status="404"} 5.0' in page


async def test_the_page_is_not_on_the_address_of_the_api(api: Api) -> None:
    assert (await api.http.get("/metrics")).status_code == 404
    assert (await api.call("GET", "/metrics")).status_code == 404


async def test_without_a_database_the_page_is_a_503_that_is_kept_for_a_second(api: Api) -> None:
    nowhere = Database(url="postgresql://u:p@127.0.0.1:1/x", admin_url="", listen_url=None)
    clock = Time()
    async with Client(nowhere, api.parts.settings) as client:
        client._pool.seconds = 0.05
        parts = api.parts
        parts.client, before = client, parts.client
        page = MetricsPage(parts, clock=clock)
        first = await page.read()
        again = await page.read()
        parts.client = before

    assert (first.status_code, again) == (503, first)
    clock.now += FRESH_SECONDS
    assert (await page.read()).status_code == 200
