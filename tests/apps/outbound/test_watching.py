"""What is measured and alerted (rule 7): figures, Prometheus, the dashboard, each alert."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from ostinato._core.base.settings import Settings
from ostinato._core.engine import alerts
from ostinato._faces.api.metrics_page import MetricsPage
from ostinato._faces.api.parts import Parts
from ostinato.apps.outbound import APP, metrics
from ostinato.observe import dashboard
from tests.apps.outbound.conftest import World

TO = "+33639988888"
ROOT = Path(__file__).parents[3]


async def firing(world: World) -> set[tuple[str, str]]:
    async with world.engine.client.connection() as conn:
        await alerts.declare(conn, [APP.name], list(APP.alerts))
        await alerts.evaluate(conn, timedelta(0))
        found = await alerts.firings(conn, only_open=True)
        lines = await alerts.list_alerts(conn)
    assert not any(line.failures for line in lines), lines
    return {(each.alert, each.label) for each in found if each.alert.startswith("outbound.")}


async def test_a_dead_letter_fires_and_is_resolved_when_it_is_sent(world: World) -> None:
    world.providers.script(TO, "131000", "131000")
    await world.consent(TO)
    made = await world.message(TO, urgent=True)
    assert await firing(world) == set()

    await world.work(move_clock=True)
    assert await firing(world) == {("outbound.dead_letters", "acme")}
    page = await world.call("GET", "/messages", params={"dead": True})
    assert [each["id"] for each in page["items"]] == [made["id"]], "where its remedy leads"

    await world.call("POST", f"/messages/{made['id']}/retry", status=202)
    await world.work()
    assert await firing(world) == set()


async def test_a_failure_rate_over_its_threshold_fires(world: World) -> None:
    await world.consent(TO)
    world.providers.script(TO, *["132001"] * 4)
    for _ in range(12):
        await world.message(TO)
    await world.work()

    assert await firing(world) == {("outbound.failure_rate", "acme")}


async def test_refused_callbacks_held_senders_and_unknown_codes_fire(world: World) -> None:
    await world.http.post("/api/v1/webhooks/whatsapp/status", content=b"{}")
    world.providers.script(TO, "190", "777777")
    await world.consent(TO)
    await world.message(TO)
    await world.work()

    assert await firing(world) == {("outbound.signature_failures", "whatsapp"), ("outbound.held_senders", "acme")}
    await world.rows("update outbound.sender set held_until = null")
    await world.work(move_clock=True)
    assert ("outbound.unknown_codes", "whatsapp 777777") in await firing(world)


async def test_the_console_shows_what_waits_and_what_failed_to_whose_it_is(world: World) -> None:
    for to, code in ((TO, "190"), ("+33639988887", "132001")):
        world.providers.script(to, code)
        await world.consent(to, subjectId=to)
        await world.message(to, subjectId=to)
        await world.work()
        if code == "190":
            waits = await panel(world, "acme")
            assert waits["What messages wait for"][0][:3] == ["HOLD", "WHATSAPP", 1]
            assert waits["Held senders"][0][:4] == ["WHATSAPP", "100200300", "auth", "190"]
            await world.rows("update outbound.sender set held_until = null")

    shown = await panel(world, "acme")

    assert shown["Failed within the last day"] == [["132001", "template_invalid", 1, 0]]
    assert shown["Messages of the last day, by status"]["FAILED"] == 1
    assert TO[1:] not in str(shown)
    assert (await panel(world, "other"))["Failed within the last day"] == []


async def panel(world: World, tenant: str) -> dict[str, Any]:
    bearer = {"Authorization": f"Bearer {await world.key(tenant, 'ops')}"}
    answer = await world.http.get("/api/v1/engine/panels/outbound", headers=bearer)
    (found,) = answer.json()["panels"]
    return {each["title"]: each.get("values") or each.get("rows") for each in found["blocks"]}


async def test_what_failed_after_it_was_sent_failed_once(world: World) -> None:
    """Magic recipient 0002: both the figure and the alert's function say that all failed."""
    to = "+33639980002"
    await world.consent(to)
    await world.message(to)
    await world.work()
    await world.settled()

    figures = (await world.call("GET", "/metrics"))["figures"]

    (rate,) = [each["value"] for each in figures if each["name"] == "failure_rate"]
    assert rate == 1.0
    assert await world.rows("select value from outbound.failure_rates(60, 1)") == [(1.0,)]


async def test_a_code_that_nobody_knows_fires_when_a_callback_tells_it(world: World) -> None:
    """6.4: alert on first sight."""
    world.providers.script(TO, statuses=["failed:777778"])
    await world.consent(TO)
    await world.message(TO)
    await world.work()
    await world.settled()

    assert ("outbound.unknown_codes", "whatsapp 777778") in await firing(world)


async def test_callbacks_that_nobody_works_through_are_told_before_they_are_forgotten(world: World) -> None:
    await world.rows(
        "insert into outbound.callback (provider, url, body, received_at)"
        " values ('whatsapp', '/', '', ostinato.now() - interval '13 hours')"
    )

    assert await firing(world) == {("outbound.stuck_callbacks", "whatsapp")}


async def test_prometheus_reads_the_figures(world: World) -> None:
    """7.2: the queue, how long it takes, what failed, what was tried again, dead letters."""
    answers = {TO: ["132001"], "+33639985201": ["131016"], "+33639985202": ["131000"] * 2}
    for to, met in answers.items():
        world.providers.script(to, *met)
        await world.consent(to, subjectId=to)
        await world.message(to, subjectId=to)
    await world.work(move_clock=True)
    await world.settled()
    bearer = {"Authorization": f"Bearer {await world.key('acme', 'admin')}"}

    page = await world.http.get("/api/v1/outbound/metrics/prometheus", headers=bearer)

    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(page.text)
        for sample in family.samples
    }
    assert found["ostinato_outbound_failed_by_code", "132001"] == 1
    assert found["ostinato_outbound_failed_by_class", "upstream"] == 1
    assert found["ostinato_outbound_failure_rate",] == 2 / 3
    assert found["ostinato_outbound_queue_size", "WHATSAPP"] == 0
    assert found["ostinato_outbound_queued_to_sent_p50", "WHATSAPP"] >= 54  # the first retry, less its jitter
    assert ("ostinato_outbound_sent_to_delivered_p95", "WHATSAPP") in found
    assert (found["ostinato_outbound_retries",], found["ostinato_outbound_dead_letters",]) == (2, 1)


async def test_everybody_reads_the_figures_of_all_tenants_together(world: World) -> None:
    await world.http.post("/api/v1/webhooks/whatsapp/status", content=b"{}")
    world.providers.script(TO, "132001")
    await world.consent(TO)
    await world.message(TO)
    await world.work()

    parts = Parts(world.engine.database, Settings(), apps=(APP,))
    async with parts.client:
        page = bytes((await MetricsPage(parts).read()).body).decode()

    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name.startswith("ostinato_outbound_")
    }
    assert found["ostinato_outbound_failed_by_code", "132001"] == 1
    assert found["ostinato_outbound_queue_size", "WHATSAPP"] == 0
    assert found["ostinato_outbound_signature_failures", "whatsapp"] == 1
    assert found["ostinato_outbound_held_senders",] == 0
    assert "acme" not in {label for _, *labels in found for label in labels}


async def test_every_figure_that_is_measured_is_declared(world: World) -> None:
    text = await world.value(
        "select string_agg(pg_get_functiondef(name::regproc), '')"
        " from unnest(array['outbound.figures', 'outbound.observe']) name"
    )
    measured = set(re.findall(r"select '(?:outbound_)?([a-z_0-9]*[a-z0-9])'", text))

    assert {f"{metrics.PREFIX}{name}" for name in measured} == {metric.name for metric in metrics.FIGURES.metrics}


def test_the_dashboard_is_what_the_metrics_say() -> None:
    """`make reference` writes it."""
    written = (ROOT / "deploy" / "grafana" / "outbound.json").read_text(encoding="utf-8")

    assert written == dashboard(metrics.FIGURES.metrics, of="outbound")
    assert json.loads(written)["uid"] == "ostinato-outbound"
