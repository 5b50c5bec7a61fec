"""Pages and disks that are lost: what can be saved is saved, and a backup brings back all that was acknowledged."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostinato._core.db import embedded
from ostinato._core.db.backup import take
from ostinato._core.db.backup.restore import restore_embedded
from ostinato._core.db.embedded import Server
from tests.faults.receiving import receiving, source_of
from tests.faults.replicas import copied, kill_server
from tests.faults.site import Site, say
from tests.waiting import until

pytestmark = pytest.mark.proof

PAGE = 8192
ALIVE: dict[str, Any] = {"beat_seconds": 1, "expiry_seconds": 60}


@pytest.fixture
def own(seed: Path) -> Iterator[Server]:
    with copied(seed) as server:
        yield server


def test_a_page_that_is_damaged_stops_only_the_jobs_that_are_on_it(own: Server, tmp_path: Path) -> None:
    """The checksum tells. With the page from a backup they run as if nothing had been."""
    with Site(own, own.urls(), tmp_path) as site:
        ids = site.enqueue("effect", 300)
        ((relation, block),) = site.rows(
            "select pg_relation_filepath(tableoid), (ctid::text::point)[0]::int from ostinato_data.job where id = %s",
            ids[150],
        )
        bad = [
            row[0]
            for row in site.rows(
                "select id from ostinato_data.job where (ctid::text::point)[0]::int = %s order by 1", block
            )
        ]
        site.leave()
        own.cluster.halt("fast")
        file = own.cluster.pgdata / relation
        page = write_page(file, block, b"\xa5" * PAGE)
        own.restart()
        crew = site.crew(**ALIVE)
        hand = crew.start()
        well = sorted(set(ids) - set(bad))
        until(lambda: site.ended() == len(well))
        site.until("select count(*) = %s from ostinato_data.quarantine", len(bad))

        site.check(well, well)
        assert hand.said("set_aside") == len(bad)
        assert "invalid page" in site.value("select min(damage) from ostinato_data.quarantine")

        site.leave()
        own.cluster.halt("fast")
        write_page(file, block, page)
        own.restart()
        for job_id in bad:
            site.rows("select ostinato.restore_job(%s)", job_id)
        site.until_idle()

        site.check(ids, ids)


def write_page(file: Path, block: int, page: bytes) -> bytes:
    """Write a page of a file; returns what was there."""
    with file.open("r+b") as opened:
        opened.seek(block * PAGE)
        before = opened.read(PAGE)
        opened.seek(block * PAGE)
        opened.write(page)
    return before


def test_a_lost_disk_is_restored_from_a_backup_and_the_log_with_all_that_was_acknowledged(
    own: Server, tmp_path: Path
) -> None:
    source = source_of(own)
    repository = asyncio.run(take.init(source, tmp_path / "repository"))
    with receiving(source, repository, synchronous=True), Site(own, own.urls(), tmp_path) as site:
        base = asyncio.run(take.take(source, repository))
        crew = site.crew(**ALIVE)
        site.ready(crew.start())
        ids = site.enqueue("effect", 30, seconds=0.2) + site.enqueue("slow_at_first", 3)
        until(lambda: site.ended() >= 10)
        kill_server(own)
        for hand in crew.hands:
            hand.kill()
        shutil.rmtree(own.cluster.pgdata)

    with tempfile.TemporaryDirectory(prefix="ostinato-restored-") as name:
        began = time.monotonic()
        restore_embedded(repository, base, Path(name), step=say)
        server = embedded.start(name)
        say(f"back in {time.monotonic() - began:.1f} s")
        try:
            check_restored(server, ids, tmp_path)
        finally:
            server.stop(force=True)


def check_restored(server: Server, ids: list[int], folder: Path) -> None:
    """All jobs are there, and what had not ended runs to its end."""
    site = Site(server, server.urls(), folder)
    there = {row[0] for row in site.rows("select id from ostinato_data.job")}
    with site.crew(**ALIVE) as crew:
        crew.start()
        site.until_idle()
    assert set(ids) <= there
    site.check(ids, ids)
    site.leave()
