"""One sandbox for all tests of a module, empty at the start of each."""

from collections.abc import Iterator

import httpx
import pytest

from ostinato.lab.sandbox.hooks import Hooks
from ostinato.lab.sandbox.running import Running, running


@pytest.fixture(scope="module")
def _sandbox() -> Iterator[Running]:
    with running(Hooks()) as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(_sandbox: Running) -> Running:
    _sandbox.sandbox.reset()
    return _sandbox


@pytest.fixture
def http(sandbox: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=sandbox.url, trust_env=False, timeout=120) as client:
        yield client
