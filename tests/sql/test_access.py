"""Who may see and do what: row-level security is real, also for the owner."""

import pytest

from tests.sql.engine import Session, Sessions, refused

TENANT_TABLES = ("job", "ready", "scheduled", "dead_letter", "job_unique")


def test_a_tenant_adds_and_sees_its_own_jobs_only(db: Session, sessions: Sessions) -> None:
    mine, theirs = sessions.tenant("t1"), sessions.tenant("t2")
    first = mine.enqueue(unique_key="k")
    second = theirs.enqueue(unique_key="k")
    theirs.call("enqueue_jobs", kinds=["app.task"], args=["{}", "{}"], limit_keys=["x"])

    assert first != second
    for table in ("job", "ready"):
        seen = mine.rows(f"select tenant_id from ostinato_data.{table}")  # noqa: S608
        assert [row["tenant_id"] for row in seen] == ["t1"]
    assert len(db.call("list_jobs", tenant_id="t2")) == 3


def test_a_tenant_meets_its_own_unique_keys(sessions: Sessions) -> None:
    mine = sessions.tenant("t1")
    first = mine.enqueue(unique_key="k")

    assert mine.enqueue(unique_key="k") == first
    with refused("OS411"):
        mine.enqueue(unique_key="k", unique_policy="refuse")


def test_a_tenant_cannot_add_for_another(sessions: Sessions) -> None:
    mine = sessions.tenant("t1")

    with refused("42501"):
        mine.enqueue(tenant_id="t2")
    with refused("42501"):
        mine.call("enqueue_jobs", kinds=["app.task"], args=["{}"], tenant_ids=["t2"])


def test_a_session_without_a_tenant_sees_nothing_and_adds_nothing(db: Session, sessions: Sessions) -> None:
    db.enqueue()
    db.enqueue(tenant_id="t1")
    nobody = sessions.open("tenant")

    for setting in (None, ""):
        if setting is not None:
            nobody.rows("select set_config('app.tenant_id', '', false)")
        for table in TENANT_TABLES:
            assert nobody.rows(f"select from ostinato_data.{table}") == []
        with refused("42501"):
            nobody.enqueue()


def test_the_tenant_of_a_call_is_given_or_set_or_default(db: Session) -> None:
    assert db.get("tenant", given="t9") == "t9"
    assert db.get("tenant", given=None) == "default"
    with db.transaction():
        db.rows("select set_config('app.tenant_id', 't1', true)")
        assert db.get("tenant", given=None) == "t1"
    assert db.get("tenant", given=None) == "default"


@pytest.mark.parametrize(
    "statement",
    [
        "select * from ostinato.claim_jobs(gen_random_uuid(), 'default', 1)",
        "select * from ostinato.engine_stats()",
        "select ostinato.upkeep_partitions(14)",
        "select * from ostinato_data.claim",
        "delete from ostinato_data.outcome",
        "select * from ostinato_data.subscription",
        "update ostinato_data.worker set draining = true",
        "delete from ostinato_data.cancel_request",
        "select * from ostinato_data.rate_use",
        "select * from ostinato_data.job_default",
        "update ostinato_data.job set priority = 1",
        "delete from ostinato_data.ready",
        "delete from ostinato_data.job_unique",
        "update ostinato_data.test_clock set shift = '1 day'",
        "truncate ostinato_data.job",
        "create table ostinato_data.mine (x integer)",
        "create table ostinato.mine (x integer)",
    ],
)
def test_a_tenant_may_do_nothing_else(sessions: Sessions, statement: str) -> None:
    with refused("42501"):
        sessions.tenant("t1").rows(statement)


def test_a_helper_shows_a_tenant_no_job_of_another(sessions: Sessions) -> None:
    sessions.tenant("t2").enqueue()

    for_t1 = sessions.tenant("t1").rows("select * from ostinato_internal.find_jobs('ready', null, null, 't2', 9, 9)")

    assert for_t1 == []


@pytest.mark.parametrize(
    "statement",
    [
        "truncate ostinato_data.job",
        "drop table ostinato_data.job",
        "create table ostinato_data.mine (x integer)",
        "create table ostinato.mine (x integer)",
        "alter table ostinato_data.job disable row level security",
        "update ostinato_data.migration set name = 'x'",
        "create or replace function ostinato.now() returns timestamptz language sql as 'select 1'",
    ],
)
def test_a_worker_may_not_change_the_schema(db: Session, statement: str) -> None:
    with refused("42501"):
        db.rows(statement)


def test_no_role_is_a_superuser_or_bypasses_the_policies(admin: Session) -> None:
    roles = admin.rows(
        "select rolname, rolsuper or rolbypassrls or rolcreaterole or rolcreatedb as strong"
        " from pg_roles where rolname like 'ostinato%%'"
    )

    assert {row["rolname"]: row["strong"] for row in roles} == {
        "ostinato_owner": False,
        "ostinato_worker": False,
        "ostinato_tenant": False,
        "ostinato_api": False,
    }


def test_every_table_has_forced_row_level_security_and_a_policy(db: Session, admin: Session) -> None:
    db.call("upkeep_partitions", retention_days=14)  # its partitions too

    open_tables = admin.rows(
        "select c.oid::regclass::text from pg_class c"
        " where c.relnamespace = 'ostinato_data'::regnamespace and c.relkind in ('r', 'p')"
        " and (not c.relrowsecurity or not c.relforcerowsecurity"
        "      or not exists (select from pg_policy p where p.polrelid = c.oid))"
    )

    assert open_tables == []


# What needs rights that no worker has: to make and drop partitions, to guard an application's
# table, and to write the passes without which no state changes. And the few that give a tenant its
# part of what policies cannot divide, or change its jobs for it: they begin with own_.
DEFINERS = {"upkeep_partitions", "upkeep_logs", "make_guard", "open_pass", "close_pass"} | {
    "check_open_kind",
    "subject_hash",
    "record",
}
# What the API does for no tenant, with a role that sees none (tests/sql/test_grants.py).
DEFINERS |= {"match_api_keys", "note_api_key_use", "ring_doorbell", "observe_declared"}
DEFINERS |= {"watch_due_alerts", "watch_alerts", "watch_failed_alerts"}
# What a tenant does with alerts, and with the portal of its webhooks, of its own only (tests/sql/test_tenants.py).
DEFINERS |= {"acknowledge_alert", "silence_alert", "unsilence_alert", "list_silences", "open_portal", "close_portals"}
DEFINERS |= {"record_bulk"}


def test_few_functions_run_with_the_rights_of_their_owner(admin: Session) -> None:
    found = admin.rows(
        "select p.proname, r.rolname, p.proconfig::text like '%%search_path=%%pg_temp%%' as pinned"
        " from pg_proc p join pg_roles r on r.oid = p.proowner"
        " where p.pronamespace in ('ostinato'::regnamespace, 'ostinato_internal'::regnamespace)"
        " and p.prosecdef"
    )

    assert {row["proname"] for row in found if not row["proname"].startswith("own_")} == DEFINERS
    assert {row["rolname"] for row in found} == {"ostinato_owner"}
    assert all(row["pinned"] for row in found)


def test_no_function_is_open_to_everybody(admin: Session) -> None:
    found = admin.rows(
        "select p.proname from pg_proc p where p.pronamespace in ('ostinato'::regnamespace,"
        " 'ostinato_internal'::regnamespace)"
        " and (p.proacl is null or exists"
        "      (select from aclexplode(p.proacl) a where a.grantee = 0))"
    )

    assert found == []


def test_every_function_that_reads_tables_pins_its_path(admin: Session) -> None:
    found = admin.rows(
        "select p.proname from pg_proc p where p.pronamespace in ('ostinato'::regnamespace,"
        " 'ostinato_internal'::regnamespace)"
        r" and p.prosrc ~ '(from|join|into|update) (job|ready|claim|outcome|worker|tick)\y'"
        " and p.proconfig::text !~ 'search_path=.*ostinato_data, pg_catalog, pg_temp'"
    )

    assert found == []
