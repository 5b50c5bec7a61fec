"""The one clock, the ids made from it, and the contract."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.sql.engine import FIRST_DAY, START, Clock, Session, Sessions


def test_a_session_without_a_fake_clock_reads_the_time_of_the_database(db: Session) -> None:
    db.rows("set ostinato.clock = ''")

    off = db.value("select ostinato.now() - clock_timestamp()")

    assert abs(off) < timedelta(minutes=1)


def test_a_session_can_have_a_time_of_its_own(db: Session) -> None:
    db.rows("set ostinato.clock = '2031-01-01 12:00+00'")

    assert db.get("now") == datetime(2031, 1, 1, 12, tzinfo=UTC)
    assert db.get("fake_now") == datetime(2031, 1, 1, 12, tzinfo=UTC)


def test_the_time_in_the_table_can_be_moved(db: Session, clock: Clock) -> None:
    assert db.get("now") == START
    clock.advance(days=3)
    assert db.get("now") == START + timedelta(days=3)


def test_the_time_goes_on_within_a_transaction(db: Session, clock: Clock) -> None:
    """A claim that waited for a lock must not count by the time at which it began."""
    with db.transaction():
        began = db.value("select ostinato.now()")
        clock.advance(seconds=5)

        assert db.value("select ostinato.now()") == began + timedelta(seconds=5)

        db.rows("set local ostinato.clock = ''")
        assert db.value("select ostinato.now() > transaction_timestamp()")


def test_a_shifted_clock_goes_on(db: Session, admin: Session) -> None:
    admin.rows("update ostinato_data.test_clock set frozen = null, shift = '1 day'")

    off = db.value("select ostinato.now() - clock_timestamp()")

    assert timedelta(hours=23) < off < timedelta(hours=25)


def test_tests_of_users_move_the_clock_by_functions(db: Session, admin: Session, sessions: Sessions) -> None:
    admin.call("use_test_clock")  # as this database does already
    db.call("set_test_clock", frozen=START, shift=timedelta(0))

    db.call("move_test_clock", by=timedelta(hours=2))

    assert sessions.open().get("now") == START + timedelta(hours=2)


@pytest.mark.parametrize(
    ("at", "first"),
    [
        (datetime(2025, 6, 1, tzinfo=UTC), 0),
        (datetime(2026, 1, 1, tzinfo=UTC), 0),
        (datetime(2026, 1, 1, 23, 59, 59, tzinfo=UTC), 0),
        (datetime(2026, 1, 2, tzinfo=UTC), 10_000_000_000),
        (START, FIRST_DAY),
    ],
)
def test_a_range_of_ids_is_a_range_of_time(db: Session, at: datetime, first: int) -> None:
    assert db.get("first_id", at=at) == first
    assert first <= db.get("new_id", at=at) < first + 10_000_000_000


def test_new_ids_grow(db: Session) -> None:
    first, second = db.get("new_id"), db.get("new_id")

    assert FIRST_DAY <= first < second


def test_the_contract_is_a_range(db: Session) -> None:
    (served,) = db.call("contract")

    assert 1 <= served["oldest"] <= served["current"]
