"""Threads that run plain functions.

Unlike those of a `ThreadPoolExecutor` they are started as needed, so a stuck one takes no other's
place, and they are daemons, so a stuck one does not keep the process from ending. The lanes bound
their number, because they run a bounded number of jobs at a time.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

Inbox = SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]


class Threads(Executor):
    """Runs each function at once, in an idle thread or in a new one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._started = 0
        self._closed = False
        self._resting: deque[Inbox] = deque()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function."""
        if self._closed:
            raise RuntimeError("these threads were shut down")
        future: Future[T] = Future()
        try:
            inbox = self._resting.pop()
        except IndexError:
            inbox = self._start()
        inbox.put((future, partial(fn, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        """Let the threads end, each after its present function; does not wait for them."""
        self._closed = True
        while self._resting:
            self._resting.pop().put(None)

    def _start(self) -> Inbox:
        self._started += 1
        inbox: Inbox = SimpleQueue()
        name = f"{self._name}-{self._started}"
        threading.Thread(target=self._run, args=(inbox,), name=name, daemon=True).start()
        return inbox

    def _run(self, inbox: Inbox) -> None:
        while (work := inbox.get()) is not None:
            future, function = work
            if future.set_running_or_notify_cancel():
                try:
                    result = function()
                except BaseException as error:  # noqa: BLE001 - the caller gets it
                    self._rest(inbox)
                    future.set_exception(error)
                else:
                    self._rest(inbox)
                    future.set_result(result)
                    del result
            else:
                self._rest(inbox)
            del work, future, function  # an idle thread must not keep its last function

    def _rest(self, inbox: Inbox) -> None:
        if self._closed:
            inbox.put(None)
        else:
            self._resting.append(inbox)
