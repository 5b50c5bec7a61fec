"""Events: told with the change itself, in an order that commits cannot turn around."""

import itertools
import random
import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from ostinato._core.db.embedded import Server, Urls
from tests.sql.engine import START, Clock, Row, Session, Sessions, refused, until_blocked

ENVELOPE: dict[str, Any] = {
    "tenant_id": "acme",
    "correlation_id": "request-1",
    "occurred_at": START,
    "producer": "billing",
}


def emit(session: Session, key: str | None = "k", **params: Any) -> int:  # noqa: ANN401
    given = {"type": "invoice.paid", "ordering_key": key} | ENVELOPE | params
    return int(session.get("emit_event", **given))


def sequence(session: Session, **params: Any) -> int | None:  # noqa: ANN401
    (row,) = session.call("sequence_events", **params)
    stamped: int | None = row["stamped"]
    return stamped


def positions(session: Session) -> list[tuple[int, int]]:
    rows = session.rows("select position, event_id from ostinato_data.event_log order by position")
    return [(row["position"], row["event_id"]) for row in rows]


def test_an_event_has_its_whole_envelope(db: Session) -> None:
    told = emit(db, payload={"invoice": 7}, version=2)
    sequence(db)

    (row,) = db.call("show_event", event_id=told)
    (listed,) = db.call("list_events", type="invoice.paid", ordering_key="k", tenant_id="acme")

    assert row["payload"] == {"invoice": 7}
    assert {name: row[name] for name in ENVELOPE} == ENVELOPE
    assert (row["type"], row["version"], row["ordering_key"]) == ("invoice.paid", 2, "k")
    assert (row["position"], row["emitted_at"]) == (1, START)
    assert listed == {name: value for name, value in row.items() if name != "payload"}
    assert db.call("list_events", correlation_id="another") == []
    assert db.call("list_events", before=told) == []


@pytest.mark.parametrize("field", ENVELOPE)
def test_an_envelope_with_a_hole_is_refused(db: Session, field: str) -> None:
    with refused("OS400", field):
        emit(db, **{field: None})

    assert db.call("list_events") == []


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"type": ""}, "type"),
        ({"type": "x" * 201}, "type"),
        ({"type": None}, "type"),
        ({"tenant_id": ""}, "tenant_id"),
        ({"producer": "x" * 201}, "producer"),
        ({"key": ""}, "ordering_key"),
        ({"key": "x" * 201}, "ordering_key"),
        ({"version": 0}, "version"),
        ({"payload": None}, "object"),
        ({"payload": "[1]"}, "object"),
        ({"payload": '{"a": "\\u0000"}'}, "NUL"),
        ({"payload": '{"a": "\\ud800"}'}, "surrogate"),
        ({"payload": '{"a": "' + "x" * 262_144 + '"}'}, "262144"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_stored_is_refused(db: Session, given: dict[str, Any], word: str) -> None:
    with refused("OS400", word):
        emit(db, **given)


@pytest.mark.parametrize("at", ["infinity", "-infinity"])
def test_a_time_that_is_none_is_refused(db: Session, at: str) -> None:
    with refused("OS400", "occurred_at", at):
        emit(db, occurred_at=at)


def test_tenant_and_correlation_come_from_the_transaction_when_not_given(db: Session) -> None:
    with db.transaction():
        db.rows("set local app.tenant_id = 'acme'")
        db.rows("set local app.correlation_id = 'request-2'")
        told = emit(db, tenant_id=None, correlation_id=None)

    (row,) = db.call("show_event", event_id=told)
    assert (row["tenant_id"], row["correlation_id"]) == ("acme", "request-2")


def test_many_events_are_told_in_one_statement_and_keep_their_order(db: Session) -> None:
    rows = db.call(
        "emit_events",
        types=["invoice.paid"],
        payloads=[f'{{"n": {n}}}' for n in range(500)],
        ordering_keys=[f"k{n % 7}" if n % 3 else None for n in range(500)],
        tenant_ids=["acme"],
        correlation_ids=["request-1"],
        occurred_ats=[START],
        producers=["billing"],
    )
    told = [row["emit_events"] for row in rows]
    sequence(db)

    assert [event for _, event in positions(db)] == told
    assert [position for position, _ in positions(db)] == list(range(1, 501))
    payload = db.value("select payload from ostinato_data.event where id = %s", told[321])
    assert payload == {"n": 321}


def test_bulk_needs_arrays_that_fit_and_not_too_many_keys(db: Session) -> None:
    bulk = {
        "types": ["invoice.paid"],
        "tenant_ids": ["acme"],
        "correlation_ids": ["request-1"],
        "occurred_ats": [START],
        "producers": ["billing"],
    }
    with refused("OS400", "lengths"):
        db.call("emit_events", payloads=["{}"] * 3, ordering_keys=["a", "b"], **bulk)
    with refused("OS400", "1001 keys", "1000"):
        keys = [f"k{n}" for n in range(1001)]
        db.call("emit_events", payloads=["{}"] * 1001, ordering_keys=keys, **bulk)
    with refused("OS400", "producer"):
        producers = ["billing", None]
        db.call("emit_events", payloads=["{}"] * 2, **(bulk | {"producers": producers}))
    assert db.call("emit_events", payloads=[], **bulk) == []
    assert db.call("emit_events", as_of_now=True, payloads=["{}"], **(bulk | {"occurred_ats": None}))
    assert db.call("list_events")[0]["occurred_at"] == START


def test_a_registered_type_is_held_to_its_versions_and_required_fields(db: Session) -> None:
    schema = '{"type": "object", "required": ["invoice", "euros"]}'
    db.call("register_event_types", names=["invoice.paid", "invoice.paid"], versions=[1, 2], schemas=[schema, None])

    with refused("OS400", "euros"):
        emit(db, payload={"invoice": 7})
    with refused("OS400", "version 3", "1, 2"):
        emit(db, version=3, payload={"invoice": 7, "euros": 1})
    assert emit(db, payload={"invoice": 7, "euros": None})
    assert emit(db, version=2)
    assert emit(db, type="anything.else")


def test_an_event_that_was_rolled_back_leaves_no_gap(db: Session) -> None:
    first = emit(db)
    db.rows("begin")
    emit(db)
    db.rows("rollback")
    second = emit(db)
    sequence(db)

    assert positions(db) == [(1, first), (2, second)]


def test_a_writer_of_the_same_key_waits_for_the_first_and_comes_second(
    db: Session, other: Session, admin: Session
) -> None:
    with db.transaction():
        first = emit(db)
        waits = other.later("emit_event", type="invoice.paid", ordering_key="k", **ENVELOPE)
        until_blocked(admin, other, by=db)
    second = waits.result()[0]["emit_event"]
    sequence(db)

    assert positions(db) == [(1, first), (2, second)]


def test_other_keys_tenants_and_events_without_a_key_do_not_wait(db: Session, other: Session) -> None:
    with db.transaction():
        emit(db)
        emit(other, key="another")
        emit(other, tenant_id="another")
        emit(other, key=None)
        assert sequence(other) == 3


def test_a_transaction_that_writes_for_long_in_another_database_holds_up_no_event(
    db: Session, shared_server: Server
) -> None:
    """Transaction ids are the server's: whoever waited for the oldest would wait for any database."""
    elsewhere = shared_server.urls("postgres").admin
    with psycopg.connect(elsewhere) as long:
        long.execute("create temporary table written_for_long (n integer)")
        long.execute("select pg_current_xact_id()")
        told = [emit(db, key) for key in ("a", "b", "a")]

        assert sequence(db) == len(told)

    assert [event_id for _, event_id in positions(db)] == told


def test_an_event_with_a_lower_id_that_commits_later_is_not_lost(db: Session, other: Session) -> None:
    with db.transaction():
        early = emit(db, key="slow")
        late = emit(other, key="quick")
        assert early < late
        assert sequence(other) == 1
        assert positions(other) == [(1, late)]

    assert sequence(other) == 1
    assert positions(other) == [(1, late), (2, early)]


def test_the_order_of_a_key_holds_when_the_clock_goes_back_over_midnight(db: Session, clock: Clock) -> None:
    clock.set(START.replace(hour=0, minute=0))
    first = emit(db)
    clock.advance(minutes=-5)
    second = emit(db)
    sequence(db)

    assert second < first  # the id starts with the day
    assert positions(db) == [(1, first), (2, second)]


def test_a_second_sequencer_goes_away_and_what_it_saw_is_stamped_later(db: Session, other: Session) -> None:
    emit(db)
    with db.transaction():
        assert sequence(db) == 1
        late = emit(other, key="late")
        assert sequence(other) is None
    assert sequence(other) == 1

    assert positions(db)[1] == (2, late)


def test_a_sequencer_that_dies_in_the_middle_has_stamped_nothing(db: Session, other: Session, admin: Session) -> None:
    told = [emit(db) for _ in range(3)]
    db.rows("begin")
    assert sequence(db) == 3
    admin.value("select pg_terminate_backend(%s)", db.conn.info.backend_pid)

    stamped = None
    while stamped is None:  # until the server has noticed
        stamped = sequence(other)

    assert stamped == 3
    assert positions(other) == [(n + 1, event) for n, event in enumerate(told)]


def test_sequencing_goes_on_in_parts(db: Session) -> None:
    told = [emit(db, key=f"k{n % 3}") for n in range(10)]

    assert [sequence(db, most=4) for _ in range(4)] == [4, 4, 2, 0]
    assert [event for _, event in positions(db)] == told
    assert db.get("last_position") == 10
    assert db.get("has_unsequenced") is False


def test_the_place_to_look_from_never_passes_an_open_transaction(db: Session, other: Session, admin: Session) -> None:
    """A writer with a low seq is open while hundreds of rounds go by."""
    with db.transaction():
        slow = emit(db, key="slow")
        for _ in range(30):
            emit(other, key="quick")
            assert sequence(other) == 1
        safe = admin.value("select safe_seq from ostinato_data.event_sequencer")
        seq = db.value("select seq from ostinato_data.event_unsequenced where event_id = %s", slow)
        assert safe < seq

    assert sequence(other) == 1
    assert positions(other)[-1] == (31, slow)
    for _ in range(3):
        emit(other, key="quick")
        sequence(other)
    assert admin.value("select safe_seq from ostinato_data.event_sequencer") >= seq


def test_a_backlog_larger_than_a_round_is_not_skipped_by_the_place_to_look_from(db: Session) -> None:
    for _ in range(3):
        for n in range(6):
            emit(db, key=f"k{n}")
        for _ in range(4):
            sequence(db, most=2)

    assert [position for position, _ in positions(db)] == list(range(1, 19))


def test_a_sequencer_inside_a_transaction_with_a_number_stays_right(db: Session, other: Session) -> None:
    with db.transaction():
        db.rows("select pg_current_xact_id()")
        emit(other)
        assert sequence(db) == 1
    emit(other)

    assert sequence(db) == 1


def test_a_number_of_another_cluster_is_overcome(db: Session, admin: Session) -> None:
    """After a restore the transactions may count from below."""
    emit(db)
    sequence(db)
    admin.rows("update ostinato_data.event_sequencer set pending_xid = '999999999999'")
    emit(db)

    assert sequence(db) == 1
    xid = admin.value("select pending_xid::text::bigint from ostinato_data.event_sequencer")
    assert xid < 999_999_999_999


def test_positions_by_time(db: Session, clock: Clock) -> None:
    for _ in range(20):
        emit(db)
        sequence(db)
        clock.advance(minutes=1)

    def at(**length: float) -> int:
        found: int = db.get("position_at", at=START + timedelta(**length))
        return found

    assert at(minutes=-5) == 0
    assert at(minutes=0) == 0
    assert at(minutes=7) == 7
    assert at(minutes=7, seconds=1) == 8
    assert at(hours=9) == 20


def test_a_tenant_tells_and_sees_its_own_events_only(sessions: Sessions, db: Session) -> None:
    acme, globex = sessions.tenant("acme"), sessions.tenant("globex")
    mine = emit(acme, tenant_id=None)
    emit(globex, tenant_id="globex")
    sequence(db)

    assert [row["id"] for row in acme.call("list_events")] == [mine]
    assert acme.call("show_event", event_id=mine)[0]["position"] == 1
    assert globex.call("show_event", event_id=mine) == []
    with refused("42501"):
        emit(acme, tenant_id="globex")
    for statement in (
        "select * from ostinato_data.event_unsequenced",
        "delete from ostinato_data.delivery",
        "select * from ostinato_data.subscription",
        "select * from ostinato_data.event_sequencer",
        "select ostinato.sequence_events()",
        "update ostinato_data.event set producer = 'x'",
        "delete from ostinato_data.event",
    ):
        with refused("42501"):
            acme.rows(statement)


def test_a_session_without_a_tenant_tells_and_sees_nothing(sessions: Sessions, db: Session) -> None:
    emit(db)
    nobody = sessions.open("tenant")

    assert nobody.call("list_events") == []
    with refused("42501"):
        emit(nobody)


def test_two_writers_that_lock_two_keys_crosswise_do_not_lose_an_event(
    db: Session, other: Session, admin: Session
) -> None:
    """PostgreSQL rolls one of them back. In bulk, locks are taken in one order."""
    db.rows("begin")
    other.rows("begin")
    emit(db, key="a")
    emit(other, key="b")
    waits = other.later("emit_event", type="invoice.paid", ordering_key="a", **ENVELOPE)
    until_blocked(admin, other, by=db)
    mine: Exception | None = None
    try:
        emit(db, key="b")
    except psycopg.errors.DeadlockDetected as error:
        mine = error
    db.rows("rollback" if mine else "commit")
    theirs = waits.exception()
    other.rows("rollback" if theirs else "commit")

    assert (mine is None) != (theirs is None)
    assert sequence(db) == 2


class Writer:
    """Tells events of random keys in transactions that take their time before they commit.

    Between its statement and its commit it notes each event of a key with the next number: whoever
    is there holds the key, so the numbers are in the order of the commits.
    """

    def __init__(self, url: str, seed: int, start: threading.Barrier) -> None:
        self.url = url
        self.rng = random.Random(seed)
        self.start = start
        self.told: dict[int, tuple[str, int]] = {}

    def run(self, transactions: int, numbers: dict[str, "itertools.count[int]"]) -> "Writer":
        rng, pause = self.rng, threading.Event()
        with psycopg.connect(self.url, autocommit=True, row_factory=dict_row) as conn:
            self.start.wait()
            for _ in range(transactions):
                keys = rng.sample(list(numbers), rng.choice([1, 1, 2, 3]))
                events = [key for key in keys for _ in range(rng.randint(1, 3))]
                give_up = rng.random() < 0.05
                with conn.transaction(force_rollback=give_up):
                    ids = self._tell(conn, events)
                    noted = {e: (k, next(numbers[k])) for e, k in zip(ids, events, strict=True)}
                    if rng.random() < 0.3:
                        pause.wait(rng.random() * 0.01)
                if not give_up:
                    self.told |= noted
        return self

    def _tell(self, conn: psycopg.Connection[Row], keys: list[str]) -> list[int]:
        rows = conn.execute(
            "select ostinato.emit_events(%s, %s, %s, null, %s, %s, %s, %s) as id",
            [["x"], ["{}"] * len(keys), keys, ["acme"], ["load"], [START], ["test"]],
        ).fetchall()
        return [row["id"] for row in rows]


@pytest.mark.slow
def test_ten_thousand_events_of_sixteen_writers_keep_their_order_and_none_is_lost(urls: Urls, db: Session) -> None:
    """Writers sleep before they commit; two sequencers stamp at the same time."""
    numbers = {f"k{n}": itertools.count() for n in range(40)}
    barrier = threading.Barrier(16)
    done = threading.Event()

    with ThreadPoolExecutor(18) as threads:
        running = [threads.submit(Writer(urls.worker, seed, barrier).run, 250, numbers) for seed in range(16)]
        sequencers = [threads.submit(stamp_until, urls.worker, done.is_set) for _ in range(2)]
        told = {event: note for writer in running for event, note in writer.result().told.items()}
        done.set()
        busy = sum(sequencer.result() for sequencer in sequencers)
    while sequence(db):
        pass

    stamped = positions(db)
    assert len(told) >= 10_000
    assert {event for _, event in stamped} == set(told)
    assert [position for position, _ in stamped] == list(range(1, len(told) + 1))
    seen: defaultdict[str, list[int]] = defaultdict(list)
    for _, event in stamped:
        key, number = told[event]
        seen[key].append(number)
    assert all(found == sorted(found) for found in seen.values())
    assert busy > 1


def stamp_until(url: str, done: Callable[[], bool]) -> int:
    rounds = 0
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as conn:
        while not done():
            row = conn.execute("select stamped from ostinato.sequence_events(200)").fetchone()
            rounds += bool(row and row["stamped"])
    return rounds


def weeks(admin: Session, parent: str) -> list[str]:
    rows = admin.rows(
        "select c.relname from pg_class c join pg_inherits i on i.inhrelid = c.oid"
        " where i.inhparent = ('ostinato_data.' || %s)::regclass and c.relname !~ 'default'"
        " order by 1",
        parent,
    )
    return [row["relname"] for row in rows]


def upkeep(db: Session, at: datetime, days: int = 14) -> list[tuple[str, str]]:
    rows = db.call("upkeep_logs", retention_days=days, weeks_ahead=1)
    return [(row["action"], row["name"]) for row in rows if "event" in row["name"]]


def test_weeks_of_events_come_and_go(db: Session, admin: Session, clock: Clock) -> None:
    emit(db)
    sequence(db)
    made = upkeep(db, clock.now)
    assert ("created", "event_20260226") in made
    assert ("created", "event_log_20260305") in made
    assert len(db.call("list_events")) == 1

    clock.advance(days=30)
    gone = upkeep(db, clock.now)

    assert ("dropped", "event_20260226") in gone
    assert ("dropped", "event_log_20260226") in gone
    assert db.call("list_events") == []
    assert db.get("last_position") == 1
    emit(db)
    sequence(db)
    assert positions(db)[0][0] == 2


def test_a_week_with_an_event_that_has_no_position_is_kept(db: Session, admin: Session, clock: Clock) -> None:
    upkeep(db, clock.now)
    emit(db)
    clock.advance(days=30)

    assert ("kept", "event_20260226") in upkeep(db, clock.now)
    sequence(db)
    assert ("dropped", "event_20260226") in upkeep(db, clock.now)


def test_parts_of_telling_can_be_called_by_themselves(db: Session) -> None:
    assert db.get("lane", tenant_id="acme", ordering_key="k") == "acme\x1fk"
    assert db.get("lane", tenant_id="acme", ordering_key=None) is None
    db.call("lock_keys", tenant_ids=["acme"], ordering_keys=["a", None, "b"], count=3)
    db.call("check_payload", type="x", payload="{}")
    assert db.get("is_odd_payload", payload="{}") is False
    db.call("check_registered", type="x", version=1, payload="{}")
    db.call(
        "check_events",
        types=["x"],
        payloads=["{}"],
        ordering_keys=None,
        versions=None,
        tenant_ids=["acme"],
        correlation_ids=["c"],
        occurred_ats=[START],
        producers=["p"],
    )
    with refused("OS400", "producer"):
        db.call("refuse_event", type="x", field="producer", value="null")
    assert db.get("needed_event", cutoff=START) is None
    with refused("42501"):
        db.call("upkeep_events", cutoff=START)
