"""The role of the API is no worker: what it logs in as sees no tenant but the one it acts for."""

import hashlib
import json

import pytest

from ostinato._core.base.alerts import Alert
from ostinato._core.base.metrics import WORKERS
from ostinato._core.engine.alerts import as_row
from tests.sql.engine import Clock, Session, Sessions, refused

LONELY = Alert("shop.lonely", figure=WORKERS, below=1, tenant="t2", message="{value}", remedy="Start one.")
HASH = hashlib.sha256(b"ost_1_x").digest()


@pytest.fixture
def api(sessions: Sessions) -> Session:
    return sessions.open("api")


def test_reset_role_inside_a_tenants_transaction_shows_that_tenant_only(db: Session, api: Session) -> None:
    """It showed the jobs of three tenants when the API logged in as a worker."""
    for tenant in ("t1", "t2", "t3"):
        db.enqueue(tenant_id=tenant)

    with api.transaction():
        api.call("enter_tenant", tenant_id="t1")
        api.rows("reset role")

        assert [row["tenant_id"] for row in api.rows("select distinct tenant_id from ostinato_data.job")] == ["t1"]
        assert [row["tenant_id"] for row in api.call("list_jobs")] == ["t1"]
        assert api.value("select count(*) from ostinato_data.ready") == 1
        assert api.value("select current_user") == "ostinato_api"


def test_outside_of_a_tenant_it_sees_nothing(db: Session, api: Session) -> None:
    db.enqueue(tenant_id="t1")

    assert api.rows("select * from ostinato_data.job") == []
    assert api.call("list_jobs") == []
    assert api.call("list_dead_letters") == []


@pytest.mark.parametrize(
    "statement",
    [
        "select * from ostinato_data.api_key",
        "select * from ostinato_data.claim",
        "select * from ostinato_data.alert",
        "select * from ostinato_data.alert_firing",
        "set role ostinato_worker",
        "set role ostinato_owner",
        "set session authorization ostinato_worker",
        "select ostinato.find_api_key(1)",
        "select ostinato.create_api_key(1, sha256('x'), 't2', 'me', '{admin}')",
        "select ostinato.revoke_api_key(1)",
        "select ostinato.claim_jobs(gen_random_uuid(), 'default', 1)",
        "select ostinato.declare_alerts('{shop}', '[]'::json)",
        "select ostinato.upkeep_partitions(1)",
        "select ostinato.move_test_clock('1 day')",
        "create table ostinato_data.mine ()",
    ],
)
def test_it_may_do_nothing_of_a_worker(api: Session, statement: str) -> None:
    with refused_right():
        api.rows(statement)


def refused_right() -> pytest.RaisesExc[Exception]:
    return pytest.raises(Exception, match="permission denied")


def test_it_reads_a_key_only_by_the_hash_that_it_was_shown(db: Session, api: Session) -> None:
    db.call("create_api_key", key_id=1, hash=HASH, tenant_id="t2", subject="ada", roles=["ops"])
    wrong = hashlib.sha256(b"guess").digest()

    assert api.call("match_api_keys", key_ids=[1, 2], hashes=[wrong, HASH]) == []
    (found,) = api.call("match_api_keys", key_ids=[2, 1], hashes=[wrong, HASH])
    assert (found["tenant_id"], found["subject"], found["usable"]) == ("t2", "ada", True)


def test_it_watches_and_is_told_no_label(db: Session, api: Session, clock: Clock) -> None:
    db.call("declare_alerts", owners=["shop"], alerts=json.dumps([as_row(LONELY)]))

    (due,) = api.call("watch_due_alerts", every="0 s")
    (change,) = api.call("watch_alerts", every="0 s", names=due["names"])

    assert (change["alert"], change["change"]) == ("shop.lonely", "fired")
    assert (change["label"], change["tenant_id"], change["message"]) == ("", None, "")
    (firing,) = db.call("list_firings", tenant="t2")
    assert firing["state"] == "firing"


@pytest.mark.parametrize(
    "function", ["pg_catalog.query_to_xml", "ostinato.tick", "shop.sweep", "shop.foreign", "no.where"]
)
def test_it_measures_nothing_with_the_owners_rights_that_could_change_something(
    db: Session, admin: Session, api: Session, function: str
) -> None:
    """Workers declare alerts: a function that they name must not run as the owner through the API."""
    admin.rows(
        "create schema if not exists shop;"
        "create or replace function shop.sweep() returns table (label text, value double precision) language sql"
        " volatile as $$ select ''::text, 1::double precision $$;"
        "alter function shop.sweep owner to ostinato_owner;"
        "create or replace function shop.foreign() returns table (label text, value double precision) language sql"
        " stable as $$ select ''::text, 1::double precision $$"
    )
    row = as_row(LONELY) | {"figure": None, "function": function}
    db.call("declare_alerts", owners=["shop"], alerts=json.dumps([row]))
    try:
        assert api.call("watch_due_alerts", every="0 s") == []
        assert api.call("watch_alerts", every="0 s", names=["shop.lonely"]) == []
        assert api.call("watch_failed_alerts", names=["shop.lonely"], every="0 s", seconds=5.0) == []
        assert db.value("select failures from ostinato_data.alert") == 0
    finally:
        admin.rows("drop schema shop cascade")


def test_it_measures_what_a_migration_made_to_be_read(db: Session, admin: Session, api: Session) -> None:
    admin.rows(
        "create schema shop;"
        "create function shop.late() returns table (label text, value double precision) language sql stable"
        " as $$ select ''::text, 0::double precision $$;"
        "alter function shop.late owner to ostinato_owner; grant usage on schema shop to ostinato_owner"
    )
    row = as_row(LONELY) | {"figure": None, "function": "shop.late"}
    db.call("declare_alerts", owners=["shop"], alerts=json.dumps([row]))
    try:
        (due,) = api.call("watch_due_alerts", every="0 s")
        (change,) = api.call("watch_alerts", every="0 s", names=due["names"])
        assert (due["is_foreign"], change["change"]) == (True, "fired")
    finally:
        admin.rows("drop schema shop cascade")


def test_a_source_that_fails_is_named_by_its_code_and_not_by_its_text(
    db: Session, admin: Session, api: Session
) -> None:
    """The text of an error may quote a row of a tenant; the log of the API gets the code, and where the text is."""
    admin.rows(
        "create schema shop;"
        "create function shop.odd() returns table (label text, value double precision) language sql stable"
        " as $$ select ''::text, ('Zebulon' || repeat('.', 600))::double precision $$;"
        "alter function shop.odd owner to ostinato_owner; grant usage on schema shop to ostinato_owner"
    )
    row = as_row(LONELY) | {"figure": None, "function": "shop.odd"}
    db.call("declare_alerts", owners=["shop"], alerts=json.dumps([row]))
    try:
        (change,) = api.call("watch_alerts", every="0 s", names=["shop.lonely"])
    finally:
        admin.rows("drop schema shop cascade")

    assert change["change"] == "failed"
    assert change["message"] == "SQLSTATE 22P02; `ostinato alerts show shop.lonely` has the error"
    assert "Zebulon" in db.value("select error from ostinato_data.alert")


def test_a_count_that_would_be_filtered_is_an_error_and_no_zero(db: Session, api: Session) -> None:
    db.enqueue(tenant_id="t1")

    with api.transaction():
        api.call("refuse_filtered_reads")
        with pytest.raises(Exception, match="row-level security"):
            api.value("select count(*) from ostinato_data.job")
    with db.transaction():
        db.call("refuse_filtered_reads")
        assert db.value("select count(*) from ostinato_data.job") == 1


def test_a_worker_is_woken_by_it(api: Session) -> None:
    assert api.get("ring_doorbell", queue="default") is True


def test_a_tenant_calls_none_of_what_is_the_apis(sessions: Sessions) -> None:
    tenant = sessions.tenant("t1")

    for call in ("observe_declared()", "match_api_keys('{1}', '{x}')", "watch_due_alerts()", "ring_doorbell('q')"):
        with refused("42501"):
            tenant.rows(f"select ostinato.{call}")
