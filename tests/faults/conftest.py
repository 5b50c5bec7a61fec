"""One real server for the fault tests, a fresh database for each, and no process that stays."""

import asyncio
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from ostinato._core.db import embedded, migrate
from ostinato._core.db.embedded import Server
from ostinato._core.engine.schema import ENGINE
from tests.faults.replicas import make_seed
from tests.faults.site import Site
from tests.tempfolder import of_run

TEMPLATE = "faults_template"

_names = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server that may be crashed and frozen: it has to be the same again for the next test."""
    with tempfile.TemporaryDirectory(prefix="faults-", dir=of_run()) as folder, embedded.start(folder) as running:
        yield running


@pytest.fixture(scope="session")
def template(server: Server) -> str:
    urls = server.create_database(TEMPLATE)
    asyncio.run(migrate.migrate(urls.admin, [ENGINE]))
    with psycopg.connect(urls.admin, autocommit=True) as conn:
        conn.execute("select ostinato.upkeep_partitions(14)")
    return TEMPLATE


@pytest.fixture(scope="session")
def seed() -> Iterator[Path]:
    """A stopped server to copy, for tests that lose a whole one."""
    with tempfile.TemporaryDirectory(prefix="ostinato-seed-") as name:
        make_seed(Path(name))
        yield Path(name)


@pytest.fixture
def site(server: Server, template: str, tmp_path: Path) -> Iterator[Site]:
    name = f"faults_{next(_names)}"
    # Not dropped: that takes longer than making it, and all of them go with the server.
    with Site(server, server.create_database(name, template=template), tmp_path) as made:
        yield made
