"""A real server for the tests of `db`: one per test process, a fresh database per test."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ostinato._core.db import embedded
from ostinato._core.db.bundle import Component
from ostinato._core.db.embedded import Server, Urls
from tests.memory import folder_in_memory

_names = itertools.count(1)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with folder_in_memory(otherwise=tmp_path_factory.mktemp("server")) as folder, embedded.start(folder) as running:
        yield running


@pytest.fixture
def urls(server: Server) -> Iterator[Urls]:
    """The addresses of an empty database."""
    name = f"test_{next(_names)}"
    yield server.create_database(name)
    server.drop_database(name)


Make = Callable[..., Component]


@pytest.fixture
def component(tmp_path: Path) -> Make:
    """Makes a component from texts: steps of its tables, functions, views, grants."""

    def make(*steps: str, functions: str = "", views: str = "", grants: str = "", newline: str = "\n") -> Component:
        folder = tmp_path / f"component_{next(_names)}"
        texts = {f"tables/{n:04}_step.sql": text for n, text in enumerate(steps, 1)}
        texts |= {"functions/all.sql": functions, "views.sql": views, "grants.sql": grants}
        for name, text in texts.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.replace("\n", newline).encode())
        return Component("sample", folder)

    return make
