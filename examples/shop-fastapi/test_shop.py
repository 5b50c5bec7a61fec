"""Tests of the shop: the real PostgreSQL, the real engine, no worker process."""

from collections.abc import AsyncIterator

import httpx
import pytest
from shop.jobs import app as jobs
from shop.models import create_tables
from shop.web import create_app

from ostinato import testing


@pytest.fixture
async def engine() -> AsyncIterator[testing.Engine]:
    async with testing.engine() as engine:
        create_tables(engine.database.admin_url)
        yield engine


@pytest.fixture
async def web(engine: testing.Engine) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(engine.database.url)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop") as client,
    ):
        yield client


async def test_an_order_is_confirmed_by_its_job(engine: testing.Engine, web: httpx.AsyncClient) -> None:
    answer = await web.post("/orders", json={"customer": "Ada", "total": "12.50"})
    order = answer.json()["order"]
    assert (await web.get(f"/orders/{order}")).json() == {"customer": "Ada", "status": "received"}

    report = await engine.run_until_idle(jobs)

    assert report.done == 1
    assert (await web.get(f"/orders/{order}")).json() == {"customer": "Ada", "status": "confirmed"}


async def test_an_order_that_is_refused_leaves_no_job(engine: testing.Engine, web: httpx.AsyncClient) -> None:
    answer = await web.post("/orders", json={"customer": "Ada", "total": "1500"})
    assert answer.status_code == 422

    report = await engine.run_until_idle(jobs)

    assert report.done == 0
    assert (await web.get("/orders/1")).status_code == 404
