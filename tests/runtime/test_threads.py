"""Threads for plain functions: used again when they are free, never in each other's way."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator
from functools import partial

import pytest

from ostinato._core.runtime.worker.threads import Threads
from tests.waiting import until


@pytest.fixture
def threads() -> Iterator[Threads]:
    made = Threads("test")
    yield made
    made.shutdown()


async def test_a_thread_that_rests_is_used_again(threads: Threads) -> None:
    first = await threads.run(threading.get_ident)
    until(lambda: threads._resting)

    assert await threads.run(threading.get_ident) == first


async def test_short_functions_are_run_by_few_threads_and_reported_in_sets(threads: Threads) -> None:
    """One thread for each, and one wake-up of the loop for each, is what made plain functions slow."""
    reports = 0
    report = threads._report

    def counted() -> None:
        nonlocal reports
        reports += 1
        report()

    threads._report = counted  # type: ignore[method-assign]
    futures = [threads.run(threading.get_ident) for _ in range(500)]
    until(lambda: not threads._work and len(threads._done) == len(futures))  # the loop is kept from reading
    await asyncio.gather(*futures)

    assert reports == 1
    assert threads._started < len(futures)


async def test_one_that_is_stuck_takes_no_others_place(threads: Threads) -> None:
    gate = threading.Event()
    stuck = [threads.run(gate.wait) for _ in range(50)]

    assert await threads.run(lambda: 7) == 7
    gate.set()
    assert all(await asyncio.gather(*stuck))


async def test_all_of_them_run_at_once(threads: Threads) -> None:
    together = threading.Barrier(20)

    assert sorted(await asyncio.gather(*(threads.run(together.wait) for _ in range(20)))) == list(range(20))


async def test_what_a_function_raises_reaches_whoever_waits(threads: Threads) -> None:
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 / 0)

    assert await threads.run(lambda: 7) == 7


async def test_a_function_that_was_cancelled_before_it_started_does_not_run(threads: Threads) -> None:
    gate, ran = threading.Event(), list[bool]()
    threads._waking = True  # nobody comes
    future = threads.run(lambda: ran.append(True))
    future.cancel()
    threads._waking = False
    busy = threads.run(gate.wait)
    gate.set()

    assert await busy
    assert ran == []


async def test_the_result_of_one_that_was_cancelled_meanwhile_is_dropped(threads: Threads) -> None:
    started, gate = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        gate.wait()

    future = threads.run(work)
    until(started.is_set)
    future.cancel()
    gate.set()

    assert await threads.run(lambda: 7) == 7
    until(lambda: len(threads._resting) == threads._started)


async def test_a_thread_that_cannot_be_started_stops_no_other_function(
    threads: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, refused = threading.Thread.start, list[bool]()

    def once(thread: threading.Thread) -> None:
        if not refused:
            refused.append(True)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", once)
    with pytest.raises(RuntimeError, match="start new thread"):
        threads.run(lambda: 1)

    assert await threads.run(lambda: 2) == 2


async def test_one_thread_that_gets_no_other_does_all_the_work(
    threads: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, started = threading.Thread.start, list[bool]()

    def only_one(thread: threading.Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(True)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", only_one)
    threads._waking = True  # all of them wait before the first thread comes
    futures = [threads.run(partial(int, n)) for n in range(3)]
    threads._waking = False
    threads._wake()

    assert await asyncio.gather(*futures) == [0, 1, 2]


async def test_threads_end_when_they_are_shut_down_and_take_nothing_more() -> None:
    threads = Threads("shut-down")
    gate = threading.Event()
    busy = threads.run(gate.wait)
    await threads.run(lambda: None)
    threads.shutdown()
    with pytest.raises(RuntimeError, match="shut down"):
        threads.run(lambda: None)
    gate.set()

    assert await busy
    until(lambda: not [t for t in threading.enumerate() if t.name.startswith("shut-down")])


async def test_they_do_not_keep_a_program_from_ending(threads: Threads) -> None:
    gate = threading.Event()
    busy = threads.run(gate.wait)

    assert all(t.daemon for t in threading.enumerate() if t.name.startswith("test-"))
    gate.set()
    await busy


def test_one_that_ends_after_its_loop_disturbs_nobody(threads: Threads) -> None:
    gate = threading.Event()

    async def start() -> None:
        threads.run(gate.wait)

    asyncio.run(start())
    gate.set()
    until(lambda: threads._resting)

    assert asyncio.run(seven(threads)) == 7


async def seven(threads: Threads) -> int:
    return await threads.run(lambda: 7)


async def test_a_thread_at_rest_keeps_nothing_of_what_it_worked_on(threads: Threads) -> None:
    class Big:
        pass

    big = Big()
    seen = weakref.ref(big)
    await threads.run(partial(id, big))
    del big
    until(lambda: threads._resting)

    until(lambda: gc.collect() >= 0 and seen() is None)
