"""One real server for the fault tests, a fresh database for each, and no process that stays."""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from ostinato.db import embedded, migrate
from ostinato.db.embedded import Server
from ostinato.engine.schema import ENGINE
from tests.faults.site import Site

TEMPLATE = "faults_template"
HERE = Path(__file__).parent

_names = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All on one process: they take the machine's time from each other, and share a server."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("faults"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that may be crashed and frozen: it has to be the same again for the next test."""
    with embedded.start(tmp_path_factory.mktemp("faults")) as running:
        yield running


@pytest.fixture(scope="session")
def template(server: Server) -> str:
    urls = server.create_database(TEMPLATE)
    asyncio.run(migrate.migrate(urls.admin, [ENGINE]))
    with psycopg.connect(urls.admin, autocommit=True) as conn:
        conn.execute("select ostinato.upkeep_partitions(14)")
    return TEMPLATE


@pytest.fixture
def site(server: Server, template: str, tmp_path: Path) -> Iterator[Site]:
    name = f"faults_{next(_names)}"
    with Site(server, server.create_database(name, template=template), tmp_path) as made:
        yield made
    server.drop_database(name)
