"""Alerts over HTTP: what is wrong now and what was, for the tenant that is told of it."""

from datetime import UTC, datetime, timedelta

import pytest

from ostinato._core.base.alerts import Alert
from ostinato._core.base.metrics import ALERTS_FIRED, QUEUE_READY, WORKERS
from ostinato._core.engine import alerts
from ostinato._core.engine.jobs import NewJob, enqueue
from ostinato._core.runtime.handlers.app import App
from ostinato._faces.api.parts import Parts
from ostinato._faces.api.server import build
from tests.api.conftest import Api
from tests.waiting import until_async

ALERTS = "/api/v1/engine/alerts"
LONELY = Alert(
    "shop.lonely",
    figure=WORKERS,
    below=1,
    severity="critical",
    tenant="acme",
    message="{value} workers",
    remedy="Start one.",
)
FULL = Alert("shop.full", figure=QUEUE_READY, above=0, tenant="acme", message="{label}", remedy="Wait.")
THEIRS = Alert("shop.theirs", figure=WORKERS, below=1, tenant="zeta", message="{value}", remedy="Wait.")


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    return (App("shop", alerts=(LONELY, FULL, THEIRS)),)


async def evaluated(api: Api) -> None:
    async with api.worker.connection() as conn:
        await alerts.declare(conn, ["shop"], api.parts.apps[0].alerts)
        await alerts.evaluate(conn, timedelta(0))


async def test_a_tenant_sees_its_alerts_and_what_is_wrong(api: Api) -> None:
    await evaluated(api)

    seen = await api.call("GET", ALERTS)

    assert seen.status_code == 200
    first, second = seen.json()["items"]
    assert (first["name"], first["state"], first["remedy"]) == ("shop.lonely", "firing", "Start one.")
    (bad,) = first["open"]
    assert (bad["state"], bad["value"], bad["message"]) == ("firing", 0, "0 workers")
    assert bad["details"]["threshold"] == 1
    assert (second["name"], second["state"], second["open"]) == ("shop.full", "ok", [])


async def test_only_those_that_fire_when_asked_for(api: Api) -> None:
    await evaluated(api)

    seen = await api.call("GET", ALERTS, params={"firing": "true"})

    assert [each["name"] for each in seen.json()["items"]] == ["shop.lonely"]


async def test_another_tenant_sees_its_own_only(api: Api) -> None:
    await evaluated(api)

    theirs = await api.call("GET", ALERTS, tenant="zeta")
    nobodys = await api.call("GET", ALERTS, tenant="omega")

    assert [each["name"] for each in theirs.json()["items"]] == ["shop.theirs"]
    assert nobodys.json() == {"items": []}
    past = await api.call("GET", f"{ALERTS}/firings", tenant="omega")
    assert past.json() == {"items": [], "next": None}


async def test_the_history_comes_in_pages_newest_first(api: Api) -> None:
    async with api.worker.connection() as conn:
        await enqueue(conn, NewJob("app.task", tenant_id="acme", queue="mail"))
        await enqueue(conn, NewJob("app.task", tenant_id="acme", queue="post"))
    await evaluated(api)

    first = (await api.call("GET", f"{ALERTS}/firings", params={"limit": 2})).json()
    rest = (await api.call("GET", f"{ALERTS}/firings", params={"limit": 2, "before": first["next"]})).json()

    found = [each["label"] for each in (*first["items"], *rest["items"])]
    assert (sorted(found), rest["next"]) == (["", "mail", "post"], None)
    of_one = await api.call("GET", f"{ALERTS}/firings", params={"alert": "shop.full"})
    assert {each["alert"] for each in of_one.json()["items"]} == {"shop.full"}


async def test_a_value_without_end_is_null(api: Api) -> None:
    await evaluated(api)
    await api.admin.execute("update ostinato_data.alert_firing set worst = 'infinity'")

    seen = await api.call("GET", f"{ALERTS}/firings")

    assert seen.json()["items"][0]["worst"] is None


@pytest.mark.parametrize("path", [ALERTS, f"{ALERTS}/firings"])
async def test_who_does_not_operate_sees_no_alert(api: Api, path: str) -> None:
    seen = await api.call("GET", path, roles=("customer",))

    assert seen.status_code == 403


async def test_an_api_that_watches_raises_the_alarm_when_no_worker_lives(api: Api) -> None:
    """As a role that is no worker; what is watched was declared with the schema, or by a worker once."""
    async with api.worker.connection() as conn:
        await alerts.declare(conn, ["shop"], api.parts.apps[0].alerts)
    parts = Parts(api.parts.database, api.parts.settings, apps=api.parts.apps, watches=True)
    watching = build(parts)

    async def fired() -> bool:
        return parts.recorder.value(ALERTS_FIRED, "shop.lonely", "critical") == 1

    async with watching.router.lifespan_context(watching):
        await until_async(fired)


async def test_a_tenant_acknowledges_and_silences_its_own_alert(api: Api) -> None:
    await evaluated(api)
    later = (datetime.now(UTC) + timedelta(hours=2)).isoformat()

    seen = await api.call("POST", f"{ALERTS}/shop.lonely/ack", json={"reason": "I look into it"})
    silent = await api.call("POST", f"{ALERTS}/shop.lonely/silence", json={"until": later, "reason": "known"})
    listed = await api.call("GET", f"{ALERTS}/silences")
    shown = (await api.call("GET", ALERTS)).json()["items"][0]
    woken = await api.call("POST", f"{ALERTS}/shop.lonely/unsilence")

    assert seen.json() == {"acknowledged": 1}
    assert silent.status_code == 200
    assert [each["alert"] for each in listed.json()["items"]] == ["shop.lonely"]
    assert shown["silenced_until"] is not None
    assert shown["open"][0]["acknowledged_by"] == "tester"
    assert woken.json() == {"silenced_until": None}


@pytest.mark.parametrize("verb", ["ack", "silence", "unsilence"])
async def test_an_alert_of_another_tenant_is_not_there(api: Api, verb: str) -> None:
    await evaluated(api)
    later = (datetime.now(UTC) + timedelta(hours=2)).isoformat()
    body = {"until": later, "reason": "known"} if verb == "silence" else {}

    answer = await api.call("POST", f"{ALERTS}/shop.theirs/{verb}", json=body)

    assert answer.status_code == 404
