"""Sessions of the console: opened, used, ended."""

import hashlib
from datetime import timedelta
from typing import Any

import pytest

from tests.sql.engine import Clock, Session, Sessions, refused

ONE, OTHER = hashlib.sha256(b"one").digest(), hashlib.sha256(b"other").digest()
LEA: dict[str, Any] = {"tenant_id": "acme", "subject": "lea", "roles": ["ops"]}
KEY: dict[str, Any] = {"key_id": 7, "hash": ONE, "tenant_id": "acme", "subject": "lea", "roles": ["ops"]}


def test_a_session_lasts_while_it_is_used_but_not_for_ever(db: Session, clock: Clock) -> None:
    db.call("open_session", hash=ONE, **LEA)
    for _ in range(14):
        clock.advance(minutes=50)
        assert db.call("find_sessions", hashes=[ONE])

    clock.advance(minutes=50)
    assert db.call("find_sessions", hashes=[ONE]) == []


def test_a_session_that_nobody_uses_ends_after_an_hour(db: Session, clock: Clock) -> None:
    db.call("open_session", hash=ONE, **LEA)

    clock.advance(minutes=61)

    assert db.call("find_sessions", hashes=[ONE]) == []
    assert db.call("list_sessions", tenant_id="acme") == []
    assert db.get("prune_sessions") == 1


def test_a_session_ends_with_its_token_however_often_it_is_used(db: Session, clock: Clock) -> None:
    db.call("open_session", hash=ONE, ends_at=clock.now + timedelta(minutes=90), **LEA)
    for _ in range(2):
        clock.advance(minutes=40)
        assert db.call("find_sessions", hashes=[ONE])

    clock.advance(minutes=11)

    assert db.call("find_sessions", hashes=[ONE]) == []


def test_a_ticket_gives_no_more_time_than_it_has(db: Session, clock: Clock) -> None:
    ends_at = clock.now + timedelta(minutes=5)
    db.call("open_session", hash=ONE, ticket_seconds=60.0, ends_at=ends_at, **LEA)

    entered = db.call("enter_session", ticket=ONE, hash=OTHER)

    assert entered[0]["expires_at"] == ends_at


def test_a_session_ends_with_its_key(db: Session) -> None:
    db.call("create_api_key", **KEY)
    db.call("open_session", hash=ONE, key_id=7, **LEA)
    assert db.call("find_sessions", hashes=[ONE])

    db.call("revoke_api_key", key_id=7)

    assert db.call("find_sessions", hashes=[ONE]) == []


def test_a_ticket_is_entered_once_and_is_no_session_before(db: Session, clock: Clock) -> None:
    db.call("open_session", hash=ONE, ticket_seconds=60.0, **LEA)
    assert db.call("find_sessions", hashes=[ONE]) == []

    entered = db.call("enter_session", ticket=ONE, hash=OTHER)

    assert entered[0]["subject"] == "lea"
    assert db.call("enter_session", ticket=ONE, hash=OTHER) == []
    assert db.call("find_sessions", hashes=[OTHER])


def test_a_ticket_that_is_too_old_opens_nothing(db: Session, clock: Clock) -> None:
    db.call("open_session", hash=ONE, ticket_seconds=60.0, **LEA)

    clock.advance(minutes=2)

    assert db.call("enter_session", ticket=ONE, hash=OTHER) == []


def test_a_session_is_closed_by_its_own_tenant_only(db: Session) -> None:
    opened = db.row("select * from ostinato.open_session(%s, 'acme', 'lea', '{ops}')", ONE)

    assert db.get("close_session", session_id=opened["id"], tenant_id="globex") is False
    assert db.get("close_session", session_id=opened["id"], tenant_id="acme") is True
    assert db.call("find_sessions", hashes=[ONE]) == []


def test_a_session_without_roles_or_with_a_short_hash_is_refused(db: Session) -> None:
    faults: list[dict[str, Any]] = [{"roles": []}, {"hash": b"x"}, {"ticket_seconds": 0.0}]
    for wrong in faults:
        with refused("OS400", "a session has"):
            db.call("open_session", **({"hash": ONE} | LEA | wrong))


def test_a_portal_is_of_the_tenant_that_opens_it(db: Session, sessions: Sessions) -> None:
    sessions.tenant("acme").call("open_portal", hash=b"\x05" * 32, tenant_id="globex")
    db.call("open_portal", hash=b"\x06" * 32, tenant_id="globex", seconds=600.0)

    (entered,) = db.call("enter_session", ticket=b"\x05" * 32, hash=b"\x07" * 32)
    assert (entered["tenant_id"], entered["roles"]) == ("acme", ["portal"])
    assert sessions.tenant("acme").get("close_portals", tenant_id="globex") == 1
    assert db.get("close_portals", tenant_id="globex") == 1


@pytest.mark.parametrize("seconds", [0.0, 59.0, 86_401.0, None])
def test_a_portal_for_ever_is_refused(db: Session, seconds: float | None) -> None:
    with refused("OS400"):
        db.call("open_portal", hash=b"\x05" * 32, seconds=seconds)
