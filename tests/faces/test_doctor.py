"""`ostinato doctor`: what it looks at, and what it thinks of it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ostinato._core.base.errors import DatabaseUnavailable, NotConfigured
from ostinato._core.engine.machines import Gap
from ostinato._core.runtime.installed import installed_apps
from ostinato._faces.cli.operate import checks
from ostinato._faces.cli.operate.checks import Finding
from tests.faces.conftest import Place, Shell

SERVER = {
    "version_num": 180_004,
    "version": "18.4",
    "standby": False,
    "database": "app",
    "role": "ostinato_worker",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
}
COPIED = {"waits_for": "ANY 1 (*)", "standbys": 1, "waiting": 0}
SLOT = {"slot": "second", "status": "extended", "bytes": 2**31}
DURABLE = ("fsync", "full_page_writes")
ROLES = [
    {"name": name, "superuser": False, "bypasses_rls": False}
    for name in ("ostinato_owner", "ostinato_tenant", "ostinato_worker", "ostinato_api")
]


@pytest.fixture
def _durable(place: Place) -> Iterator[None]:
    """The server of the tests is quick and forgets in a crash; here it is as it should be."""
    before = {name: str(place.call(f"current_setting('{name}')")) for name in DURABLE}
    set_all(place, dict.fromkeys(DURABLE, "on"))
    yield
    set_all(place, before)


def set_all(place: Place, wanted: dict[str, str]) -> None:
    for name, value in wanted.items():
        place.conn.execute(f"alter system set {name} = {value}".encode())
    place.call("pg_reload_conf()")
    for name, value in wanted.items():
        while True:  # until the server has read them: a new session has what it knows
            with psycopg.connect(place.urls.admin) as conn:
                if conn.execute("select current_setting(%s)", [name]).fetchone() == (value,):
                    break


def findings(shell: Shell, *args: str, code: int = 0) -> dict[str, dict[str, Any]]:
    """What the doctor found, but for what the applications say for themselves."""
    found = shell.json("doctor", *args, code=code)["findings"]
    names = {app.name for app in installed_apps()}
    return {each["check"]: each for each in found if each["check"] not in names}


@pytest.mark.usefixtures("_durable")
def test_a_healthy_database_passes_with_every_check_made(shell: Shell, place: Place) -> None:
    place.worker()
    place.call("count(*) from ostinato.upkeep_partitions(14)")
    place.call("ostinato.record_backup('a', '/mnt/backup', ostinato.now(), 1, true)")

    found = findings(shell)

    assert {check: each["level"] for check, each in found.items()} == dict.fromkeys(
        [
            "program",
            "database",
            "durability",
            "replication",
            "slots",
            "roles",
            "API login",
            "connection",
            "encryption",
            "connections",
            "clock",
            "time zones",
            "schema",
            "contract",
            "row security",
            "machines",
            "partitions",
            "workers",
            "backlog",
            "quarantine",
            "polls",
            "kinds",
            "dead letters",
            "transactions",
            "backup",
            "secrets",
        ],
        "ok",
    )


@pytest.mark.usefixtures("_durable")
def test_the_applications_say_what_they_lack_here(shell: Shell) -> None:
    found = shell.run("doctor", "--json", env={"OSTINATO_CAPTURE_FOLDER": "nowhere"}).stdout
    said = [each for each in json.loads(found)["findings"] if each["check"] == "capture"]

    assert {each["level"] for each in said} == {"warn"}
    assert any("nowhere" in each["message"] for each in said)
    assert all(each["hint"] for each in said)


@pytest.mark.usefixtures("_durable")
def test_what_to_look_at_is_a_warning_with_a_remedy(shell: Shell, place: Place) -> None:
    place.bury()
    place.conn.execute("delete from ostinato_data.worker")

    found = findings(shell)
    said = shell("doctor")

    assert found["workers"]["level"] == "warn"
    assert found["dead letters"]["values"] == {"count": 1}
    assert "→ ostinato jobs dead" in said
    assert "→ ostinato worker --app package.module:app" in said


def test_a_worker_that_connects_as_a_superuser_is_a_failure(shell: Shell, place: Place) -> None:
    strong = Shell(shell.env | {"OSTINATO_DATABASE_URL": place.urls.admin})

    found = findings(strong, code=1)

    assert found["roles"]["level"] == "fail"
    assert "use a URL with ostinato_worker" in found["roles"]["hint"]


@pytest.mark.usefixtures("_durable")
def test_an_api_that_logs_in_as_a_worker_is_warned_of(shell: Shell) -> None:
    old = Shell(shell.env | {"OSTINATO_API_DATABASE_URL": ""})

    found = findings(old)

    assert found["API login"]["level"] == "warn"
    assert "OSTINATO_API_DATABASE_URL" in found["API login"]["hint"]


@pytest.mark.usefixtures("_durable")
@pytest.mark.parametrize("name", ["OSTINATO_READ_URL", "OSTINATO_BACKUP_URL"])
def test_a_copy_that_is_reached_without_tls_is_warned_of(shell: Shell, name: str) -> None:
    found = findings(Shell(shell.env | {name: "postgresql://ada@db.example.com/app?sslmode=prefer"}))

    assert found["encryption"]["level"] == "warn"
    assert found["encryption"]["message"].startswith(f"{name} does not require TLS to db.example.com")


@pytest.mark.usefixtures("_durable")
def test_a_broker_that_does_not_answer_is_a_failure_without_its_password(shell: Shell) -> None:
    configured = Shell(shell.env | {"OSTINATO_NATS_URL": "nats://jane:hunter2@127.0.0.1:1"})

    found = findings(configured, code=1)

    assert found["nats"]["level"] == "fail"
    assert "nats at 127.0.0.1:1 does not answer" in found["nats"]["message"]
    assert "hunter2" not in json.dumps(found)
    assert "rabbitmq" not in found


def test_a_table_without_forced_row_security_is_a_failure(shell: Shell, place: Place) -> None:
    place.conn.execute("alter table ostinato_data.job no force row level security")
    try:
        found = findings(shell, code=1)
    finally:
        place.conn.execute("alter table ostinato_data.job force row level security")

    assert found["row security"]["values"] == {"tables": ["job"]}


def test_a_schema_that_is_missing_ends_the_examination(shell: Shell, place: Place) -> None:
    elsewhere = {name: url.replace("/faces?", "/postgres?") for name, url in shell.env.items()} | {
        "OSTINATO_DATABASE_URL": place.urls.admin.replace("/faces?", "/postgres?")
    }

    found = findings(Shell(elsewhere), code=1)

    assert found["contract"]["level"] == "fail"
    assert "workers" not in found


def test_a_database_that_does_not_answer_is_a_failure_not_a_crash() -> None:
    shell = Shell({"OSTINATO_DATABASE_URL": "postgresql://127.0.0.1:1/app"})

    assert list(findings(shell, code=1)) == ["program", "database"]


def test_a_folder_without_a_database_is_a_failure(tmp_path: Path) -> None:
    found = findings(Shell({}), "--data-dir", str(tmp_path / "none"), code=1)

    assert "ostinato up" in found["database"]["hint"]


def test_doctor_takes_no_argument(shell: Shell) -> None:
    shell.fails("doctor", "everything", code=2)


JUDGEMENTS: list[tuple[str, Callable[[], Finding]]] = [
    ("ok", lambda: checks.program("1.0", "3.11", "3.2")),
    ("ok", lambda: checks.version(SERVER)),
    ("ok", lambda: checks.version(SERVER | {"version_num": 150_000})),
    ("fail", lambda: checks.version(SERVER | {"version_num": 140_012})),
    ("warn", lambda: checks.version(SERVER | {"version_num": 190_000})),
    ("fail", lambda: checks.version(SERVER | {"standby": True})),
    ("ok", lambda: checks.durability(SERVER | {"synchronous_commit": "remote_apply"})),
    ("fail", lambda: checks.durability(SERVER | {"fsync": "off"})),
    ("fail", lambda: checks.durability(SERVER | {"full_page_writes": "off"})),
    ("fail", lambda: checks.durability(SERVER | {"synchronous_commit": "off"})),
    ("ok", lambda: checks.replication(COPIED | {"standbys": 0, "waits_for": ""})),
    ("ok", lambda: checks.replication(COPIED)),
    ("warn", lambda: checks.replication(COPIED | {"waits_for": ""})),
    ("fail", lambda: checks.replication(COPIED | {"waiting": 3, "standbys": 0})),
    ("ok", lambda: checks.slots([], "-1")),
    ("ok", lambda: checks.slots([SLOT | {"bytes": 2**20}], "-1")),
    ("warn", lambda: checks.slots([SLOT], "-1")),
    ("warn", lambda: checks.slots([SLOT], "16GB")),
    ("fail", lambda: checks.slots([SLOT | {"status": "lost", "bytes": None}], "16GB")),
    ("ok", lambda: checks.roles(ROLES, "ostinato_worker")),
    ("fail", lambda: checks.roles(ROLES[:2], "ostinato_tenant")),
    ("fail", lambda: checks.roles(ROLES[:3], "ostinato_worker")),
    ("fail", lambda: checks.roles([*ROLES[:3], ROLES[3] | {"bypasses_rls": True}], "x")),
    ("ok", lambda: checks.api_login("ostinato_api", is_worker=False)),
    ("warn", lambda: checks.api_login("ostinato_worker", is_worker=True)),
    ("ok", lambda: checks.row_security([])),
    ("fail", lambda: checks.row_security(["job"])),
    ("ok", lambda: checks.machines([])),
    ("fail", lambda: checks.machines([Gap("billing.invoice", "invoice", "its trigger is gone")])),
    ("ok", lambda: checks.schema(up_to_date=True, pending=0, troubles=[])),
    ("warn", lambda: checks.schema(up_to_date=False, pending=2, troubles=[])),
    ("warn", lambda: checks.schema(up_to_date=False, pending=0, troubles=[])),
    ("fail", lambda: checks.schema(up_to_date=False, pending=0, troubles=["newer"])),
    ("ok", lambda: checks.contract(2, (3, 1))),
    ("fail", lambda: checks.contract(1, (3, 2))),
    ("fail", lambda: checks.contract(4, (3, 2))),
    ("fail", lambda: checks.contract(1, None)),
    ("ok", lambda: checks.clock(-0.2)),
    ("warn", lambda: checks.clock(30)),
    ("warn", lambda: checks.clock(-30)),
    ("ok", lambda: checks.zones("2026b of the system", missing_there=0)),
    ("warn", lambda: checks.zones(None, missing_there=0)),
    ("fail", lambda: checks.zones("2026b of the system", missing_there=3)),
    ("ok", lambda: checks.pooling(set_pooled=False, seen_pooled=False, listens=True)),
    ("ok", lambda: checks.pooling(set_pooled=True, seen_pooled=True, listens=True)),
    ("fail", lambda: checks.pooling(set_pooled=False, seen_pooled=True, listens=True)),
    ("warn", lambda: checks.pooling(set_pooled=True, seen_pooled=False, listens=True)),
    ("warn", lambda: checks.pooling(set_pooled=True, seen_pooled=True, listens=False)),
    ("ok", lambda: checks.encryption([("URL", "/run/postgresql", "prefer")])),
    ("ok", lambda: checks.encryption([("URL", "localhost", "disable")])),
    ("ok", lambda: checks.encryption([("URL", "db.example.com", "verify-full")])),
    ("warn", lambda: checks.encryption([("URL", "db.example.com", "prefer")])),
    ("warn", lambda: checks.encryption([("A", "", "prefer"), ("B", "10.0.0.7", "disable")])),
    ("ok", lambda: checks.connections(used=10, most=100)),
    ("warn", lambda: checks.connections(used=95, most=100)),
    ("ok", lambda: checks.workers(2, 0)),
    ("warn", lambda: checks.workers(0, 0)),
    ("warn", lambda: checks.workers(2, 1)),
    ("ok", lambda: checks.backlog(0, None)),
    ("ok", lambda: checks.backlog(10_000, 3.0)),
    ("warn", lambda: checks.backlog(1, 4000.0)),
    ("ok", lambda: checks.quarantine([])),
    ("fail", lambda: checks.quarantine([{"job_id": 7, "damage": "its row is missing"}])),
    ("ok", lambda: checks.faults([])),
    ("fail", lambda: checks.faults([{"part": "rescue", "state": "XX001", "message": "invalid page"}])),
    ("ok", lambda: checks.kinds([])),
    ("warn", lambda: checks.kinds([{"queue": "mail", "kind": "app.unknown", "jobs": 3}])),
    ("ok", lambda: checks.dead_letters(0)),
    ("warn", lambda: checks.dead_letters(1)),
    ("ok", lambda: checks.partitions(5, 8192, 90)),
    ("warn", lambda: checks.partitions(1, 8192, retention_days=90)),
    ("warn", lambda: checks.partitions(5, 2**30, 90)),
    ("ok", lambda: checks.transactions(None, 10)),
    ("warn", lambda: checks.transactions(None, 2_000_000)),
    (
        "warn",
        lambda: checks.transactions(
            {"pid": 7, "application": "", "role": "ada", "state": "idle", "seconds": 4000.0}, 10
        ),
    ),
    ("ok", lambda: checks.disk(50 * 2**30, "/data")),
    ("warn", lambda: checks.disk(2**30, "/data")),
    ("fail", lambda: checks.disk(2**20, "/data")),
    ("fail", lambda: checks.failed("database", DatabaseUnavailable("no answer"))),
]


def test_an_error_is_reported_without_its_secrets() -> None:
    finding = checks.failed("database", NotConfigured("refused: postgresql://ada:sesame@db/app"))

    assert "sesame" not in finding.message


@pytest.mark.parametrize(("level", "judge"), JUDGEMENTS)
def test_every_finding_that_is_not_ok_says_how_to_mend_it(level: str, judge: Callable[[], Finding]) -> None:
    finding = judge()

    assert finding.level == level
    assert finding.message
    assert (finding.hint is None) == (level == "ok")


@pytest.mark.parametrize(("weeks", "size"), [(1, 0), (5, 2**30)])
def test_following_the_hint_keeps_the_history_that_the_settings_keep(weeks: int, size: int) -> None:
    assert "upkeep_partitions(90" in str(checks.partitions(weeks, size, retention_days=90).hint)


def test_it_looks_for_files_of_applications_in_the_data_folder_in_use(tmp_path: Path) -> None:
    said = Shell({}).run("doctor", "--data-dir", str(tmp_path / "mine"), "--json", code=1).stdout

    assert str(tmp_path / "mine" / "capture-keyring.json") in said
    assert ".ostinato/capture" not in said
