"""One tenant sees no other: held by the catalogue for every table and function of the engine.

Keys, of the engine and of the applications, are in tests/house/test_keys.py.
"""

# ruff: noqa: S608  # questions to the catalogue, put together from parts

import pytest

from tests.sql.engine import Session, Sessions, refused

# Tables with a tenant_id that tenants are not let into at all: each with its reason.
CLOSED = {
    "alert": "declared by applications; tenant_id says who is told, own_alerts shows it to them",
    "alert_firing": "what fired, of all tenants; own_firings shows each its own",
    "api_key": "what keys are known by: looked up before anybody is a tenant",
    "session": "who is signed in at the console, by hash: looked up before anybody is a tenant",
    "subscription": "belongs to an application; tenant_id says whose events it wants",
    "webhook_receipt": "what came in, checked by the engine for the application",
}
# Partitions are reached through their parent, whose policies hold; directly they are closed.
PARTITION = "exists (select from pg_inherits i where i.inhrelid = c.oid)"

# Functions that run with the rights of the owner: each with its reason.
DEFINERS = {
    "upkeep_partitions": "makes and drops tables",
    "upkeep_logs": "makes and drops tables",
    "make_guard": "makes the trigger functions that write the log of transitions",
    "open_pass": "only the owner writes passes, so that nobody can forge one",
    "close_pass": "as open_pass",
    "record": "nobody else writes the audit, or chooses the id of an entry",
    "own_erase_subject": "a tenant erases a subject of its own only",
    "subject_hash": "the installation's secret is closed to everybody; it gives a hash away",
    "check_open_kind": "subscriptions are closed to tenants; it tells of a kind or queue only",
    # What the API does for no tenant, with a role that sees none.
    "match_api_keys": "keys are closed to the API, but for those whose text it was sent",
    "note_api_key_use": "as match_api_keys",
    "ring_doorbell": "as match_api_keys: it wakes workers",
    "observe_declared": "figures without a word that a tenant chose",
    "watch_due_alerts": "alerts are closed to the API; no label comes back",
    "watch_alerts": "as watch_due_alerts",
    "watch_failed_alerts": "as watch_due_alerts",
    # The tenant's part of what is closed to it: each reads the tenant from the transaction.
    "own_alerts": "alerts are told by tenant, and closed to tenants",
    "own_firings": "as own_alerts",
    "acknowledge_alert": "alerts are closed to tenants; it changes firings of the tenant's own",
    "silence_alert": "as acknowledge_alert",
    "unsilence_alert": "as acknowledge_alert",
    "list_silences": "as own_alerts",
    "open_portal": "sessions are closed to tenants; it opens one of the role portal for the tenant itself",
    "close_portals": "as open_portal",
    "own_held_jobs": "one claim holds jobs of many tenants",
    "own_lanes": "under its policy a loose index scan walks over the jobs of others",
    "own_found_jobs": "as own_lanes",
    "own_found_audit": "under its policy an operator of arrays, which is not leakproof, uses no index",
    "own_found_actions": "as own_found_audit",
    "own_limits": "limits are counted over all tenants",
    "own_cancel_job": "writes tables that tenants only read",
    "own_retry_job": "as own_cancel_job",
    "own_redrive_jobs": "as own_cancel_job",
    "own_enqueue_job": "writes tables that tenants only read, after it asked whether kind and queue are open",
    "own_enqueue_jobs": "as own_enqueue_job",
    "own_signal_job": "as own_cancel_job",
    "own_restart_job": "as own_cancel_job",
    "own_move_job": "as own_cancel_job",
    "own_fire_slots": "writes jobs of a schedule of the tenant's own",
    "own_searched_jobs": "as own_lanes",
    "own_preview_bulk": "as own_lanes",
    "own_start_bulk": "adds a job of a kind that is closed to tenants, for jobs of the tenant's own",
    "own_stop_bulk": "bulk actions are only read by tenants; it stops one of the tenant's own",
    "record_bulk": "as record: the entries of a bulk action are those of whoever started it",
    "own_emit_events": "writes tables whose rows name events by ids that no tenant may choose",
}


def tables(admin: Session, condition: str) -> list[str]:
    rows = admin.rows(
        "select c.relname as name from pg_class c"
        " where c.relnamespace = 'ostinato_data'::regnamespace and c.relkind in ('r', 'p')"
        f" and {condition} order by 1"
    )
    return [row["name"] for row in rows]


HAS_TENANT = (
    "exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped)"
)
TENANT_POLICY = (
    "exists (select from pg_policy p where p.polrelid = c.oid"
    " and 'ostinato_tenant'::regrole = any (p.polroles)"
    " and pg_get_expr(p.polqual, p.polrelid) like '(tenant_id = %%app.tenant_id%%')"
)


def test_every_table_is_closed_by_forced_row_level_security(db: Session, admin: Session) -> None:
    db.call("upkeep_partitions", retention_days=14)  # partitions of weeks too
    db.call("upkeep_logs", retention_days=14)

    assert tables(admin, "not (c.relrowsecurity and c.relforcerowsecurity)") == []
    assert tables(admin, "not exists (select from pg_policy p where p.polrelid = c.oid)") == []


def test_every_table_with_tenants_shows_each_its_own_rows_or_is_closed(admin: Session) -> None:
    without = tables(admin, f"{HAS_TENANT} and not {TENANT_POLICY} and not {PARTITION}")

    assert set(without) == set(CLOSED)
    for name in without:
        assert not admin.value(
            "select has_any_column_privilege('ostinato_tenant', %s, 'select, insert, update')", f"ostinato_data.{name}"
        ), f"{name} is open to tenants and shows them everything"


# Tables that a tenant reads without an index that begins with its tenant_id: each with its reason.
NOT_BY_TENANT = {
    "bulk_refusal": "found by the bulk action",
    "event_log": "found by the id of an event",
    "ready": "found lane by lane, by own_lanes and own_found_jobs; each lane is that of a tenant",
    "schedule_fire": "found by the schedule",
    "transition": "found by the entity and its id, or by the correlation id",
    "webhook_attempt": "found by the delivery",
    "webhook_delivery": "found by the endpoint",
}
BY_TENANT = (
    "exists (select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]"
    " where i.indrelid = c.oid and a.attname = 'tenant_id')"
)
READ_BY_TENANTS = "has_any_column_privilege('ostinato_tenant', c.oid, 'select')"


def test_what_a_tenant_reads_has_an_index_that_begins_with_the_tenant(admin: Session) -> None:
    """Under its policy a list without one walks over the rows of all others."""
    without = tables(admin, f"{HAS_TENANT} and {READ_BY_TENANTS} and not {PARTITION} and not {BY_TENANT}")

    assert set(without) == set(NOT_BY_TENANT)


def test_functions_that_run_as_the_owner_are_few_and_pinned(admin: Session) -> None:
    found = admin.rows(
        "select p.proname, r.rolname, r.rolsuper, array_to_string(p.proconfig, ';') as settings"
        " from pg_proc p join pg_roles r on r.oid = p.proowner"
        " where p.pronamespace in ('ostinato'::regnamespace, 'ostinato_internal'::regnamespace,"
        " 'ostinato_data'::regnamespace)"
        " and p.prosecdef"
    )

    assert {row["proname"] for row in found if not row["proname"].startswith("guard_")} == set(DEFINERS)
    for row in found:
        assert (row["rolname"], row["rolsuper"]) == ("ostinato_owner", False)
        assert "search_path=ostinato_data, pg_catalog, pg_temp" in row["settings"], row


def test_no_function_is_open_to_everybody(admin: Session) -> None:
    found = admin.rows(
        "select p.oid::regprocedure::text from pg_proc p"
        " where p.pronamespace in ('ostinato'::regnamespace, 'ostinato_internal'::regnamespace,"
        " 'ostinato_data'::regnamespace)"
        " and (p.proacl is null or exists"
        "      (select from aclexplode(p.proacl) a where a.grantee = 0))"
    )

    assert found == []


def test_views_ask_with_the_rights_of_who_asks(admin: Session) -> None:
    found = admin.rows(
        "select c.relname from pg_class c where c.relkind in ('v', 'm')"
        " and c.relnamespace in ('ostinato'::regnamespace, 'ostinato_data'::regnamespace)"
        " and not coalesce('security_invoker=true' = any (c.reloptions), false)"
    )

    assert found == []


def test_roles_are_weak_and_tenants_own_nothing(admin: Session) -> None:
    strong = admin.rows(
        "select rolname from pg_roles where rolname like 'ostinato%%'"
        " and (rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication)"
    )
    owned = admin.rows(
        "select c.relname from pg_class c join pg_roles r on r.oid = c.relowner"
        " where r.rolname in ('ostinato_tenant', 'ostinato_worker')"
    )

    assert strong == []
    assert owned == []
    assert admin.value("select pg_has_role('ostinato_worker', 'ostinato_tenant', 'member')")
    assert not admin.value("select pg_has_role('ostinato_tenant', 'ostinato_worker', 'member')")


# Acting as a tenant.


def test_a_transaction_becomes_a_tenants_and_no_longer_than_it_lasts(db: Session) -> None:
    db.enqueue(tenant_id="t1")
    db.enqueue(tenant_id="t2")

    with db.transaction():
        db.call("enter_tenant", tenant_id="t1", correlation_id="req-1")
        assert db.value("select current_user") == "ostinato_tenant"
        assert db.value("select count(*) from ostinato_data.job") == 1
        added = db.enqueue()
        with refused("42501"), db.transaction():
            db.enqueue(tenant_id="t2")
        with refused("42501"), db.transaction():
            db.call("claim_jobs", worker_id=None, queue="default", wanted=1)
        db.call("enter_tenant", tenant_id="t2")
        assert db.value("select count(*) from ostinato_data.job") == 1

    assert db.value("select current_user") == "ostinato_worker"
    assert db.value("select count(*) from ostinato_data.job") == 3
    assert db.row("select tenant_id, correlation_id from ostinato_data.job where id = %s", added) == {
        "tenant_id": "t1",
        "correlation_id": "req-1",
    }


def test_a_rolled_back_savepoint_takes_the_tenant_with_it(db: Session) -> None:
    with db.transaction():
        with db.conn.transaction(force_rollback=True):
            db.call("enter_tenant", tenant_id="t1")
        assert db.value("select current_user") == "ostinato_worker"
        assert db.get("tenant", given=None) == "default"


def test_a_flow_is_told_to_plain_sql_and_takes_no_right_away(db: Session) -> None:
    with db.transaction():
        db.call("enter_flow", tenant_id="t1", correlation_id="req-1")
        db.call("enter_flow", correlation_id="req-2")
        job = db.enqueue()
        assert db.value("select current_user") == "ostinato_worker"
        assert db.get("correlation", given="mine") == "mine"

    assert db.row("select tenant_id, correlation_id from ostinato_data.job where id = %s", job) == {
        "tenant_id": "t1",
        "correlation_id": "req-2",
    }
    assert db.get("correlation", given=None) is None


@pytest.mark.parametrize("tenant", [None, "", "x" * 201])
def test_a_tenant_has_a_name(db: Session, tenant: str | None) -> None:
    with refused("OS400", "tenant_id must be"):
        db.call("enter_tenant", tenant_id=tenant)


def test_a_session_without_a_tenant_sees_nothing_in_any_table(db: Session, sessions: Sessions, admin: Session) -> None:
    db.enqueue(tenant_id="t1", unique_key="k")
    nobody = sessions.open("tenant")

    for name in tables(admin, f"{HAS_TENANT} and has_table_privilege('ostinato_tenant', c.oid, 'select')"):
        assert nobody.rows(f"select from ostinato_data.{name}") == [], name


def test_a_table_of_an_application_is_closed_in_the_same_way(sessions: Sessions, admin: Session) -> None:
    owner = sessions.open("owner")
    admin.rows("create schema shop authorization ostinato_owner")
    try:
        owner.rows("create table shop.sale (id int, org text not null)")
        owner.rows("grant usage on schema shop to ostinato_worker, ostinato_tenant")
        owner.rows("grant select, insert on shop.sale to ostinato_worker, ostinato_tenant")
        for _ in range(2):  # a migration may say it again
            owner.call("protect_table", entity="shop.sale", tenant_column="org")
        mine, theirs = sessions.tenant("t1"), sessions.tenant("t2")
        mine.rows("insert into shop.sale values (1, 't1')")

        with refused("42501"):
            theirs.rows("insert into shop.sale values (2, 't1')")
        for session, seen in ((mine, 1), (theirs, 0), (sessions.open("worker"), 1), (owner, 1)):
            assert session.value("select count(*) from shop.sale") == seen
        with refused("OS404"):
            owner.call("protect_table", entity="shop.nothing")
        with refused("OS400", "has no column 'tenant_id'"):
            owner.call("protect_table", entity="shop.sale")
        with refused("42501"):
            mine.call("protect_table", entity="shop.sale", tenant_column="org")
    finally:
        admin.rows("drop schema shop cascade")
