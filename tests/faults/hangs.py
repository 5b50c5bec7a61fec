"""A teardown that hangs after a failure: `test_cut.py` runs it, and no other run finds it by its name."""

import threading
from collections.abc import Iterator

import pytest


@pytest.fixture
def _hanging() -> Iterator[None]:
    yield
    threading.Event().wait()


@pytest.mark.usefixtures("_hanging")
def test_that_fails() -> None:
    pytest.fail("as it should")
