"""What surrounds a worker: its memory, its clock, the doorbell's queue, and who reads the log of the server."""

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ostinato._core.db.embedded import Server
from tests.faults.site import Site
from tests.faults.talking import doctor
from tests.needs import lacking
from tests.waiting import until

FAKETIME = shutil.which("faketime")
ALIVE: dict[str, Any] = {"beat_seconds": 1, "expiry_seconds": 60}


def test_a_handler_that_takes_all_memory_fails_and_the_others_do_not_notice(site: Site) -> None:
    """Where the kernel kills the process instead, it is as any other kill."""
    hand = site.crew(**ALIVE).start()
    site.ready(hand)
    beside = site.enqueue("effect", 10, seconds=2)
    (job_id,) = site.enqueue("hungry")
    site.until_idle()

    assert hand.alive
    assert site.outcomes(job_id) == ["dead"]
    error = site.value("select error ->> 'type' from ostinato_data.outcome where job_id = %s", job_id)
    assert error == "MemoryError"
    assert [site.outcomes(n) for n in beside] == [["done"]] * 10


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that says how far off the clock of a worker is; workers that are started now read it."""
    if FAKETIME is None:
        lacking("faketime", "faketime is not installed: a worker with a wrong clock is not tested")
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    file = tmp_path / "clock"
    file.write_text("+0")
    values = {"LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1"}
    for name, value in (values | {"FAKETIME_DONT_FAKE_MONOTONIC": "1"}).items():
        monkeypatch.setenv(name, value)
    return file


@pytest.mark.proof
@pytest.mark.parametrize("off", ["+1h", "-1h"])
def test_a_worker_whose_clock_jumps_an_hour_does_its_work_as_before(site: Site, clock: Path, off: str) -> None:
    """All times are the database's; a worker only measures how long something takes."""
    crew = site.crew(beat_seconds=1, expiry_seconds=10)
    hands = [crew.start(), crew.start()]
    site.ready(*hands)
    ids = site.enqueue("effect", 20, seconds=3)
    site.until("select sum(cardinality(job_ids)) = 20 from ostinato_data.claim")
    clock.write_text(off)
    more = site.enqueue("effect", 10) + site.enqueue("flaky", 5, failures=2)
    site.until_idle()

    site.check(ids + more, ids + more)
    stamps = [datetime.fromisoformat(str(line["timestamp"])) for hand in hands for line in hand.lines()]
    assert crew.said("rescued") == crew.said("declared_dead") == crew.said("fenced") == 0
    assert [site.outcomes(n) for n in ids] == [["done"]] * 20
    assert max(stamps) - min(stamps) > timedelta(minutes=59)  # they log by their own clock, which did jump


@pytest.fixture
def small_queue(server: Server, site: Site) -> Iterator[Site]:
    """A server whose queue of notifications holds as little as it may."""
    if server.version < 17:
        lacking("postgresql-17", "the size of the queue cannot be set before PostgreSQL 17")
    site.rows("alter system set max_notify_queue_pages = 64")
    server.restart()
    yield site
    site.rows("alter system reset max_notify_queue_pages")
    server.restart()


def is_full(conn: psycopg.Connection) -> bool:
    """Add to the queue, and say whether there was no room."""
    try:
        conn.execute("select pg_notify('elsewhere', repeat('x', 7900) || n) from generate_series(1, 20) n")
    except psycopg.errors.ProgramLimitExceeded:
        return True
    return False


def test_a_full_queue_of_notifications_keeps_no_job_from_being_added_and_run(small_queue: Site) -> None:
    """The doorbell is rung outside of every transaction: where it cannot be, polls find the work."""
    site = small_queue
    hand = site.crew(**ALIVE).start()
    site.ready(hand)
    with psycopg.connect(site.urls.admin) as lazy, psycopg.connect(site.urls.admin, autocommit=True) as loud:
        lazy.execute("set idle_in_transaction_session_timeout = 0")
        lazy.execute("listen elsewhere")
        lazy.commit()
        lazy.execute("select 1")  # from here on it reads nothing, and nothing behind it is forgotten
        until(lambda: is_full(loud))
        ids = site.enqueue("effect", 10)
        site.until_idle()

        site.check(ids, ids)


def test_a_slot_whose_reader_is_gone_is_bounded_and_named(site: Site) -> None:
    slot = "gone"
    site.rows("select pg_create_physical_replication_slot(%s, true)", slot)
    try:
        site.rows("alter system set max_slot_wal_keep_size = '32MB'")
        site.rows("select pg_reload_conf()")
        site.until("select current_setting('max_slot_wal_keep_size') = '32MB'")
        ids: list[int] = []

        def lost() -> bool:
            ids.extend(site.enqueue("plain", 5))
            site.rows("select pg_switch_wal()")
            site.rows("checkpoint")
            return bool(site.value("select wal_status = 'lost' from pg_replication_slots where slot_name = %s", slot))

        until(lost)
        found = doctor(site.urls.worker, "slots")

        assert found["level"] == "fail"
        assert f"pg_drop_replication_slot('{slot}')" in found["hint"]
    finally:
        site.rows("select pg_drop_replication_slot(%s)", slot)
        site.rows("alter system reset max_slot_wal_keep_size")
        site.rows("select pg_reload_conf()")
