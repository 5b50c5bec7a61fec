"""Every route that takes an id, asked for the rows of another tenant: answered as if they were not there (check 6)."""

import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.engine import keys, leases, outbox, schedules, webhooks
from ostinato._core.engine.outbox import NewEvent
from ostinato._core.engine.schedules import Schedule
from ostinato._core.runtime.testing import KEY
from ostinato._core.web.routes import Route
from ostinato._faces.api.permissions import INSTALLATION
from ostinato._faces.api.server import routers_of
from tests.api.conftest import Api

ENGINE = "/api/v1/engine"
NAME, ABSENT = "theirs", "nobodys"
NOBODYS = {"job_id": "999999999", "event_id": "999999999", "key_id": "999999999", "correlation_id": ABSENT}
NOBODYS["group_id"] = "999999999"
# Names of the installation, the same for all tenants; and what makes a row of the caller's own under any name.
SHARED = {f"{ENGINE}/panels/{{app}}", f"{ENGINE}/transitions/{{entity}}", "/problems/{code}"}
OWN = {("PUT", f"{ENGINE}/schedules/{{name:path}}"), ("POST", f"{ENGINE}/webhooks/{{name}}")}
# It lasts as long as the job does.
STREAM = f"{ENGINE}/jobs/{{job_id:digits}}/events"
LATER = "2126-01-01T08:00:00Z"
BODIES: dict[str, dict[str, Any]] = {
    "/jobs/{job_id:digits}/move": {"run_at": LATER},
    "/jobs/{job_id:digits}/restart": {"from_step": "1"},
    "/jobs/{job_id:digits}/signal": {"payload": 1},
    "/schedules/{name:path}/move": {"cron": "0 6 * * *"},
    "/schedules/{name:path}/catch-up": {"since": "2026-01-01T00:00:00Z"},
    "/webhooks/{name}": {"description": "mine now"},
    "/alerts/{name}/silence": {"until": LATER, "reason": "quiet"},
}


@pytest.fixture
def api_settings() -> Settings:
    return Settings(secret_key=KEY)


async def plant(api: Api) -> dict[str, dict[str, str]]:
    """Rows of acme of every sort, and by which values of their parameters routes find them."""
    job = await api.parts.client.for_tenant("acme").enqueue("app.task", {"card": "secret"}, queue="q")
    body = {"verb": "cancel", "filter": {"kind": "app.other"}, "preview": False}
    bulk = (await api.call("POST", f"{ENGINE}/bulk", roles=("ops",), json=body)).json()["bulk_id"]
    event = NewEvent("a.b", "{}", "x", tenant_id="acme", correlation_id=NAME, occurred_at=datetime.now(UTC))
    async with api.worker.connection() as conn:
        emitted = await outbox.emit(conn, event)
        await schedules.upsert(conn, Schedule(NAME, "app.task", cron="0 7 * * *", tenant_id="acme", zone="UTC"))
        await webhooks.create_endpoint(conn, NAME, "https://hooks.example.com/", tenant_id="acme", event_types=["*"])
        await leases.acquire(conn, NAME, holder="h", ttl=3600, tenant="acme")
        key = await keys.create(conn, tenant_id="acme", subject="them", roles=["reader"])
    grouped = await api.admin.execute("select ostinato.open_group(%s, 1)", (job,))
    (group,) = await grouped.fetchone() or (None,)
    named = {
        "group_id": str(group),
        "name": NAME,
        "correlation_id": NAME,
        "event_id": str(emitted),
        "key_id": str(key.record.id),
    }
    return {"": named | {"job_id": str(job)}, f"{ENGINE}/bulk/": named | {"job_id": str(bulk)}}


def values(planted: dict[str, dict[str, str]], route: Route) -> dict[str, str]:
    """The values of acme's row that a route would find."""
    place = max((each for each in planted if route.path.startswith(each)), key=len)
    return {name: planted[place][name] for name in route.param_convertors}


async def ask(api: Api, method: str, route: Route, given: dict[str, str], tenant: str) -> httpx.Response:
    body = BODIES.get(route.path.removeprefix(ENGINE)) if method != "GET" else None
    path = route.path_format.format(**given)
    return await api.call(method, path, tenant=tenant, roles=("ops", "admin"), json=body)


def said(answer: httpx.Response, given: dict[str, str]) -> tuple[int, str]:
    """What an answer says, without the values that were asked for and its own id."""
    document = answer.json() if answer.content else {}
    for own in ("correlation_id", "instance"):
        document.pop(own, None)
    text = json.dumps(document, sort_keys=True)
    for value in given.values():
        text = text.replace(value, "…")
    return answer.status_code, text


def tried(api: Api) -> list[tuple[str, Route]]:
    """Every method of every route with an id; those without rows of tenants are left out."""
    found = [route for router in routers_of(api.parts.apps) for route in router.routes if isinstance(route, Route)]
    return [
        (method, route)
        for route in found
        for method in sorted(route.methods or ())
        if route.param_convertors
        and route.needs is not INSTALLATION
        and route.path not in SHARED
        and (method, route.path) not in OWN
    ]


async def test_an_id_of_another_tenant_is_answered_like_one_that_nobody_has(api: Api) -> None:
    planted = await plant(api)
    told = []

    for method, route in tried(api):
        theirs = values(planted, route)
        nobodys = {name: NOBODYS.get(name, ABSENT) for name in theirs}
        seen = await ask(api, method, route, theirs, "globex")
        missing = await ask(api, method, route, nobodys, "globex")
        if said(seen, theirs) != said(missing, nobodys) or seen.status_code not in {200, 404}:
            told.append((method, route.path, seen.status_code, seen.text[:300], missing.status_code))

    assert not told
    assert len(tried(api)) >= 30


async def test_nothing_that_another_tenant_asked_for_changed_a_row(api: Api) -> None:
    planted = await plant(api)
    reads = [(method, route) for method, route in tried(api) if method == "GET" and route.path != STREAM]
    before = [(await ask(api, "GET", route, values(planted, route), "acme")).json() for _, route in reads]

    for method, route in tried(api):
        await ask(api, method, route, values(planted, route), "globex")
    for method, path in sorted(OWN):
        body = {"kind": "app.task", "cron": "0 1 * * *"} if method == "PUT" else {"url": "https://other.example.com/"}
        made = await api.call(method, path.partition("{")[0] + NAME, tenant="globex", roles=("ops", "admin"), json=body)
        assert made.status_code in {200, 201}, made.text

    after = [(await ask(api, "GET", route, values(planted, route), "acme")).json() for _, route in reads]
    assert after == before
    async with api.worker.connection() as conn:
        (kept,) = [each for each in await keys.list_keys(conn, tenant_id="acme") if each.subject == "them"]
        (held,) = await leases.list_leases(conn, tenant="acme")
    assert (kept.revoked_at, held.name) == (None, NAME)
