"""Alerts in a worker: declared when it starts, evaluated by its janitor, told over webhooks."""

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from structlog.typing import EventDict

from ostinato import App, Context
from ostinato._core.base import safeurl
from ostinato._core.base.alerts import ENGINE_ALERTS, Alert
from ostinato._core.base.errors import DatabaseUnavailable
from ostinato._core.base.metrics import ALERT_FAILURES, ALERTS_FIRED, ALERTS_RESOLVED, Recorder
from ostinato._core.engine import alerts
from ostinato._core.engine.webhooks import create_endpoint
from ostinato._core.runtime.services.alerts import ALERT_EVENTS, declare, watch
from tests.runtime.lab import Lab, counted
from tests.runtime.receiver import Receiver
from tests.waiting import until_async

SLOW = Alert(
    "lab.slow",
    function="public.readings",
    above=10,
    severity="critical",
    message="{label} is at {value}",
    remedy="Look.",
)
STUCK = Alert("lab.stuck", function="public.hangs", above=0, message="{value}", remedy="Wait.")
NOW = timedelta(0)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as running:
        yield running


@pytest.fixture
async def source(lab: Lab) -> None:
    """What the application measures with: a table, and a function that takes forever."""
    await lab.rows("create table public.reading (label text, value double precision)")
    await lab.rows(
        "create or replace function public.readings()"
        " returns table (label text, value double precision)"
        " language sql stable security definer as 'table public.reading'"
    )
    await lab.rows(
        "create or replace function public.hangs()"
        " returns table (label text, value double precision) language sql as"
        " $$ select 'x', 1 from pg_sleep(60) $$"
    )


async def noop(ctx: Context) -> None:
    """Does nothing."""


async def test_a_worker_declares_and_evaluates_and_counts(lab: Lab, source: None, logs: list[EventDict]) -> None:
    lab.app.job()(noop)
    lab.app.alert(SLOW)
    await lab.rows("insert into public.reading values ('post', 11)")

    async with lab.worker() as worker:
        await until_async(lambda: counted(worker, ALERTS_FIRED, "lab.slow", "critical"))

    names = {row[0] for row in await lab.rows("select name from ostinato_data.alert")}
    assert names == {"lab.slow", *(alert.name for alert in ENGINE_ALERTS)}
    (line,) = [line for line in logs if line["event"] == "alert_fired"]
    assert (line["alert"], line["label"], line["value"]) == ("lab.slow", "post", 11)


async def test_fired_and_resolved_reach_a_webhook(lab: Lab, source: None, receiver: Receiver) -> None:
    lab.app.job()(noop)
    lab.app.alert(SLOW)
    allowed = safeurl.parse_allowed("127.0.0.1:*")
    async with lab.client.connection() as conn:
        await create_endpoint(conn, "ops", receiver.url, event_types=["alert.*"], allowed=allowed)
    await lab.rows("insert into public.reading values ('post', 11)")

    async with lab.worker(webhooks_allow_private="127.0.0.1:*"):
        await until_async(lambda: len(receiver.requests) == 1)
        await lab.rows("delete from public.reading")
        async with lab.client.connection() as conn:
            await alerts.evaluate(conn, NOW)
        await until_async(lambda: len(receiver.requests) == 2)

    told = [json.loads(request.body) for request in receiver.requests]
    assert [each["type"] for each in told] == ["alert.fired", "alert.resolved"]
    assert told[0]["data"]["message"] == "post is at 11"
    assert told[0]["data"]["id"] == told[1]["data"]["id"]


async def test_what_is_told_is_as_the_types_say(lab: Lab, source: None) -> None:
    async with lab.client.connection() as conn:
        await declare(conn, [App("lab", alerts=(SLOW,))])
        await lab.rows("insert into public.reading values ('post', 11)")
        await alerts.evaluate(conn, NOW)
        await lab.rows("delete from public.reading")
        await alerts.evaluate(conn, NOW)

    payloads = await lab.rows("select payload::text from ostinato_data.event order by id")
    for kind, (payload,) in zip(ALERT_EVENTS, payloads, strict=True):
        assert kind.load(f'{{"payload": {payload}}}').label == "post"


async def test_a_source_that_hangs_is_cancelled_and_the_others_are_evaluated(lab: Lab, source: None) -> None:
    await lab.rows("insert into public.reading values ('post', 11)")
    async with lab.client.connection() as conn:
        await declare(conn, [App("lab", alerts=(STUCK, SLOW))])

        changes = await alerts.evaluate(conn, NOW, source_seconds=3)
        shown = await alerts.show(conn, "lab.stuck")

    assert [(each.alert, each.change) for each in changes] == [
        ("lab.slow", "fired"),
        ("lab.stuck", "failed"),
        ("ostinato.alert_source", "fired"),
    ]
    assert (shown.state, shown.error) == ("failing", "no answer within 3 s")


async def test_an_outage_is_no_fault_of_the_source(lab: Lab, source: None) -> None:
    async with lab.client.connection() as conn:
        await declare(conn, [App("lab", alerts=(STUCK,))])
        work = asyncio.create_task(alerts.evaluate(conn, NOW, source_seconds=60))
        await lab.until(
            "select exists (select from pg_stat_activity where state = 'active' and wait_event = 'PgSleep')"
        )
        await lab.rows("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'")

        with pytest.raises(DatabaseUnavailable):
            await work

    assert await lab.value("select failures from ostinato_data.alert where name = 'lab.stuck'") == 0


async def test_many_evaluators_at_once_tell_once(lab: Lab, source: None) -> None:
    await lab.rows("insert into public.reading select 'l' || g, 11 from generate_series(1, 5) g")
    async with lab.client.connection() as conn:
        await declare(conn, [App("lab", alerts=(SLOW,))])

    async def look() -> list[Any]:
        async with lab.client.connection() as conn:
            return await watch(conn, recorder)

    recorder = Recorder()
    await asyncio.gather(*(look() for _ in range(6)))

    assert recorder.value(ALERTS_FIRED, "lab.slow", "critical") == 5
    assert await lab.value("select count(*) from ostinato_data.event") == 5


async def test_what_is_over_and_what_failed_is_counted(
    lab: Lab, source: None, monkeypatch: pytest.MonkeyPatch, logs: list[EventDict]
) -> None:
    recorder = Recorder()
    await lab.rows("insert into public.reading values ('post', 11)")
    monkeypatch.setattr("ostinato._core.runtime.services.alerts.ALERT_SECONDS", 0)
    async with lab.client.connection() as conn:
        await declare(conn, [App("lab", alerts=(SLOW,))])
        await watch(conn, recorder)
        await lab.rows("delete from public.reading")
        await watch(conn, recorder)
        await lab.rows("drop function public.readings")
        await watch(conn, recorder)

    assert recorder.value(ALERTS_RESOLVED, "lab.slow", "critical") == 1
    assert recorder.value(ALERT_FAILURES, "lab.slow") == 1
    assert {"alert_resolved", "alert_source_failed"} <= {line["event"] for line in logs}


async def test_an_app_that_no_longer_has_an_alert_takes_it_back(lab: Lab, source: None) -> None:
    async with lab.client.connection() as conn:
        await declare(conn, [App("lab", alerts=(SLOW,)), App("other")])
        await declare(conn, [App("other")])
        assert (await alerts.show(conn, "lab.slow")).owner == "lab"

        await declare(conn, [App("lab")])

        assert "lab.slow" not in {line.name for line in await alerts.list_alerts(conn)}
