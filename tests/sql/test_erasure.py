"""Erasing a person: by a declared subject, everywhere, and nobody else's rows."""

import hashlib
import hmac
import json
from collections.abc import Callable

import pytest
from psycopg import errors

from tests.sql.deliveries import NAME
from tests.sql.engine import Session, Sessions, Value, refused
from tests.sql.test_outbox import sequence
from tests.sql.webhooks import Hooks

PERSON = "+33639980001"
NAMED = "Zebulon Erasme"
ARGS = {"name": NAMED, "phone": PERSON}
TABLES = "select table_name from information_schema.tables where table_schema = 'ostinato_data'"


def left(admin: Session, *texts: str) -> set[str]:
    """The tables that still hold one of the texts, in any of their columns."""
    return {
        row["table_name"]
        for row in admin.rows(TABLES)
        for text in texts
        if admin.value(
            f"select count(*) from ostinato_data.{row['table_name']} t where strpos(t::text, %s) > 0",  # noqa: S608
            text,
        )
    }


def erase(db: Session, subject: str = PERSON, **params: Value) -> dict[str, Value]:
    found: dict[str, Value] = db.get("erase_subject", subject=subject, **params)
    return found


def finished(db: Session, **params: Value) -> int:
    """A job about the person that ended with a result, a step and an outcome."""
    db.enqueue(args=ARGS, subject=PERSON, **params)
    held = db.claim_one(db.worker())
    db.call(
        "save_step", claim_id=held.claim_id, job_id=held.id, attempt=held.attempt, position=1, name="call",
        result=json.dumps(NAMED),
    )  # fmt: skip
    db.complete(held, results=[json.dumps({"called": NAMED})])
    return held.id


def dead(db: Session, **params: Value) -> int:
    db.enqueue(args=ARGS, **params)
    held = db.claim_one(db.worker())
    db.fail(held, type_=f"{NAMED}Error")
    return held.id


def emit(db: Session, subject: str | None = PERSON, tenant_id: str = "default") -> int:
    told: int = db.get(
        "emit_event", type="call.made", payload={"name": NAMED}, ordering_key=f"k-{PERSON}", tenant_id=tenant_id,
        correlation_id="c", occurred_at="2026-03-01T00:00:00Z", producer="p", subject=subject,
    )  # fmt: skip
    return told


def test_a_subject_is_stored_as_a_hash_of_its_tenant_only(db: Session, admin: Session) -> None:
    jobs = [db.enqueue(subject=PERSON), db.enqueue(subject=PERSON), db.enqueue(subject=PERSON, tenant_id="acme")]

    one, same, other = admin.rows("select subject from ostinato_data.job where id = any (%s) order by id", jobs)

    assert one == same
    assert one != other
    assert len(one["subject"]) == 16
    assert left(admin, PERSON) == set()


def test_the_hash_is_an_hmac_with_the_installations_secret(db: Session, admin: Session) -> None:
    job = db.enqueue(subject=PERSON)
    pad = admin.value("select inner_pad from ostinato_data.subject_secret")
    key = bytes(byte ^ 0x36 for byte in pad)[:32]

    expected = hmac.new(key, f"default\x1f{PERSON}".encode(), hashlib.sha256).digest()[:16]

    assert admin.value("select subject from ostinato_data.job where id = %s", job) == expected


@pytest.mark.parametrize("role", ["worker", "api", "tenant"])
def test_nobody_in_use_reads_the_secret(db: Session, sessions: Sessions, role: str) -> None:
    db.enqueue(subject=PERSON)

    with pytest.raises(errors.InsufficientPrivilege):
        sessions.open(role).rows("select * from ostinato_data.subject_secret")


def test_nothing_of_a_person_is_left_anywhere(db: Session, admin: Session) -> None:
    hooks = Hooks(db)
    hooks.endpoint()
    db.call("subscribe", name=NAME)
    done, gone = finished(db), dead(db, subject=PERSON)
    waiting = db.enqueue(
        args=ARGS, subject=PERSON, unique_key=f"u-{PERSON}", limit_key=f"l-{PERSON}", run_at="2030-01-01T00:00:00Z"
    )
    emit(db)
    sequence(db)
    db.call("dispatch_events")
    db.call("fan_out_webhooks")
    db.call("begin_idempotent", scope="POST /x", key="key-1", fingerprint="f" * 64)
    assert {"job", "outcome", "step", "event", "webhook_message", "dead_letter"} <= {
        name.split("_default")[0] for name in left(admin, NAMED)
    }

    certificate = erase(db)

    assert left(admin, NAMED, PERSON) == set()
    assert certificate["complete"] is True
    assert certificate["erased"] == {
        "job": 5, "outcome": 2, "step": 1, "event": 1, "webhook_message": 1, "webhook_attempt": 0, "idempotency": 0,
        "dead_letter": 1,
    }  # fmt: skip
    assert [db.state(job) for job in (done, gone, waiting)] == ["done", "cancelled", "cancelled"]
    assert (certificate["cancelled"], certificate["by"]) == (4, "ostinato_worker")


def test_a_certificate_has_the_real_time_wherever_the_clock_stands(db: Session) -> None:
    job = finished(db)
    db.rows("select set_config('ostinato.clock', '2001-01-01', false)")

    certificate = erase(db)

    assert certificate["at"] > "2026"
    assert db.value("select extract(year from j.erased_at) from ostinato_data.job j where j.id = %s", job) >= 2026


def test_the_certificate_is_kept_in_the_audit_and_names_nobody(db: Session) -> None:
    job = finished(db)

    certificate = erase(db)

    (entry,) = db.call("list_audit", verb="erase")
    assert {**entry["detail"], "at": None} == {**certificate, "at": None}
    assert (entry["job_ids"], entry["target"]) == ([job], None)
    assert PERSON not in str(entry)


def test_others_are_left_alone(db: Session, sessions: Sessions) -> None:
    others = [
        db.enqueue(args=ARGS, subject="+33639980002"),
        db.enqueue(args=ARGS),
        db.enqueue(args=ARGS, subject=PERSON, tenant_id="acme"),
    ]

    certificate = erase(db)

    assert certificate["erased"]["job"] == 0
    assert certificate["complete"] is True
    assert [db.call("show_job", job_id=job)[0]["args"] for job in others] == [ARGS] * 3
    assert erase(sessions.tenant("acme"))["erased"]["job"] == 1


def test_a_tenant_erases_its_own_only(db: Session, sessions: Sessions) -> None:
    db.enqueue(args=ARGS, subject=PERSON, tenant_id="acme")
    acme = sessions.tenant("acme")

    with refused("OS404"):
        erase(acme, tenant_id="default")
    with refused("OS404"):
        erase(sessions.open("tenant"))
    certificate = erase(acme)

    assert (certificate["tenant_id"], certificate["erased"]["job"]) == ("acme", 1)


def hash_of(admin: Session, job: int) -> str:
    """The hash of a job's subject as it travels; an attacker may have read it in a backup or a replica."""
    found: str = admin.value("select 'hmac:' || encode(subject, 'hex') from ostinato_data.job where id = %s", job)
    return found


def everything_about(db: Session, admin: Session, tenant: str) -> str:
    """Fill each table that an erasure looks up for a person of the tenant; returns the hash."""
    Hooks(db).endpoint(tenant_id=tenant)
    job = db.enqueue(args=ARGS, subject=PERSON, tenant_id=tenant)
    token = hash_of(admin, job)
    emit(db, tenant_id=tenant)
    sequence(db)
    db.call("fan_out_webhooks")
    with db.transaction():
        key = {"scope": "POST /x", "key": "key-1", "tenant_id": tenant}
        (begun,) = db.call("begin_idempotent", **key, fingerprint="f" * 64)
        db.enqueue(args=ARGS, subject=PERSON, tenant_id=tenant)
        db.call("finish_idempotent", **key, token=begun["token"], answer={"status": 202, "body": NAMED})
    return token


@pytest.mark.parametrize("preview", [True, False])
def test_the_hash_of_another_tenants_person_erases_nothing(db: Session, admin: Session, *, preview: bool) -> None:
    """Who sees all tenants may give a hash, and then each look-up asks for the tenant too."""
    token = everything_about(db, admin, "globex")

    certificate = erase(db, token, tenant_id="acme", preview=preview)

    assert sum(certificate["erased"].values()) == 0
    before = left(admin, NAMED)
    assert {"event_default", "idempotency", "job_default", "webhook_message"} <= before
    assert erase(db, token, tenant_id="globex")["erased"] == {
        "job": 3, "outcome": 0, "step": 0, "event": 1, "webhook_message": 1, "webhook_attempt": 0, "idempotency": 1,
        "dead_letter": 0,
    }  # fmt: skip


@pytest.mark.parametrize("whose", ["acme", "globex"])
def test_a_tenant_erases_by_the_name_of_a_person_and_by_no_hash(
    db: Session, admin: Session, sessions: Sessions, whose: str
) -> None:
    job = db.enqueue(args=ARGS, subject=PERSON, tenant_id=whose)
    token = hash_of(admin, job)
    acme = sessions.tenant("acme")
    acme.rows("select set_config('app.subject', %s, false)", token)

    with refused("OS400", "hmac:"):
        erase(acme, token)

    assert db.call("show_job", job_id=job)[0]["args"] == ARGS
    assert admin.value("select count(*) from ostinato_data.audit_entry") == 0


ADD: dict[str, Callable[[Session, str], object]] = {
    "one": lambda db, token: db.enqueue(subject=token),
    "one by the flow": lambda db, token: [db.call("enter_flow", subject=token), db.enqueue()],
    "a set": lambda db, token: db.call("enqueue_jobs", kinds=["app.task"], args=["{}"], subjects=[token]),
    "an event": lambda db, token: emit(db, token, tenant_id="acme"),
    "under a lease": lambda db, token: db.call("enqueue_or_attach", name="l", kind="app.task", subject=token),
}


@pytest.mark.parametrize("way", ADD)
def test_a_tenant_adds_nothing_with_the_hash_of_another_tenants_person(
    db: Session, admin: Session, sessions: Sessions, way: str
) -> None:
    token = hash_of(admin, db.enqueue(subject=PERSON, tenant_id="globex"))
    acme = sessions.tenant("acme")

    for given in (token, "hmac:customer-7"):
        with refused("OS400", "hmac:"), acme.transaction():
            ADD[way](acme, given)

    assert admin.value("select count(*) from ostinato_data.job where tenant_id = 'acme'") == 0


def test_nor_does_a_function_of_an_application_that_runs_as_the_owner(
    db: Session, admin: Session, sessions: Sessions
) -> None:
    token = hash_of(admin, db.enqueue(subject=PERSON, tenant_id="globex"))
    admin.rows(
        "create function public.ask(who text) returns bigint language sql security definer as"
        " $$ select ostinato.enqueue_job('app.task', subject => who) $$;"
        " alter function public.ask owner to ostinato_owner"
    )

    try:
        with refused("OS400", "hmac:"):
            sessions.tenant("acme").rows("select public.ask(%s)", token)
    finally:
        admin.rows("drop function public.ask")


@pytest.mark.parametrize("way", ADD)
def test_a_handler_that_acts_as_the_tenant_of_its_job_hands_the_hash_on(
    db: Session, admin: Session, sessions: Sessions, way: str
) -> None:
    db.enqueue(subject=PERSON, tenant_id="acme")
    token = db.claim_one(db.worker()).row["subject"]
    acme = sessions.tenant("acme")

    with acme.transaction():
        ADD[way](acme, token)

    added = (
        "select subject from ostinato_data.job where tenant_id = 'acme'"
        " union all select subject from ostinato_data.event where tenant_id = 'acme'"
    )
    rows = [row["subject"] for row in admin.rows(added)]
    assert len(rows) == 2
    assert len(set(rows)) == 1


def test_a_tenant_hashes_nothing_by_itself(sessions: Sessions) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        sessions.tenant("acme").rows("select ostinato_internal.subject_hash('globex', %s)", PERSON)


def test_a_running_job_is_asked_to_stop_and_blanked_by_the_next_call(db: Session, admin: Session) -> None:
    db.enqueue(args=ARGS, subject=PERSON)
    held = db.claim_one(db.worker())

    first = erase(db)
    db.call("cancel_jobs", claim_ids=[held.claim_id], job_ids=[held.id], attempts=[held.attempt], reasons=["r"])
    second = erase(db)

    assert (first["complete"], first["running"], first["erased"]["job"]) == (False, 1, 0)
    assert (second["complete"], second["running"], second["erased"]["job"]) == (True, 0, 1)
    assert left(admin, NAMED, PERSON) == set()


def test_a_result_that_is_written_after_the_erasure_began_goes_with_the_next_call(db: Session, admin: Session) -> None:
    db.enqueue(args=ARGS, subject=PERSON)
    held = db.claim_one(db.worker())
    erase(db)

    db.complete(held, results=[json.dumps(NAMED)])

    assert erase(db)["complete"] is True
    assert left(admin, NAMED) == set()


def test_it_is_safe_to_repeat(db: Session) -> None:
    finished(db)
    erase(db)

    again = erase(db)

    assert again["complete"] is True
    assert sum(again["erased"].values()) == 0


def test_live_jobs_can_be_kept(db: Session) -> None:
    waiting, gone = db.enqueue(args=ARGS, subject=PERSON, queue="later"), dead(db, subject=PERSON)

    certificate = erase(db, keep_live=True)

    assert (db.state(waiting), db.state(gone)) == ("ready", "cancelled")
    assert (certificate["complete"], certificate["waiting"], certificate["erased"]["job"]) == (False, 1, 1)


def test_a_preview_changes_nothing(db: Session) -> None:
    job = dead(db, subject=PERSON)

    certificate = erase(db, preview=True)

    assert (certificate["preview"], certificate["erased"]["job"], certificate["erased"]["dead_letter"]) == (True, 1, 1)
    assert db.state(job) == "dead"
    assert db.call("list_audit") == []


def test_more_than_one_call_takes_is_said(db: Session) -> None:
    for _ in range(3):
        db.enqueue(subject=PERSON)

    rounds = [erase(db, most=2)["complete"] for _ in range(2)]

    assert rounds == [False, True]


def test_what_was_erased_runs_no_more(db: Session) -> None:
    job = dead(db, subject=PERSON)
    erase(db)

    with refused("OS412", "erased"):
        db.call("retry_job", job_id=job)
    with refused("OS412", "erased"):
        db.call("restart_job", job_id=job)

    assert next(iter(db.why(job))) == "erased"


def test_an_event_that_was_erased_is_delivered_to_nobody_any_more(db: Session) -> None:
    Hooks(db).endpoint()
    db.call("subscribe", name=NAME, start="beginning")
    emit(db)
    other = emit(db, subject=None)
    erase(db)
    sequence(db)

    db.call("dispatch_events")
    db.call("fan_out_webhooks")

    (job,) = db.call("list_jobs", kind=NAME)
    assert db.call("show_job", job_id=job["id"])[0]["args"]["event_id"] == other
    assert len(db.call("list_webhook_deliveries", name="orders")) == 1


def test_what_a_job_adds_has_its_subject_by_the_flow(db: Session, admin: Session) -> None:
    db.enqueue(subject=PERSON)
    token = db.claim_one(db.worker()).row["subject"]

    with db.transaction():
        db.call("enter_flow", subject=token)
        db.enqueue()
        db.call("enqueue_jobs", kinds=["app.task"], args=["{}", "{}"])
        emit(db, subject=None)

    assert token.startswith("hmac:")
    assert admin.value("select count(distinct subject) from ostinato_data.job") == 1
    assert admin.value("select count(*) from ostinato_data.job where subject is null") == 0
    assert admin.value("select count(*) from ostinato_data.event where subject is null") == 0


def test_jobs_of_events_and_of_webhooks_have_the_subject_of_the_event(db: Session, admin: Session) -> None:
    Hooks(db).endpoint()
    db.call("subscribe", name=NAME)
    emit(db)
    sequence(db)
    db.call("dispatch_events")
    db.call("fan_out_webhooks")

    same = "select count(*) from ostinato_data.{} t join ostinato_data.event e on e.subject = t.subject"

    assert admin.value(same.format("job")) == 2
    assert admin.value(same.format("webhook_message")) == 1


def test_many_jobs_have_a_subject_each(db: Session) -> None:
    db.call("enqueue_jobs", kinds=["app.task"], args=["{}", "{}", "{}"], subjects=[PERSON, None, "+33639980002"])
    db.call("enqueue_jobs", kinds=["app.task"], args=["{}"], subjects=[PERSON], unique_keys=["u"])

    assert erase(db)["erased"]["job"] == 2


def test_a_stored_answer_goes_with_the_job_that_its_request_added(db: Session, admin: Session) -> None:
    answer = {"status": 202, "headers": [], "body": json.dumps({"name": NAMED})}
    with db.transaction():
        (begun,) = db.call("begin_idempotent", scope="POST /x", key="key-1", fingerprint="f" * 64)
        db.enqueue(subject=PERSON)
        db.call("finish_idempotent", scope="POST /x", key="key-1", token=begun["token"], answer=answer)

    assert erase(db)["erased"]["idempotency"] == 1

    (again,) = db.call("begin_idempotent", scope="POST /x", key="key-1", fingerprint="f" * 64)
    assert (again["decision"], again["answer"]["status"]) == ("replay", 410)
    assert left(admin, NAMED) == set()


def test_the_deliveries_of_a_webhook_end_and_their_texts_go(db: Session, admin: Session) -> None:
    hooks = Hooks(db)
    hooks.endpoint()
    emit(db)
    sequence(db)
    db.call("fan_out_webhooks")
    admin.rows("update ostinato_data.webhook_delivery set last_error = %s", NAMED)
    admin.rows(
        "insert into ostinato_data.webhook_attempt (id, delivery_id, tenant_id, attempt, at, outcome, duration_ms,"
        " answer, error) select 1, id, tenant_id, 1, now(), 'failed', 1, %s, %s from ostinato_data.webhook_delivery",
        NAMED,
        NAMED,
    )

    certificate = erase(db)

    assert certificate["erased"]["webhook_attempt"] == 1
    assert left(admin, NAMED) == set()
    (sent,) = db.call("list_webhook_deliveries", name="orders")
    assert sent["state"] == "dead"
    assert db.get("redeliver_webhooks", name="orders", ids=[sent["delivery_id"]]) == 0


def test_an_erasure_and_upkeep_wait_for_each_other(db: Session, other: Session) -> None:
    finished(db)

    with db.transaction():
        erase(db)
        jobs = other.call("upkeep_partitions", retention_days=14)
        logs = other.call("upkeep_logs", retention_days=14)

    assert [row["action"] for row in (*jobs, *logs)] == ["skipped", "skipped"]


@pytest.mark.parametrize("subject", ["", "x" * 1001])
def test_a_subject_has_a_length(db: Session, subject: str) -> None:
    with refused("OS400", "subject"):
        erase(db, subject)


@pytest.mark.parametrize("index", ["job_subject", "event_subject", "webhook_message_subject", "idempotency_subjects"])
def test_what_has_no_subject_is_in_no_index(admin: Session, index: str) -> None:
    definition = admin.value("select pg_get_indexdef(%s::regclass)", f"ostinato_data.{index}")

    assert "IS NOT NULL" in definition
