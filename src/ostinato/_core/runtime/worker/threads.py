"""Threads run plain functions, and report them to the event loop in sets.

    loop -> run() -> work -> thread 1 … thread N -> done -> loop

Crossing from one thread to another costs more than a short function. So functions wait in one line, and
at most one thread is on its way to it: a thread that takes a function while others wait wakes the next
one, and takes the next function itself if it is free again before that one has come. A short function is
followed by the next in the same thread; a long one never delays others. What has ended is reported by one
call for all that ended meanwhile.

Threads are started as needed, so a stuck one takes no other's place, and they are daemons, so a stuck one
does not keep the process from ending. The lanes bound their number, because they run a bounded number of
jobs at a time.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Work(NamedTuple):
    """A function, and the future that gets what it returns."""

    future: "asyncio.Future[Any]"
    function: Callable[[], Any]


class Done(NamedTuple):
    """What a function returned or raised."""

    future: "asyncio.Future[Any]"
    result: object
    error: BaseException | None


class Threads:
    """Runs functions for one event loop, each in a thread that is free or in a new one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._started = 0
        self._closed = False
        self._lock = threading.Lock()
        self._work: deque[Work] = deque()
        self._resting: list[threading.Lock] = []
        """What a thread at rest waits for: releasing it wakes the thread."""
        self._waking = False
        """A thread is on its way to the work."""
        self._done: deque[Done] = deque()
        self._reporting = False
        """The loop was asked to read what is done, and has not begun to."""

    def run(self, function: Callable[[], T]) -> "asyncio.Future[T]":
        """Run a function; to be called in the event loop that awaits the future."""
        if self._closed:
            raise RuntimeError("these threads were shut down")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        work = Work(future, function)
        self._work.append(work)
        if not self._waking:
            try:
                self._wake()
            except RuntimeError:  # the system gives no more threads
                try:
                    self._work.remove(work)
                except ValueError:
                    return future  # one that is there has taken it
                raise
        return future

    def shutdown(self) -> None:
        """Let the threads end, each after its present function; does not wait for them."""
        with self._lock:
            self._closed = True
            resting, self._resting = self._resting, []
        for bell in resting:
            bell.release()

    def _wake(self) -> None:
        """Send a thread to the work, unless one is on its way."""
        with self._lock:
            if self._waking or not self._work:
                return
            self._waking = True
            bell = self._resting.pop() if self._resting else None
            self._started += bell is None
            name = f"{self._name}-{self._started}"
        if bell is not None:
            bell.release()
            return
        try:
            threading.Thread(target=self._live, name=name, daemon=True).start()
        except RuntimeError:
            self._waking = False  # no thread comes: the next caller tries again
            raise

    def _live(self) -> None:
        bell = threading.Lock()
        bell.acquire()
        arrived = True
        while True:
            with self._lock:
                if arrived:
                    self._waking = arrived = False
                work = self._work.popleft() if self._work else None
                if work is None:
                    if self._closed:
                        return
                    self._resting.append(bell)
            if work is None:
                bell.acquire()
                arrived = not self._closed
                continue
            if self._work and not self._waking:
                with contextlib.suppress(RuntimeError):  # without another thread this one goes on alone
                    self._wake()
            self._do(work)
            del work  # a thread at rest must not keep its last function

    def _do(self, work: Work) -> None:
        future, function = work
        if future.cancelled():
            return
        try:
            self._done.append(Done(future, function(), None))
        except BaseException as error:  # noqa: BLE001 - the caller gets it
            self._done.append(Done(future, None, error))
        if not self._reporting:
            self._reporting = True
            try:
                future.get_loop().call_soon_threadsafe(self._report)
            except RuntimeError:  # the loop has ended, and nobody waits any more
                self._reporting = False

    def _report(self) -> None:
        """Hand on what has ended, in the event loop."""
        self._reporting = False  # first: what ends from now on asks again
        while self._done:
            future, result, error = self._done.popleft()
            if future.done() or future.get_loop().is_closed():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
