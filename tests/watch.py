"""Ends a test process that hangs where nothing else would end it.

pytest-timeout raises an error in a test that takes too long. It raises once: an event loop may swallow
it, and the teardown that follows is not watched any more. pytest's own watch (`faulthandler_timeout`)
is taken back by pytest after each failure. So this one is set anew for each test, for its teardown and
for the end of the run. When its time is up, the process says where it stands, and ends; xdist
names the test and goes on with another process.
"""

import faulthandler
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

__all__ = ["Watch"]

AFTER_TIMEOUT_SECONDS = 120.0
"""How long a test may go on after its own timeout."""
TEARDOWN_SECONDS = float(os.environ.get("OSTINATO_TEST_TEARDOWN_SECONDS", "300"))
"""How long the teardown of a test, or the end of the run, may take: servers and workers stop then."""


class Watch:
    """The one alarm of this process."""

    def __init__(self, config: pytest.Config) -> None:
        self._timeout = float(config.getini("timeout") or 0)
        self._is_off = bool(config.option.usepdb) or not self._timeout
        self._stderr = os.dup(2)  # captured later on; never closed: the last alarm may ring behind everything

    @contextmanager
    def over_test(self, item: pytest.Item) -> Iterator[None]:
        """Watch a test, from its first fixture on."""
        mark = item.get_closest_marker("timeout")
        timeout = float(mark.args[0]) if mark is not None and mark.args else self._timeout
        self._set(timeout + AFTER_TIMEOUT_SECONDS)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()

    def over_end(self) -> None:
        """Watch what comes now: a teardown, or the end of the run."""
        self._set(TEARDOWN_SECONDS)

    def off(self) -> None:
        """Watch no more: a process of xdist that is through waits for the others, however long they take."""
        faulthandler.cancel_dump_traceback_later()

    def _set(self, seconds: float) -> None:
        if not self._is_off:
            faulthandler.dump_traceback_later(seconds, exit=True, file=self._stderr)
