"""Which base backups there are, and when each was verified."""

from datetime import timedelta

import psycopg
import pytest

from tests.sql.engine import START, Clock, Session, Sessions


def record(db: Session, label: str, *, verified: bool = False) -> None:
    db.call("record_backup", label=label, repository="/mnt/backup", taken_at=START, bytes=2**30, verified=verified)


def test_a_backup_is_verified_at_a_time_until_it_is_found_to_be_damaged(db: Session, clock: Clock) -> None:
    record(db, "a")
    clock.advance(hours=1)
    record(db, "a", verified=True)

    (line,) = db.call("list_backups")
    assert line["verified_at"] == START + timedelta(hours=1)
    assert (line["label"], line["taken_at"], line["bytes"]) == ("a", START, 2**30)

    record(db, "a", verified=False)
    (line,) = db.call("list_backups")
    assert line["verified_at"] is None


def test_a_backup_that_was_pruned_is_forgotten(db: Session) -> None:
    record(db, "a")

    assert db.get("forget_backup", label="a")
    assert not db.get("forget_backup", label="a")
    assert db.call("list_backups") == []


def test_a_tenant_sees_no_backups_and_writes_none(db: Session, sessions: Sessions) -> None:
    record(db, "a")
    acme = sessions.tenant("acme")

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        acme.call("list_backups")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        record(acme, "b")
