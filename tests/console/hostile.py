"""Text of a tenant that would be a script if a page did not escape it, in every place that a page shows."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlencode

from ostinato._core.base.alerts import ENGINE_ALERTS
from ostinato._core.db.embedded import Urls
from ostinato._core.engine import alerts, bulk, keys, leases, outbox, schedules, webhooks
from ostinato._core.engine.outbox import NewEvent
from ostinato._core.engine.schedules import Schedule
from tests.api.conftest import Api
from tests.sql.engine import Session, arrays

FIRING = """
    insert into ostinato_data.alert_firing
        (id, alert, label, tenant_id, severity, since, fired_at, value, worst, message, details)
    values (ostinato.new_id(), %s, %s, %s, 'critical', now(), now(), 1, 1, %s, '{}')
"""
DELIVERY = """
    with e as (select * from ostinato_data.webhook_endpoint where tenant_id = %(tenant)s),
    m as (insert into ostinato_data.webhook_message
            (id, tenant_id, event_id, event_type, correlation_id, body, created_at)
          select ostinato.new_id(), tenant_id, '1', %(type)s, %(trail)s, '{}', now() from e returning *),
    d as (insert into ostinato_data.webhook_delivery
            (id, tenant_id, endpoint_id, message_id, seq, ordering_key, state, last_error, created_at)
          select ostinato.new_id(), e.tenant_id, e.id, m.id, 1, %(key)s, 'dead', %(refusal)s, now()
          from e, m returning *)
    insert into ostinato_data.webhook_attempt
        (id, delivery_id, tenant_id, attempt, at, outcome, duration_ms, answer, error)
    select ostinato.new_id(), id, tenant_id, n, now(), 'refused', 5, %(answer)s, case n when 1 then %(refusal)s end
    from d, generate_series(1, 2) n
"""


def script(word: str) -> str:
    """A script, and where it came from; without a slash, because some of these are a part of an address."""
    return f"<script>{word}"


def shown(word: str) -> str:
    """The same as a page shows it."""
    return f"&lt;script&gt;{word}"


def quoted(word: str) -> str:
    """The same as a page shows it inside JSON."""
    return rf"\u003cscript\u003e{word}"


TENANT = script("tenant")
TRAIL = script("trail")


@dataclass(frozen=True, slots=True)
class Planted:
    """What is there to be looked at."""

    dead: int
    """A job that has failed for good."""
    running: int
    cancelled: int
    event: int
    bulk: int
    worker: str


async def plant(api: Api, urls: Urls) -> Planted:
    """Fill a tenant with it, by the ways that it has wherever there is one."""
    db, admin = Session.open(urls.worker), Session.open(urls.admin)
    try:
        dead, running, cancelled = _jobs(db)
        worker = str(db.value("select id from ostinato.list_workers() where name = %s", script("worker")))
        db.call("subscribe", name=script("subscription"), types=[script("types")], start="now")
        admin.rows(FIRING, script("alert"), script("label"), TENANT, script("trouble"))
        event, bulk = await _others(api)
        told = {"tenant": TENANT, "trail": TRAIL} | {n: script(n) for n in ("type", "key", "refusal", "answer")}
        admin.conn.execute(DELIVERY.encode(), told)
    finally:
        db.close()
        admin.close()
    return Planted(dead, running, cancelled, event, bulk, worker)


def _jobs(db: Session) -> tuple[int, int, int]:
    """A dead job with a step and an error, one that runs, and one that was cancelled."""
    every = {"queue": script("queue"), "tenant_id": TENANT, "correlation_id": TRAIL}
    args = json.dumps({"card": script("args")})
    first = db.enqueue(script("kind"), **every, args=args, limit_key=script("limit"))
    second = db.enqueue(script("kind"), **every, unique_key=script("unique"))
    third = db.enqueue(script("kind"), **every)
    db.call("cancel_job", job_id=third, reason=script("reason"))
    worker = db.worker(script("worker"), queues=[script("queue")], kinds=[script("kind")])
    dead, running = db.claim(worker, queue=script("queue"))
    named = {"job_id": dead.id, "attempt": dead.attempt, "claim_id": dead.claim_id}
    db.call("save_step", **named, position=1, name=script("step"), result="1", duration_ms=5)
    error = {"type": script("fault"), "message": script("message"), "traceback": script("traceback")}
    db.call("fail_jobs", **arrays([dead]), delays=[None], errors=[json.dumps(error)], signatures=[script("signature")])
    db.call("note_progress", **arrays([running]), done=[1.0], totals=[2.0], notes=[script("progress")])
    assert [dead.id, running.id] == [first, second]
    return first, second, third


async def _others(api: Api) -> tuple[int, int]:
    """An event and a bulk action; and a schedule, an endpoint, a lease, a silence and a key."""
    payload = json.dumps({"x": script("payload")})
    event = NewEvent(
        script("event"),
        payload,
        script("producer"),
        ordering_key=script("key"),
        tenant_id=TENANT,
        correlation_id=TRAIL,
        occurred_at=datetime.now(UTC),
    )
    schedule = Schedule(
        script("schedule"), script("kind"), cron="0 7 * * *", tenant_id=TENANT, owner=script("owner"), zone="UTC"
    )
    async with api.worker.connection() as conn:
        emitted = await outbox.emit(conn, event)
        await schedules.upsert(conn, schedule)
        await webhooks.create_endpoint(
            conn, script("endpoint"), "https://hooks.example.com/", tenant_id=TENANT, event_types=[script("types")]
        )
        await webhooks.pause(conn, script("endpoint"), reason=script("pause"), tenant_id=TENANT)
        await leases.acquire(conn, script("lease"), holder=script("holder"), ttl=3600, tenant=TENANT)
        await keys.create(conn, tenant_id=TENANT, subject=script("subject"), roles=["reader"], name=script("name"))
        until = datetime.now(UTC) + timedelta(days=1)
        await alerts.declare(conn, ["ostinato"], ENGINE_ALERTS)
        name = ENGINE_ALERTS[0].name
        await alerts.silence(conn, name, until=until, reason=script("silence"), label=script("silenced"))
        started = await bulk.start(conn, "cancel", {"tenant_id": TENANT, "kind": "x"}, reason=script("why"))
    return emitted, started


EVENT = ("event", "key", "producer", "trail", "tenant")


def pages(planted: Planted) -> dict[str, set[str]]:
    """The pages, each with the texts that have to be on it."""
    place = quote(TENANT, safe="")
    cause = urlencode({"signature": script("signature"), "kind": script("kind")})
    asked = urlencode({"kind": script("a"), "queue": script("b"), "correlation": script("c")})
    job = ("kind", "tenant", "queue", "trail")
    endpoint = ("endpoint", "tenant", "pause", "types", "type", "key", "refusal", "answer")
    return {
        "/": all_of("queue", "kind", "message", "alert", "label", "trouble", "schedule"),
        "/jobs": all_of("kind", "queue", "message"),
        f"/jobs?{asked}": all_of("a", "b", "c"),
        f"/jobs/{planted.dead}": all_of(*job, "worker", "limit", "step", "event", "fault", "message", "traceback"),
        f"/jobs/{planted.running}": all_of(*job, "worker", "unique", "progress"),
        f"/jobs/{planted.cancelled}": all_of(*job, "reason"),
        "/queues": all_of("queue"),
        "/workers": all_of("worker", "queue", "kind"),
        "/dead-letters": all_of("kind", "message"),
        f"/dead-letters/cause?{cause}": all_of("kind", "signature", "message"),
        "/events": all_of(*EVENT),
        f"/events?{urlencode({'type': script('a'), 'key': script('b')})}": all_of("a", "b"),
        "/schedules": all_of("schedule", "kind"),
        f"/schedules/{place}/{quote(script('schedule'))}": all_of("schedule", "kind", "tenant", "owner"),
        "/webhooks": all_of("endpoint"),
        f"/webhooks/{place}/{quote(script('endpoint'))}": all_of(*endpoint),
        "/alerts": all_of("alert", "label", "trouble"),
        "/bulk": all_of("why"),
        f"/bulk/{planted.bulk}": all_of("why"),
        f"/workers/{planted.worker}": all_of("worker", "queue", "kind", "tenant", "progress"),
        f"/queues/{quote(script('queue'))}/tenants": all_of("queue", "tenant"),
        "/leases": all_of("lease", "holder"),
        f"/trail/{quote(TRAIL)}": all_of("trail", "kind", "event", "step"),
        "/access": all_of("subject", "name", "tenant", "reason"),
    }


def one_event(planted: Planted) -> dict[str, set[str]]:
    """The page of the event, likewise."""
    return {f"/events/{planted.event}": all_of(*EVENT)}


def of_the_installation() -> dict[str, set[str]]:
    """The pages that only the operators of the installation see."""
    path = f"/subscriptions/{quote(script('subscription'))}"
    return {
        path: all_of("subscription"),
        f"{path}/replay?since=1": all_of("subscription"),
        "/alerts": all_of("alert", "label", "trouble", "silence", "silenced"),
    }


def of_a_customer() -> dict[str, set[str]]:
    """The pages of the portal."""
    path = f"/portal/endpoints/{quote(script('endpoint'))}"
    return {"/portal": all_of("endpoint"), path: all_of("endpoint", "types", "type", "refusal", "answer")}


def all_of(*words: str) -> set[str]:
    return {shown(word) for word in words}
