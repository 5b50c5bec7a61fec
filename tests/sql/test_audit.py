"""Every action of an operator is recorded: who, when, what, how many and why; and the record stays.

Verbs are found in the catalog: a new one is an operator's and recorded, or is listed as nobody's.
"""

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from psycopg import errors

from ostinato._core.base.alerts import ENGINE_ALERTS
from ostinato._core.engine.alerts import as_row
from tests.sql.deliveries import NAME, tell
from tests.sql.engine import START, Row, Session, Sessions, Value, refused
from tests.sql.webhooks import Hooks, sealed

HASH = b"\x01" * 32

# Verbs that are no actions of operators, by what they are.
OTHERS = {
    "for workers: claims, verdicts, beats, services": """
        register_worker register_kinds heartbeat_worker unregister_worker rescue_jobs reconcile_worker promote_jobs
        poll_jobs claim_jobs await_jobs split_claims begin_jobs complete_jobs complete_job fence_job fence_jobs
        fail_jobs fail_job snooze_jobs cancel_jobs release_jobs note_progress defer_jobs save_steps save_step sleep_jobs
        wait_jobs set_aside_held set_aside_damaged fire_schedules sequence_events dispatch_events leave_lanes heal_lanes
        fan_out_webhooks start_webhook_delivery start_webhook_deliveries settle_webhook_delivery heal_webhooks
        mend_webhooks sample_metrics evaluate_alerts fail_alerts ring_doorbell note_api_key_use record_series
        watch_due_alerts watch_alerts watch_failed_alerts complete_webhook_deliveries run_bulk open_group seal_group
        join_jobs note_fault""",
    "for callers, who wake workers with their commit, or wait for a job": "ring_at_commit watch_job",
    "upkeep": """
        upkeep_partitions upkeep_logs prune_api_keys prune_alerts prune_idempotency prune_leases prune_webhooks
        prune_sessions prune_series""",
    "what a program has copied, written down for doctor": """
        record_backup forget_backup record_archive take_late finish_late""",
    "steps of a move between cells, whose beginning and end are recorded": "arrive give_up_move",
    "people sign in and out; the console records who closes a session of somebody else": """
        open_session enter_session find_sessions close_session""",
    "declared by code, at each start": "subscribe register_event_types declare_alerts",
    "called by applications, which say who asks in their own tables": """
        enqueue_job enqueue_jobs enqueue_or_attach emit_event emit_events signal_job own_signal_job begin_idempotent
        finish_idempotent renew_idempotent abandon_idempotent acquire_lease renew_lease guard_lease transition
        transition_all open_pass close_pass accept_webhook begin_request finish_request""",
    "recorded, and tried by the tests of the API": "enqueue_job_as",
    "of the session or of migrations": """
        act_as enter_tenant enter_flow protect_table install_machine attach_machine use_test_clock set_test_clock
        move_test_clock limit_statements refuse_filtered_reads only_read""",
    "changes nothing, though it reads the clock or a sequence": """
        now new_id next_api_key_id find_api_key list_api_keys probe_webhook_endpoint measure_alert rehearse_alert
        due_alerts observe list_leases show_lease list_webhook_endpoints server_connections preview_fires next_fires
        list_schedules show_schedule load_steps list_sessions match_api_keys webhook_endpoint_id
        list_tenants show_job_as older_transactions""",
    "the command that rotates keys records itself": "reseal reseal_args",
}
SEALED = {"secret": sealed(), "secret_hint": "abcd"}
SCHEDULE = {"name": "nightly", "kind": "app.task", "cron": "0 3 * * *"}


def waiting(db: Session) -> dict[str, Value]:
    return {"job_id": db.enqueue(tenant_id="acme", run_at=datetime(2030, 1, 1, tzinfo=UTC))}


def dead(db: Session) -> int:
    job = db.enqueue(tenant_id="acme", queue="graves")
    db.fail(db.claim_one(db.worker("digger", queues=["graves"]), "graves"))
    return job


def renamed(db: Session) -> dict[str, Value]:
    db.enqueue("app.old")
    db.rows("insert into ostinato_data.kind values ('app.new', 'default', 0, null, '{}', null, ostinato.now())")
    return {"old": "app.old", "new": "app.new"}


def scheduled(db: Session) -> dict[str, Value]:
    db.call("upsert_schedule", **SCHEDULE, tenant_id="acme")
    return {"name": "nightly", "tenant_id": "acme"}


def endpoint(db: Session) -> dict[str, Value]:
    Hooks(db).endpoint("orders", tenant_id="acme")
    return {"name": "orders", "tenant_id": "acme"}


def key(db: Session) -> dict[str, Value]:
    db.call("create_api_key", key_id=7, hash=HASH, tenant_id="acme", subject="bot", roles=["ops"])
    return {"key_id": 7}


def subscription(db: Session) -> str:
    db.call("subscribe", name=NAME)
    tell(db, "k")
    db.fail(db.claim_one(db.worker("reader", kinds=[NAME])))
    return NAME


def lease(db: Session) -> dict[str, Value]:
    db.call("acquire_lease", name="books", holder="h", ttl_seconds=600.0, tenant_id="acme")
    return {"name": "books", "force": True, "tenant_id": "acme"}


def alert(db: Session) -> str:
    db.call("declare_alerts", owners=["ostinato"], alerts=json.dumps([as_row(ENGINE_ALERTS[0])]))
    return ENGINE_ALERTS[0].name


def lost(db: Session) -> dict[str, Value]:
    job = db.enqueue()
    db.rows("delete from ostinato_data.ready where job_id = %s", job)
    db.rows(
        "insert into ostinato_data.quarantine (job_id, attempt, failures, crashes, found_at, place, queue, damage)"
        " values (%s, 1, 0, 0, ostinato.now(), 'ready', 'default', 'x')",
        job,
    )
    return {"job_id": job}


# Each verb of an operator, what it is called with, and what is recorded: verb, noun, target, count.
ACTIONS: dict[str, tuple[Callable[[Session], dict[str, Value]], tuple[str, str, int]]] = {
    "cancel_job": (waiting, ("cancel", "job", 1)),
    "retry_job": (waiting, ("retry", "job", 1)),
    "restart_job": (waiting, ("restart", "job", 1)),
    "hasten_jobs": (lambda db: {"job_ids": [waiting(db)["job_id"]]}, ("hasten", "job", 1)),
    "redrive_jobs": (lambda db: {"ids": [dead(db)]}, ("redrive", "job", 1)),
    "rekind_jobs": (renamed, ("rekind", "kind", 1)),
    "move_job": (lambda db: waiting(db) | {"run_at": datetime(2031, 1, 1, tzinfo=UTC)}, ("move", "job", 1)),
    "set_place": (lambda _: {"tenant_id": "acme", "state": "left", "cell": "two"}, ("place", "tenant", 1)),
    "require_archive": (lambda _: {"place": "/mnt/archive"}, ("require", "archive", 1)),
    "drain_worker": (lambda db: {"worker_id": db.worker("tired")}, ("drain", "worker", 1)),
    "run_schedule": (scheduled, ("run", "schedule", 1)),
    "catch_up_schedule": (lambda db: scheduled(db) | {"since": START}, ("catch up", "schedule", 0)),
    "start_bulk": (lambda _: {"verb": "cancel"}, ("start", "bulk", 1)),
    "stop_bulk": (lambda db: {"bulk_id": db.get("start_bulk", verb="cancel")}, ("stop", "bulk", 1)),
    "restore_job": (lost, ("restore", "job", 1)),
    "configure_queue": (lambda _: {"name": "mail", "concurrency": 2}, ("limit", "queue", 1)),
    "pause_queue": (lambda _: {"name": "mail"}, ("pause", "queue", 1)),
    "resume_queue": (lambda _: {"name": "mail"}, ("resume", "queue", 1)),
    "create_api_key": (
        lambda _: {"key_id": 7, "hash": HASH, "tenant_id": "acme", "subject": "bot", "roles": ["ops"]},
        ("create", "key", 1),
    ),
    "rotate_api_key": (
        lambda db: key(db) | {"new_id": 8, "new_hash": HASH, "overlap_seconds": 0.0},
        ("rotate", "key", 1),
    ),
    "revoke_api_key": (key, ("revoke", "key", 1)),
    "create_webhook_endpoint": (
        lambda _: {"name": "orders", "url": "https://a.example.com/", "tenant_id": "acme", **SEALED},
        ("create", "webhook", 1),
    ),
    "change_webhook_endpoint": (lambda db: endpoint(db) | {"description": "x"}, ("change", "webhook", 1)),
    "rotate_webhook_secret": (lambda db: endpoint(db) | SEALED, ("rotate", "webhook", 1)),
    "pause_webhook_endpoint": (endpoint, ("pause", "webhook", 1)),
    "resume_webhook_endpoint": (endpoint, ("resume", "webhook", 1)),
    "remove_webhook_endpoint": (endpoint, ("remove", "webhook", 1)),
    "redeliver_webhooks": (lambda db: endpoint(db) | {"ids": [1]}, ("redeliver", "webhook", 0)),
    "upsert_schedule": (lambda _: SCHEDULE, ("set", "schedule", 1)),
    "pause_schedule": (scheduled, ("pause", "schedule", 1)),
    "resume_schedule": (scheduled, ("resume", "schedule", 1)),
    "delete_schedule": (scheduled, ("delete", "schedule", 1)),
    "recompute_schedules": (lambda _: {}, ("recompute", "schedule", 0)),
    "pause_subscription": (lambda db: {"name": subscription(db)}, ("pause", "subscription", 1)),
    "resume_subscription": (lambda db: {"name": subscription(db)}, ("resume", "subscription", 1)),
    "drop_subscription": (lambda db: {"name": subscription(db)}, ("remove", "subscription", 1)),
    "redeliver": (lambda db: {"subscription": subscription(db)}, ("redeliver", "subscription", 1)),
    "discard": (lambda db: {"subscription": subscription(db), "positions": [1]}, ("discard", "subscription", 1)),
    "replay": (lambda db: {"subscription": subscription(db), "from_position": 1}, ("replay", "subscription", 1)),
    "acknowledge_alert": (lambda db: {"name": alert(db)}, ("acknowledge", "alert", 0)),
    "silence_alert": (
        lambda db: {"name": alert(db), "until": db.get("now") + timedelta(hours=1), "reason": "known"},
        ("silence", "alert", 1),
    ),
    "unsilence_alert": (lambda db: {"name": alert(db)}, ("unsilence", "alert", 0)),
    "open_portal": (lambda _: {"hash": HASH, "tenant_id": "acme"}, ("create", "portal", 1)),
    "close_portals": (lambda _: {"tenant_id": "acme"}, ("revoke", "portal", 0)),
    "release_lease": (lease, ("release", "lease", 1)),
    "erase_subject": (lambda db: {"subject": db.enqueue(subject="p") and "p"}, ("erase", "subject", 1)),
    "note_action": (lambda _: {"verb": "sort", "noun": "shelf"}, ("sort", "shelf", 1)),
}
TWINS = {
    "upsert_schedules": "upsert_schedule",
    "move_schedule": "upsert_schedule",
}  # they write the entry of their twin


def entries(db: Session, **filters: Value) -> list[Row]:
    return db.call("list_audit", **filters)


def test_every_verb_that_changes_something_is_recorded_or_said_not_to_be_an_operators(admin: Session) -> None:
    volatile = admin.rows(
        "select distinct proname from pg_proc where pronamespace = 'ostinato'::regnamespace and provolatile = 'v'"
    )
    others = {name for names in OTHERS.values() for name in names.split()}

    unknown = {row["proname"] for row in volatile} - others - set(ACTIONS) - set(TWINS)

    assert unknown == set(), "record it (audit.sql) and add it to ACTIONS, or say in OTHERS whose it is"
    assert others.isdisjoint(ACTIONS)


@pytest.mark.parametrize("verb", ACTIONS)
def test_an_action_leaves_one_entry(db: Session, verb: str) -> None:
    arrange, (word, noun, count) = ACTIONS[verb]
    params = arrange(db)
    before = max([row["id"] for row in entries(db)], default=0)

    db.call(verb, **params)

    (entry,) = [row for row in entries(db) if row["id"] > before]
    assert (entry["verb"], entry["noun"], entry["count"]) == (word, noun, count)
    assert (entry["actor"], entry["actor_type"], entry["login"]) == ("ostinato_worker", "login", "ostinato_worker")


def test_what_rolls_back_leaves_no_entry(db: Session, other: Session) -> None:
    with db.conn.transaction(force_rollback=True):
        db.call("pause_queue", name="mail")

    assert entries(other) == []


def test_a_preview_is_no_action(db: Session) -> None:
    dead(db)

    db.call("redrive_jobs", queue="graves", preview=True)

    assert entries(db) == []


def test_a_bulk_verb_leaves_one_entry_with_its_filter_and_count(db: Session) -> None:
    jobs = [dead(db) for _ in range(3)]

    db.call("redrive_jobs", queue="graves")

    (entry,) = entries(db)
    assert (entry["verb"], entry["count"], entry["filter"]) == ("redrive", 3, {"queue": "graves"})
    assert (entry["job_ids"], entry["tenant_id"]) == (jobs, "acme")


def test_an_entry_says_who_asked_with_which_key_and_why(db: Session) -> None:
    job = db.enqueue(tenant_id="acme")

    with db.transaction():
        db.call("enter_tenant", tenant_id="acme", correlation_id="req-7", user_id="ann", key_id=12)
        db.call("act_as", reason="the order was withdrawn")
        db.call("cancel_job", job_id=job)

    (entry,) = entries(db)
    assert (entry["actor"], entry["actor_type"], entry["key_id"]) == ("ann", "user", 12)
    assert (entry["tenant_id"], entry["target"], entry["job_ids"]) == ("acme", str(job), [job])
    assert (entry["reason"], entry["correlation_id"]) == ("the order was withdrawn", "req-7")


def test_an_operator_is_named_by_act_as_until_the_transaction_ends(db: Session) -> None:
    with db.transaction():
        db.call("act_as", actor="eve@laptop")
        db.call("pause_queue", name="mail")
    db.call("resume_queue", name="mail")

    later, first = entries(db)
    assert (first["actor"], first["actor_type"], first["login"]) == ("eve@laptop", "operator", "ostinato_worker")
    assert (later["actor"], later["actor_type"]) == ("ostinato_worker", "login")


def test_what_a_handler_or_the_engine_does_is_no_operators_action(db: Session) -> None:
    job = db.enqueue()
    db.rows("set application_name = 'ostinato/handler'")

    db.call("cancel_job", job_id=job)

    assert entries(db) == []


@pytest.mark.parametrize("name", ["ostinato/worker", "ostinato/handler", "ostinato/warden"])
def test_a_login_that_is_no_worker_is_recorded_whatever_it_calls_itself(
    db: Session, sessions: Sessions, name: str
) -> None:
    """The name of a program is chosen by whoever connects."""
    job = db.enqueue(tenant_id="acme")
    acme = sessions.tenant("acme")
    acme.rows("select set_config('application_name', %s, false)", name)

    acme.call("cancel_job", job_id=job)

    assert [(row["verb"], row["login"]) for row in entries(db)] == [("cancel", "ostinato_tenant")]


def test_a_cancel_that_polls_fulfil_later_is_recorded_once(db: Session) -> None:
    db.enqueue()
    held = db.claim_one(db.worker())
    db.call("cancel_job", job_id=held.id)
    db.release(held)

    db.call("settle_cancels")

    assert db.state(held.id) == "cancelled"
    assert [row["detail"] for row in entries(db)] == [{"was": "running"}]


def test_the_time_of_an_entry_is_the_real_one_whatever_the_session_says(db: Session) -> None:
    db.rows("select set_config('ostinato.clock', '2001-01-01', false)")

    db.call("pause_queue", name="mail")

    (entry,) = entries(db)
    assert abs(entry["at"] - datetime.now(UTC)) < timedelta(hours=1)


BY_HAND = (
    "insert into ostinato_data.audit_entry (id, at, count, tenant_id, verb, noun, actor, actor_type, login, program)"
    " values (1, '2001-01-01', 1, 'acme', 'v', 'n', 'somebody', 'login', 'somebody', 'p')"
)


@pytest.mark.parametrize("role", ["worker", "api", "tenant"])
def test_no_role_in_use_writes_an_entry_by_hand(sessions: Sessions, role: str) -> None:
    """Whoever could choose an id could take those that others are about to draw."""
    with pytest.raises(errors.InsufficientPrivilege):
        sessions.open(role).rows(BY_HAND)


def test_an_entry_written_by_hand_has_the_servers_time_and_login_too(db: Session, admin: Session) -> None:
    admin.rows(BY_HAND)

    (entry,) = entries(db)
    assert entry["at"].year >= 2026
    assert entry["login"] != "somebody"


@pytest.mark.parametrize("change", ["update {} set count = 2", "delete from {}", "truncate {}"])
@pytest.mark.parametrize("role", ["worker", "api", "tenant"])
def test_no_role_in_use_may_change_an_entry(sessions: Sessions, role: str, change: str) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        sessions.open(role).rows(change.format("ostinato_data.audit_entry"))


@pytest.mark.parametrize("change", ["update {} set count = 2", "delete from {}", "truncate {}"])
@pytest.mark.parametrize("table", ["audit_entry", "audit_entry_default"])
def test_not_even_the_owner_changes_an_entry(db: Session, admin: Session, table: str, change: str) -> None:
    db.call("pause_queue", name="mail")

    with pytest.raises(errors.Error) as caught, admin.transaction():
        admin.rows(f"set local role ostinato_owner; {change.format(f'ostinato_data.{table}')}")

    assert caught.value.sqlstate in {"42501", "OS412"}  # no right to it, or the trigger
    assert len(entries(db)) == 1


def test_a_tenant_sees_its_own_entries_and_none_of_the_installation(db: Session, sessions: Sessions) -> None:
    for tenant in ("acme", "other"):
        db.call("cancel_job", job_id=db.enqueue(tenant_id=tenant))
    db.call("pause_queue", name="mail")
    acme = sessions.tenant("acme")

    assert [row["tenant_id"] for row in entries(acme)] == ["acme"]
    assert entries(acme, tenant_id="other") == []
    assert entries(sessions.open("tenant")) == []
    assert len(entries(db)) == 3


def test_a_tenants_own_action_is_its_own(db: Session, sessions: Sessions) -> None:
    job = db.enqueue(tenant_id="acme")
    acme = sessions.tenant("acme")

    acme.call("cancel_job", job_id=job)
    acme.call("note_action", verb="sort", noun="shelf", tenant_id="other")
    with pytest.raises(errors.InsufficientPrivilege):
        acme.rows(
            "insert into ostinato_data.audit_entry (id, at, count, tenant_id, verb, noun, actor, actor_type, login,"
            " program) values (1, now(), 1, 'other', 'v', 'n', 'a', 'login', 'l', 'p')"
        )

    assert [row["tenant_id"] for row in entries(db)] == ["acme", "acme"]


def test_entries_are_found_by_actor_verb_target_and_time_page_by_page(db: Session) -> None:
    jobs = [db.enqueue() for _ in range(3)]
    for actor, job in zip(("ann", "bob", "ann"), jobs, strict=True):
        with db.transaction():
            db.call("act_as", actor=actor)
            db.call("cancel_job", job_id=job)
    db.call("pause_queue", name="mail")
    newest, *older = [row["id"] for row in entries(db)]

    assert [row["id"] for row in entries(db, actor="ann")] == [older[0], older[2]]
    assert [row["id"] for row in entries(db, verb="pause")] == [newest]
    assert [row["id"] for row in entries(db, target=str(jobs[1]))] == [older[1]]
    assert [row["id"] for row in entries(db, target="mail")] == [newest]
    assert [row["id"] for row in entries(db, before=older[0], most=1)] == [older[1]]
    assert entries(db, since=datetime.now(UTC) + timedelta(hours=1)) == []


def test_the_trail_of_a_job_shows_what_operators_did_to_it(db: Session) -> None:
    job = db.enqueue(correlation_id="req-1")
    with db.transaction():
        db.call("act_as", actor="ann@host", reason="a typo")
        db.call("cancel_job", job_id=job)

    (line,) = [row for row in db.call("trail", correlation_id="req-1") if row["source"] == "action"]

    assert (line["what"], line["job_id"]) == ("cancel job", job)
    assert (line["detail"]["by"], line["detail"]["reason"]) == ("ann@host", "a typo")


def test_upkeep_moves_entries_into_their_week_and_drops_it_past_the_audits_own_retention(
    db: Session, admin: Session
) -> None:
    db.rows("select set_config('ostinato.clock', '', false)")
    db.call("pause_queue", name="mail")

    made = db.call("upkeep_logs", retention_days=1)

    assert [row["rows"] for row in made if row["name"].startswith("audit_entry_") and row["rows"]] == [1]
    assert admin.value("select count(*) from ostinato_data.audit_entry_default") == 0
    assert len(entries(db)) == 1

    db.rows("select set_config('ostinato.clock', (now() + interval '40 days')::text, false)")
    kept = db.call("upkeep_logs", retention_days=1)
    dropped = db.call("upkeep_logs", retention_days=1, audit_days=30)

    assert not [row for row in kept if row["action"] == "dropped" and row["name"].startswith("audit")]
    assert [row for row in dropped if row["action"] == "dropped" and row["name"].startswith("audit")]
    assert entries(db) == []


@pytest.mark.parametrize("given", [{"actor": ""}, {"actor": "x" * 201}, {"reason": "x" * 1001}])
def test_names_and_reasons_have_limits(db: Session, given: dict[str, str]) -> None:
    with refused("OS400"):
        db.call("act_as", **given)


def test_a_note_that_is_too_large_is_refused(db: Session) -> None:
    with refused("OS400", "too large"):
        db.call("note_action", verb="v", noun="n", detail={"text": "x" * 17_000})


def test_a_target_may_be_as_long_as_it_is_allowed_to_be(db: Session) -> None:
    """An index holds a third of a page at the most: less than 1,000 characters of four bytes."""
    numbers = random.Random(7)
    target = "".join(chr(numbers.randrange(0x20000, 0x2A6D0)) for _ in range(1000))
    db.call("note_action", verb="poke", noun="thing", target=target, tenant_id="t" * 200)
    db.call("note_action", verb="poke", noun="thing", target=target[:999], tenant_id="t" * 200)

    (entry,) = db.call("list_audit", target=target)

    assert entry["target"] == target
