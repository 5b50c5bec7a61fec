"""A test that goes on while the other process has nothing left: `test_cut.py` runs it, and no other run finds it."""

import threading

import pytest


@pytest.mark.parametrize("seconds", [0, 45])
def test_that_takes(seconds: float) -> None:
    threading.Event().wait(seconds)
