"""What a tenant's reads cost is a matter of its own rows: beside it are many of another tenant.

Under row-level security a list that has no index by tenant walks over the rows of all others, and
whoever adds many rows takes the time of everybody who looks at his own. So what each read of a tenant
reads is counted, in sessions whose plans were made before the rows came, and in those that know them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import psycopg
import pytest

from tests.sql.engine import Row, Session
from tests.sql.price import BACKLOG, OFTEN, Meter, Place

FEW, MANY = 10, 2_000
MOST_READ = 50 * FEW  # a trail reads all places of the forty jobs
OURS, THEIRS = "acme", "globex"
LATER = "2100-01-01T00:00:00Z"

KIND = """
insert into ostinato_data.kind (name, queue, priority, retry, registered_at, open)
values ('app.task', 'default', 0, '{}', now(), true)
"""
ENQUEUE = """
select count(*) from ostinato.enqueue_jobs(
    array['app.task'], array(select '{}' from generate_series(1, %s)), queues => array[%s],
    run_ats => array[%s::timestamptz], tenant_ids => array[%s], correlation_ids => array[%s])
"""
EMIT = """
select count(*) from ostinato.emit_events(
    array['invoice.paid'], array(select '{}' from generate_series(1, %s)), null, null, array[%s],
    array[%s], null, array['billing'], true)
"""
ACT = """
select count(ostinato.note_action('poke', 'thing', 'thing ' || n, tenant_id => %s, job_ids => array[n]))
from generate_series(1, %s) n
"""
# One is made by its verb, and copied: to time each costs a second for thousands.
SCHEDULES = """
with made as (
    insert into ostinato_data.schedule (created_at, timed_at, grace_seconds, jitter_seconds, catch_up_most, catch_up,
                                        tenant_id, name, kind, args, cron, recurrence)
    select created_at, timed_at, grace_seconds, jitter_seconds, catch_up_most, catch_up, %s, 'filler ' || n, kind, args,
           cron, recurrence
    from ostinato_data.schedule cross join generate_series(1, %s) n where name = 'template'
    returning id, tenant_id
)
insert into ostinato_data.schedule_due (schedule_id, next_at, slot_at, slot_local, tenant_id)
select m.id, d.next_at, d.slot_at, d.slot_local, m.tenant_id
from made m cross join ostinato_data.schedule_due d join ostinato_data.schedule s on s.id = d.schedule_id
where s.name = 'template'
"""
HOLD = """
select count(*) from generate_series(1, %s) n
cross join lateral ostinato.acquire_lease('filler ' || n, 'somebody', 3600, tenant_id => %s) l
"""


def list_jobs(db: Session, state: str | None) -> list[Row]:
    return db.call("list_jobs", state=state)


# What people and programs of a tenant look at.
READS: dict[str, Callable[[Session], Any]] = {
    "queues": lambda db: db.call("list_queues"),
    **{
        f"{state} jobs": partial(list_jobs, state=state)
        for state in ("scheduled", "ready", "running", "dead", "done", "cancelled", None)
    },
    "jobs of a kind": lambda db: db.call("list_jobs", kind="app.task", state="scheduled"),
    "events": lambda db: db.call("list_events"),
    "events of a type": lambda db: db.call("list_events", type="invoice.paid"),
    "older events": lambda db: db.call("list_events", before=2**62),
    "schedules": lambda db: db.call("list_schedules"),
    "upcoming schedules": lambda db: db.call("upcoming_schedules"),
    "dead letters": lambda db: db.call("list_dead_letters"),
    "groups of dead letters": lambda db: db.call("dead_letter_groups"),
    "audit": lambda db: db.call("list_audit"),
    "audit of a name": lambda db: db.call("list_audit", target="thing 7"),
    "audit of a job": lambda db: db.call("list_audit", target="7"),
    "trail": lambda db: db.call("trail", correlation_id="c-acme"),
    "leases": lambda db: db.call("list_leases"),
}


def fill(place: Place, tenant: str, count: int) -> None:
    """Give a tenant so many of everything."""
    with place.session() as db:
        chain = f"c-{tenant}"
        db.call("upsert_schedule", name="template", kind="app.task", cron="0 9 * * *", tenant_id=tenant)
        worker = db.worker(queues=["ending"], expiry_seconds=3600)
        for end in (db.complete, db.fail):
            db.rows(ENQUEUE, count, "ending", None, tenant, chain)
            while held := db.claim(worker, 1000, "ending"):
                end(*held)
        db.rows(ENQUEUE, count, "default", None, tenant, chain)
        db.rows(ENQUEUE, count, "default", LATER, tenant, chain)
        db.rows(EMIT, count, tenant, chain)
        db.call("sequence_events")
        db.rows(ACT, tenant, count)
        db.rows(HOLD, count, tenant)
    with psycopg.connect(place.urls.admin) as conn:
        conn.execute(SCHEDULES, (tenant, count))
        conn.execute("delete from ostinato_data.schedule where name = 'template'")


def reader(place: Place) -> Session:
    session = Session.open(place.urls.tenant)
    session.rows("select set_config('app.tenant_id', %s, false)", OURS)
    return session


@pytest.mark.parametrize("seen", ["empty", "full"])
def test_what_a_tenant_reads_does_not_grow_with_the_rows_of_others(place: Place, seen: str) -> None:
    with psycopg.connect(place.urls.admin) as conn:
        conn.execute(KIND)
    fill(place, OURS, FEW)
    if seen == "full":
        fill(place, THEIRS, MANY)
    place.take_statistics()

    db = reader(place)
    try:
        meter = Meter(db)
        for read in READS.values():
            for _ in range(OFTEN):
                read(db)
        if seen == "empty":
            fill(place, THEIRS, MANY)
            place.take_statistics()
        found = {name: meter.measure(name, partial(read, db)) for name, read in READS.items()}
    finally:
        db.close()

    assert {name: n for name, n in meter.read.items() if n > MOST_READ} == {}
    assert {name for name, rows in found.items() if not rows} == {"running jobs", "cancelled jobs"}


@pytest.mark.parametrize("role", ["tenant", "worker"])
def test_what_the_actions_on_one_job_cost_does_not_grow_with_all_actions(place: Place, role: str) -> None:
    """An operator of arrays is not leakproof: under a policy no index would serve it."""
    with place.session() as worker:
        job = worker.enqueue(tenant_id=OURS)
        worker.rows(ACT, OURS, BACKLOG)
        worker.call("note_action", verb="poke", noun="job", target="mine", tenant_id=OURS, job_ids=[job])
    place.take_statistics()

    db = reader(place) if role == "tenant" else Session.open(place.urls.worker)
    try:
        meter = Meter(db)
        asked: dict[str, dict[str, Any]] = {
            "job": {"target": str(job)},
            "name": {"target": "mine"},
            "job and tenant": {"target": str(job), "tenant_id": OURS},
            "nothing": {"target": "nothing"},
        }
        found = {
            name: len(meter.measure(name, partial(db.call, "list_audit", **given))) for name, given in asked.items()
        }
        trail = meter.measure("trail", lambda: db.call("trail", correlation_id=f"job-{job}"))
    finally:
        db.close()

    assert found == {"job": 1, "name": 1, "job and tenant": 1, "nothing": 0}
    assert [line["source"] for line in trail] == ["job", "action"]
    assert max(meter.read.values()) < 100
