"""Functions give nobody a right: what a tenant or a worker may call runs with its own rights.

The exceptions run as the owner. They are few, and each says here why it may be called.
"""

import pytest
from psycopg import errors

from tests.sql.engine import Row, Session, Sessions, refused

# Runs as the owner: for whom it is open, and why that is safe.
OPEN_DEFINERS = {
    "own_alerts": "shows the alerts of own_tenant() only",
    "own_firings": "shows the firings of own_tenant() only",
    "acknowledge_alert": "acts on firings of alerts of acting_tenant() only",
    "silence_alert": "silences alerts of acting_tenant() only; of those whose labels are tenants, its own label",
    "unsilence_alert": "as silence_alert",
    "list_silences": "shows silences of alerts of acting_tenant() only",
    "open_portal": "opens a link for acting_tenant() only, to its endpoints and nothing else",
    "close_portals": "ends links of acting_tenant() only",
    "own_lanes": "counts lanes, and names no tenant but own_tenant()",
    "own_held_jobs": "shows claims of jobs that the policy of `job` shows to the caller",
    "own_found_jobs": "finds jobs of own_tenant() only",
    "own_found_audit": "finds entries of own_tenant() only",
    "own_found_actions": "as own_found_audit",
    "own_searched_jobs": "finds jobs of own_tenant() only",
    "own_preview_bulk": "counts jobs of own_tenant() only",
    "own_start_bulk": "starts a bulk action on jobs of own_tenant() only",
    "own_stop_bulk": "stops a bulk action of own_tenant() only",
    "own_move_job": "check_job refuses a job of another tenant",
    "own_restart_job": "check_job refuses a job of another tenant",
    "own_signal_job": "check_job refuses a job of another tenant",
    "own_fire_slots": "fires schedules of own_tenant() only",
    "own_limits": "shows which limits of the caller's own queue are reached, and no job",
    "own_cancel_job": "check_job refuses a job of another tenant",
    "own_retry_job": "check_job refuses a job of another tenant",
    "own_redrive_jobs": "redrives dead letters of own_tenant() only",
    "own_enqueue_job": "adds jobs of own_tenant() only, of open kinds, into open queues",
    "own_enqueue_jobs": "as own_enqueue_job",
    "own_emit_events": "emits events of own_tenant() only",
    "record": "writes an entry of the audit, a tenant's always as its own",
    "own_erase_subject": "erases a subject of own_tenant() only",
    "check_open_kind": "says whether tenants may start a kind or use a queue: no row of a tenant",
    "open_pass": "a pass changes nothing by itself: the guard of the table asks the machine",
    "close_pass": "ends a pass of the same transaction",
}
WORKERS_ONLY = {
    "record_bulk": "writes the entry of a batch, by the actor who started its bulk action",
    "subject_hash": "gives a hash away, and not the secret; a tenant's subjects are hashed by own_ functions",
    "upkeep_partitions": "makes and drops partitions, which only an owner may",
    "upkeep_logs": "makes and drops partitions, which only an owner may",
}
API_AND_WORKERS = {
    "match_api_keys": "shows a key to whoever has its text",
    "note_api_key_use": "notes the minute of a key's last use",
    "ring_doorbell": "wakes workers, and says no more than a queue's name",
    "observe_declared": "shows figures by declared labels, and names no tenant",
}
API_ONLY = {
    "watch_due_alerts": "names alerts, as they are declared",
    "watch_alerts": "evaluates what only reads (is_watchable), and shows no label",
    "watch_failed_alerts": "notes that a source gave no answer in its time",
}
# They say as whom they act (requests.sql): for who may be anybody, the API and workers.
AS_WHOM = {"enqueue_job_as", "show_job_as"}
# Only a migration, or whoever makes a database for tests, calls these.
NOBODY = {
    "install_machine",
    "attach_machine",
    "protect_table",
    "make_guard",
    "note_transition",
    "drop_triggers",
    "refuse_row",
    "use_test_clock",
}
FUNCTIONS = (
    "select p.proname, p.oid::regprocedure::text as identity, p.prosecdef,"
    " p.proargtypes::oid[]::regtype[]::text[] as types, n.nspname"
    " from pg_proc p join pg_namespace n on n.oid = p.pronamespace"
    " where n.nspname in ('ostinato', 'ostinato_internal')"
)
MAY = " and has_function_privilege(%s, p.oid, 'execute')"
SECRET = "hush-hush"  # what only the other tenant's rows hold


def names(rows: list[Row]) -> set[str]:
    return {row["proname"] for row in rows}


def test_a_tenant_may_call_no_function_of_the_owner_but_those_listed(admin: Session) -> None:
    found = admin.rows(FUNCTIONS + MAY + " and p.prosecdef", "ostinato_tenant")

    assert names(found) == set(OPEN_DEFINERS)


def test_a_worker_may_call_no_function_of_the_owner_but_those_listed(admin: Session) -> None:
    found = admin.rows(FUNCTIONS + MAY + " and p.prosecdef", "ostinato_worker")

    assert names(found) == {*OPEN_DEFINERS, *WORKERS_ONLY, *API_AND_WORKERS}


def test_the_api_may_call_no_function_of_the_owner_but_those_listed(admin: Session) -> None:
    found = admin.rows(FUNCTIONS + MAY + " and p.prosecdef", "ostinato_api")

    assert names(found) == {*OPEN_DEFINERS, *API_AND_WORKERS, *API_ONLY}


@pytest.mark.parametrize("role", ["ostinato_worker", "ostinato_tenant", "ostinato_api"])
def test_all_roles_call_all_else_with_their_own_rights(admin: Session, role: str) -> None:
    """One rule per schema: nothing is forgotten when a function is added."""
    everything = names(admin.rows(FUNCTIONS + " and not p.prosecdef"))

    allowed = names(admin.rows(FUNCTIONS + MAY + " and not p.prosecdef", role))

    closed = AS_WHOM if role == "ostinato_tenant" else set()
    assert everything - allowed == (NOBODY - {"make_guard"}) | closed


@pytest.mark.parametrize("role", ["ostinato_worker", "ostinato_tenant", "ostinato_api"])
def test_what_migrations_call_is_closed_to_all_others(admin: Session, role: str) -> None:
    allowed = names(admin.rows(FUNCTIONS + MAY, role))

    assert allowed.isdisjoint(NOBODY)


@pytest.mark.parametrize("schema", ["ostinato", "ostinato_internal", "ostinato_data"])
def test_nobody_but_the_owner_makes_anything_in_a_schema(admin: Session, schema: str) -> None:
    for role in ("ostinato_worker", "ostinato_tenant", "ostinato_api", "public"):
        may = "select has_schema_privilege(%s, %s, 'create')"

        assert admin.value(may, role, schema) is False


@pytest.mark.parametrize("role", ["ostinato_tenant", "ostinato_api"])
def test_a_tenant_calls_every_function_and_learns_and_changes_nothing_of_another(
    db: Session, admin: Session, sessions: Sessions, role: str
) -> None:
    """Whatever it passes: ids, names and tokens of the other tenant included. So does the API's own role."""
    theirs = fill(db, "t2", SECRET)
    fill(db, "t1", "mine")
    before = contents(admin)
    attacker = sessions.open(role.removeprefix("ostinato_"))
    attacker.rows("select set_config('app.tenant_id', 't1', false)")
    told: list[str] = []
    answered: set[str] = set()

    for row in admin.rows(FUNCTIONS + MAY + " and p.prorettype <> 'trigger'::regtype", role):
        if row["proname"] in AS_WHOM and role == "ostinato_api":
            continue  # it may be any tenant, and says which
        for number in (theirs, 1):
            call = f"select r::text from {row['nspname']}.{row['proname']}({guesses(row, number)}) r"  # noqa: S608
            try:
                with attacker.transaction():
                    found = attacker.rows(call)
            except errors.Error:
                continue
            answered.add(row["proname"])
            told += [row["identity"] for line in found if SECRET in str(line)]

    assert told == []
    after = contents(admin)
    if role == "ostinato_api":
        del before["doorbell"], after["doorbell"]  # it wakes workers, for whatever queue
    assert after == before
    assert len(answered) > 100  # it does call them


def test_a_tenant_cannot_move_the_time_or_the_state_of_another(db: Session, sessions: Sessions) -> None:
    other = db.enqueue(tenant_id="t2")
    attacker = sessions.tenant("t1")

    for function in ("own_cancel_job", "own_retry_job"):
        given = {"job_id": other} | ({"reason": "x"} if function == "own_cancel_job" else {})
        with refused("OS404"):
            attacker.call(function, **given)
    with refused("42501"):
        attacker.call("make_ready", job_id=other, at=0, attempt=9, failures=0, crashes=0)
    with refused("42501"):
        attacker.call("settle", claim_ids=[1], job_ids=[other], attempts=[1])
    with refused("42501"):
        attacker.call("move_test_clock", by="1 day")

    assert db.state(other) == "ready"
    assert db.value("select count(*) from ostinato_data.ready") == 1


def fill(db: Session, tenant: str, secret: str) -> int:
    """Give a tenant some of everything; returns the id of a job."""
    job = db.enqueue(
        "app.task",
        args={"secret": secret},
        tenant_id=tenant,
        correlation_id=f"c-{secret}",
        limit_key=secret,
        unique_key=secret,
        subject=secret,
    )
    db.call("acquire_lease", name=secret, holder=secret, ttl_seconds=600.0, tenant_id=tenant)
    db.call("begin_idempotent", scope="s", key=secret, fingerprint="a" * 64, tenant_id=tenant)
    db.call("upsert_schedule", name=secret, kind="app.task", cron="0 9 * * *", tenant_id=tenant)
    db.call(
        "create_webhook_endpoint",
        name=secret,
        url=f"https://example.test/{secret}",
        event_types=["*"],
        tenant_id=tenant,
        secret="ost1:0badcafe:AAAA",
        secret_hint="AAAA",
    )
    return job


def contents(admin: Session) -> dict[str, str]:
    """Of every table: what stands there about the other tenant, and about the house."""
    tables = admin.rows(
        "select c.relname from pg_class c where c.relnamespace = 'ostinato_data'::regnamespace"
        " and c.relkind in ('r', 'p') and not c.relispartition"
    )
    return {
        row["relname"]: admin.value(
            f"select coalesce(md5(string_agg(t::text, ',' order by t::text)), '')"  # noqa: S608
            f" from ostinato_data.{row['relname']} t"
            " where coalesce(to_jsonb(t) ->> 'tenant_id', '') <> 't1'"
        )
        for row in tables
    }


def guesses(row: Row, number: int) -> str:
    """Arguments for a function: what an attacker would try for each type."""
    known = {
        "text": "'t2'",
        "bigint": str(number),
        "integer": "1",
        "smallint": "1",
        "boolean": "true",
        "double precision": "1.0",
        "json": "'{}'",
        "jsonb": "'{}'",
        "timestamp with time zone": "now()",
        "timestamp without time zone": "now()",
        "date": "now()",
        "interval": "'1 second'",
        "uuid": "gen_random_uuid()",
        "text[]": "'{t2}'",
        "bigint[]": f"'{{{number}}}'",
        "integer[]": "'{1}'",
        "smallint[]": "'{1}'",
        "double precision[]": "'{1}'",
        "timestamp with time zone[]": "'{now}'",
        "anyarray": "'{t2}'::text[]",
        "anyelement": "'t2'::text",
    }
    return ", ".join(
        f"{known[name]}::{name}" if name in known and not name.startswith("any") else known.get(name, f"null::{name}")
        for name in row["types"]
    )
