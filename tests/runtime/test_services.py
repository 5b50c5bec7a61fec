"""Processes that run services and no jobs, for those who spread the parts over machines."""

import asyncio
from datetime import timedelta

import pytest

from ostinato import App, Context, Worker
from ostinato._core.base.events import Event
from ostinato._core.base.settings import Settings
from ostinato._core.engine import clock, schedules
from ostinato._core.engine.schedules import Schedule
from ostinato._core.runtime.services.services import SERVICES
from tests.runtime.lab import QUICK, Lab, running


def alone(lab: Lab, *services: str) -> Worker:
    return Worker([lab.app], lab.engine.database, Settings(**QUICK), only=services)


@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_alone_serves_no_queue_and_runs_no_kind(lab: Lab, service: str) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None: ...

    worker = alone(lab, service)
    async with running(worker):
        ((queues, kinds),) = await lab.rows("select queues, kinds from ostinato_data.worker")
        names = set(worker._services)

    assert (queues, kinds) == ([], [])
    assert service in names
    assert names.isdisjoint(set(SERVICES) - {service})


async def test_a_ticker_alone_fires_what_workers_run(lab: Lab) -> None:
    @lab.app.job(queue="mail")
    async def work(ctx: Context) -> str:
        return "ran"

    async with running(alone(lab, "ticker")):
        at = await clock.now(lab.engine.admin) + timedelta(seconds=5)
        async with lab.client.transaction() as conn:
            await schedules.upsert(conn, Schedule("once", work.name, at=at))
        await lab.until("select exists (select from ostinato_data.ready where queue = 'mail')")
        job = await lab.value("select job_id from ostinato_data.ready")
        async with lab.worker():
            assert (await lab.becomes(job, "done")).result == "ran"


async def test_a_relay_alone_makes_jobs_of_events(lab: Lab) -> None:
    came: list[int] = []
    all_came = asyncio.Event()
    paid = lab.app.event("invoice.paid")

    @lab.app.on("invoice.paid", start="beginning")
    async def note(ctx: Context, event: Event[dict[str, int]]) -> None:
        came.append(event.payload["n"])
        all_came.set()

    async with running(alone(lab, "relay")):
        await lab.until("select exists (select from ostinato_data.subscription)")
        await paid.emit(lab.client, {"n": 7}, tenant="acme", correlation_id="request-1")
        await lab.until("select exists (select from ostinato_data.ready)")
        async with lab.worker():
            await all_came.wait()

    assert came == [7]


async def test_services_need_no_kind_of_job(lab: Lab) -> None:
    async with running(Worker([], lab.engine.database, Settings(**QUICK), only=["janitor"])):
        pass


async def test_a_ring_for_jobs_goes_past_a_process_that_runs_none(lab: Lab) -> None:
    """Polls are rare here, so a ring that the wrong process takes would be missed."""
    ran = asyncio.Event()

    @lab.app.job()
    async def work(ctx: Context) -> None:
        ran.set()

    rare = Settings(**(QUICK | {"poll_seconds": 60.0}))
    ticker = Worker([lab.app], lab.engine.database, rare, only=["ticker"])
    async with running(ticker), lab.worker(poll_seconds=60.0):
        for _ in range(4):
            ran.clear()
            await lab.client.enqueue(work.name)
            await ran.wait()


def test_what_an_application_brings_is_named_and_not_imported() -> None:
    app = App("billing", http="no.such:router", sql="no.such:SQL", sandbox="x:Y", demo="x:Z")

    assert (app.http, app.sql, app.sandbox, app.demo) == ("no.such:router", "no.such:SQL", "x:Y", "x:Z")
