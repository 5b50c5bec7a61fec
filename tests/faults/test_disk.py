"""A disk that is full: work stops, nothing that was acknowledged is lost, and it goes on after."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from ostinato._core.db import embedded, migrate
from ostinato._core.db.embedded import Server
from ostinato._core.engine.schema import ENGINE
from tests.disk import fill, small_disk
from tests.faults.replicas import copied, copy
from tests.faults.site import Site
from tests.waiting import until

SIZE_MB = 360


@pytest.fixture
def disk() -> Iterator[Path]:
    with small_disk(SIZE_MB) as folder:
        yield folder


@pytest.fixture
def small(disk: Path) -> Iterator[Server]:
    server = embedded.start(disk / "data")
    yield server
    server.stop(force=True)


@pytest.mark.proof
def test_a_full_disk_of_the_log_crashes_the_server_and_loses_nothing(seed: Path, disk: Path, tmp_path: Path) -> None:
    """Without room for its log PostgreSQL can only stop; what it acknowledged is in the log already."""
    with copied(seed) as server, Site(server, server.urls(), tmp_path) as site:
        ids = site.enqueue("effect", 10)
        site.leave()
        server.cluster.halt("fast")
        log = server.cluster.pgdata / "pg_wal"
        copy(log, disk / "pg_wal")
        shutil.rmtree(log)
        log.symlink_to(disk / "pg_wal")
        server.restart()
        crew = site.crew(beat_seconds=1, expiry_seconds=60)
        site.ready(crew.start())
        filler = fill(disk)
        refused: list[psycopg.Error] = []

        def enqueue_until_refused() -> bool:
            try:
                ids.extend(site.enqueue("effect", 10))
                site.rows("select pg_switch_wal()")
            except psycopg.Error as error:
                refused.append(error)
            return bool(refused)

        until(enqueue_until_refused)
        filler.unlink()
        # It may be down, or try to come up without room: only a crash ends that for certain.
        server.restart("immediate")
        site.until("select true")
        ids.extend(site.enqueue("effect", 10))
        site.until_idle()

        effects = site.rows("select job_id, count(*) from effect group by 1")
        assert dict(effects).items() >= dict.fromkeys(ids, 1).items()
        assert {count for _, count in effects} == {1}
        site.check_fence()
        assert "PANIC" in server.log_path.read_text()


@pytest.mark.proof
def test_a_full_disk_stops_work_and_loses_nothing(small: Server, disk: Path, tmp_path: Path) -> None:
    urls = small.urls()
    asyncio.run(migrate.migrate(urls.admin, [ENGINE]))
    with Site(small, urls, tmp_path) as site:
        crew = site.crew()
        site.ready(crew.start())
        ids = site.enqueue("effect", 20)
        site.until_idle()
        filler = fill(disk)
        refused = False
        acknowledged: list[int] = []

        def enqueue_until_refused() -> bool:
            nonlocal refused
            try:
                acknowledged.extend(site.enqueue("effect", 200))
            except psycopg.Error:
                refused = True
            return refused

        until(enqueue_until_refused)
        filler.unlink()
        # The server may have given up altogether: then somebody has to start it again.
        small.restart()
        site.until("select true")
        acknowledged.extend(site.enqueue("effect", 20))
        site.until_idle()

        done = {row[0] for row in site.rows("select job_id from effect")}
        assert set(ids + acknowledged) <= done
        assert site.rows("select job_id from effect group by 1 having count(*) > 1") == []
        site.check_fence()
