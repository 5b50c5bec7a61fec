"""What operators do over HTTP: in bulk, to jobs and schedules, to records, and for the installation."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ostinato import App
from ostinato._core.base import webhooks
from ostinato._core.base.settings import Settings
from ostinato._core.engine import bulk, subscriptions
from ostinato._core.runtime.testing import KEY
from tests.api.conftest import Api

ENGINE = "/api/v1/engine"
LATER = "2126-01-01T08:00:00Z"


@pytest.fixture
def api_settings() -> Settings:
    return Settings(secret_key=KEY)


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    app = App("tour")

    @app.job(open=True, queue="tours")
    def greet(ctx: object, name: str, times: int = 1) -> None: ...

    @app.job()
    def close(ctx: object) -> None: ...

    return (app,)


async def add(api: Api, tenant: str = "acme", **args: object) -> int:
    return await api.parts.client.for_tenant(tenant).enqueue("app.task", args)


async def ask(api: Api, method: str, path: str, body: object = None, *roles: str, status: int = 200) -> Any:  # noqa: ANN401 - JSON
    sent: dict[str, Any] = {} if body is None else {"json": body}
    answer = await api.call(method, f"{ENGINE}{path}", roles=roles or ("ops",), **sent)
    assert answer.status_code == status, (path, answer.status_code, answer.text)
    return answer.json() if answer.content else None


async def test_jobs_are_found_by_time_signature_and_arguments(api: Api) -> None:
    wanted = await add(api, order=7, note="Blue")
    await add(api, order=8)
    await add(api, "other", order=7)
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat().replace("+00:00", "Z")

    for query in (f"args={json.dumps({'order': 7})}", "text=blue", f"text=blue&until={soon}&state=ready"):
        assert [item["id"] for item in (await ask(api, "GET", f"/jobs?{query}"))["items"]] == [wanted]
    for query in (f"since={soon}", "signature=none"):
        assert (await ask(api, "GET", f"/jobs?{query}"))["items"] == []
    await ask(api, "GET", "/jobs?args=[1]", status=422)
    await ask(api, "GET", "/jobs?state=done&signature=x", status=422)


async def test_a_bulk_action_is_counted_started_followed_and_stopped(api: Api) -> None:
    jobs = [await add(api, n=1) for _ in range(3)]
    other = await add(api, "other", n=1)
    body = {"verb": "cancel", "filter": {"args": {"n": 1}}, "reason": "withdrawn"}

    counted = await ask(api, "POST", "/bulk", body)
    started = await ask(api, "POST", "/bulk", {**body, "preview": False})
    async with api.worker.transaction() as conn:
        while (await bulk.run(conn, started["bulk_id"])).state == "running":
            pass

    assert (counted["matching"], counted["capped"], counted["bulk_id"]) == (3, False, None)
    assert set(counted["samples"]) == set(jobs)
    shown = await ask(api, "GET", f"/bulk/{started['bulk_id']}")
    assert (shown["state"], shown["done"], shown["refused"], shown["reason"]) == ("done", 3, 0, "withdrawn")
    assert [item["id"] for item in (await ask(api, "GET", "/bulk"))["items"]] == [started["bulk_id"]]
    assert (await ask(api, "GET", f"/bulk/{started['bulk_id']}/refusals"))["items"] == []
    assert (await ask(api, "POST", f"/bulk/{started['bulk_id']}/stop"))["was"] == "done"
    for job in jobs:
        assert (await ask(api, "GET", f"/jobs/{job}"))["state"] == "cancelled"
    assert (await api.call("GET", f"{ENGINE}/jobs/{other}", tenant="other")).json()["state"] == "ready"
    assert (await api.call("GET", f"{ENGINE}/bulk/{started['bulk_id']}", tenant="other")).status_code == 404
    await ask(api, "POST", "/bulk", {"verb": "cancel", "canary": True, "preview": False}, status=422)


async def test_a_job_is_moved_and_restarted(api: Api) -> None:
    job = await add(api)

    assert (await ask(api, "POST", f"/jobs/{job}/move", {"run_at": LATER}))["was"] == "ready"
    assert (await ask(api, "GET", f"/jobs/{job}"))["state"] == "scheduled"
    assert (await ask(api, "POST", f"/jobs/{job}/restart"))["was"] == "scheduled"
    await ask(api, "POST", f"/jobs/{job}/signal", {"payload": 1}, status=409)
    await ask(api, "POST", f"/jobs/{job}/restart", {"from_step": "none"}, status=404)
    await ask(api, "POST", "/jobs/7/move", {"run_at": LATER}, status=404)


async def test_open_kinds_have_the_schema_of_their_arguments(api: Api) -> None:
    (kind,) = (await ask(api, "GET", "/kinds"))["items"]

    assert (kind["name"], kind["queue"], kind["schema"]["required"]) == ("tour.greet", "tours", ["name"])


async def test_a_schedule_is_made_moved_paused_run_caught_up_and_removed(api: Api) -> None:
    body = {"kind": "app.task", "cron": "30 2 * * *", "zone": "Europe/Paris"}

    slots = await ask(
        api,
        "POST",
        "/schedules/preview",
        {"cron": "30 2 * * *", "zone": "Europe/Paris", "after": "2027-03-25T00:00:00Z"},
    )
    made = await ask(api, "PUT", "/schedules/a/b", body)
    moved = await ask(api, "POST", "/schedules/a/b/move", {"cron": "0 6 * * *"})

    assert len(slots["items"]) == 10
    assert any("gap" in (item["note"] or "") for item in slots["items"])
    assert (made["rule"], moved["rule"], moved["zone"]) == ("30 2 * * *", "0 6 * * *", "UTC")
    assert (await ask(api, "POST", "/schedules/a/b/pause"))["paused"] is True
    assert (await ask(api, "POST", "/schedules/a/b/resume"))["paused"] is False
    job = (await ask(api, "POST", "/schedules/a/b/run"))["job_id"]
    assert (await ask(api, "GET", f"/jobs/{job}"))["kind"] == "app.task"
    caught = await ask(api, "POST", "/schedules/a/b/catch-up", {"since": "2026-01-01T00:00:00Z"})
    assert (caught["items"], caught["preview"]) == ([], True)
    await ask(api, "DELETE", "/schedules/a/b", status=204)
    await ask(api, "POST", "/schedules/a/b/run", status=404)
    await ask(api, "PUT", "/schedules/x", {**body, "kind": "shut.kind"}, status=422)


async def test_keys_are_made_rotated_and_revoked_and_no_role_is_taken(api: Api) -> None:
    made = await ask(api, "POST", "/keys", {"subject": "bot", "roles": ["ops"]}, "admin", status=201)
    number = made["record"]["id"]
    again = await ask(api, "POST", f"/keys/{number}/rotate", {"overlap_seconds": 60}, "admin", status=201)

    assert made["key"].startswith(f"ost_{number}")
    assert again["record"]["replaces"] == number
    assert (await ask(api, "POST", f"/keys/{number}/revoke", None, "admin"))["revoked_at"] is not None
    assert number in [item["id"] for item in (await ask(api, "GET", "/keys", None, "admin"))["items"]]
    await ask(api, "POST", "/keys", {"subject": "bot", "roles": ["installation"]}, "admin", "installation", status=422)
    await ask(api, "POST", "/keys", {"subject": "bot", "roles": ["tenant_admin"]}, "admin", status=422)
    assert (
        await api.call("POST", f"{ENGINE}/keys/{number}/revoke", tenant="other", roles=("admin",))
    ).status_code == 404


async def test_who_rotates_a_key_gets_no_role_by_it(api: Api) -> None:
    """A rotation hands out a text with the roles of the key: so an administrator became operator of all tenants."""
    await api.key("acme", "installation", "ops", subject="operator")
    await api.key("acme", "tenant_admin", subject="program")
    listed = (await ask(api, "GET", "/keys", None, "admin"))["items"]
    number = {item["subject"]: item["id"] for item in listed}

    for subject in ("operator", "program"):
        await ask(api, "POST", f"/keys/{number[subject]}/rotate", {}, "admin", status=403)
    await ask(api, "POST", f"/keys/{number['operator']}/rotate", {}, "admin", "installation", status=403)
    await ask(api, "POST", f"/keys/{number['operator']}/revoke", None, "admin", status=403)
    elsewhere = await api.call("POST", f"{ENGINE}/keys/{number['operator']}/rotate", tenant="other", roles=("admin",))

    states = {item["subject"]: item["revoked_at"] for item in (await ask(api, "GET", "/keys", None, "admin"))["items"]}
    assert elsewhere.status_code == 404
    assert states["operator"] is states["program"] is None
    await ask(api, "POST", f"/keys/{number['program']}/revoke", None, "admin")


async def test_an_operator_rotates_its_own_key(api: Api) -> None:
    key = await api.key("acme", "installation", "admin", subject="operator")
    number = int(key.split("_")[1])

    answer = await api.http.post(f"{ENGINE}/keys/{number}/rotate", headers={"Authorization": f"Bearer {key}"})

    assert answer.status_code == 201
    assert answer.json()["record"]["roles"] == ["admin", "installation"]


async def test_an_endpoint_is_made_changed_paused_rotated_and_removed(api: Api) -> None:
    made = await ask(api, "POST", "/webhooks/partner", {"url": "https://partner.example.com/in"}, status=201)
    webhooks.sign(made["secret"], "message", 0, b"{}")  # a secret that signs, and no description of one
    changed = await ask(api, "PATCH", "/webhooks/partner", {"description": "new"})

    assert made["secret"]
    assert (changed["name"], changed["description"]) == ("partner", "new")
    assert (await ask(api, "POST", "/webhooks/partner/pause"))["state"] == "paused"
    assert (await ask(api, "POST", "/webhooks/partner/resume"))["state"] == "active"
    assert (await ask(api, "POST", "/webhooks/partner/rotate", status=201))["secret"] != made["secret"]
    assert (await ask(api, "POST", "/webhooks/partner/redeliver"))["count"] == 0
    for part in ("deliveries", "attempts"):
        assert (await ask(api, "GET", f"/webhooks/partner/{part}"))["items"] == []
    assert [item["name"] for item in (await ask(api, "GET", "/webhooks"))["items"]] == ["partner"]
    assert (await api.call("GET", f"{ENGINE}/webhooks/partner", tenant="other")).status_code == 404
    await ask(api, "DELETE", "/webhooks/partner", status=204)
    await ask(api, "GET", "/webhooks/partner", status=404)


async def test_leases_and_transitions_are_listed(api: Api) -> None:
    await api.admin.execute(
        "select ostinato.acquire_lease('books', holder => 'h', ttl_seconds => 600, tenant_id => 'acme')"
    )

    (lease,) = (await ask(api, "GET", "/leases"))["items"]

    assert (lease["name"], lease["holder"], lease["state"]) == ("books", "h", "held")
    await ask(api, "POST", "/leases/books/release", status=423)
    assert (await ask(api, "POST", "/leases/books/release?force=true"))["count"] == 1
    assert (await ask(api, "GET", "/transitions/shop.order"))["items"] == []


BOSS = ("ops", "installation")


async def test_the_installation_is_operated_by_its_keys_only(api: Api) -> None:
    async with api.worker.connection() as conn:
        await subscriptions.subscribe(conn, "mirror")
    path = "/installation/queues/default/limits"

    limited = await ask(api, "PUT", path, {"concurrency": 5, "rate": {"count": 10, "seconds": 1.5}}, *BOSS)

    assert (limited["concurrency"], limited["rate_count"], limited["rate_seconds"]) == (5, 10, 1.5)
    assert (await ask(api, "POST", "/installation/queues/default/pause", None, *BOSS))["paused"] is True
    assert (await ask(api, "POST", "/installation/queues/default/resume", None, *BOSS))["paused"] is False
    await ask(api, "PUT", path, {}, *BOSS)
    listed = await ask(api, "GET", "/installation/subscriptions", None, *BOSS)
    assert [item["name"] for item in listed["items"]] == ["mirror"]
    await ask(api, "POST", "/installation/subscriptions/mirror/pause", None, *BOSS, status=204)
    await ask(api, "POST", "/installation/subscriptions/mirror/resume", None, *BOSS, status=204)
    replayed = await ask(api, "POST", "/installation/subscriptions/mirror/replay", {"from_position": 1}, *BOSS)
    assert replayed == {"count": 0, "preview": True}
    assert (await ask(api, "GET", "/installation/subscriptions/mirror/buried", None, *BOSS))["items"] == []
    assert (await ask(api, "POST", "/installation/subscriptions/mirror/redeliver", {}, *BOSS))["count"] == 0
    assert (await ask(api, "GET", "/installation/samples/queue_ready", None, *BOSS))["items"] == []
    gone = "00000000-0000-0000-0000-000000000000"
    await ask(api, "POST", f"/installation/workers/{gone}/drain", None, *BOSS, status=404)
    for roles in (("ops",), ("admin",), ("installation",)):
        await ask(api, "PUT", path, {"concurrency": 5}, *roles, status=403)


async def test_where_there_is_no_schedule_at_all_one_is_not_found(api: Api) -> None:
    answer = await api.call("GET", "/api/v1/engine/schedules/nope")

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
