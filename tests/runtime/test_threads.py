"""Threads for plain functions: reused when they rest, never in each other's way."""

import gc
import threading
import weakref
from concurrent.futures import Future

import pytest

from ostinato._core.runtime.worker.threads import Threads
from tests.waiting import until


def test_a_thread_that_rests_is_used_again() -> None:
    threads = Threads("test")
    first = threads.submit(threading.get_ident).result()
    until(lambda: threads._resting)

    assert threads.submit(threading.get_ident).result() == first
    threads.shutdown()


def test_one_that_is_stuck_takes_no_others_place() -> None:
    threads = Threads("test")
    gate = threading.Event()
    stuck = [threads.submit(gate.wait) for _ in range(50)]

    assert threads.submit(lambda: 7).result() == 7
    gate.set()
    assert all(future.result() for future in stuck)
    threads.shutdown()


def test_what_a_function_raises_reaches_whoever_waits() -> None:
    threads = Threads("test")
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 / 0).result()
    with pytest.raises(SystemExit):
        threads.submit(exit, 3).result()

    assert threads.submit(lambda: 7).result() == 7
    threads.shutdown()


def test_a_function_that_was_cancelled_before_it_started_does_not_run() -> None:
    threads = Threads("test")
    inbox = threads._start()
    ran: list[bool] = []
    future: Future[None] = Future()
    assert future.cancel()
    inbox.put((future, lambda: ran.append(True)))
    until(lambda: threads._resting)

    assert ran == []
    threads.shutdown()


def test_threads_end_when_they_are_shut_down_and_take_nothing_more() -> None:
    threads = Threads("shut-down")
    gate = threading.Event()
    busy = threads.submit(gate.wait)
    threads.submit(lambda: None).result()
    threads.shutdown()
    with pytest.raises(RuntimeError, match="shut down"):
        threads.submit(lambda: None)
    gate.set()

    assert busy.result()
    until(lambda: not [t for t in threading.enumerate() if t.name.startswith("shut-down")])


def test_they_do_not_keep_a_program_from_ending() -> None:
    threads = Threads("test")
    gate = threading.Event()
    threads.submit(gate.wait)

    assert all(t.daemon for t in threading.enumerate() if t.name.startswith("test-"))
    gate.set()
    threads.shutdown()


def test_a_thread_at_rest_keeps_nothing_of_what_it_worked_on() -> None:
    class Big:
        pass

    threads = Threads("test")
    big = Big()
    seen = weakref.ref(big)
    threads.submit(lambda thing: thing, big).result()
    del big
    until(lambda: threads._resting)

    until(lambda: gc.collect() >= 0 and seen() is None)
    threads.shutdown()
