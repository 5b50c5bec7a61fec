"""`ostinato backup …` and `ostinato restore`, on a server of their own."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from ostinato._core.base.errors import NotConfigured
from ostinato._core.db import embedded
from ostinato._core.db.backup.programs import Source
from ostinato._core.db.cluster import Cluster
from ostinato._core.db.embedded import Server
from ostinato._core.engine.backups import BackupLine
from ostinato._core.engine.schema import install
from ostinato._faces.cli.operate.backup_checks import archived, backups
from tests.bucket import bucket_here
from tests.faces.conftest import Shell

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)
LINE = BackupLine("20261118T010000Z", "/mnt/backup", NOW - timedelta(hours=8), 2**30, NOW - timedelta(hours=7))


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Server]:
    with embedded.start(tmp_path / "data") as server:
        asyncio.run(install(server.owner_url))
        yield server


@pytest.mark.slow
@pytest.mark.usefixtures("own")
def test_the_way_from_a_first_backup_to_a_restore(tmp_path: Path) -> None:
    folder, data = tmp_path / "repository", str(tmp_path / "data")
    shell = Shell({"OSTINATO_BACKUP_DIR": str(folder)})
    here = ("--data-dir", data)

    assert "is no repository of backups" in shell.fails("backup", "run", *here)
    made = shell.run("backup", "init", *here)
    assert f"go to {folder}" in made.stdout
    assert "disk of the database too" in made.stderr
    assert "No base backup is there yet" in shell("backup", "list", *here)

    taken = shell.json("backup", "run", *here)
    assert taken["verified"]
    first = taken["label"]
    (found,) = [each for each in shell.json("doctor", *here, code=1)["findings"] if each["check"] == "backup"]
    assert (found["level"], found["values"]["label"]) == ("ok", first)

    second = shell.json("backup", "run", "--no-verify", *here)["label"]
    lines = shell("backup", "list", *here).splitlines()
    assert max(len(line) for line in lines) <= 80
    assert [line.split()[0] for line in lines if "2026" in line or "Z " in line] == [second, first]
    assert "is good" in shell("backup", "verify", *here)
    assert "no base backup nothing" in shell.fails("backup", "verify", "--label", "nothing", *here)

    assert "Nobody is there to answer" in shell.fails("backup", "prune", "--keep", "1", *here)
    assert "Would be deleted: 1 base backup" in shell("backup", "prune", "--keep", "1", "--preview", *here)
    assert "Deleted: 1 base backup" in shell("backup", "prune", "--keep", "1", "--yes", *here)

    assert "has a database already" in shell.fails("restore", *here)
    back = shell.run("restore", "--data-dir", str(tmp_path / "back"), "--json")
    assert json.loads(back.stdout)["base"] == second
    assert "The key of secrets is not in a backup" in back.stderr
    report = shell.json("doctor", "--data-dir", str(tmp_path / "back"), code=1)["findings"]
    there = {each["check"]: each for each in report}
    assert there["database"]["level"] == "ok"
    assert "of before the last restore" in there["backup"]["message"]  # the one that it was restored from


@pytest.mark.slow
def test_a_backup_goes_to_an_object_store_and_a_server_comes_back_from_it(own: Server, tmp_path: Path) -> None:
    with psycopg.connect(own.admin_url, autocommit=True) as conn:
        conn.execute("create table kept as select 7 as n")
    here = ("--data-dir", str(tmp_path / "data"), "--repository", str(tmp_path / "repository"))
    with bucket_here() as bucket:
        shell = Shell({})
        shell.run("backup", "init", str(tmp_path / "repository"), *here[:2])
        label = shell.json("backup", "run", *here)["label"]
        sent = shell.json("backup", "copy", "s3://bucket/site", *here)
        assert sent["files"] == len(bucket.objects) - 1  # and the index of all
        assert shell.json("backup", "copy", "s3://bucket/site", *here)["files"] == 0

        (one,) = [key for key in bucket.objects if key.endswith("/PG_VERSION") and key.count("/") == 5]
        whole, bucket.objects[one] = bucket.objects[one], b"99"
        fetched = ("--repository", str(tmp_path / "fetched"))
        assert "is not as it was sent" in shell.fails("backup", "fetch", "s3://bucket/site", *fetched)
        bucket.objects[one] = whole
        assert "Fetched" in shell("backup", "fetch", "s3://bucket/site", *fetched)
    back = shell.json("restore", *fetched, "--data-dir", str(tmp_path / "back"))
    assert (back["base"], back["recovered"]) == (label, True)
    with embedded.start(tmp_path / "back") as server:
        assert asked(server, "select n from kept") == "7"


@pytest.mark.slow
def test_the_log_is_received_until_the_command_is_stopped_and_commits_go_on_then(own: Server, tmp_path: Path) -> None:
    here = ("--data-dir", str(tmp_path / "data"), "--repository", str(tmp_path / "repository"))
    Shell({}).run("backup", "init", str(tmp_path / "repository"), *here[:2])
    command = [sys.executable, "-m", "ostinato", "backup", "stream", "--synchronous", "--json", *here]

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        waits_for = asked(own, "show synchronous_standby_names")
        process.terminate()

    assert (said["event"], said["synchronous"], said["timeline"]) == ("receiving", True, 1)
    assert waits_for.startswith("ostinato_backup_")
    assert process.returncode == 128 + signal.SIGTERM
    assert asked(own, "show synchronous_standby_names") == ""


@pytest.mark.slow
def test_the_next_receiver_takes_the_place_of_one_that_was_killed(own: Server, tmp_path: Path) -> None:
    """`kill -9` ends our process alone: pg_receivewal, which it started, reads on."""
    here = ("--data-dir", str(tmp_path / "data"), "--repository", str(tmp_path / "repository"))
    Shell({}).run("backup", "init", str(tmp_path / "repository"), *here[:2])
    command = [sys.executable, "-m", "ostinato", "backup", "stream", "--synchronous", "--json", *here]
    readers = "select string_agg(pid::text, ' ') from pg_stat_replication"

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        assert json.loads(killed.stdout.readline())["event"] == "receiving"
        killed.kill()
    left = asked(own, readers)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["event"] == "receiving"
        now = asked(own, readers)
        process.terminate()

    assert left.isdigit()
    assert now.isdigit()
    assert now != left


def asked(server: Server, statement: str) -> str:
    with psycopg.connect(server.urls().admin, autocommit=True) as conn:
        ((value,),) = conn.execute(statement.encode()).fetchall()
    return str(value)


@pytest.mark.slow
def test_a_standby_is_made_promoted_and_the_old_server_rejoins(own: Server, tmp_path: Path) -> None:
    shell, old, new = Shell({}), tmp_path / "data", tmp_path / "second"

    made = shell.run("standby", "create", str(new), "--data-dir", str(old))
    assert "follows the server; commits wait for it" in made.stdout
    assert "two servers would take commits" in shell.fails("standby", "promote", str(new))
    own.cluster.halt("immediate")
    assert "is the server now" in shell("standby", "promote", str(new))
    joined = shell.json("standby", "rejoin", str(old), "--asynchronous", "--data-dir", str(new))
    assert (joined["started"], joined["synchronous"]) == (True, False)
    assert shell.run("doctor", "--json", "--data-dir", str(new), code=1).stdout.count('"replication"') == 1

    assert Cluster.at(new).pid() is None  # the last command that used it has stopped it, as ever
    own.cluster.halt("immediate")


def test_no_password_stands_on_the_command_line_of_a_program() -> None:
    plain = Source("postgresql://ann:sesame@db/app", Path("bin"), 18, embedded=False)
    sealed = Source("postgresql://ann@db/app?sslkey=k&sslpassword=sesame", Path("bin"), 18, embedded=False)

    assert "sesame" not in plain.conninfo("backup")
    assert plain.environment()["PGPASSWORD"] == "sesame"
    with pytest.raises(NotConfigured) as refused:
        sealed.conninfo("backup")
    assert "sesame" not in str(refused.value)


def test_what_is_missing_is_said_with_the_remedy(tmp_path: Path, shell: Shell) -> None:
    assert "set OSTINATO_BACKUP_DIR" in shell.fails("backup", "run", code=2)
    (tmp_path / "file").touch()
    assert "has files in it" in shell.fails("backup", "init", str(tmp_path))
    weak = shell.run(
        "backup", "init", str(tmp_path / "r"), code=1, env={"OSTINATO_BACKUP_URL": shell.env["OSTINATO_DATABASE_URL"]}
    )
    assert "alter role ostinato_worker replication" in " ".join(weak.stderr.split())


@pytest.mark.parametrize(
    ("level", "found"),
    [
        ("warn", []),
        ("warn", [BackupLine("b", "/r", NOW, 1, None)]),
        ("ok", [LINE]),
        ("ok", [BackupLine("b", "/r", NOW, 1, None), LINE]),
        ("warn", [BackupLine("b", "/r", NOW - timedelta(days=3), 1, NOW)]),
    ],
)
def test_the_doctor_warns_of_a_last_verified_backup_that_is_old(level: str, found: list[BackupLine]) -> None:
    finding = backups(found, NOW)

    assert finding.level == level
    assert finding.hint is None if level == "ok" else "ostinato backup" in str(finding.hint)


def test_the_doctor_warns_of_a_backup_that_the_log_of_the_server_does_not_continue() -> None:
    """After a restore or a failover the server is on another timeline."""
    first = replace(LINE, timeline=1)

    assert backups([first], NOW, timeline=1).level == "ok"
    finding = backups([first], NOW, timeline=2)
    assert finding.level == "warn"
    assert "ostinato backup run" in str(finding.hint)
    assert backups([first, replace(LINE, taken_at=NOW, timeline=2)], NOW, timeline=2).level == "ok"


def test_the_doctor_warns_of_weeks_that_wait_for_the_archive() -> None:
    assert archived("/mnt/archive", []).level == "ok"
    finding = archived("/mnt/archive", ["job_20260108", "outcome_20260108"])
    assert finding.level == "warn"
    assert "2 weeks past retention" in finding.message
    assert "ostinato archive run" in str(finding.hint)
