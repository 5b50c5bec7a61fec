"""A service whose work misbehaves: the process pays for it, the service answers on."""

import asyncio
import dataclasses
import errno
import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from structlog.typing import EventDict

from ostinato._core.base.errors import LeaseHeld
from ostinato._core.db.embedded import Server
from ostinato.apps.watchfolder import checkup, utils
from ostinato.apps.watchfolder.settings import WatchfolderSettings
from ostinato.apps.watchfolder.station import client, jobs, sandbox
from ostinato.apps.watchfolder.station.jobs import Station
from ostinato.apps.watchfolder.station.left import left_in
from ostinato.apps.watchfolder.station.ownuser import _free_number
from ostinato.apps.watchfolder.station.places import Outside, Places, address, token_of
from ostinato.apps.watchfolder.station.records import Job, Plan
from ostinato.apps.watchfolder.station.sandbox import Limits, level, missing
from ostinato.apps.watchfolder.station.server import build
from tests.apps.watchfolder.stations import Desk, desk
from tests.needs import needs
from tests.waiting import until

SANDBOX = level()


def plan(**more: float) -> Plan:
    return Plan(
        name="prep",
        work="tests.apps.watchfolder.rogue",
        output="raw.pdf",
        limits=Limits(memory_bytes=1 << 30, cpu_seconds=60, file_bytes=1 << 20),
        concurrency=2,
        beat_seconds=0.1,
        page_seconds=more.get("page_seconds", 60.0),
        queue_length=int(more.get("queue_length", 100)),
    )


def no_info(_lang: str | None) -> dict[str, Any]:
    return {}


@pytest.fixture(scope="module")
def rogue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    work = tmp_path_factory.mktemp("rogue") / "work"
    with desk(build(Station(plan(), work), no_info), work) as made:
        yield made


def process_of(here: Desk, job_key: str) -> int:
    """The process that works on a job, once it does."""
    path = here.work / job_key / "prep.heartbeat"

    def works() -> bool:
        said = json.loads(path.read_text())
        return bool(said["page"] == 1 and said["pid"] != os.getpid())

    until(works)
    return int(json.loads(path.read_text())["pid"])


def test_a_process_that_is_killed_is_an_error_that_may_be_tried_again(rogue: Desk) -> None:
    body = rogue.place(b"hang 0")
    rogue.submit(body)
    os.kill(process_of(rogue, body["jobKey"]), signal.SIGKILL)

    ended = rogue.ended(body["jobKey"])

    assert ended["error"]["code"] == "WORKER_CRASHED"
    assert "signal 9" in ended["error"]["message"]
    assert ended["error"]["retryable"]
    assert rogue.done(b"fine 1")["state"] == "DONE"


def test_a_process_that_says_nothing_has_crashed(rogue: Desk) -> None:
    assert rogue.done(b"vanish")["error"]["code"] == "WORKER_CRASHED"


def test_a_process_that_takes_too_much_memory_says_so(rogue: Desk) -> None:
    ended = rogue.done(b"memory")

    assert ended["error"]["code"] == "MEMORY"
    assert "1,073,741,824" in ended["error"]["message"]


def test_a_result_that_is_not_there_is_an_error(rogue: Desk) -> None:
    assert rogue.done(b"lie")["error"]["code"] == "IO"


def test_a_page_that_never_ends_is_a_timeout(tmp_path: Path) -> None:
    work = tmp_path / "work"
    station = Station(plan(), work)
    with desk(build(station, no_info), work) as here:
        body = here.place(b"hang")
        here.submit(body)
        process_of(here, body["jobKey"])  # it stands at its page by now
        station.plan = replace(station.plan, page_seconds=0.3)
        ended = here.ended(body["jobKey"])

    assert ended["error"]["code"] == "TIMEOUT"
    assert "page 1 of 2" in ended["error"]["message"]


def test_a_long_job_lives_as_long_as_it_does_not_stand_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five steps of two seconds on a page on which it may stand still for three."""
    work, clock = tmp_path / "work", [0.0]
    monkeypatch.setattr("ostinato.apps.watchfolder.station.jobs.time", SimpleNamespace(monotonic=lambda: clock[0]))
    station = Station(plan(page_seconds=3), work)
    with desk(build(station, no_info), work) as here:
        body = here.place(b"steps")
        here.submit(body)
        for number in range(5):
            seen = (1, 2, f"step {number}")
            until(
                lambda seen=seen: (
                    any(job.page == seen for job in list(station._running.values()))  # type: ignore[misc]
                    or here.poll(body["jobKey"])["state"] != "RUNNING"
                )
            )
            clock[0] += 2
            (work / body["jobKey"] / f"go {number}").touch()
        ended = here.ended(body["jobKey"])

    assert (ended["state"], ended["error"]) == ("DONE", None)


def test_a_later_attempt_keeps_its_own_tmp(rogue: Desk) -> None:
    body = rogue.place(b"tmp")
    folder = rogue.work / body["jobKey"]
    rogue.submit(body)
    until((folder / "tmp-prep.a1" / "kept").exists)

    rogue.submit(body | {"attempt": 2})
    until(lambda: not (folder / "tmp-prep.a1").exists())  # the one before is settled
    (folder / "go").touch()

    ended = rogue.ended(body["jobKey"])
    assert (ended["state"], ended["error"]) == ("DONE", None)
    until(lambda: not (folder / "tmp-prep.a2").exists())


def test_what_a_process_says_need_not_make_sense(rogue: Desk) -> None:
    assert rogue.done(b"list")["error"]["code"] == "WORKER_CRASHED"
    assert rogue.http.get("/healthz").json()["alive"]
    assert rogue.done(b"fine 2")["state"] == "DONE"


def test_an_output_that_is_a_link_is_not_taken(rogue: Desk, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of another tenant")

    body = rogue.place(f"symlink {secret}".encode())
    rogue.submit(body)

    assert rogue.ended(body["jobKey"])["state"] == "ERROR"
    assert not (rogue.work / body["jobKey"] / "raw.pdf").exists()


def test_an_output_that_has_another_name_is_not_taken(rogue: Desk) -> None:
    """Whoever has the other name could write it after it was looked at."""
    body = rogue.place(b"hardlink")
    rogue.submit(body)

    assert rogue.ended(body["jobKey"])["state"] == "ERROR"
    assert (rogue.work / body["jobKey"] / "other").stat().st_nlink == 2  # it was made, and refused
    assert not (rogue.work / body["jobKey"] / "raw.pdf").exists()


def test_a_process_knows_no_secret_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_DATABASE_URL", "postgresql://me:secret@localhost/x")
    work = tmp_path / "work"
    with desk(build(Station(plan(), work), no_info), work) as here:
        ended = here.done(b"environ")

    told = json.loads((work / ended["jobKey"] / "environ").read_text())
    assert "me:secret" not in json.dumps(told)
    assert told["ORT_DISABLE_TELEMETRY"] == "1"
    assert told["PATH"]


def test_a_disk_without_room_is_said_as_such(rogue: Desk) -> None:
    ended = rogue.done(b"full")

    assert (ended["error"]["code"], ended["error"]["retryable"]) == ("DISK_FULL", True)


def test_a_job_that_cannot_be_written_down_is_not_taken(rogue: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    body = rogue.place(b"fine 3")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(utils, "_write", full)
        refused = rogue.submit(body)
    taken = rogue.submit(body)

    assert (refused.status_code, taken.status_code) == (503, 202)
    assert refused.headers["Retry-After"]
    assert rogue.ended(body["jobKey"])["state"] == "DONE"


def test_a_folder_has_one_service_of_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "PREDECESSOR_SECONDS", 0.0)

    async def second() -> None:
        first = Station(plan(), tmp_path)
        await first.open()
        try:
            with pytest.raises(LeaseHeld, match="another prep works in"):
                await Station(plan(), tmp_path).open()
        finally:
            await first.close()
        again = Station(plan(), tmp_path)
        await again.open()
        await again.close()

    asyncio.run(second())


def moved_to(here: Desk, work: Path) -> Desk:
    """The same service, asked about another folder."""
    base = address(str(here.http.base_url), work, "fra")
    return Desk(work, httpx.Client(base_url=base, timeout=60, trust_env=False))


def test_one_service_serves_every_folder_below_its_root(tmp_path: Path) -> None:
    """The same file is a job of its own in each folder; the address says which is meant."""
    with desk(build(Station(plan(), None, tmp_path / "root"), no_info), tmp_path) as here:
        first, second = (moved_to(here, tmp_path / "root" / name / "courrier" / "work") for name in ("acme", "other"))

        assert first.done(b"fine")["state"] == second.done(b"fine")["state"] == "DONE"

        (mine,), (theirs,) = ([*each.work.glob("*/raw.pdf")] for each in (first, second))
        assert mine.parent.name == theirs.parent.name
        body = first.place(b"hang 9")
        assert second.submit(body).json()["code"] == "OUTSIDE"
        first.submit(body)
        assert second.http.get(f"/jobs/{body['jobKey']}").status_code == 404
        first.http.close()
        second.http.close()


@pytest.mark.parametrize("work", ["elsewhere/work", "root/acme/courrier", "root/../elsewhere/work", "root-2/work"])
def test_a_service_works_in_no_folder_that_it_was_not_started_for(tmp_path: Path, work: str) -> None:
    places = Places("prep", None, tmp_path / "root")

    with pytest.raises(Outside):
        places.resolve(token_of(tmp_path / work))
    with pytest.raises(Outside):
        places.resolve("%%%")


def test_a_folder_that_a_service_left_may_be_served_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "PREDECESSOR_SECONDS", 0.0)
    work = tmp_path / "root" / "acme" / "courrier" / "work"

    def service() -> FastAPI:
        return build(Station(plan(), None, tmp_path / "root"), no_info)

    with desk(service(), tmp_path) as one, desk(service(), tmp_path) as two:
        before, after = moved_to(one, work), moved_to(two, work)
        body = before.place(b"hang 8")
        before.submit(body)
        process = process_of(before, body["jobKey"])
        assert after.http.get(f"/jobs/{body['jobKey']}").status_code == 503

        client.leave(address(str(one.http.base_url), work, "fra").rpartition("/")[0])

        until(lambda: not Path(f"/proc/{process}").exists())
        until(lambda: after.http.get(f"/jobs/{body['jobKey']}").status_code == 200)
        assert after.poll(body["jobKey"])["error"]["code"] == "SERVICE_RESTARTED"
        assert after.done(b"fine")["state"] == "DONE"
        before.http.close()
        after.http.close()


def waiting(pages: int | None, queued: float) -> Job:
    return Job(Path(f"/work/{pages}-{queued}"), 1, {"pages": pages}, queued=queued)


def test_a_short_document_passes_a_long_one_that_does_not_wait_for_ever(tmp_path: Path) -> None:
    station = Station(replace(plan(), concurrency=1), tmp_path)
    long, short, late = waiting(500, 0.0), waiting(2, 10.0), waiting(1, 5000.0)

    station._queue = [long, short, late]
    order = []
    while (job := station._next()) is not None:
        station._queue.remove(job)
        order.append(job)

    assert order == [short, long, late]


def test_a_tenant_with_many_folders_keeps_no_other_waiting(tmp_path: Path) -> None:
    station = Station(replace(plan(), concurrency=4), tmp_path)
    many = [Job(Path(f"/root/acme/{number}/work/key"), 1, {}, queued=float(number)) for number in range(9)]
    other = Job(Path("/root/other/courrier/work/key"), 1, {}, queued=100.0)
    station._running, station._queue = {"a": many[0]}, [*many[1:], other]

    assert station._next() is other
    assert many[0].tenant == Path("/root/acme")


def test_long_documents_leave_a_slot_for_short_ones(tmp_path: Path) -> None:
    station = Station(plan(), tmp_path)
    station._running = {"a": waiting(300, 0.0)}
    station._queue = [waiting(400, 0.0)]

    assert station._next() is None
    short = waiting(3, 9.0)
    station._queue.append(short)
    assert station._next() is short


def test_a_later_attempt_ends_the_one_before(tmp_path: Path) -> None:
    station = Station(plan(), tmp_path)
    with desk(build(station, no_info), tmp_path) as rogue:
        body = rogue.place(b"hang 1")
        rogue.submit(body)
        process = process_of(rogue, body["jobKey"])
        before = station._jobs[tmp_path / body["jobKey"]]
        Path(body["inputPath"]).write_text("fine")

        rogue.submit(body | {"attempt": 2})

        # at once, and not when it has stood still for too long
        assert (before.error or {}).get("code") == "CANCELLED"
        ended = rogue.ended(body["jobKey"])
        assert (ended["attempt"], ended["state"]) == (2, "DONE")
        assert (tmp_path / body["jobKey"] / "raw.pdf").read_text() == "attempt 2"
        until(lambda: not Path(f"/proc/{process}").exists())


def test_a_job_that_is_cancelled_ends_and_stays_ended(rogue: Desk) -> None:
    body = rogue.place(b"hang 2")
    rogue.submit(body)
    process = process_of(rogue, body["jobKey"])

    first = rogue.http.delete(f"/jobs/{body['jobKey']}", params={"attempt": 1})
    again = rogue.http.delete(f"/jobs/{body['jobKey']}", params={"attempt": 1})

    assert (first.status_code, again.status_code) == (202, 202)
    assert rogue.poll(body["jobKey"])["error"]["code"] == "CANCELLED"
    until(lambda: not Path(f"/proc/{process}").exists())


def test_a_full_queue_says_when_to_come_again(tmp_path: Path) -> None:
    work = tmp_path / "work"
    with desk(build(Station(plan(queue_length=1), work), no_info), work) as here:
        answers = [here.submit(here.place(f"hang {n}".encode())) for n in range(4)]

    assert [answer.status_code for answer in answers] == [202, 202, 202, 429]
    assert answers[-1].headers["Retry-After"]


def test_the_heartbeat_is_written_while_a_job_waits_and_runs(tmp_path: Path) -> None:
    work = tmp_path / "work"
    alone = dataclasses.replace(plan(), concurrency=1)
    with desk(build(Station(alone, work), no_info), work) as here:
        bodies = [here.place(f"hang {n}".encode()) for n in range(2)]
        for body in bodies:
            here.submit(body)
        for body in bodies:
            for _ in range(3):
                _next_beat(work / body["jobKey"] / "prep.heartbeat")


def _next_beat(path: Path) -> None:
    seen = path.stat().st_mtime_ns
    until(lambda: path.stat().st_mtime_ns != seen)


def test_processes_die_with_their_service(tmp_path: Path) -> None:
    work = tmp_path / "work"
    with desk(build(Station(plan(), work), no_info), work) as here:
        body = here.place(b"hang")
        here.submit(body)
        process = process_of(here, body["jobKey"])

    until(lambda: not Path(f"/proc/{process}").exists())


def test_a_nursery_that_dies_is_replaced_and_its_jobs_may_be_tried_again(rogue: Desk) -> None:
    body = rogue.place(b"hang 3")
    rogue.submit(body)
    process = process_of(rogue, body["jobKey"])
    forkserver = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])

    os.kill(forkserver, signal.SIGKILL)

    assert rogue.ended(body["jobKey"])["error"]["code"] == "SERVICE_RESTARTED"
    until(lambda: not Path(f"/proc/{process}").exists())
    assert rogue.done(b"fine")["state"] == "DONE"


@needs("sandbox", here="netns" in SANDBOX, reason=f"no network namespace here: {SANDBOX}")
def test_a_process_has_no_network(rogue: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ended = rogue.done(f"connect {listening.getsockname()[1]}".encode())

    assert ended["state"] == "ERROR"
    assert re.search("Network is unreachable|Operation not permitted", ended["error"]["message"])


@needs("sandbox", here="landlock" in SANDBOX, reason=f"this kernel has no Landlock: {SANDBOX}")
def test_a_process_reads_and_writes_nothing_outside_of_its_folder(rogue: Desk, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")

    reading = rogue.done(f"read {secret}".encode())
    system = rogue.done(b"read /etc/passwd")
    writing = rogue.done(f"write {tmp_path / 'escaped'}".encode())

    assert {each["state"] for each in (reading, system, writing)} == {"ERROR"}
    assert not (tmp_path / "escaped").exists()
    assert "PermissionError" in reading["error"]["message"]


no_seccomp = needs("sandbox", here="seccomp" in SANDBOX, reason=f"no seccomp: {SANDBOX}")


@no_seccomp
def test_a_process_opens_no_socket_not_even_one_with_a_path(rogue: Desk, shared_server: Server) -> None:
    """A decoder that was taken over reached PostgreSQL's socket, and became its superuser."""
    folder = shared_server.cluster.socket_dir()

    ended = rogue.done(f"unix {folder}/.s.PGSQL.5432".encode())
    ring = rogue.done(b"uring")

    assert "Operation not permitted" in ended["error"]["message"]
    assert "no ring" in ring["error"]["message"]


@no_seccomp
@pytest.mark.parametrize(
    ("how", "said"), [("clone", "Operation not permitted"), ("clone3", "Function not implemented")]
)
def test_a_process_begins_no_name_space_in_which_it_has_all_rights(rogue: Desk, how: str, said: str) -> None:
    ended = rogue.done(f"namespace {how}".encode())

    assert said in ended["error"]["message"]


@no_seccomp
def test_a_process_changes_the_limits_and_the_turns_of_no_other(rogue: Desk) -> None:
    """Its user is that of all others where the service is not root, and they could be starved or ended."""
    ended = rogue.done(b"limits")

    told = json.loads((rogue.work / ended["jobKey"] / "told").read_text())
    of_user = {"setpriority", "ioprio_set"}
    refused = {name: "EPERM" * (2 if name in of_user else 1) for name in told}
    assert {name: of_others for name, (of_others, _) in told.items()} == refused
    assert {name: own for name, (_, own) in told.items()} == dict.fromkeys(told, "ok")
    assert ended["state"] == "DONE"


@no_seccomp
def test_a_process_changes_the_rights_of_no_file_and_leaves_no_memory_behind(rogue: Desk, tmp_path: Path) -> None:
    """With the user of its service it could close the database to it, or open a password to everybody."""
    file = tmp_path / "superuser.pgpass"
    file.touch(0o600)
    if os.geteuid() == 0:
        os.chown(file, _free_number(), -1)  # as whom it runs
    before = file.stat()

    ended = rogue.done(f"rights {file}".encode())

    told = json.loads((rogue.work / ended["jobKey"] / "told").read_text())
    assert set(told.values()) == {"EPERM"}
    assert ended["state"] == "DONE"
    after = file.stat()
    assert (after.st_mode, after.st_mtime, after.st_uid) == (before.st_mode, before.st_mtime, before.st_uid)


def test_a_process_gains_no_right_and_is_a_user_of_its_own(rogue: Desk) -> None:
    ended = rogue.done(b"who")

    text = (rogue.work / ended["jobKey"] / "who").read_text()
    status = dict(line.split(":\t", 1) for line in text.splitlines())
    assert status["NoNewPrivs"] == "1"
    if "user" in SANDBOX:
        assert "0" not in status["Uid"].split()
        assert "0" not in status["Gid"].split()
        assert status["CapPrm"] == f"{1 << 2:016x}"  # to read; Landlock says what
        assert (rogue.work / ended["jobKey"] / "raw.pdf").stat().st_uid == os.geteuid()


def test_what_the_machine_lacks_of_the_sandbox_is_said(logs: list[EventDict], monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing("landlock+netns+seccomp+user") == []
    assert any("open local sockets" in each for each in missing("landlock+netns+user"))
    with monkeypatch.context() as patch:
        patch.setattr(sandbox, "level", lambda: "rlimit")
        patch.setattr(checkup, "level", lambda: "rlimit")
        assert sandbox.told_level("prep") == "rlimit"
        found = checkup.troubles(WatchfolderSettings())
    told = [line["missing"] for line in logs if line["event"] == "sandbox_incomplete"]
    assert told == missing("rlimit") == [each.problem for each in found]


@needs("sandbox", here="landlock" in SANDBOX, reason=f"this kernel has no Landlock: {SANDBOX}")
def test_a_process_signals_nobody_outside(rogue: Desk) -> None:
    ended = rogue.done(b"signal")

    assert "PermissionError" in ended["error"]["message"]


def test_a_link_in_the_place_of_a_log_is_neither_written_nor_read(rogue: Desk, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("TOP-SECRET-LINE")
    body = rogue.place(f"log {victim}".encode())
    rogue.submit(body)
    rogue.ended(body["jobKey"])

    rogue.submit(body | {"attempt": 2})
    ended = rogue.ended(body["jobKey"])

    assert victim.read_text() == "TOP-SECRET-LINE"
    assert "WRITTEN BY A CAGED CHILD" in ended["error"]["message"]
    assert "TOP-SECRET" not in json.dumps(ended)


def test_a_fifo_in_the_place_of_a_heartbeat_blocks_nobody(tmp_path: Path) -> None:
    work = tmp_path / "work"
    station = Station(plan(), work)
    with desk(build(station, no_info), work) as here:
        body = here.place(b"fifo")
        here.submit(body)
        until((work / body["jobKey"] / "placed").exists)

        assert here.done(b"fine")["state"] == "DONE"
        station.plan = replace(station.plan, page_seconds=0.3)
        assert here.ended(body["jobKey"])["error"]["code"] == "TIMEOUT"


PLACES = ("prep.job.json", "prep.done.json", "prep.heartbeat", "raw.pdf.a1.part", "prep.outcome.a1.json", "raw.pdf")


@pytest.mark.parametrize("name", PLACES)
def test_a_folder_in_the_place_of_a_file_ends_one_job_and_no_service(rogue: Desk, name: str) -> None:
    body = rogue.place(f"fine {name}".encode())
    (rogue.work / body["jobKey"] / name / "inside").mkdir(parents=True)

    taken = rogue.submit(body)
    ended = rogue.ended(body["jobKey"])

    assert taken.status_code == 202
    assert (ended["error"]["code"], ended["error"]["retryable"]) == ("UNSAFE", False)
    assert name in ended["error"]["message"]
    assert rogue.http.get("/healthz").json()["alive"]
    assert rogue.done(f"fine beside {name}".encode())["state"] == "DONE"


def test_a_folder_that_is_found_when_a_job_has_its_turn_ends_that_job_alone(tmp_path: Path) -> None:
    with desk(build(Station(replace(plan(), concurrency=1), tmp_path), no_info), tmp_path) as here:
        first, blocked, last = here.place(b"hang"), here.place(b"fine 1"), here.place(b"fine 2")
        for body in (first, blocked, last):
            here.submit(body)
        (tmp_path / blocked["jobKey"] / "raw.pdf.a1.part" / "inside").mkdir(parents=True)

        here.http.delete(f"/jobs/{first['jobKey']}")

        assert here.ended(blocked["jobKey"])["error"]["code"] == "UNSAFE"
        assert here.ended(last["jobKey"])["state"] == "DONE"


def test_a_folder_in_the_place_of_a_lock_stops_the_jobs_of_no_other_folder(tmp_path: Path) -> None:
    """The fork server shares the locks; one that it cannot have was its end, again and again."""
    with desk(build(Station(plan(), None, tmp_path / "root"), no_info), tmp_path) as here:
        mine, theirs = (moved_to(here, tmp_path / "root" / name / "courrier" / "work") for name in ("acme", "other"))
        for each in (mine, theirs):
            assert each.done(b"fine")["state"] == "DONE"
        body = mine.place(b"hang")
        mine.submit(body)
        process = process_of(mine, body["jobKey"])
        (theirs.work / ".prep.lock").unlink()
        (theirs.work / ".prep.lock").mkdir()

        forkserver = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(forkserver, signal.SIGKILL)

        assert mine.ended(body["jobKey"])["error"]["code"] == "SERVICE_RESTARTED"
        assert mine.done(b"fine 2")["state"] == "DONE"
        until(lambda: theirs.http.get("/jobs/none").status_code == 503)
        mine.http.close()
        theirs.http.close()


def test_a_process_reads_nothing_that_is_meant_for_the_fork_server(rogue: Desk) -> None:
    """A signal that it took would be the end of a process, of whichever tenant, that nobody notices."""
    body = rogue.place(b"steal")
    rogue.submit(body)
    told = rogue.work / body["jobKey"] / "stealing"
    until(told.exists)

    assert rogue.done(b"fine 4")["state"] == "DONE"
    rogue.http.delete(f"/jobs/{body['jobKey']}")
    assert told.read_text() == "0"


def _left(here: Desk, job_key: str) -> Path:
    """The process that a worker process started, by its folder in /proc."""
    path = here.work / job_key / "left"
    until(lambda: path.exists() and path.read_text() != "")
    return Path(f"/proc/{path.read_text()}")


def _is_gone(process: Path) -> bool:
    try:
        return ") Z " in (process / "stat").read_text()
    except OSError:
        return True


@no_seccomp
@pytest.mark.parametrize("left", ["[" * 200_000, '{"attempt": 1e999}', '["attempt"]', '{"attempt": {}}', "\udcff"])
def test_what_a_process_wrote_in_the_place_of_its_job_keeps_no_service_from_starting(tmp_path: Path, left: str) -> None:
    for number, text in enumerate((left, '{"attempt": 1, "jobKey": "b"}')):
        folder = tmp_path / "work" / str(number)
        folder.mkdir(parents=True)
        (folder / "prep.job.json").write_text(text, "utf-8", "surrogateescape")

    found = list(left_in(tmp_path / "work", plan()))

    assert [job.folder.name for job in found] == ["1"]


def test_what_a_process_started_ends_with_it(rogue: Desk) -> None:
    body = rogue.place(b"grandchild")
    rogue.submit(body)

    assert rogue.ended(body["jobKey"])["state"] == "DONE"
    until(lambda: _is_gone(_left(rogue, body["jobKey"])))


@no_seccomp
@pytest.mark.parametrize("how", ["close", "kill"])
def test_what_a_process_started_ends_with_the_service_and_the_fork_server(tmp_path: Path, how: str) -> None:
    work = tmp_path / "work"
    with desk(build(Station(plan(), work), no_info), work) as here:
        body = here.place(b"grandchild stay")
        here.submit(body)
        left = _left(here, body["jobKey"])
        if how == "kill":
            worker = process_of(here, body["jobKey"])
            stat = Path(f"/proc/{worker}/stat").read_text()
            os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)
            until(lambda: _is_gone(left))

    until(lambda: _is_gone(left))
