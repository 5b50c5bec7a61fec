"""Pages and disks that are lost: what can be saved is saved, and a backup brings back all that was acknowledged."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ostinato._core.db import embedded
from ostinato._core.db.embedded import Server
from ostinato._core.db.superuser import password_file
from tests.faults.replicas import configure, connection_to, copied, kill_server
from tests.faults.site import Site, eventually

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
        eventually(lambda: site.ended() == len(well))
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


@contextmanager
def copying_log(server: Server, folder: Path) -> Iterator[None]:
    """A copy of the log on another disk, for which commits wait."""
    folder.mkdir()
    program = str(server.cluster.folder_of_binaries / "pg_receivewal")
    argv = [program, "--directory", str(folder), "--synchronous", f"--dbname={connection_to(server)}"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


def test_a_lost_disk_is_restored_from_a_backup_and_the_log_with_all_that_was_acknowledged(
    own: Server, tmp_path: Path
) -> None:
    backup, log = tmp_path / "backup", tmp_path / "log"
    password = password_file(own.cluster.data_dir).read_text()
    with copying_log(own, log), Site(own, own.urls(), tmp_path) as site:
        site.until("select exists (select from pg_stat_replication)")
        site.rows("alter system set synchronous_standby_names = 'pg_receivewal'")
        site.rows("select pg_reload_conf()")
        site.until("select sync_state = 'sync' from pg_stat_replication")
        program = str(own.cluster.folder_of_binaries / "pg_basebackup")
        subprocess.run(
            [program, "--pgdata", str(backup), "--checkpoint=fast", f"--dbname={connection_to(own)}"], check=True
        )
        crew = site.crew(**ALIVE)
        site.ready(crew.start())
        ids = site.enqueue("effect", 30, seconds=0.2) + site.enqueue("slow_at_first", 3)
        eventually(lambda: site.ended() >= 10)
        kill_server(own)
        for hand in crew.hands:
            hand.kill()
        owner = own.cluster.pgdata.stat()
        shutil.rmtree(own.cluster.pgdata)

    with tempfile.TemporaryDirectory(prefix="ostinato-restored-") as name:
        restore(Path(name), backup, log, owner)
        password_file(Path(name)).write_text(password)
        password_file(Path(name)).chmod(0o600)
        server = embedded.start(name)
        try:
            check_restored(server, ids, tmp_path)
        finally:
            server.stop(force=True)


def restore(folder: Path, backup: Path, log: Path, owner: os.stat_result) -> None:
    """What docs/operations.md says: the backup, then the log, of which the last part is not whole."""
    shutil.copytree(backup, folder / "postgres")
    shutil.copytree(log, folder / "log")
    (folder / "postgres").chmod(0o700)
    for part in (folder / "log").glob("*.partial"):
        part.rename(part.with_suffix(""))
    configure(folder / "postgres", restore_command=f"cp {folder}/log/%f %p", synchronous_standby_names="")
    (folder / "postgres" / "recovery.signal").touch()
    for found in [folder, *folder.rglob("*")]:
        os.chown(found, owner.st_uid, owner.st_gid)


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
