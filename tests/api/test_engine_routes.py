"""The engine's routes over HTTP: each does its work for one tenant, and knows no other."""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx
import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.engine import claims, outbox, schedules, steps, workers
from ostinato._core.engine.claims import Failure, Job
from ostinato._core.engine.jobs import NewJob, Unique, enqueue
from ostinato._core.engine.outbox import NewEvent
from ostinato._core.engine.schedules import Schedule
from ostinato._core.engine.steps import NewStep
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.handlers.context import Context
from ostinato._faces.api.parts import Parts
from ostinato._faces.api.views import read_json
from tests.api.conftest import Api
from tests.api.live import serving

ENGINE = "/api/v1/engine"
NEVER = (0, -1, 2**63, 2**64, 10**18, "x", "1.5", "%20", "7e1", "1" * 5000)

Value = Any  # what is sent and answered is known to the test, not to the type checker

APP = App("shop")


@APP.job(queue="parcels", priority=3, open=True)
async def ship(ctx: Context, order: int, *, fast: bool = False) -> None:
    """Ships an order."""


@APP.job()
async def audit(ctx: Context, order: int) -> None:
    """Looks at the orders of all tenants."""


@APP.on("order.paid", name="shop.thank")
async def thank(ctx: Value, event: Value) -> None:
    """Thanks for an order."""


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    return (APP,)


@dataclass
class Floor:
    """What happens in the engine while operators look on."""

    api: Api
    worker: UUID | None = None

    async def add(self, tenant: str = "acme", kind: str = "app.task", **options: Value) -> int:
        async with self.api.worker.connection() as conn:
            return await enqueue(conn, NewJob(kind, tenant_id=tenant, **options))

    async def run(self, tenant: str = "acme", **options: Value) -> Job:
        """A job in the hands of a worker."""
        await self.add(tenant, **options)
        async with self.api.worker.connection() as conn:
            if self.worker is None:
                self.worker = await workers.register(conn, "floor", ["default"], ["app.task"], 60)
            (job,) = await claims.claim(conn, self.worker, "default", 1, kinds=None)
        return job

    async def bury(self, tenant: str = "acme", signature: str = "E", **options: Value) -> int:
        """A job that gave up."""
        job = await self.run(tenant, **options)
        error = json.dumps({"type": "ValueError", "message": f"secret of {tenant}"})
        async with self.api.worker.connection() as conn:
            await claims.fail(conn, [job], [Failure(None, error, signature, "permanent")], [5])
        return job.id

    async def tell(self, tenant: str, type_: str, **options: Value) -> int:
        event = NewEvent(type_, '{"order": 7}', "shop", tenant_id=tenant, **options)
        async with self.api.worker.connection() as conn:
            return await outbox.emit(conn, event)

    async def state(self, job_id: int) -> str:
        found = await self.api.admin.execute("select ostinato.job_state(%s)", (job_id,))
        row = await found.fetchone()
        assert row is not None
        return str(row[0])


@pytest.fixture
def floor(api: Api) -> Floor:
    return Floor(api)


async def got(api: Api, path: str, tenant: str = "acme", **params: Value) -> Value:
    seen = await api.call("GET", ENGINE + path, tenant=tenant, params=params)
    assert seen.status_code == 200, seen.text
    return seen.json()


async def posted(api: Api, path: str, body: Value = None, **options: Value) -> httpx.Response:
    return await api.call("POST", ENGINE + path, json=body, **options)


# Jobs: looking.


async def test_jobs_are_listed_by_filters_and_by_pages(api: Api, floor: Floor) -> None:
    added = [await floor.add(correlation_id=f"c-{n % 2}", queue="q") for n in range(5)]
    odd = await floor.add(kind="app.other")
    await floor.add("other", queue="q")

    first = await got(api, "/jobs", queue="q", limit=2)
    second = await got(api, "/jobs", queue="q", limit=2, before=first["next"])
    last = await got(api, "/jobs", queue="q", limit=2, before=second["next"])

    seen = [job["id"] for page in (first, second, last) for job in page["items"]]
    assert seen == added[::-1]
    assert last["next"] is None
    assert [job["id"] for job in (await got(api, "/jobs", kind="app.other"))["items"]] == [odd]
    assert len((await got(api, "/jobs", correlation_id="c-0"))["items"]) == 3
    assert len((await got(api, "/jobs", state="ready"))["items"]) == 6
    assert (await got(api, "/jobs", state="done"))["items"] == []
    assert (await got(api, "/jobs", limit=6))["next"] is None
    assert first["items"][0]["state"] == "ready"
    assert "tenant_id" not in first["items"][0]


@pytest.mark.parametrize(
    "params",
    [
        {"limit": 0},
        {"limit": 201},
        {"limit": "x"},
        {"before": 0},
        {"before": 2**63},
        {"state": "odd"},
        {"queue": ""},
        {"kind": "x" * 201},
    ],
)
async def test_a_filter_that_cannot_be_is_named(api: Api, params: dict[str, Any]) -> None:
    seen = await api.call("GET", f"{ENGINE}/jobs", params=params)

    assert seen.status_code == 422
    assert seen.json()["errors"][0]["field"] == f"query.{next(iter(params))}"


async def test_a_job_is_shown_with_all_that_belongs_to_it(api: Api, floor: Floor) -> None:
    job = await floor.run(args='{"invoice": 7}', correlation_id="req-1", limit_key="k")
    async with api.worker.connection() as conn:
        await steps.save(conn, [NewStep(job, 1, "charge", '{"paid": true}', 12)])
    event = await floor.tell("acme", "order.paid", correlation_id="req-1")
    await floor.tell("other", "order.paid", correlation_id="req-1")
    await floor.add("other", correlation_id="req-1")

    shown = await got(api, f"/jobs/{job.id}")

    assert (shown["state"], shown["args"], shown["limit_key"]) == ("running", {"invoice": 7}, "k")
    assert (shown["worker_id"], shown["worker_name"]) == (str(floor.worker), "floor")
    assert [(a["attempt"], a["outcome"]) for a in shown["attempts"]] == [(1, "running")]
    assert [(s["name"], s["result"]) for s in shown["steps"]] == [("charge", {"paid": True})]
    assert [e["id"] for e in shown["events"]] == [event]
    assert [(line["source"], line["state"]) for line in shown["trail"]] == [
        ("job", "enqueued"),
        ("attempt", "running"),
        ("step", "call"),
        ("event", "emitted"),
    ]


async def test_a_job_without_a_correlation_id_is_the_start_of_its_own(api: Api, floor: Floor) -> None:
    job = await floor.add()
    event = await floor.tell("acme", "order.paid", correlation_id=f"job-{job}")

    shown = await got(api, f"/jobs/{job}")

    assert [e["id"] for e in shown["events"]] == [event]
    assert [line["what"] for line in shown["trail"]] == ["app.task", "order.paid"]


async def test_what_a_job_raised_is_shown(api: Api, floor: Floor) -> None:
    job = await floor.bury()

    shown = await got(api, f"/jobs/{job}")

    error = {"type": "ValueError", "message": "secret of acme"}
    assert (shown["state"], shown["error"], shown["attempts"][0]["error"]) == ("dead", error, error)
    (item,) = (await got(api, "/jobs", state="dead"))["items"]
    assert item["error"] == "ValueError: secret of acme"


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ('{"a": 1e999}', {"a": None}),
        ('{"a": [1, -1e999]}', {"a": [1, None]}),
        ('{"a": "é"}', {"a": "é"}),
        ('{"a": "\\ud800"}', {"a": "?"}),
        ("[" * 101 + "]" * 101, {"unreadable": "[" * 101 + "]" * 101}),
        ("[" * 100_000 + "]" * 100_000, {"unreadable": "[" * 1000}),
        ("1" * 5000, {"unreadable": "1" * 1000}),
        ("null", None),
        (None, None),
    ],
)
def test_json_that_others_choke_on_can_still_be_shown(stored: str | None, shown: object) -> None:
    assert read_json(stored) == shown
    assert json.dumps(read_json(stored), allow_nan=False).encode()


async def test_odd_json_keeps_no_job_from_being_shown(api: Api) -> None:
    for args in ('{"a": 1e999}', f'{{"a": {"1" * 5000}}}', f'{{"a": {"[" * 900}1{"]" * 900}}}'):
        found = await api.admin.execute(
            "select ostinato.enqueue_job('app.task', %s::json, tenant_id => 'acme')", (args,)
        )
        row = await found.fetchone()
        assert row is not None
        shown = await got(api, f"/jobs/{row[0]}")
        assert "a" in shown["args"] or "unreadable" in shown["args"]


async def test_why_is_told(api: Api, floor: Floor) -> None:
    job = await floor.add(run_at=datetime(2100, 1, 1, tzinfo=UTC))

    why = await got(api, f"/jobs/{job}/why")

    assert why["job_id"] == job
    assert [reason["code"] for reason in why["reasons"]] == ["later", "no_worker_for_queue"]
    assert why["reasons"][1]["detail"] == {"queue": "default", "draining": 0, "silent": 0}


# Jobs: doing.


async def test_a_job_is_added_with_all_that_can_be_said(api: Api) -> None:
    body = {
        "kind": "app.task",
        "args": {"invoice": 7},
        "queue": "q",
        "priority": 5.0,
        "run_at": "2100-01-01T00:00:00+01:00",
        "unique_key": "u",
        "limit_key": "k",
        "max_attempts": 3,
    }

    seen = await posted(api, "/jobs", body, headers={"X-Correlation-Id": "req-7"})
    again = await posted(api, "/jobs", body)

    job = seen.json()["job_id"]
    assert (seen.status_code, seen.headers["location"]) == (202, f"{ENGINE}/jobs/{job}")
    assert again.json() == {"job_id": job}
    shown = await got(api, f"/jobs/{job}")
    assert {name: shown[name] for name in body if name != "run_at"} == {
        name: value for name, value in body.items() if name != "run_at"
    }
    assert datetime.fromisoformat(shown["run_at"]) == datetime(2099, 12, 31, 23, tzinfo=UTC)
    assert (shown["state"], shown["correlation_id"]) == ("scheduled", "req-7")


async def test_a_kind_or_queue_that_is_closed_is_named_with_what_is_open(api: Api) -> None:
    """Any tenant's operator ran jobs of the whole installation, and filled the queue of webhooks."""
    for body, closed in (
        ({"kind": "shop.audit", "args": {"whatever": 1}}, "the kind shop.audit is closed to tenants"),
        ({"kind": "app.task", "queue": "webhooks"}, "queue 'webhooks' is closed to tenants"),
    ):
        seen = await posted(api, "/jobs", body)

        assert (seen.status_code, seen.json()["code"]) == (403, "forbidden")
        assert closed in seen.json()["detail"]
        assert "Open " in seen.json()["hint"]
    assert (await got(api, "/jobs"))["items"] == []


async def test_a_kind_that_is_known_says_where_and_which_args(api: Api) -> None:
    seen = await posted(api, "/jobs", {"kind": "shop.ship", "args": {"order": 7}})
    wrong = await posted(api, "/jobs", {"kind": "shop.ship", "args": {"order": "x"}})

    shown = await got(api, f"/jobs/{seen.json()['job_id']}")
    assert (shown["queue"], shown["priority"]) == ("parcels", 3)
    assert shown["args"] == {"order": 7, "fast": False}
    assert wrong.status_code == 422
    assert "order" in wrong.json()["detail"]


async def test_a_delay_counts_from_now(api: Api) -> None:
    seen = await posted(api, "/jobs", {"kind": "app.task", "delay": 3600})

    shown = await got(api, f"/jobs/{seen.json()['job_id']}")
    later = datetime.fromisoformat(shown["run_at"]) - datetime.fromisoformat(shown["created_at"])
    assert 3590 < later.total_seconds() <= 3601


async def test_the_same_key_adds_one_job(api: Api, floor: Floor) -> None:
    key = {"Idempotency-Key": "k-1"}
    first = await posted(api, "/jobs", {"kind": "app.task"}, headers=key)
    again = await posted(api, "/jobs", {"kind": "app.task"}, headers=key)
    other = await posted(api, "/jobs", {"kind": "app.task"}, headers=key, tenant="other")
    differs = await posted(api, "/jobs", {"kind": "app.other"}, headers=key)

    assert first.content == again.content
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["idempotency-replayed"] == "true"
    assert other.json() != first.json()
    assert (differs.status_code, differs.json()["code"]) == (422, "idempotency_conflict")
    assert len((await got(api, "/jobs"))["items"]) == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body.kind"),
        ({"kind": ""}, "body.kind"),
        ({"kind": 7}, "body.kind"),
        ({"kind": "x" * 201}, "body.kind"),
        ({"kind": "a", "args": []}, "body.args"),
        ({"kind": "a", "args": None}, "body.args"),
        ({"kind": "a", "priority": -1}, "body.priority"),
        ({"kind": "a", "priority": "5"}, "body.priority"),
        ({"kind": "a", "priority": 5.5}, "body.priority"),
        ({"kind": "a", "priority": 32_768}, "body.priority"),
        ({"kind": "a", "run_at": 7}, "body.run_at"),
        ({"kind": "a", "run_at": "1700000000"}, "body.run_at"),
        ({"kind": "a", "run_at": "2100-01-01T00:00:00"}, "body.run_at"),
        ({"kind": "a", "run_at": "9999-12-31T23:59:59-23:59"}, "body"),
        ({"kind": "a", "run_at": "0001-01-01T00:00:00+23:59"}, "body"),
        ({"kind": "a", "run_at": "2100-01-01T00:00:00Z", "delay": 1}, "body"),
        ({"kind": "a", "delay": -1}, "body.delay"),
        ({"kind": "a", "delay": 1e300}, "body.delay"),
        ({"kind": "a", "max_attempts": 0}, "body.max_attempts"),
        ({"kind": "a", "unique_key": ""}, "body.unique_key"),
        ({"kind": "a", "tenant_id": "other"}, "body.tenant_id"),
    ],
)
async def test_what_is_wrong_with_a_job_is_named(api: Api, body: Value, field: str) -> None:
    seen = await posted(api, "/jobs", body)

    assert seen.status_code == 422, seen.text
    assert [fault["field"] for fault in seen.json()["errors"]] == [field]


async def test_args_that_are_too_large_are_refused(api: Api) -> None:
    seen = await posted(api, "/jobs", {"kind": "app.task", "args": {"text": "x" * 262_144}})

    assert seen.status_code == 422
    assert "262,144" in seen.json()["detail"]


async def test_jobs_of_events_and_webhooks_are_not_for_callers(api: Api) -> None:
    """Their args name deliveries, of whatever tenant."""
    await api.admin.execute("select ostinato.subscribe('shop.thank')")
    args = {"subscription": "shop.thank", "position": 1, "delivery": 1}

    for kind, given in (("shop.thank", args), ("webhooks.deliver", {"delivery": 1})):
        seen = await posted(api, "/jobs", {"kind": kind, "args": given})
        assert seen.status_code == 403
        assert "made by the engine" in seen.json()["detail"]
    assert (await got(api, "/jobs"))["items"] == []


async def test_a_dead_job_is_retried_once(api: Api, floor: Floor) -> None:
    job = await floor.bury()
    key = {"Idempotency-Key": "r-1"}

    seen = await posted(api, f"/jobs/{job}/retry", headers=key)
    again = await posted(api, f"/jobs/{job}/retry", headers=key)
    late = await posted(api, f"/jobs/{job}/retry")

    assert (seen.status_code, seen.json()) == (200, {"job_id": job, "was": "dead"})
    assert (again.content, again.headers["idempotency-replayed"]) == (seen.content, "true")
    assert (late.status_code, late.json()["code"]) == (409, "wrong_state")
    assert await floor.state(job) == "ready"


async def test_a_retry_whose_unique_key_is_taken_is_a_conflict(api: Api, floor: Floor) -> None:
    job = await floor.bury(unique=Unique("u"))
    await floor.add(unique=Unique("u"))

    seen = await posted(api, f"/jobs/{job}/retry")

    assert (seen.status_code, seen.json()["code"]) == (409, "unique_conflict")


async def test_a_job_is_cancelled_for_a_reason(api: Api, floor: Floor) -> None:
    running = await floor.run()
    waiting = await floor.add()

    asked = await posted(api, f"/jobs/{running.id}/cancel")
    ended = await posted(api, f"/jobs/{waiting}/cancel", {"reason": "withdrawn"})
    again = await posted(api, f"/jobs/{waiting}/cancel", {})

    assert asked.json() == {"job_id": running.id, "was": "running", "effect": "requested"}
    assert ended.json() == {"job_id": waiting, "was": "ready", "effect": "cancelled"}
    assert again.json() == {"job_id": waiting, "was": "cancelled", "effect": "none"}
    assert (await got(api, f"/jobs/{waiting}"))["reason"] == "withdrawn"
    shown = await got(api, f"/jobs/{running.id}")
    assert shown["cancel_reason"] == "cancelled by an operator"
    wrong = await posted(api, f"/jobs/{waiting}/cancel", {"reason": "x" * 201})
    assert wrong.status_code == 422


async def test_dead_letters_are_counted_before_they_are_redriven(api: Api, floor: Floor) -> None:
    mine = [await floor.bury(signature="A"), await floor.bury(signature="B")]
    theirs = await floor.bury("other", signature="A")

    preview = await posted(api, "/jobs/redrive", {})
    narrow = await posted(api, "/jobs/redrive", {"signature": "A", "preview": False})
    nothing = await posted(api, "/jobs/redrive", {"kind": "none", "preview": False})

    counted = {"matching": 2, "redriven": 0, "conflicts": 0, "preview": True}
    assert (preview.status_code, preview.json()) == (200, counted)
    done = {"matching": 1, "redriven": 1, "conflicts": 0, "preview": False}
    assert narrow.json() == done
    assert nothing.json()["matching"] == 0
    assert [await floor.state(job) for job in (*mine, theirs)] == ["ready", "dead", "dead"]
    for body in ({"limit": 0}, {"limit": 10_001}, {"preview": "no"}, {"tenant": "other"}):
        assert (await posted(api, "/jobs/redrive", body)).status_code == 422


# Places.


async def test_dead_letters_are_listed_by_pages_and_by_groups(api: Api, floor: Floor) -> None:
    jobs = [await floor.bury(signature="A") for _ in range(3)]
    await floor.bury("other", signature="A")

    first = await got(api, "/dead-letters", limit=2, signature="A")
    second = await got(api, "/dead-letters", limit=2, before=first["next"])
    (group,) = (await got(api, "/dead-letters/groups"))["items"]

    seen = [letter["job_id"] for page in (first, second) for letter in page["items"]]
    assert (seen, second["next"]) == (jobs[::-1], None)
    assert (group["signature"], group["count"], group["example_job_id"]) == ("A", 3, jobs[2])
    assert first["items"][0]["error"] == "ValueError: secret of acme"


async def test_queues_and_workers_are_seen_without_jobs_of_others(api: Api, floor: Floor) -> None:
    await floor.run("other")
    await floor.add("other", queue="hidden")
    await floor.add(queue="mine")

    queues = {queue["name"]: queue for queue in (await got(api, "/queues"))["items"]}
    (worker,) = (await got(api, "/workers"))["items"]

    assert set(queues) - {"default", "q", "parcels"} == {"mine"}  # those are of kinds that workers declared
    assert (queues["mine"]["ready"], queues["mine"]["workers"]) == (1, 0)
    assert (worker["name"], worker["held"], worker["oldest_claim"]) == ("floor", 0, None)
    assert (worker["expired"], worker["queues"]) == (False, ["default"])


async def test_schedules_are_listed_and_shown_with_their_fires(api: Api) -> None:
    async with api.worker.connection() as conn:
        for name, tenant in (("a", "acme"), ("b/2", "acme"), ("c é", "acme"), ("a", "other")):
            await schedules.upsert(
                conn, Schedule(name, "app.task", {"n": 7}, cron="30 8 * * *", zone="Asia/Tokyo", tenant_id=tenant)
            )

    first = await got(api, "/schedules", limit=2)
    second = await got(api, "/schedules", limit=2, after=first["next"])
    shown = await got(api, "/schedules/b%2F2")

    assert [item["name"] for item in first["items"]] == ["a", "b/2"]
    assert ([item["name"] for item in second["items"]], second["next"]) == (["c é"], None)
    assert (shown["name"], shown["rule"], shown["args"]) == ("b/2", "30 8 * * *", {"n": 7})
    assert len(shown["next_fires"]) == 5
    assert shown["next_fires"][0]["slot_local"].endswith("T08:30:00")
    assert shown["next_fires"][0]["utc_offset"] == "+09:00"
    assert shown["fires"] == []
    assert (await got(api, "/schedules/c é"))["name"] == "c é"
    assert (await got(api, "/schedules", kind="none"))["items"] == []
    for name in ("none", "x" * 200, "a/b/c"):
        assert (await api.call("GET", f"{ENGINE}/schedules/{name}")).status_code == 404


async def test_events_are_listed_by_pages_and_shown(api: Api, floor: Floor) -> None:
    told = [await floor.tell("acme", "a", correlation_id="c", ordering_key="k") for _ in range(3)]
    odd = await floor.tell("acme", "b", correlation_id="d")
    await floor.tell("other", "a", correlation_id="c", ordering_key="k")

    first = await got(api, "/events", type="a", limit=2)
    second = await got(api, "/events", type="a", limit=2, before=first["next"])
    shown = await got(api, f"/events/{odd}")

    assert [e["id"] for page in (first, second) for e in page["items"]] == told[::-1]
    assert second["next"] is None
    assert (shown["type"], shown["payload"], shown["position"]) == ("b", {"order": 7}, None)
    assert len((await got(api, "/events", correlation_id="c", ordering_key="k"))["items"]) == 3


async def test_a_trail_is_followed(api: Api, floor: Floor) -> None:
    for tenant in ("acme", "other"):
        await floor.add(tenant, correlation_id="a/b c")
        await floor.tell(tenant, "order.paid", correlation_id="a/b c")

    whole = await got(api, "/trail/a/b c")
    part = await got(api, "/trail/a%2Fb%20c", limit=1)

    assert whole["correlation_id"] == "a/b c"
    assert [line["source"] for line in whole["items"]] == ["job", "event"]
    assert (whole["complete"], part["complete"], len(part["items"])) == (True, False, 1)
    assert (await got(api, "/trail/nothing"))["items"] == []
    assert (await api.call("GET", f"{ENGINE}/trail/{'x' * 201}")).status_code == 422
    assert (await api.call("GET", f"{ENGINE}/trail/")).status_code == 422


# Another tenant.


@pytest.mark.parametrize("of", ["{}", "{}/why", "{}/retry", "{}/cancel"])
async def test_another_tenants_job_is_exactly_like_none(api: Api, floor: Floor, of: str) -> None:
    theirs = await floor.bury("other")
    method = "GET" if of in {"{}", "{}/why"} else "POST"

    async def ask(job: object) -> tuple[int, str]:
        path = f"{ENGINE}/jobs/{of.format(job)}"
        seen = await api.call(method, path, headers={"X-Correlation-Id": "same"})
        assert "secret" not in seen.text
        return seen.status_code, seen.text.replace(str(job), "N")

    anothers = await ask(theirs)
    assert anothers[0] == 404
    assert await ask(theirs + 1) == anothers
    assert await floor.state(theirs) == "dead"
    mine = await api.call(method, f"{ENGINE}/jobs/{of.format(theirs)}", tenant="other")
    assert mine.status_code == 200
    for job in NEVER:
        assert (await ask(job))[0] in {404, 422}


async def test_nothing_of_another_tenant_is_in_any_answer(api: Api, floor: Floor) -> None:
    await floor.bury("other", signature="zeta-sig")
    await floor.add("other", kind="zeta.kind", queue="zeta-queue", correlation_id="zeta-corr")
    event = await floor.tell("other", "zeta.event", correlation_id="zeta-corr")
    async with api.worker.connection() as conn:
        zeta = Schedule("zeta-plan", "zeta.kind", cron="0 8 * * *", tenant_id="other")
        await schedules.upsert(conn, zeta)
    mine = await floor.add()

    for path in (
        *("/jobs", "/queues", "/workers", "/schedules", "/dead-letters", "/dead-letters/groups"),
        *("/events", "/trail/zeta-corr", f"/jobs/{mine}", f"/jobs/{mine}/why"),
    ):
        found = await got(api, path)
        if path.startswith("/trail"):
            assert found.pop("correlation_id") == "zeta-corr"
        assert "zeta" not in json.dumps(found), path
        assert "other" not in json.dumps(found), path
    for path in (f"/events/{event}", "/schedules/zeta-plan"):
        assert (await api.call("GET", ENGINE + path)).status_code == 404
    filters = {
        "/jobs": ("kind", "queue", "signature", "correlation_id"),
        "/dead-letters": ("kind", "queue", "signature"),
        "/events": ("type", "ordering_key", "correlation_id"),
    }
    for path, names in filters.items():
        for name in names:
            found = await got(api, path, **{name: "zeta"})
            assert "zeta" not in json.dumps(found)


@pytest.mark.parametrize("event", NEVER)
async def test_an_event_that_cannot_be_is_not_there(api: Api, event: object) -> None:
    seen = await api.call("GET", f"{ENGINE}/events/{event}")
    assert seen.status_code in {404, 422}


# The document.


# What names something that need not be there.
UNNAMED = {
    *("/installation/subscriptions/{name}/buried", "/installation/samples/{name}"),
    *("/webhooks/{name}", "/schedules/{name}"),
}


def roles_of(method: str, path: str) -> list[str]:
    """The roles that a route is for."""
    if path.startswith(f"{ENGINE}/installation/"):
        return ["installation"]
    if path.startswith((f"{ENGINE}/erasures", f"{ENGINE}/keys")):
        return ["admin"]
    reads = (method == "get" and path != f"{ENGINE}/audit") or path == f"{ENGINE}/schedules/preview"
    return ["reader", "ops", "admin"] if reads else ["ops", "admin"]


async def test_every_answer_is_described(api: Api) -> None:
    document = (await api.http.get("/openapi.json")).json()
    mine = {path: item for path, item in document["paths"].items() if path.startswith(ENGINE)}

    assert len(mine) == 78
    for path, item in mine.items():
        for method, operation in item.items():
            told = f"{method} {path}"
            assert operation["description"].endswith("."), told
            assert operation["x-permission"]["roles"] == roles_of(method, path), told
            assert {"400", "401", "403", "422", "429", "503"} <= set(operation["responses"]), told
            (status,) = set(operation["responses"]) & {"200", "201", "202", "204"}
            if status != "204":
                (kind, good), *_ = operation["responses"][status]["content"].items()
                assert kind == "text/event-stream" if path.endswith("}/events") else "$ref" in good["schema"], told
            if re.search("{(job_id|event_id|name)}", path) and told.removeprefix(f"{method} {ENGINE}") not in UNNAMED:
                assert "404" in operation["responses"], told
    schemas = document["components"]["schemas"]
    assert schemas["JobItem"]["properties"]["priority"]["description"] == "Lower runs first."
    assert "tenant_id" not in json.dumps({n: s for n, s in schemas.items() if n != "Problem"})


async def test_a_wrong_method_on_a_verb_is_refused_as_such(api: Api) -> None:
    for path in ("/jobs/redrive", "/jobs/7/retry"):
        seen = await api.call("GET", ENGINE + path)
        assert (seen.status_code, seen.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/schedules/daily/digest", "DELETE, GET, PUT"),
        ("/schedules/daily/digest/pause", "POST"),
        ("/schedules/preview", "POST"),
        ("/webhooks/portals", "POST"),
        ("/webhooks/crm", "DELETE, GET, PATCH, POST"),
    ],
)
async def test_a_refused_method_is_told_those_of_the_route_that_the_document_has(
    api: Api, path: str, methods: str
) -> None:
    """A name may have slashes, so a verb's path is also that of a name; the verb is meant."""
    seen = await api.call("OPTIONS", ENGINE + path)

    assert (seen.status_code, seen.headers["allow"]) == (405, methods)


# On a real socket.


async def test_two_tenants_work_side_by_side_over_a_real_socket(
    shared_server: Server, api_urls: Urls, api: Api
) -> None:
    database = Database(api_urls.worker, api_urls.admin, api_urls.worker, server=shared_server, api_url=api_urls.api)
    texts = {tenant: await api.key(tenant, "ops") for tenant in ("acme", "other")}
    with serving(Parts(database, Settings(), apps=(APP,))) as url:
        async with httpx.AsyncClient(base_url=url + ENGINE, timeout=60, trust_env=False) as http:
            added = {}
            for tenant, text in texts.items():
                headers = {"Authorization": f"Bearer {text}"}
                seen = await http.post("/jobs", json={"kind": "app.task"}, headers=headers)
                added[tenant] = seen.json()["job_id"]
            for tenant, text in texts.items():
                headers = {"Authorization": f"Bearer {text}"}
                page = (await http.get("/jobs", headers=headers)).json()
                assert [job["id"] for job in page["items"]] == [added[tenant]]
                others = added["other" if tenant == "acme" else "acme"]
                assert (await http.get(f"/jobs/{others}", headers=headers)).status_code == 404
                nul = await http.get("/jobs", params={"queue": "a\0b"}, headers=headers)
                assert nul.status_code == 400
                await http.post(f"/jobs/{added[tenant]}/cancel", headers=headers)
            assert [
                (await http.get(f"/jobs/{job}", headers={"Authorization": f"Bearer {texts[t]}"})).json()["state"]
                for t, job in added.items()
            ] == ["cancelled", "cancelled"]


# The audit: who did what.


async def test_an_action_is_recorded_with_the_subject_the_key_and_the_reason(api: Api, floor: Floor) -> None:
    cancelled, buried = await floor.add(), await floor.bury()
    await floor.add("other")
    key_id = int((await api.key("acme", "admin")).split("_")[1])

    await posted(api, f"/jobs/{cancelled}/cancel", {"reason": "withdrawn"})
    await posted(api, f"/jobs/{buried}/retry", {"reason": "fixed"})
    added = (await posted(api, "/jobs", {"kind": "app.task"})).json()["job_id"]

    seen = (await got(api, "/audit"))["items"]
    acted = [(e["verb"], e["target"], e["reason"]) for e in seen if e["noun"] == "job"]
    assert acted == [
        ("enqueue", str(added), None),
        ("retry", str(buried), "fixed"),
        ("cancel", str(cancelled), "withdrawn"),
    ]
    assert {(e["actor"], e["key_id"]) for e in seen if e["noun"] == "job"} == {("tester", key_id)}
    assert "tenant_id" not in seen[0]
    assert "login" not in seen[0]


async def test_the_audit_is_read_page_by_page_and_shows_no_other_tenant(api: Api, floor: Floor) -> None:
    for tenant in ("acme", "acme", "other"):
        await posted(api, f"/jobs/{await floor.add(tenant)}/cancel", tenant=tenant)

    first = await got(api, "/audit", verb="cancel", limit=1)
    last = await got(api, "/audit", verb="cancel", limit=1, before=first["next"])

    assert last["next"] is None
    assert len((await got(api, "/audit", tenant="other", verb="cancel"))["items"]) == 1
    assert (await got(api, "/audit", actor="nobody"))["items"] == []
    assert (await api.call("GET", f"{ENGINE}/audit", params={"since": "soon"})).status_code == 422
    assert (await api.call("GET", f"{ENGINE}/audit", roles=("viewer",))).status_code == 403


# Erasing a person.


async def test_a_person_is_erased_by_an_administrator_with_a_certificate(api: Api, floor: Floor) -> None:
    body = {"kind": "app.task", "args": {"phone": "+33639980001"}, "subject": "+33639980001"}
    job = (await posted(api, "/jobs", body)).json()["job_id"]
    await posted(api, "/jobs", body, tenant="other")
    wanted = {"subject": "+33639980001", "reason": "request 4711"}

    refused = await posted(api, "/erasures", wanted, roles=("ops",))
    counted = await posted(api, "/erasures", {**wanted, "preview": True})
    erased = await posted(api, "/erasures", wanted)
    again = await posted(api, "/erasures", wanted)

    assert refused.status_code == 403
    assert (counted.json()["preview"], counted.json()["erased"]["job"]) == (True, 1)
    assert (erased.json()["complete"], erased.json()["erased"]["job"], erased.json()["by"]) == (True, 1, "tester")
    assert (again.json()["complete"], again.json()["erased"]["job"]) == (True, 0)
    assert "+33639980001" not in erased.text
    assert (await got(api, f"/jobs/{job}"))["args"] == {}
    assert (await got(api, "/audit", verb="erase", limit=1))["items"][0]["reason"] == "request 4711"
    assert (await posted(api, "/erasures", {"subject": ""})).status_code == 422


@pytest.mark.parametrize("hashed", ["hmac:" + "0" * 32, "hmac:customer-7"])
@pytest.mark.parametrize("path", ["/jobs", "/erasures"])
async def test_a_person_is_named_and_not_given_as_a_hash(api: Api, floor: Floor, path: str, hashed: str) -> None:
    body = {"subject": hashed} | ({"kind": "app.task"} if path == "/jobs" else {})

    refused = await posted(api, path, body)

    assert refused.status_code == 422
    assert "hmac:" in refused.text
    assert "name the person" in refused.text
    assert "customer-7" not in refused.text


async def test_the_answer_of_the_request_that_added_the_job_is_erased_too(api: Api, floor: Floor) -> None:
    body, key = {"kind": "app.task", "subject": "person-9"}, {"Idempotency-Key": "once-9"}
    first = await posted(api, "/jobs", body, headers=key)

    erased = await posted(api, "/erasures", {"subject": "person-9"})
    replayed = await posted(api, "/jobs", body, headers=key)

    assert first.status_code == 202
    assert erased.json()["erased"]["idempotency"] == 1
    assert (replayed.status_code, replayed.json()["code"]) == (410, "erased")
