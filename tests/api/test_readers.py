"""What a reader sees over HTTP, whose rows an operator of the installation asks for, and which parameters there are."""

from datetime import UTC, datetime
from typing import Any

import pytest

from ostinato._core.engine import outbox, schedules
from ostinato._core.engine.outbox import NewEvent
from ostinato._core.engine.schedules import Schedule
from ostinato._core.web.routes import Route
from ostinato._faces.api.engine_http import router
from tests.api.conftest import Api

ENGINE = "/api/v1/engine"
CARD = {"card": "secret-card"}
BOSS = ("ops", "installation")
LISTS = ("/jobs", "/dead-letters", "/events", "/schedules", "/bulk", "/audit")


async def ask(
    api: Api,
    path: str,
    *roles: str,
    status: int = 200,
    method: str = "GET",
    body: Any = None,  # noqa: ANN401 - JSON
) -> Any:  # noqa: ANN401 - JSON
    sent = {} if body is None else {"json": body}
    answer = await api.call(method, f"{ENGINE}{path}", roles=roles or ("reader",), **sent)
    assert answer.status_code == status, (path, answer.status_code, answer.text)
    return answer.json() if answer.content else None


async def plant(api: Api, tenant: str = "acme") -> dict[str, str]:
    """A row of each sort of a tenant, with something that readers may not see."""
    job = await api.parts.client.for_tenant(tenant).enqueue("app.task", CARD)
    event = NewEvent(
        "a.b", '{"card": "secret-card"}', "x", tenant_id=tenant, correlation_id="c", occurred_at=datetime.now(UTC)
    )
    rule = Schedule(f"nightly-{tenant}", "app.task", CARD, cron="0 3 * * *", tenant_id=tenant)
    body = {"verb": "cancel", "filter": {"kind": "app.task", "args": CARD}, "preview": False}
    async with api.worker.connection() as conn:
        emitted = await outbox.emit(conn, event)
        await schedules.upsert(conn, rule)
    made = await api.call("POST", f"{ENGINE}/bulk", tenant=tenant, roles=("ops",), json=body)
    return {"job": str(job), "event": str(emitted), "bulk": str(made.json()["bulk_id"])}


async def test_a_reader_sees_all_lists_and_no_argument_result_or_payload(api: Api) -> None:
    made = await plant(api)
    one = (f"/jobs/{made['job']}", f"/events/{made['event']}", "/schedules/nightly-acme", f"/bulk/{made['bulk']}")
    lists = ("/jobs", "/queues", "/workers", "/schedules", "/events", "/dead-letters", "/alerts", "/panels", "/kinds")

    for path in (*lists, *one, "/bulk", "/webhooks", "/leases", "/series", f"/jobs/{made['job']}/why"):
        assert "secret-card" not in str(await ask(api, path)), path

    job, event, schedule, bulk = [await ask(api, path) for path in one]
    assert (job["args"], event["payload"], schedule["args"]) == (None, None, None)
    assert (bulk["filter"]["kind"], "args" in bulk["filter"]) == ("app.task", False)
    for path in one:
        assert "secret-card" in str(await ask(api, path, "ops")), path


async def test_a_reader_does_not_guess_arguments_by_searching_and_does_nothing(api: Api) -> None:
    made = await plant(api)

    for query in ("text=secret", 'args={"card": "secret-card"}'):
        assert "reader" in (await ask(api, f"/jobs?{query}", status=403))["detail"]
        assert len((await ask(api, f"/jobs?{query}", "ops"))["items"]) == 1
    await ask(api, f"/jobs/{made['job']}/cancel", method="POST", status=403)
    await ask(api, "/audit", status=403)


async def test_an_operator_of_the_installation_asks_for_the_rows_of_another_tenant(api: Api) -> None:
    made = await plant(api, "globex")
    await plant(api)
    await ask(api, f"/jobs/{made['job']}/cancel?tenant=globex", *BOSS, method="POST")

    for path in ("/jobs", "/events", "/schedules", "/bulk", "/audit"):
        theirs = await ask(api, f"{path}?tenant=globex", *BOSS)
        own = await ask(api, path, *BOSS)
        assert theirs["items"], path
        assert theirs["items"] != own["items"], path
    assert (await ask(api, f"/jobs/{made['job']}?tenant=globex", *BOSS))["state"] == "cancelled"
    await ask(api, f"/jobs/{made['job']}", *BOSS, status=404)


@pytest.mark.parametrize("path", LISTS)
async def test_a_tenants_own_key_gets_nothing_of_another_tenant(api: Api, path: str) -> None:
    await plant(api, "globex")

    refused = await ask(api, f"{path}?tenant=globex", "ops", "admin", status=403)

    assert "installation" in refused["hint"]
    assert await ask(api, f"{path}?tenant=acme", "ops", "admin") == await ask(api, path, "ops", "admin")


async def test_every_route_refuses_a_parameter_that_it_does_not_have(api: Api) -> None:
    taken = []

    for route in [each for each in router.routes if isinstance(each, Route)]:
        path = route.path_format.format(**dict.fromkeys(route.param_convertors, "7") | {"key_id": "999999"})
        for method in route.methods or ():
            seen = await api.call(method, f"{path}?stat=dead", roles=("ops", "admin", "installation", "portal"))
            if seen.status_code != 422 or "there is no parameter 'stat'" not in seen.text:
                taken.append((method, path, seen.status_code, seen.text[:200]))

    assert not taken
    assert "state" in (await ask(api, "/jobs?stat=dead", status=422))["hint"]
