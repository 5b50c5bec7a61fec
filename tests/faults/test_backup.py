"""Backups of the whole server: nothing that was acknowledged is lost with the disk, and damage is found."""

import asyncio
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from ostinato._core.base.enderrors import BackupFailed
from ostinato._core.base.errors import Conflict, EmbeddedError, NotFound
from ostinato._core.db import embedded
from ostinato._core.db.backup import restore as restores
from ostinato._core.db.backup import server as servers
from ostinato._core.db.backup import stream, take
from ostinato._core.db.backup import verify as verifying
from ostinato._core.db.backup.repository import Base, Repository
from ostinato._core.db.backup.restore import restore_embedded, restore_folder
from ostinato._core.db.backup.verify import check_manifest
from ostinato._core.db.cluster import Cluster
from ostinato._core.db.embedded import Server
from tests.disk import small_disk
from tests.faults.receiving import receiving, source_of
from tests.faults.replicas import copied, kill_server
from tests.faults.site import say
from tests.needs import needs
from tests.waiting import until

ENQUEUE = "select ostinato.enqueue_job('faults.effect')"
LOAD_THREADS = 4
OLDEST = Path("/usr/lib/postgresql/15/bin")
ACKNOWLEDGED = 200
SMALL_MB = 8


@pytest.fixture
def own(seed: Path) -> Iterator[Server]:
    with copied(seed) as server:
        yield server


@pytest.fixture
def repository(own: Server, tmp_path: Path) -> Repository:
    return asyncio.run(take.init(source_of(own), tmp_path / "repository"))


def base_of(own: Server, repository: Repository) -> Base:
    return asyncio.run(take.take(source_of(own), repository))


def enqueue(own: Server) -> int:
    with psycopg.connect(own.urls().worker, autocommit=True) as conn:
        ((job_id,),) = conn.execute(ENQUEUE).fetchall()
    return int(job_id)


def jobs_in(server: Server) -> set[int]:
    with psycopg.connect(server.urls().admin, autocommit=True) as conn:
        return {row[0] for row in conn.execute("select id from ostinato_data.job").fetchall()}


def clock(own: Server) -> datetime:
    with psycopg.connect(own.urls().admin, autocommit=True) as conn:
        ((now,),) = conn.execute("select clock_timestamp()").fetchall()
    assert isinstance(now, datetime)
    return now


class Load:
    """Threads that add jobs, and remember those that the server has acknowledged."""

    def __init__(self, server: Server) -> None:
        self._url = server.urls().worker
        self.acknowledged: list[int] = []
        self._threads = [threading.Thread(target=self._run) for _ in range(LOAD_THREADS)]
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        with suppress(psycopg.OperationalError), psycopg.connect(self._url, autocommit=True) as conn:
            while True:
                ((job_id,),) = conn.execute(ENQUEUE).fetchall()
                self.acknowledged.append(int(job_id))

    def join(self) -> None:
        for thread in self._threads:
            thread.join()


@pytest.mark.slow
def test_the_loss_of_the_disk_under_load_loses_no_job_that_was_acknowledged(
    own: Server, repository: Repository, tmp_path: Path
) -> None:
    source = source_of(own)
    with receiving(source, repository, synchronous=True):
        base = base_of(own, repository)
        load = Load(own)
        until(lambda: len(load.acknowledged) >= ACKNOWLEDGED)
        kill_server(own)
        shutil.rmtree(own.cluster.pgdata)
        load.join()

    began = time.monotonic()
    restored = restore_embedded(repository, base, tmp_path / "restored", step=say)
    with embedded.start(tmp_path / "restored") as server:
        say(f"{len(load.acknowledged)} acknowledged; back in {time.monotonic() - began:.1f} s, {restored}")
        there = jobs_in(server)

        assert set(load.acknowledged) - there == set()
        assert len(there) <= len(load.acknowledged) + LOAD_THREADS
        assert restored.last_commit is not None
        with psycopg.connect(server.urls().admin, autocommit=True) as conn:
            # What it inherited: it must not wait for the copy that its original had.
            assert conn.execute("show synchronous_standby_names").fetchone() == ("",)
            assert conn.execute("select pg_is_in_recovery()").fetchone() == (False,)
        enqueue(server)


@pytest.mark.proof
def test_a_base_backup_that_was_taken_first_is_continued_by_the_log(
    own: Server, repository: Repository, tmp_path: Path
) -> None:
    """The backup has the log up to its own end; receiving began after that."""
    source = source_of(own)
    base = base_of(own, repository)
    with receiving(source, repository, synchronous=True) as warned:
        kept = enqueue(own)
    assert warned == []

    found = asyncio.run(verifying.verify(repository, base, source.programs))
    assert found.segments > 0
    restored = restore_embedded(repository, base, tmp_path / "restored", step=say)
    assert restored.missing is None
    with embedded.start(tmp_path / "restored") as server:
        assert kept in jobs_in(server)


@pytest.mark.proof
def test_log_that_no_base_backup_precedes_is_warned_of_and_said_to_be_missing(
    own: Server, repository: Repository, tmp_path: Path
) -> None:
    """A restored server begins a timeline of its own, whose log no older base backup can use."""
    with receiving(source_of(own), repository) as warned:
        base = base_of(own, repository)
    assert "ostinato backup run" in warned[0]
    assert restore_embedded(repository, base, tmp_path / "second", step=say).missing is None

    with embedded.start(tmp_path / "second") as second:
        with receiving(source_of(second), repository) as warned:
            enqueue(second)
        assert "ostinato backup run" in warned[0]
        again = restore_embedded(repository, repository.base(), tmp_path / "third", step=say)
        assert "timeline 2" in str(again.missing)

        newer = base_of(second, repository)
        with receiving(source_of(second), repository) as warned:
            enqueue(second)
        assert warned == []
    assert newer.timeline == 2
    assert restore_embedded(repository, newer, tmp_path / "fourth", step=say).missing is None


def test_a_restore_to_a_time_has_what_was_committed_until_then_and_no_more(
    own: Server, repository: Repository, tmp_path: Path
) -> None:
    with receiving(source_of(own), repository, synchronous=True):
        before_all = clock(own)
        base_of(own, repository)
        kept = enqueue(own)
        at = clock(own)
        gone = enqueue(own)

    with pytest.raises(NotFound, match="no base backup that had ended at"):
        repository.base(at=before_all)
    restore_embedded(repository, repository.base(at=at), tmp_path / "restored", at, step=say)
    with embedded.start(tmp_path / "restored") as server:
        there = jobs_in(server)

    assert kept in there
    assert gone not in there


@pytest.mark.slow
def test_a_time_after_the_end_of_the_log_is_refused_and_leaves_nothing(
    own: Server, repository: Repository, tmp_path: Path
) -> None:
    base = base_of(own, repository)

    with pytest.raises(BackupFailed, match="the log ends before"):
        restore_embedded(repository, base, tmp_path / "restored", clock(own), step=say)

    assert [path.name for path in (tmp_path / "restored").iterdir()] == ["lock"]


def test_nothing_is_restored_over_a_database(own: Server, repository: Repository) -> None:
    base = base_of(own, repository)

    with pytest.raises(Conflict, match="has a database already"):
        restore_embedded(repository, base, own.cluster.data_dir, step=say)


def test_a_restore_without_room_says_how_much_is_needed_and_leaves_none_taken(
    own: Server, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = base_of(own, repository)

    with small_disk(SMALL_MB) as disk:
        for place in (disk / "data", disk / "own"):
            restored = restore_embedded if place.name == "data" else restore_folder
            with pytest.raises(BackupFailed, match=r"MB free, and .* MB are to be restored"):
                restored(repository, base, place)
            with monkeypatch.context() as patched:  # it became full meanwhile
                patched.setattr(restores, "_check_room", lambda *_: None)
                with pytest.raises(BackupFailed, match="No space left on device"):
                    restored(repository, base, place)
            assert {path.name for path in place.iterdir()} <= {"lock"}

    restore_folder(repository, base, tmp_path / "own")


def test_a_restore_takes_the_place_of_one_that_was_killed_and_not_of_one_that_goes_on(
    own: Server, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, folder = base_of(own, repository), tmp_path / "restored"
    replaying = Cluster.at(folder / "restoring")  # as one that was killed while it replayed leaves its server
    replaying.init()
    replaying.configure()
    replaying.launch()
    left = replaying.pid()
    assert left is not None

    monkeypatch.setattr(restores, "LOCK_SECONDS", 0.0)
    with embedded.locked(folder), pytest.raises(EmbeddedError, match="or restoring the server in"):
        restore_embedded(repository, base, folder, step=say)
    assert psutil.pid_exists(left)

    restore_embedded(repository, base, folder, step=say)
    until(lambda: not psutil.pid_exists(left) or psutil.Process(left).status() == psutil.STATUS_ZOMBIE)
    with embedded.start(folder) as server:
        enqueue(server)


def test_what_is_not_ours_in_a_repository_is_passed_over_and_what_is_damaged_is_named(
    own: Server, repository: Repository
) -> None:
    base = base_of(own, repository)
    (repository.folder / "log" / "lost+found").mkdir()
    (repository.folder / "log" / "notes").write_text("mine")
    assert take.prune(repository, 1) == ([], [])
    assert repository.log_without_base() is None

    (repository.files(base) / "backup_manifest").write_text("{}")
    with pytest.raises(BackupFailed, match=f"manifest of {base.label} cannot be read"):
        asyncio.run(verifying.verify(repository, base, None))
    assert not repository.base().verified
    for text in ("", "[]", '{"format": 1}'):
        (repository.folder / "repository.json").write_text(text)
        with pytest.raises(BackupFailed, match=r"repository\.json cannot be read"):
            Repository.open(repository.folder)


def test_commits_wait_for_a_receiver_that_was_killed_and_go_on_when_it_is_back(
    own: Server, repository: Repository
) -> None:
    """Killed is not stopped: what cannot be copied is not acknowledged."""
    source = source_of(own)
    with psycopg.connect(own.urls().admin, autocommit=True) as conn:
        conn.execute("set synchronous_commit = local")
        with receiving(source, repository, synchronous=True):
            assert conn.execute("show synchronous_standby_names").fetchone() == (repository.about.slot,)
        assert conn.execute("show synchronous_standby_names").fetchone() == ("",)
        enqueue(own)  # it was stopped in order: nothing waits

        with receiving(source, repository, synchronous=True):
            pass
        conn.execute(f"alter system set synchronous_standby_names = '{repository.about.slot}'".encode())
        conn.execute("select pg_reload_conf()")
        conn.execute("checkpoint")
        acknowledged: list[int] = []
        adding = threading.Thread(target=lambda: acknowledged.append(enqueue(own)))
        adding.start()
        until(lambda: conn.execute("select from pg_stat_activity where wait_event = 'SyncRep'").fetchone() is not None)
        assert acknowledged == []
        with receiving(source, repository, synchronous=True):
            adding.join()
    assert len(acknowledged) == 1


def test_a_second_receiver_and_another_server_are_refused(own: Server, repository: Repository) -> None:
    source = source_of(own)
    with (
        receiving(source, repository),
        pytest.raises(Conflict, match="is being received already"),
        receiving(source, repository),
    ):
        pass

    stranger = Repository(repository.folder, type(repository.about)("1", 18, 2**24, "slot", embedded=True))
    with pytest.raises(Conflict, match="of another server"):
        asyncio.run(take.take(source, stranger))
    with repository.locked(), pytest.raises(Conflict, match="another process"):
        base_of(own, repository)


@pytest.mark.proof
def test_a_connection_that_breaks_is_made_anew_and_that_is_said(own: Server, repository: Repository) -> None:
    """Its own, and all of them, for as long as the server is away."""
    with receiving(source_of(own), repository, synchronous=True) as warned:
        enqueue(own)
        before = len(warned)
        cut(own)
        until(lambda: len(warned) > before)
        assert "is tried again in" in warned[before]
        enqueue(own)  # returns once it is received again

        kill_server(own)
        before = len(warned)
        until(lambda: len(warned) > before + 1)
        own.revive()
        enqueue(own)
        with psycopg.connect(own.urls().admin, autocommit=True) as conn:
            waits = conn.execute("select application_name from pg_stat_replication where sync_state = 'sync'")
            assert waits.fetchall() == [(repository.about.slot,)]


def cut(server: Server) -> None:
    with psycopg.connect(server.urls().admin, autocommit=True) as conn:
        conn.execute("select pg_terminate_backend(pid) from pg_stat_replication")


def drop_slots(server: Server) -> None:
    """Drop every slot, as somebody does who finds the disk full."""

    def gone() -> bool:
        cut(server)
        with psycopg.connect(server.urls().admin, autocommit=True) as conn:
            conn.execute("select pg_drop_replication_slot(slot_name) from pg_replication_slots where not active")
            return conn.execute("select from pg_replication_slots").fetchone() is None

    until(gone)


@pytest.mark.slow
def test_a_slot_that_is_gone_ends_the_stream_with_what_to_do(own: Server, repository: Repository) -> None:
    source = source_of(own)
    with pytest.raises(NotFound, match=f"slot {repository.about.slot} is gone") as told:
        asyncio.run(stream.receive(source, repository, ready=lambda _: drop_slots(own)))

    assert "ostinato backup run" in str(told.value.hint)
    with receiving(source, repository) as warned:  # as it says
        assert "Take a base backup now" in warned[0]


@pytest.mark.proof
def test_log_that_the_server_no_longer_has_ends_the_stream_with_what_to_do(
    own: Server, repository: Repository, tmp_path: Path
) -> None:
    source = source_of(own)
    with receiving(source, repository):
        enqueue(own)
    drop_slots(own)
    with psycopg.connect(own.urls().admin, autocommit=True) as conn:
        for _ in range(5):
            conn.execute(ENQUEUE)
            conn.execute("select pg_switch_wal()")
            conn.execute("checkpoint")

    with pytest.raises(Conflict, match="the log has a gap") as told:
        asyncio.run(stream.receive(source, repository))

    folder = repository.log_folder(1)
    assert f"Move {folder} out of the repository" in str(told.value.hint)
    folder.rename(tmp_path / "before")
    with receiving(source, repository):
        base = base_of(own, repository)
    assert repository.log_after(base).gap is None


def test_damage_to_a_file_a_segment_or_the_order_of_the_log_is_found(own: Server, repository: Repository) -> None:
    source = source_of(own)
    with receiving(source, repository):
        base = base_of(own, repository)
        for _ in range(3):
            with psycopg.connect(own.urls().admin, autocommit=True) as conn:
                conn.execute(ENQUEUE)
                ((name,),) = conn.execute("select pg_walfile_name(pg_switch_wal())").fetchall()
            until((repository.log_folder(1) / name).exists)
    tools = source.programs

    found = asyncio.run(verifying.verify(repository, base, tools))
    assert (found.base.verified, found.log_by, found.segments >= 3) == (True, "pg_waldump", True)
    assert repository.base().verified

    first, second = repository.log_after(base).segments[:2]
    content = second.read_bytes()
    second.write_bytes(b"\xff" * 4096 + content[4096:])
    with pytest.raises(BackupFailed, match="pg_waldump failed"):
        asyncio.run(verifying.verify(repository, base, tools))
    second.write_bytes(content[:-1])
    with pytest.raises(BackupFailed, match="bytes instead of"):
        asyncio.run(verifying.verify(repository, base, tools))
    second.unlink()
    with pytest.raises(BackupFailed, match=f"a gap: {second.name}"):
        asyncio.run(verifying.verify(repository, base, tools))
    assert first.exists()
    assert not repository.base().verified

    page = next(repository.files(base).glob("base/*/1259"))
    content = page.read_bytes()
    page.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    with pytest.raises(BackupFailed, match=r"1 of \d+ files"):
        check_manifest(repository.files(base))


@pytest.mark.slow
def test_pruning_keeps_the_newest_and_the_newest_that_was_verified(own: Server, repository: Repository) -> None:
    source = source_of(own)
    with receiving(source, repository):
        made = [base_of(own, repository) for _ in range(4)]
    asyncio.run(verifying.verify(repository, made[1], source.programs))

    gone, _ = take.prune(repository, 1, preview=True)
    assert [base.label for base in gone] == [made[2].label, made[0].label]
    assert len(repository.bases()) == 4
    take.prune(repository, 1)
    assert [base.label for base in repository.bases()] == [made[3].label, made[1].label]
    log = repository.log_after(made[1])
    assert log.gap is None
    assert log.segments
    assert not [path for path in repository.log_folder(1).iterdir() if path.name < log.segments[0].name]


@pytest.mark.slow
def test_a_backup_that_was_killed_half_way_counts_for_nothing_and_is_swept(own: Server, repository: Repository) -> None:
    half = repository.folder / "base" / ".20200101T000000Z.new"
    half.mkdir()
    unnamed = repository.folder / "base" / "20200101T000000Z"
    unnamed.mkdir()

    assert repository.bases() == []
    base = base_of(own, repository)

    assert [path.name for path in sorted((repository.folder / "base").iterdir())] == [base.label, f"{base.label}.json"]


@pytest.mark.proof
@needs("postgresql-15", here=(OLDEST / "postgres").exists(), reason="PostgreSQL 15 is not installed")
def test_a_server_of_ones_own_is_copied_with_the_programs_of_its_version(tmp_path: Path) -> None:
    """It is laid out in a folder, and recovers when its owner starts it."""
    with embedded.start(tmp_path / "own", binaries=OLDEST) as own:
        source = asyncio.run(servers.source(own.admin_url))
        assert (source.programs, source.embedded) == (OLDEST, False)
        repository = asyncio.run(take.init(source, tmp_path / "repository"))
        with receiving(source, repository, synchronous=True):
            base = asyncio.run(take.take(source, repository))
            with psycopg.connect(own.admin_url, autocommit=True) as conn:
                conn.execute("create table kept as select 7 as n")
        found = asyncio.run(verifying.verify(repository, base, verifying.programs_of(15)))
        assert (found.files_by, found.log_by) == ("pg_verifybackup", "pg_waldump")

    restored = tmp_path / "restored"
    done = restore_folder(repository, base, restored / "postgres")
    assert not done.recovered
    with pytest.raises(Conflict, match="is not empty"):
        restore_folder(repository, base, restored / "postgres")
    shutil.copy2(tmp_path / "own" / "superuser.pgpass", restored)
    owner = (tmp_path / "own" / "postgres").stat()
    for path in [restored, *restored.rglob("*")]:
        os.chown(path, owner.st_uid, owner.st_gid)
    with embedded.start(restored, binaries=OLDEST) as server, psycopg.connect(server.admin_url) as conn:
        until(lambda: conn.execute("select not pg_is_in_recovery()").fetchone() == (True,))
        assert conn.execute("select n from kept").fetchone() == (7,)
