"""Routes of operators over rows that are there: a route that returns nothing fails here."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ostinato._core.base.alerts import ENGINE_ALERTS
from ostinato._core.base.settings import Settings
from ostinato._core.base.webhooks import make_secret
from ostinato._core.engine import alerts, audit
from ostinato._core.runtime.testing import KEY
from tests.api.conftest import Api
from tests.runtime.receiver import Receiver
from tests.sql.deliveries import subscribe, take_heads, tell
from tests.sql.engine import Session
from tests.sql.test_children import spawned
from tests.sql.webhooks import Hooks

ENGINE = "/api/v1/engine"
BOSS = ("ops", "installation")
MIRROR = "/installation/subscriptions/receipts"


@pytest.fixture
def api_settings() -> Settings:
    return Settings(secret_key=KEY, webhooks_allow_private="127.0.0.1:*")


@pytest.fixture
def db(api: Api) -> Iterator[Session]:
    """What workers and applications did, on a session of their own."""
    session = Session.open(api.parts.database.url)
    yield session
    session.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as started:
        yield started


async def ask(
    api: Api,
    method: str,
    path: str,
    body: object = None,
    *roles: str,
    status: int = 200,
    **sent: Any,  # noqa: ANN401 - as httpx
) -> Any:  # noqa: ANN401 - JSON
    sent |= {} if body is None else {"json": body}
    answer = await api.call(method, f"{ENGINE}{path}", roles=roles or ("ops",), **sent)
    assert answer.status_code == status, (path, answer.status_code, answer.text)
    return answer.json() if answer.content else None


async def reasons(api: Api, *said: str) -> list[tuple[str, str | None]]:
    """What was recorded, first to last: the verb and the reason."""
    async with api.worker.connection() as conn:
        found = reversed(await audit.list_entries(conn))
    return [(each.verb, each.reason) for each in found if not said or each.verb in said]


def given_up(db: Session, count: int = 2) -> list[int]:
    """Events that a subscription gave up."""
    subscribe(db)
    worker = db.worker(kinds=["receipts"])
    told = tell(db, *[f"k{number}" for number in range(count)])
    db.fail(*take_heads(db, worker))
    return told


async def test_what_a_subscription_gave_up_is_listed_counted_delivered_again_and_discarded(
    api: Api, db: Session
) -> None:
    told = given_up(db, 3)

    buried = (await ask(api, "GET", f"{MIRROR}/buried", None, *BOSS))["items"]
    counted = await ask(api, "POST", f"{MIRROR}/redeliver", {}, *BOSS)
    again = await ask(api, "POST", f"{MIRROR}/redeliver", {"positions": [1], "preview": False}, *BOSS)
    gone = await ask(api, "POST", f"{MIRROR}/discard", {"positions": [2], "reason": "made twice"}, *BOSS)

    assert [(each["position"], each["event_id"]) for each in buried] == list(
        zip([3, 2, 1], reversed(told), strict=True)
    )
    assert [counted["count"], again["count"], gone["count"]] == [3, 1, 1]
    assert [each["position"] for each in (await ask(api, "GET", f"{MIRROR}/buried", None, *BOSS))["items"]] == [3]
    assert ("discard", "made twice") in await reasons(api)
    await ask(api, "POST", f"{MIRROR}/discard", {"positions": [3]}, status=403)


async def test_a_replay_is_counted_from_a_position_or_a_time_and_a_subscription_is_removed(
    api: Api, db: Session
) -> None:
    given_up(db, 3)
    hour = timedelta(hours=1)
    past, future = [(datetime.now(UTC) + by).isoformat().replace("+00:00", "Z") for by in (-hour, hour)]

    counts = [
        (await ask(api, "POST", f"{MIRROR}/replay", given, *BOSS))["count"]
        for given in ({"from_position": 2}, {"from_time": past}, {"from_time": future})
    ]

    assert counts == [2, 3, 0]
    await ask(api, "DELETE", f"{MIRROR}?reason=moved", None, *BOSS, status=204)
    assert (await ask(api, "GET", "/installation/subscriptions", None, *BOSS))["items"] == []
    assert ("remove", "moved") in await reasons(api)
    await ask(api, "DELETE", MIRROR, None, *BOSS, status=404)


async def test_deliveries_are_listed_and_sent_again_by_event_time_and_number(api: Api, db: Session) -> None:
    hooks = Hooks(db)
    await ask(api, "POST", "/webhooks/orders", {"url": "https://shop.example.com/hooks"}, status=201)
    told = hooks.told("a", "b", "c", tenant="acme")
    first, second, third = hooks.deliveries(tenant_id="acme")
    for each in (first, second):
        hooks.start(each)
        hooks.fail(each, retry=None)
    hooks.start(third)
    hooks.settle(third)
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat().replace("+00:00", "Z")

    async def again(**given: object) -> tuple[int, int]:
        answer = await ask(api, "POST", "/webhooks/orders/redeliver", {"preview": True, **given})
        return answer["count"], answer["matching"]

    sends = (await ask(api, "GET", "/webhooks/orders/attempts"))["items"]
    one = (await ask(api, "GET", f"/webhooks/orders/attempts?delivery={first['delivery_id']}"))["items"]
    listed = (await ask(api, "GET", "/webhooks/orders/deliveries"))["items"]
    assert [each["event_id"] for each in listed] == told[::-1]
    assert [each["state"] for each in listed] == ["delivered", "dead", "dead"]
    assert (len(sends), [each["status"] for each in one]) == (3, [500])
    assert [await again(), await again(most=1), await again(delivered=True)] == [(2, 2), (1, 2), (3, 3)]
    assert [await again(events=[told[2]]), await again(since=soon)] == [(1, 1), (0, 0)]
    sent = await ask(api, "POST", "/webhooks/orders/redeliver", {"most": 1, "reason": "they are back"})
    assert (sent["count"], sent["matching"], sent["preview"]) == (1, 2, False)
    assert await reasons(api, "redeliver") == [("redeliver", "they are back")]
    assert (await ask(api, "POST", "/webhooks/orders/redeliver"))["count"] == 1


async def test_an_endpoint_takes_headers_times_and_secrets_and_is_tried(api: Api, receiver: Receiver) -> None:
    own, other = make_secret(b"a" * 32), make_secret(b"b" * 32)
    body = {"url": receiver.url, "headers": {"X-Shop": "blue"}, "timeout_seconds": 7.5, "secret": own}

    made = await ask(api, "POST", "/webhooks/orders", body, status=201)
    met = await ask(api, "POST", "/webhooks/orders/test")
    changed = await ask(api, "PATCH", "/webhooks/orders", {"disable_after_seconds": 3600, "headers": {"X-Till": "1"}})
    turned = await ask(api, "POST", "/webhooks/orders/rotate", {"secret": other, "reason": "leaked"}, status=201)

    assert (made["secret"], turned["secret"]) == (own, other)
    assert (met["outcome"], met["status"]) == ("delivered", 200)
    assert receiver.requests[0].headers["x-shop"] == "blue"
    assert (changed["timeout_seconds"], changed["disable_after_seconds"]) == (7.5, 3600)
    assert "blue" not in json.dumps(changed)
    assert ("rotate", "leaked") in await reasons(api)
    await ask(api, "POST", "/webhooks/nobody/test", status=404)


async def test_transitions_and_samples_are_listed(api: Api) -> None:
    await api.admin.execute(
        "insert into ostinato_data.transition (id, at, tenant_id, entity, entity_id, machine, event, from_state,"
        " to_state, actor) select ostinato.new_id(), ostinato.now(), tenant, 'shop.order', '7', 'order', 'pay', 'new',"
        " 'paid', 'ann' from unnest(array['acme', 'globex']) tenant"
    )
    await api.parts.client.for_tenant("acme").enqueue("app.task", {})
    await api.admin.execute("select ostinato.sample_metrics()")

    (past,) = (await ask(api, "GET", "/transitions/shop.order"))["items"]
    samples = (await ask(api, "GET", "/installation/samples/queue_ready_jobs", None, *BOSS))["items"]

    assert (past["entity_id"], past["from_state"], past["to_state"]) == ("7", "new", "paid")
    assert [(each["label"], each["value"]) for each in samples] == [("default", 1), ("q", 0)]


async def test_slots_that_were_missed_are_listed_and_fired(api: Api) -> None:
    now = datetime.now(UTC)
    far = (now.hour + 12) % 24  # two slots in two days, and no third while the test runs
    await ask(api, "PUT", "/schedules/daily", {"kind": "app.task", "cron": f"0 {far} * * *"})
    await api.admin.execute("update ostinato_data.schedule set timed_at = timed_at - interval '3 days'")
    body = {"since": (now - timedelta(days=2)).isoformat().replace("+00:00", "Z")}

    listed = await ask(api, "POST", "/schedules/daily/catch-up", body)
    fired = await ask(api, "POST", "/schedules/daily/catch-up", {**body, "preview": False, "reason": "the outage"})

    assert len(listed["items"]) == len(fired["items"]) == 2
    assert ("catch up", "the outage") in await reasons(api)
    assert len((await ask(api, "GET", "/jobs?kind=app.task"))["items"]) == 2


async def test_a_worker_is_drained(api: Api, db: Session) -> None:
    worker = db.worker()

    await ask(api, "POST", f"/installation/workers/{worker}/drain", {"reason": "a new release"}, *BOSS, status=204)

    (shown,) = (await ask(api, "GET", "/workers"))["items"]
    assert shown["id"] == str(worker)
    (asked,) = db.rows("select drain_asked_at from ostinato_data.worker where id = %s", worker)
    assert asked["drain_asked_at"] is not None
    assert ("drain", "a new release") in await reasons(api)


async def test_the_reason_is_recorded_whatever_is_done(api: Api) -> None:
    rule = {"kind": "app.task", "cron": "0 3 * * *"}
    because = {"reason": "as agreed"}
    await api.admin.execute(
        "select ostinato.acquire_lease('books', holder => 'h', ttl_seconds => 600, tenant_id => 'acme')"
    )
    made = await ask(api, "POST", "/keys", {"subject": "bot", "roles": ["ops"]}, "admin", status=201)
    await ask(api, "PUT", "/schedules/daily", rule)
    await ask(api, "POST", "/webhooks/orders", {"url": "https://shop.example.com/"}, status=201)
    before = len(await reasons(api))

    await ask(api, "POST", "/leases/books/release?force=true", because)
    await ask(api, "POST", f"/keys/{made['record']['id']}/revoke", because, "admin")
    for verb in ("pause", "resume", "run"):
        await ask(api, "POST", f"/schedules/daily/{verb}", because)
    await ask(api, "DELETE", "/schedules/daily?reason=as%20agreed", status=204)
    for verb in ("pause", "resume"):
        await ask(api, "POST", f"/webhooks/orders/{verb}", because)
    await ask(api, "POST", "/webhooks/orders/rotate", because, status=201)
    await ask(api, "DELETE", "/webhooks/orders?reason=as%20agreed", status=204)

    found = (await reasons(api))[before:]
    assert [verb for verb, _ in found] == [
        *("release", "revoke", "pause", "resume", "run", "delete", "pause", "resume", "rotate", "remove")
    ]
    assert {reason for _, reason in found} == {"as agreed"}


async def test_a_schedule_takes_a_daily_time_with_weekdays_or_one_time_and_a_priority(api: Api) -> None:
    daily = {"kind": "app.task", "at_time": "14:30", "weekdays": ["mon"], "zone": "Europe/Paris", "priority": 3}

    made = await ask(api, "PUT", "/schedules/daily", daily)
    once = await ask(api, "PUT", "/schedules/once", {"kind": "app.task", "at": "2126-03-29T02:30"})

    assert made["slot_local"].endswith("T14:30:00")
    assert datetime.fromisoformat(made["slot_local"]).weekday() == 0
    assert once["slot_local"] == "2126-03-29T02:30:00"
    assert (await ask(api, "GET", "/schedules/daily"))["priority"] == 3
    for wrong in ({"at_time": "half past two"}, {"at": "soon"}, {"cron": "0 3 * * *", "at_time": "14:30"}, {}):
        await ask(api, "PUT", "/schedules/wrong", {"kind": "app.task", **wrong}, status=422)


async def test_an_alert_is_measured_and_tried_and_schedules_are_computed_again(api: Api) -> None:
    dead = next(each for each in ENGINE_ALERTS if each.name == "ostinato.no_workers")
    async with api.worker.connection() as conn:
        await alerts.declare(conn, ["ostinato"], [dead])

    measured = await ask(api, "POST", "/installation/alerts/ostinato.no_workers/test", None, *BOSS)
    sent = await ask(api, "POST", "/installation/alerts/ostinato.no_workers/test", {"send": True}, *BOSS)

    assert [(each["value"], each["bad"]) for each in measured["readings"]] == [(0, True)]
    assert (measured["event_ids"], len(sent["event_ids"])) == ([], 2)
    await ask(api, "POST", "/installation/alerts/nothing/test", None, *BOSS, status=404)
    await ask(api, "PUT", "/schedules/daily", {"kind": "app.task", "cron": "0 3 * * *"})
    assert (await ask(api, "POST", "/installation/schedules/recompute", None, *BOSS))["count"] == 0


async def test_the_children_of_a_job_are_shown_with_how_far_they_are(api: Api, db: Session) -> None:
    worker = db.worker()
    job = db.enqueue(tenant_id="acme")
    parent = db.claim_one(worker)
    group, children = spawned(db, parent, tenant_ids=["acme", "acme"])
    first, _ = db.claim(worker)
    db.complete(first, results=['{"card": "secret-card"}'])

    (shown,) = (await ask(api, "GET", f"/jobs/{job}/children"))["items"]
    page = await ask(api, "GET", f"/jobs/{job}/children/{group}?limit=1")
    rest = await ask(api, "GET", f"/jobs/{job}/children/{group}?after={page['next']}")
    hidden = await ask(api, "GET", f"/jobs/{job}/children/{group}", None, "reader")

    assert (shown["group_id"], shown["total"], shown["done"], shown["pending"]) == (group, 2, 1, 1)
    assert [each["job_id"] for each in (*page["items"], *rest["items"])] == children
    assert (page["items"][0]["state"], page["items"][0]["result"]) == ("done", {"card": "secret-card"})
    assert "secret-card" not in json.dumps(hidden)
    await ask(api, "GET", f"/jobs/{job}/children/7", status=404)
    assert (await api.call("GET", f"{ENGINE}/jobs/{job}/children", tenant="globex")).status_code == 404


async def test_idempotency_keys_are_listed_in_pages(api: Api) -> None:
    for key in ("k1", "k2"):
        await ask(api, "POST", "/jobs", {"kind": "app.task"}, status=202, headers={"Idempotency-Key": key})
    await ask(api, "POST", "/jobs", {"kind": "app.task"}, status=202)

    first = await ask(api, "GET", "/idempotency?limit=1")
    place = {f"after_{name}": value for name, value in first["next"].items()}
    second = await ask(api, "GET", "/idempotency", params=place)

    assert [each["key"] for each in (*first["items"], *second["items"])] == ["k1", "k2"]
    assert (first["items"][0]["state"], second["next"]) == ("done", None)
    other = await api.call("GET", f"{ENGINE}/idempotency", tenant="globex")
    assert other.json()["items"] == []
