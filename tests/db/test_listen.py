import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ostinato._core.db import hostbell, listen
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.db.listen import POLL_NOW, Listener
from tests.waiting import until


class Heart:
    """A listener, and what it did."""

    def __init__(self, url: str, **options: Any) -> None:  # noqa: ANN401 - handed on
        self.rings: queue.Queue[str] = queue.Queue()
        self.beats: queue.Queue[int] = queue.Queue()
        self.fail: list[Exception] = []
        options.setdefault("beat_seconds", 0.05)
        self.listener = Listener(url, beat=self.beat, on_ring=self.rings.put, **options)

    def beat(self, conn: psycopg.Connection[Any]) -> None:
        if self.fail:
            raise self.fail.pop()
        conn.execute("select 1")
        self.beats.put(conn.info.backend_pid)

    def hears(self, name: str) -> None:
        while self.rings.get(timeout=120) != name:
            continue

    def beats_again(self) -> int:
        while not self.beats.empty():
            self.beats.get()
        return self.beats.get(timeout=120)


Start = Callable[..., Heart]


@pytest.fixture
def start(urls: Urls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    monkeypatch.setattr(hostbell, "runtime_folder", lambda: tmp_path)
    hearts: list[Heart] = []

    def make(url: str = urls.worker, **options: Any) -> Heart:  # noqa: ANN401 - handed on
        heart = Heart(url, **options)
        hearts.append(heart)
        heart.listener.start()
        return heart

    yield make
    for heart in hearts:
        heart.listener.stop()


def notify(urls: Urls, payload: str) -> None:
    with psycopg.connect(urls.worker, autocommit=True) as conn:
        conn.execute("select pg_notify('ostinato', %s)", [payload])


@pytest.mark.parametrize("shared", [True, False])
def test_it_beats_and_hears_the_doorbell(start: Start, urls: Urls, shared: bool) -> None:  # noqa: FBT001
    heart = start(shared=shared)
    heart.hears(POLL_NOW)
    heart.beats_again()

    notify(urls, "invoices")

    heart.hears("invoices")
    heart.beats_again()


def test_without_listening_it_only_beats(start: Start, urls: Urls) -> None:
    heart = start(listening=False)
    heart.hears(POLL_NOW)

    notify(urls, "invoices")
    heart.beats_again()
    heart.beats_again()

    assert heart.rings.empty()


def test_a_lost_connection_is_opened_again_and_asks_for_a_poll(start: Start, urls: Urls) -> None:
    heart = start()
    heart.hears(POLL_NOW)
    pid = heart.beats_again()

    with psycopg.connect(urls.admin, autocommit=True) as admin:
        admin.execute("select pg_terminate_backend(%s, 5000)", [pid])

    heart.hears(POLL_NOW)
    assert heart.beats_again() != pid
    notify(urls, "invoices")
    heart.hears("invoices")


def test_a_frozen_server_is_left_for_a_new_connection(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "CALL_SECONDS", 1)
    heart = start()
    heart.hears(POLL_NOW)
    pid = heart.beats_again()

    os.kill(pid, signal.SIGSTOP)
    try:
        heart.hears(POLL_NOW)
        until(lambda: heart.beats_again() != pid)
    finally:
        os.kill(pid, signal.SIGCONT)


def test_it_goes_on_after_the_server_restarted(start: Start, server: Server, urls: Urls) -> None:
    heart = start()
    heart.hears(POLL_NOW)

    server.restart("immediate")

    heart.hears(POLL_NOW)
    notify(urls, "invoices")
    heart.hears("invoices")


def test_a_beat_that_raises_does_not_stop_the_heart(start: Start) -> None:
    heart = start()
    heart.beats_again()

    heart.fail = [ValueError("a mistake"), psycopg.errors.UndefinedFunction("old schema")]

    until(lambda: not heart.fail)
    heart.beats_again()


def test_idle_is_called_even_without_a_database() -> None:
    idle = threading.Event()
    listener = Listener(
        "host=/nowhere dbname=x",
        beat=lambda _: None,
        beat_seconds=1,
        on_ring=lambda _: None,
        on_idle=idle.set,
        shared=False,
    )
    listener.start()

    assert idle.wait(timeout=120)
    listener.stop()


def test_of_two_processes_one_listens_and_each_ring_wakes_one(start: Start, urls: Urls) -> None:
    first = start()
    first.hears(POLL_NOW)
    second = start()
    second.hears(POLL_NOW)
    until(lambda: second.listener._bell is not None and not second.listener._bell.alone)
    until(lambda: first.listener._bell is not None and len(first.listener._bell._members) == 2)

    for n in range(4):
        notify(urls, f"ring {n}")
    heard: list[str] = []

    def all_heard() -> bool:
        heard.extend(drain(first) + drain(second))  # who is woken by which is up to who waits
        return len(heard) >= 4

    until(all_heard)

    assert sorted(heard) == [f"ring {n}" for n in range(4)]


def drain(heart: Heart) -> list[str]:
    """What was heard since."""
    return [name for _ in range(heart.rings.qsize()) if (name := heart.rings.get()) != POLL_NOW]


def test_when_the_listening_process_ends_the_other_listens(start: Start, urls: Urls) -> None:
    first = start()
    first.hears(POLL_NOW)
    second = start()
    second.hears(POLL_NOW)
    until(lambda: first.listener._bell is not None and len(first.listener._bell._members) == 2)

    first.listener.stop()
    until(lambda: second.listener._bell is not None and second.listener._bell.leading)
    second.beats_again()
    second.beats_again()
    notify(urls, "invoices")

    second.hears("invoices")


def test_where_sharing_fails_each_listens_for_itself(start: Start, urls: Urls, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Path:
        raise PermissionError

    monkeypatch.setattr(hostbell, "runtime_folder", broken)
    one, two = start(), start()
    one.hears(POLL_NOW)
    two.hears(POLL_NOW)

    notify(urls, "invoices")

    one.hears("invoices")
    two.hears("invoices")


def test_it_can_be_stopped_before_it_started(urls: Urls) -> None:
    listener = Listener(urls.worker, beat=lambda _: None, beat_seconds=1, on_ring=lambda _: None, shared=False)

    listener.stop()
