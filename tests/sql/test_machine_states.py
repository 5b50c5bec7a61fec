"""How many rows stand in each state: exact where that is cheap, and otherwise a bound that says so."""

import json
from collections.abc import Iterator

import pytest

from tests.sql.engine import Session, Sessions

LAMP = {
    "name": "lamp",
    "states": ["off", "on", "broken"],
    "initial": "off",
    "terminal": ["broken"],
    "transitions": [
        {"from": "off", "event": "switch", "to": "on", "guard": ""},
        {"from": "on", "event": "break", "to": "broken", "guard": ""},
    ],
    "invariants": [],
}


@pytest.fixture(autouse=True)
def _lamps(db: Session, admin: Session) -> Iterator[None]:
    admin.rows("create schema house authorization ostinato_owner")
    admin.rows("set role ostinato_owner")
    admin.rows("create table house.lamp (id int primary key, tenant_id text not null, state text not null)")
    admin.rows("create index lamp_state on house.lamp (tenant_id, state)")
    admin.rows("select ostinato.install_machine(%s)", json.dumps(LAMP))
    admin.rows("select ostinato.attach_machine('lamp', 'house.lamp', tenant_column => 'tenant_id')")
    admin.rows("grant usage on schema house to ostinato_worker, ostinato_tenant")
    admin.rows("grant select, insert on house.lamp to ostinato_worker, ostinato_tenant")
    admin.rows("select ostinato.protect_table('house.lamp')")
    admin.rows("reset role")
    yield
    admin.rows("drop schema house cascade")
    admin.rows("delete from ostinato_data.machine_table where machine = 'lamp'")


def counts(db: Session, **limits: int) -> dict[str, tuple[int, bool]]:
    rows = db.call("count_states", machine="lamp", **limits)
    return {row["state"]: (row["count"], row["capped"]) for row in rows}


def buy(admin: Session, tenant: str, count: int, first: int = 0) -> None:
    admin.rows(
        "insert into house.lamp select n, %s, 'off' from generate_series(%s::int, %s::int) n",
        tenant,
        first + 1,
        first + count,
    )


def test_a_small_table_is_counted_whole(db: Session, admin: Session) -> None:
    buy(admin, "acme", 3)

    assert counts(db) == {"off": (3, False), "on": (0, False), "broken": (0, False)}


def test_of_a_large_table_a_bound_is_said(db: Session, admin: Session) -> None:
    buy(admin, "acme", 30)

    assert counts(db, sample=20, most=5) == {"off": (21, True), "on": (0, False), "broken": (0, False)}


def test_without_an_index_every_state_of_a_large_table_is_a_bound(db: Session, admin: Session) -> None:
    buy(admin, "acme", 30)
    admin.rows("drop index house.lamp_state")

    assert counts(db, sample=20) == {"off": (21, True), "on": (0, True), "broken": (0, True)}


def test_a_tenant_counts_its_own_rows(db: Session, admin: Session, sessions: Sessions) -> None:
    buy(admin, "acme", 2)
    buy(admin, "globex", 5, first=10)

    assert counts(sessions.tenant("acme"))["off"] == (2, False)
    assert counts(db)["off"] == (7, False)


def test_a_table_that_the_caller_may_not_read_is_left_out(db: Session, admin: Session) -> None:
    admin.rows("revoke select on house.lamp from ostinato_worker, ostinato_tenant")

    assert counts(db) == {}


def test_tenants_are_listed_by_name_page_by_page(db: Session) -> None:
    for tenant in ("globex", "acme", "zeta"):
        db.enqueue(tenant_id=tenant)

    names = [row["tenant_id"] for row in db.call("list_tenants")]
    rest = [row["tenant_id"] for row in db.call("list_tenants", after="acme", most=2)]

    assert names == ["acme", "default", "globex", "zeta"]
    assert rest == ["default", "globex"]


def test_the_share_of_each_tenant_in_a_queue_is_counted_up_to_a_cap(db: Session, sessions: Sessions) -> None:
    for tenant, count in (("acme", 1), ("globex", 4)):
        for _ in range(count):
            db.enqueue(tenant_id=tenant)
    db.enqueue(tenant_id="zeta", queue="other")
    db.claim_one(db.worker())

    found = db.call("queue_shares", queue="default", cap=2)

    assert [row["tenant_id"] for row in found] == ["globex", "acme"]
    assert sum(row["running"] for row in found) == 1
    assert (found[0]["waiting"], found[0]["capped"]) == (2, True)
    assert {row["tenant_id"] for row in sessions.tenant("acme").call("queue_shares", queue="default")} <= {"acme"}
    assert db.call("queue_shares", queue="none") == []
