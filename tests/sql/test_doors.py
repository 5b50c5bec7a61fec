"""What a tenant may start: open kinds, in open queues, under keys that no other tenant shares."""

import json
from datetime import timedelta

import pytest

from tests.sql.engine import START, Clock, Session, Sessions, refused

WIDE = "0" + "\N{GRINNING FACE}" * 199  # four bytes each


def declare(db: Session, **kinds: bool | None) -> None:
    """As a worker does when it starts; None: one of an older release, which says nothing."""
    for name, is_open in kinds.items():
        db.call(
            "register_kinds",
            names=[f"app.{name}"],
            queues=[f"{name}s"],
            priorities=[0],
            timeouts=[None],
            retries=["{}"],
            schemas=["{}"],
            **({} if is_open is None else {"opens": [is_open]}),
        )


# Kinds.


def test_a_tenant_starts_open_kinds_only(db: Session, sessions: Sessions) -> None:
    """Item 5 of the penetration test: any tenant's operator ran jobs of the whole installation."""
    declare(db, prune=False, report=True)
    tenant = sessions.tenant("t1")

    assert db.state(tenant.enqueue("app.report")) == "ready"
    with refused("OS400", "app.prune is closed to tenants", "Open kinds: app.report, app.task."):
        tenant.enqueue("app.prune")
    with refused("OS400", "app.prune is closed to tenants"):
        tenant.call("enqueue_jobs", kinds=["app.report", "app.prune"], args=["{}", "{}"])
    with refused("OS400", "no worker has declared a kind app.nothing"):
        tenant.enqueue("app.nothing")
    with refused("OS400", "closed to tenants"):
        tenant.call("enqueue_or_attach", name="one", kind="app.prune")
    assert db.value("select count(*) from ostinato_data.job") == 1


def test_the_installation_starts_closed_kinds_for_a_tenant(db: Session) -> None:
    declare(db, prune=False)

    job = db.enqueue("app.prune", tenant_id="t1")

    assert db.state(job) == "ready"


@pytest.mark.parametrize("table", ["job", "ready", "scheduled", "job_unique"])
def test_a_tenant_adds_no_row_past_the_verbs(sessions: Sessions, table: str) -> None:
    with refused("42501"):
        sessions.tenant("t1").rows(f"insert into ostinato_data.{table} select * from ostinato_data.{table}")  # noqa: S608


def test_a_tenants_schedule_is_of_an_open_kind(db: Session, sessions: Sessions) -> None:
    """A schedule is fired by workers, who may start everything."""
    declare(db, prune=False, report=True)
    tenant = sessions.tenant("t1")
    db.call("upsert_schedule", name="theirs", kind="app.prune", cron="0 3 * * *", tenant_id="t1")

    tenant.call("upsert_schedule", name="mine", kind="app.report", cron="0 3 * * *")
    with refused("OS400", "closed to tenants"):
        tenant.call("upsert_schedule", name="mine", kind="app.prune", cron="0 3 * * *")
    with refused("OS400", "closed to tenants"):
        tenant.rows("update ostinato_data.schedule set kind = 'app.prune' where name = 'mine'")
    with refused("OS400", "queue 'webhooks' is closed"):
        tenant.call("upsert_schedule", name="other", kind="app.report", cron="0 3 * * *", queue="webhooks")

    tenant.call("pause_schedule", name="theirs")  # made for it by the installation: it may let it rest
    assert db.value("select paused from ostinato_data.schedule where name = 'theirs'")


def test_what_a_worker_of_an_older_release_declares_stays_as_it_is(db: Session, sessions: Sessions) -> None:
    declare(db, old=None, report=True, prune=False)
    declare(db, report=None, prune=None)  # an old worker starts beside the new ones
    tenant = sessions.tenant("t1")

    assert tenant.enqueue("app.old")
    assert tenant.enqueue("app.report")
    with refused("OS400", "closed to tenants"):
        tenant.enqueue("app.prune")


def test_a_function_of_the_owner_knows_for_whom_it_acts(sessions: Sessions, admin: Session) -> None:
    """By that, an application's function starts a closed kind for the tenant of the session only."""
    owner = sessions.open("owner")
    admin.rows("create schema shop authorization ostinato_owner")
    try:
        owner.rows(
            "create function shop.whose() returns text language sql security definer"
            " set search_path = pg_catalog, pg_temp as 'select ostinato.acting_tenant()'"
        )
        owner.rows("grant usage on schema shop to ostinato_tenant, ostinato_worker")
        worker = sessions.open()
        assert sessions.tenant("t1").value("select shop.whose()") == "t1"
        assert worker.value("select shop.whose()") is None
        with worker.transaction():
            worker.call("enter_tenant", tenant_id="t2")
            assert worker.value("select shop.whose()") == "t2"
    finally:
        admin.rows("drop schema shop cascade")


# Queues.


@pytest.mark.parametrize("queue", ["webhooks", "prunes", "patient-Zebulon"])
def test_a_queue_without_an_open_kind_is_closed_to_tenants(db: Session, sessions: Sessions, queue: str) -> None:
    """Item 4: ten slow jobs in the queue of webhooks kept those of all others waiting."""
    declare(db, prune=False, report=True)
    tenant = sessions.tenant("t1")

    with refused("OS400", f"queue '{queue}' is closed to tenants", "Open queues: default, reports."):
        tenant.enqueue(queue=queue)
    with refused("OS400", "is closed to tenants"):
        tenant.call("enqueue_jobs", kinds=["app.task"], args=["{}", "{}"], queues=["default", queue])

    assert tenant.enqueue(queue="reports")


# Limit keys.


def test_a_tenant_fills_no_slot_of_another_by_choosing_its_key(db: Session, sessions: Sessions) -> None:
    """Item 4: ten slow jobs under the key of another tenant kept its job waiting for ever."""
    worker = db.worker()
    db.call("configure_queue", name="default", key_concurrency=1)
    evil = sessions.tenant("evil")
    for _ in range(10):
        evil.enqueue(limit_key="endpoint-7")
    (held,) = db.claim(worker)
    victim = db.enqueue(tenant_id="demo", limit_key="endpoint-7")

    assert db.claimed_ids(worker) == [victim]
    assert held.row["tenant_id"] == "evil"


def test_a_tenant_uses_up_no_rate_of_another_by_choosing_its_key(db: Session, sessions: Sessions) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", key_rate_count=1, key_rate_seconds=3600.0)
    sessions.tenant("evil").enqueue(limit_key="k")
    db.claim(worker)
    victim = db.enqueue(tenant_id="demo", limit_key="k")

    assert db.claimed_ids(worker) == [victim]


def test_no_two_names_make_the_same_slot(db: Session, sessions: Sessions) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", key_concurrency=1)
    pairs = [("a", "b:c"), ("a:b", "c"), ("1:a", "b"), ("1", "a:b"), ("0", ":a"), ("a", "\x1fb"), ("a\x1f", "b")]
    for tenant, key in pairs:
        sessions.tenant(tenant).enqueue(limit_key=key)
    db.enqueue(limit_key="a", limit_scope="installation")

    assert len(db.claim(worker)) == len(pairs) + 1


def test_the_longest_names_make_a_slot(db: Session) -> None:
    worker = db.worker(queues=[WIDE])
    db.call("configure_queue", name=WIDE, key_concurrency=1, key_rate_count=9, key_rate_seconds=60.0)
    for _ in range(2):
        db.enqueue(queue=WIDE, tenant_id=WIDE, limit_key=WIDE)

    assert len(db.claim(worker, queue=WIDE)) == 1


def test_the_installation_shares_a_key_among_tenants_when_it_says_so(
    db: Session, sessions: Sessions, clock: Clock
) -> None:
    worker = db.worker()
    db.call("configure_queue", name="default", key_concurrency=1)
    shared = {"limit_key": "inpi", "limit_scope": "installation"}
    first = db.enqueue(tenant_id="t1", **shared)
    second = db.enqueue(tenant_id="t2", run_at=clock.now + timedelta(seconds=5), **shared)
    bulk = db.call(
        "enqueue_jobs",
        kinds=["app.task"],
        args=["{}", "{}"],
        tenant_ids=["t3", "t4"],
        limit_keys=["inpi"],
        limit_scopes=["installation"],
    )
    own = sessions.tenant("t2").enqueue(limit_key="inpi")  # not the installation's key, whatever its name

    held = db.claim(worker)
    assert {each.id for each in held} == {first, own}
    db.fail(*(each for each in held if each.id == first), delay=1.0)  # a retry takes the same slot
    clock.beat(10, worker)
    db.call("promote_jobs")
    for _ in range(4):
        (held_now,) = [each for each in db.claim(worker) if each.id != own]
        assert db.claim(worker) == []
        db.complete(held_now)
    ended = {row["job_id"] for row in db.rows("select job_id from ostinato_data.outcome where outcome = 'done'")}
    assert ended == {first, second, *(row["enqueue_jobs"] for row in bulk)}


def test_a_tenant_cannot_ask_for_a_key_of_the_installation(sessions: Sessions) -> None:
    tenant = sessions.tenant("t1")

    with refused("OS400", "cannot use a limit key of the installation"):
        tenant.enqueue(limit_key="inpi", limit_scope="installation")
    with refused("OS400", "cannot use a limit key of the installation"):
        tenant.call("enqueue_jobs", kinds=["app.task"], args=["{}"], limit_keys=["inpi"], limit_scopes=["installation"])


def test_a_scope_is_one_of_two(db: Session) -> None:
    with refused("OS400", "unknown limit_scope 'world'"):
        db.enqueue(limit_key="k", limit_scope="world")
    with refused("OS400", "unknown limit_scope 'world'"):
        db.call("enqueue_jobs", kinds=["app.task"], args=["{}"], limit_keys=["k"], limit_scopes=["world"])


def test_people_see_the_key_as_it_was_given(db: Session) -> None:
    job = db.enqueue(tenant_id="t1", limit_key="k")

    assert db.call("show_job", job_id=job)[0]["limit_key"] == "k"


# Ids.


def test_a_tenant_stops_no_schedule_or_event_of_another_by_choosing_its_id(db: Session, sessions: Sessions) -> None:
    """Workers fire and sequence by id: a row under another tenant's id would be taken for its own."""
    db.call("upsert_schedule", name="theirs", kind="app.task", cron="0 3 * * *", tenant_id="t2")
    theirs = db.value("select id from ostinato_data.schedule")
    event = db.call("emit_event", type="a.b", tenant_id="t2", correlation_id="c", producer="p", occurred_at=START)
    attacker = sessions.tenant("t1")
    attacker.call("upsert_schedule", name="mine", kind="app.task", cron="0 3 * * *")

    db.rows("delete from ostinato_data.schedule_due where tenant_id = 't2'")  # between two slots
    with refused("23503"):
        attacker.rows(
            "insert into ostinato_data.schedule_due (schedule_id, next_at, slot_at, slot_local, tenant_id)"
            " values (%s, now(), now(), now(), 't1')",
            theirs,
        )
    for statement in (
        "update ostinato_data.schedule set id = 1000 where name = 'mine'",
        "insert into ostinato_data.schedule select * from ostinato_data.schedule",
        f"insert into ostinato_data.event_unsequenced values (1, {event[0]['emit_event']}, 'a.b', 't1')",  # noqa: S608
        "insert into ostinato_data.event select * from ostinato_data.event",
    ):
        with refused("42501"):
            attacker.rows(statement)

    attacker.call("delete_schedule", name="mine")
    assert db.value("select count(*) from ostinato_data.schedule_due") == 0


def test_a_tenant_emits_its_own_events_only(db: Session, sessions: Sessions) -> None:
    tenant, nobody = sessions.tenant("t1"), sessions.open("tenant")
    envelope = {"correlation_id": "c", "producer": "p", "occurred_at": START}

    emitted = tenant.get("emit_event", type="a.b", **envelope)

    assert db.value("select tenant_id from ostinato_data.event where id = %s", emitted) == "t1"
    with refused("42501", "'t1' adds nothing for tenant 't2'"):
        tenant.call("emit_event", type="a.b", tenant_id="t2", **envelope)
    with refused("42501", "no tenant's"):
        nobody.call("emit_event", type="a.b", **envelope)


# Unique keys and leases.


def test_a_unique_key_or_a_lease_of_one_tenant_is_free_for_another(sessions: Sessions) -> None:
    mine, theirs = sessions.tenant("t1"), sessions.tenant("t2")
    mine.enqueue(unique_key="k", unique_policy="refuse")
    mine.call("acquire_lease", name="l", holder="one", ttl_seconds=600.0)
    joined = mine.call("enqueue_or_attach", name="j", kind="app.task")

    assert theirs.enqueue(unique_key="k", unique_policy="refuse")
    (lease,) = theirs.call("acquire_lease", name="l", holder="two", ttl_seconds=600.0)
    assert lease["acquired"]
    (made,) = theirs.call("enqueue_or_attach", name="j", kind="app.task")
    assert not made["attached"]
    assert made["job_id"] != joined[0]["job_id"]
    for verb, given in (("release_lease", {"force": True}), ("show_lease", {})):
        name = {"lease": "l"} if verb == "show_lease" else {"name": "l"}
        found = theirs.call(verb, tenant_id="t1", **name, **given)
        assert found in ([], [{"release_lease": False}])
    assert json.dumps(mine.call("show_lease", lease="l"), default=str).count('"one"') == 1


# Those who only look.


def test_a_transaction_that_only_reads_writes_nothing_whatever_it_calls(db: Session) -> None:
    with db.conn.transaction(force_rollback=True):
        db.call("only_read")
        with refused("25006", "read-only transaction"):
            db.enqueue("app.task")

    assert db.value("select count(*) from ostinato_data.job") == 0


def test_the_schema_of_a_kind_is_that_of_the_worker_that_registered_last(db: Session) -> None:
    declare(db, report=True)

    assert db.value("select ostinato.kind_schema('app.report')") == {}
    assert db.value("select ostinato.kind_schema('app.nothing')") is None
