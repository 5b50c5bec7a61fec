"""Places to watch."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.apps.watchfolder.place import Place, Services


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Services:
    """PREP and OCR behind `requests.get` and `requests.post`, as the specification wants it."""
    made = Services()
    monkeypatch.setattr(requests, "get", made.get)
    monkeypatch.setattr(requests, "post", made.post)
    return made


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where the machine has one: for tests that change very many files."""
    if not Path("/dev/shm").is_dir():  # noqa: S108 - made with a name of its own
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="watchfolder-") as made:
        yield Path(made)


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory, services: Services) -> Place:
    """A place whose orchestrator has just started."""
    made = Place(tmp_path_factory.mktemp("place"), services)
    made.start()
    return made
