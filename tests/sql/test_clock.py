"""The one clock, the ids made from it, and the contract."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from ostinato._core.db.embedded import Server, Urls
from tests.conftest import copy_of_engine
from tests.sql.engine import FIRST_DAY, START, Clock, Session, Sessions, refused


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


# A database that was not made for tests: nobody moves its clock.


@pytest.fixture
def real(shared_server: Server) -> Iterator[Urls]:
    """The addresses of a database as an installation has it."""
    yield copy_of_engine(shared_server, "real_clock")
    shared_server.drop_database("real_clock")


def test_no_role_moves_the_time_of_a_real_database(real: Urls) -> None:
    """Check 8 of the penetration test: a setting that anybody may set dated audit entries at will."""
    tenant, worker = Session.open(real.tenant), Session.open(real.worker)

    for session in (tenant, worker):
        for wanted in ("2001-01-01", "table"):
            session.rows("select set_config('ostinato.clock', %s, false)", wanted)
            assert abs(session.value("select ostinato.now() - clock_timestamp()")) < timedelta(minutes=1)
        with refused("42501"):
            session.rows("insert into ostinato_data.test_clock (frozen) values ('2001-01-01')")
        with refused("42501"):
            session.call("use_test_clock")
        session.close()


def test_the_verbs_for_tests_say_that_a_database_is_no_place_for_them(real: Urls) -> None:
    admin = Session.open(real.admin)
    admin.enqueue()

    with refused("OS409", "not made for tests"):
        admin.call("set_test_clock", frozen=START, shift=timedelta(0))
    with refused("OS409", "not made for tests"):
        admin.call("move_test_clock", by=timedelta(days=1))
    with refused("OS409", "holds jobs"):
        admin.call("use_test_clock")
    admin.close()


def test_the_time_costs_a_session_without_a_fake_clock_no_call_and_no_table(real: Urls) -> None:
    worker = Session.open(real.worker)
    worker.rows("create temporary table at (t timestamptz)")

    plan = "\n".join(row["QUERY PLAN"] for row in worker.rows("explain verbose select ostinato.now() from at"))

    assert "clock_timestamp()" in plan  # inlined
    assert "ostinato.now" not in plan
    worker.close()


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
