"""The tick, step by step: attempts, services that fail in every way, twins and decisions."""

import errno
import hashlib
import itertools
import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import requests
import structlog
from structlog.typing import EventDict

from ostinato._core.base.errors import InvalidInput, LeaseHeld
from ostinato._faces.cli.frame.output import Output
from ostinato.apps.watchfolder import utils
from ostinato.apps.watchfolder.core import make_job_key
from ostinato.apps.watchfolder.machine import JOB
from ostinato.apps.watchfolder.model import STAGES, STATES, Document, stage_of
from ostinato.apps.watchfolder.terminal import View
from ostinato.apps.watchfolder.tick import context, decisions, duplicates, orchestrator
from ostinato.apps.watchfolder.tick.orchestrator import Orchestrator
from ostinato.apps.watchfolder.tick.profile import Profile
from tests.apps.watchfolder.place import PROFILE, Place, Services


def failing(code: str, *, retryable: bool = True, service: str = "prep") -> object:
    def judge(asked: str, _: Document) -> Document | None:
        if asked != service:
            return None
        return {"state": "ERROR", "error": {"code": code, "message": "no", "retryable": retryable}}

    return judge


def test_a_file_goes_all_the_way(place: Place) -> None:
    place.drop("été.pdf", b"content")

    place.tick(2)

    assert (place.folders.out / "été.pdf").read_bytes() == b"content"
    assert place.files(place.folders.archive) == ["été.pdf"]
    assert place.in_flight == {}
    assert list(place.folders.work.iterdir()) == []
    metrics = json.loads((place.folders.index / "metrics.json").read_text())
    assert (metrics["done"], metrics["running"], metrics["queued"]) == (1, 0, 0)


def test_one_tick_does_all_its_steps_in_order(place: Place) -> None:
    """W6: each step hands on to the next, so that services which answer at once need one tick."""
    place.drop("a.pdf", b"a")

    place.tick()

    assert place.files(place.folders.out) == ["a.pdf"]
    metrics = json.loads((place.folders.index / "metrics.json").read_text())
    assert (metrics["done"], metrics["running"], metrics["queued"]) == (1, 0, 0)


def test_decisions_are_done_before_anything_is_taken(place: Place) -> None:
    """W6: what a decision sends back to `in/` is taken by the discovery of the same tick."""
    place.decide(done_and_held(place), "FORCE_REPROCESS")

    place.tick()

    assert len(place.index["jobs"]) == 2
    assert place.files(place.folders.incoming) == []


def test_what_the_services_note_is_in_the_result_and_in_the_view(
    place: Place, services: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {"prep": ["left out: 'x.txt'"], "ocr": ["straightened"]}
    services.judge = lambda service, body: {
        **services._done(service, body),
        "result": {"pages": 1, "notes": said[service]},
    }
    place.orchestrator.hooks.on_event = View(Output(), place.folders).hear
    place.drop("a.zip", b"a")

    place.tick(2)

    assert place.index["jobs"][place.only_key()]["result"]["notes"] == ["left out: 'x.txt'", "straightened"]
    assert "(left out: 'x.txt'; straightened)" in capsys.readouterr().err


def test_all_that_was_left_out_is_in_the_result_and_the_view_is_short(
    place: Place, services: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    note = "left out: " + "; ".join(f"'note {number}.txt'" for number in range(4000))
    services.judge = lambda service, body: {
        **services._done(service, body),
        "result": {"pages": 1, "notes": [note] if service == "prep" else []},
    }
    place.orchestrator.hooks.on_event = View(Output(), place.folders).hear
    place.drop("a.zip", b"a")

    place.tick(2)

    assert place.index["jobs"][place.only_key()]["result"]["notes"] == [note]
    told = capsys.readouterr().err
    assert "'note 3.txt'" in told
    assert "'note 3999.txt'" not in told


def test_every_history_is_a_walk_of_the_machine(place: Place, services: Services) -> None:
    services.judge = failing("WORKER_CRASHED")  # type: ignore[assignment]
    place.drop("a.pdf", b"a")
    place.tick(12)
    histories = [
        [entry["state"] for entry in event["history"]]
        for event in place.events
        if event["kind"] == "job" and event["state"] == "ERROR"
    ]

    assert histories
    assert histories[0] == [
        *("INGESTING", "DISCOVERED"),
        *("PREP_SUBMITTED", "PREP_RUNNING", "PREP_ERROR") * 3,
        "ERROR",
    ]
    for before, after in itertools.pairwise(histories[0]):
        assert any(before in t.sources and t.target == after for t in JOB.transitions), (before, after)


@pytest.mark.parametrize("service", ["prep", "ocr"])
def test_three_attempts_then_the_error_folder_with_a_report(place: Place, services: Services, service: str) -> None:
    services.judge = failing("WORKER_CRASHED", service=service)  # type: ignore[assignment]
    place.drop("a.pdf", b"a")

    place.tick(15)

    job_key = place.only_key()
    assert [attempt for name, _, attempt in services.submits if name == service] == [1, 2, 3]
    assert place.index["jobs"][job_key]["state"] == "ERROR"
    assert place.index["jobs"][job_key]["errorCode"] == f"ERROR_{service.upper()}"
    report = json.loads((place.folders.error / job_key / "error.json").read_text())
    assert report["cause"]["code"] == "WORKER_CRASHED"
    assert (place.folders.error / job_key / "a.pdf").read_bytes() == b"a"
    assert (place.folders.error / job_key / "raw.pdf").exists() is (service == "ocr")
    assert place.metrics["error"] == 1


def test_a_cause_that_cannot_be_mended_is_tried_once(place: Place, services: Services) -> None:
    services.judge = failing("ENCRYPTED", retryable=False)  # type: ignore[assignment]
    place.drop("a.pdf", b"a")

    place.tick(5)

    assert len(services.submits) == 1
    assert place.index["jobs"][place.only_key()]["cause"]["code"] == "ENCRYPTED"


def test_a_service_that_is_away_costs_no_attempt(place: Place, services: Services) -> None:
    services.away = {"prep"}
    place.drop("a.pdf", b"a")
    place.tick(10)
    (meta,) = place.in_flight.values()
    assert (meta["stage"], meta["attemptPrep"]) == ("PREP_RETRY", 1)

    services.away = set()
    place.tick(3)

    assert [attempt for _, _, attempt in services.submits] == [1, 1]
    assert place.metrics["done"] == 1


def test_a_service_that_never_comes_back_ends_the_job(place: Place, services: Services) -> None:
    services.away = {"prep"}
    place.drop("a.pdf", b"a")

    place.tick(30)

    assert place.index["jobs"][place.only_key()]["cause"]["code"] == "UNREACHABLE"
    assert place.files(place.folders.error)


def test_a_service_that_is_away_is_asked_once_in_a_tick_and_with_growing_pauses(
    place: Place, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def away(url: str, **_: object) -> requests.Response:
        asked.append(place.now)
        raise requests.ConnectionError(url)

    monkeypatch.setattr(requests, "post", away)
    place.start(retry_s=1.0)
    for number in range(4):
        place.drop(f"{number}.pdf", str(number).encode())

    place.tick(60)

    assert len(asked) == len(set(asked))
    assert len(asked) <= 4 * 6  # after 1, 2, 4, 8, 16 s
    assert {meta["attemptPrep"] for meta in place.in_flight.values()} == {1}


def test_an_answer_about_an_attempt_before_is_not_that_of_this_one(place: Place, services: Services) -> None:
    """A service that was given its state of yesterday knows the first attempt only, and that it was done."""
    services.judge = lambda service, _: {"state": "RUNNING"} if service == "prep" else None
    place.drop("a.pdf", b"a")
    place.tick()
    job_key = place.only_key()
    place.in_flight[job_key] |= {"attemptPrep": 2, "submitPrep": 2}
    (place.folders.job(job_key) / "raw.pdf").write_bytes(b"of the first attempt")
    services.jobs["prep", job_key] |= {"state": "DONE", "result": {"pages": 9}}

    place.tick()

    assert place.in_flight[job_key]["stage"] == "PREP_RUNNING"  # handed over again
    assert [attempt for _, _, attempt in services.submits] == [1, 2]


def test_a_service_that_was_restarted_is_asked_anew_without_counting(place: Place, services: Services) -> None:
    def judge(service: str, body: Document) -> Document | None:
        if service == "ocr" and body["attempt"] <= 2:
            return {"state": "ERROR", "error": {"code": "SERVICE_RESTARTED", "message": "x"}}
        return None

    services.judge = judge
    place.drop("a.pdf", b"a")

    place.tick(8)

    assert place.metrics["done"] == 1
    assert place.index["jobs"][place.only_key()]["attemptOcr"] == 1


def test_a_service_that_forgot_the_job_is_given_it_again(place: Place, services: Services) -> None:
    services.judge = lambda service, _: {"state": "RUNNING"} if service == "prep" else None
    place.drop("a.pdf", b"a")
    place.tick(2)
    services.jobs.clear()
    services.judge = lambda _service, _body: None

    place.tick(4)

    assert place.metrics["done"] == 1
    assert place.index["jobs"][place.only_key()]["attemptPrep"] == 1


def test_a_service_that_lies_about_its_output_is_not_believed(place: Place, services: Services) -> None:
    services.judge = lambda service, _: {"state": "DONE"} if service == "ocr" else None
    place.drop("a.pdf", b"a")

    place.tick(12)

    assert place.index["jobs"][place.only_key()]["cause"]["code"] == "NO_OUTPUT"
    assert place.files(place.folders.out) == []


@pytest.mark.parametrize("status", [500, 502, 204, 200])
def test_an_answer_that_makes_no_sense_stops_nobody(
    place: Place, services: Services, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    strange = requests.Response()
    strange.status_code, strange._content = status, b"<html>"
    place.drop("a.pdf", b"a")

    with monkeypatch.context() as patch:
        patch.setattr(requests, "post", lambda *_, **__: strange)
        done = place.tick(3)

    (meta,) = place.in_flight.values()
    assert (meta["stage"], meta["attemptPrep"]) == ("PREP_RETRY", 1)
    assert meta["infra"] >= 1
    assert done["problems"][0]["what"] == "service_unreachable"
    place.tick(3)
    assert place.metrics["done"] == 1
    assert place.index["jobs"][place.only_key()]["attemptPrep"] == 1


@pytest.mark.parametrize("state", ["PREP_SUBMITTED", "OCR_SUBMITTED"])
def test_a_disk_that_is_full_when_a_job_is_handed_over_costs_no_attempt(
    place: Place, services: Services, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    write = utils._write

    def full(path: Path, data: bytes, *, durable: bool) -> None:
        if f'"state": "{state}"'.encode() in data:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, data, durable=durable)

    place.drop("a.pdf", b"a")
    with monkeypatch.context() as patch:
        patch.setattr(utils, "_write", full)
        place.tick(6)
    place.tick(4)

    assert place.index["jobs"][place.only_key()]["state"] == "DONE"
    assert [(name, attempt) for name, _, attempt in services.submits] == [("prep", 1), ("ocr", 1)]


@pytest.mark.parametrize("service", ["prep", "ocr"])
def test_a_service_without_room_costs_no_attempt(place: Place, services: Services, service: str) -> None:
    full = failing("DISK_FULL", service=service)
    services.judge = full  # type: ignore[assignment]
    place.drop("a.pdf", b"a")
    place.tick(10)
    services.judge = lambda _service, _body: None

    place.tick(6)

    entry = place.index["jobs"][place.only_key()]
    assert (entry["state"], entry["attemptPrep"], entry["attemptOcr"]) == ("DONE", 1, 1)


def test_a_service_that_hangs_is_asked_once_in_a_tick(
    place: Place, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.judge = lambda _service, _body: {"state": "RUNNING"}
    for number in range(4):
        place.drop(f"{number}.pdf", str(number).encode())
    place.tick(2)
    asked = []

    def hanging(url: str, **_: object) -> requests.Response:
        asked.append(url.rpartition("/")[2])
        raise requests.ReadTimeout(url)

    monkeypatch.setattr(requests, "get", hanging)
    for _ in range(4):
        place.tick()

    assert len(asked) == 4
    assert len(set(asked)) == 4  # each time about another one


def test_a_job_that_has_not_ended_is_asked_about_rarely(
    place: Place, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.start(poll_s=10.0)
    services.judge = lambda service, _: {"state": "RUNNING"} if service == "prep" else None
    place.drop("a.pdf", b"a")
    asked = []
    get = services.get

    def counting(url: str, **options: object) -> requests.Response:
        asked.append(url)
        return get(url, **options)

    monkeypatch.setattr(requests, "get", counting)
    place.tick(9)
    assert asked == []
    place.tick(2)
    assert len(asked) == 1
    job = place.folders.job(place.only_key())
    (job / "raw.pdf").write_bytes(b"a")
    services.jobs["prep", place.only_key()]["state"] = "DONE"
    (job / "prep.done.json").write_text("{}")

    place.tick()

    assert place.state(place.only_key())["state"] == "OCR_RUNNING"  # at once
    place.tick(10)
    assert place.files(place.folders.out) == ["a.pdf"]


def test_services_that_are_away_for_long_get_nothing_new(place: Place, services: Services) -> None:
    for number in range(50):
        place.drop(f"{number:02}.pdf", str(number).encode())
    profile = Profile(place.orchestrator.options, lambda: place.now)
    place.start(retry_s=1.0)
    assert profile.get() is not None
    services.away = {"prep", "ocr"}

    for _ in range(300):
        place.now += 60
        place.orchestrator.tick(profile.get())

    assert len(list(place.folders.error.iterdir())) == 10
    assert len(place.files(place.folders.incoming)) == 40
    assert place.metrics["degraded"] == "services"
    services.away = set()
    place.now += 30
    assert profile.get() is not None


def test_an_input_that_is_written_to_after_it_was_read_has_no_result(place: Place, services: Services) -> None:
    services.judge = lambda service, _: {"state": "RUNNING"} if service == "ocr" else None
    place.drop("a.pdf", b"part 1")
    place.tick(2)
    job_key = place.only_key()
    with (place.folders.job(job_key) / "input.pdf").open("ab") as late:
        late.write(b" part 2")
    services.judge = lambda _service, _body: None
    services.jobs.clear()

    place.tick(4)

    entry = place.index["jobs"][job_key]
    assert (entry["state"], entry["cause"]["code"]) == ("ERROR", "INPUT_CHANGED")
    assert place.files(place.folders.out) == []
    assert (place.folders.error / job_key / "a.pdf").read_bytes() == b"part 1 part 2"


def test_a_state_that_a_process_wrote_leads_nowhere_else(place: Place, services: Services, tmp_path: Path) -> None:
    """Children can write into the folder of their job; its paths are not believed."""
    secret = tmp_path / "secret.pdf"
    secret.write_text("of another tenant")

    def forge(service: str, body: Document) -> Document | None:
        path = Path(body["inputPath"]).parent / "state.json"
        state = json.loads(path.read_text())
        stolen = {"inputPath": str(secret), "archivePath": str(tmp_path / "stolen.pdf")}
        path.write_text(json.dumps({**state, **stolen, "outPath": f"{tmp_path}/out/../x"}))
        return None

    services.judge = forge
    place.drop("a.pdf", b"a")

    place.tick(3)

    assert secret.read_text() == "of another tenant"
    assert [path.name for path in tmp_path.iterdir()] == ["secret.pdf"]
    assert place.files(place.folders.out) == ["a.pdf"]
    assert place.files(place.folders.archive) == ["a.pdf"]


def test_a_state_that_was_written_as_if_it_were_handed_out_leads_nowhere_else(place: Place, services: Services) -> None:
    services.judge = lambda service, _: {"state": "RUNNING"} if service == "ocr" else None
    place.drop("a.pdf", b"a")
    place.tick(2)
    job_key = place.only_key()
    folder = place.folders.job(job_key)
    (folder / "final.pdf").write_bytes(b"read")
    chosen = {"outPath": "out/a.pdf", "resultPath": "results/a.pdf", "archivePath": "archive/../../../stolen.pdf"}
    (folder / "state.json").write_text(json.dumps({**place.state(job_key), "state": "FINALIZING", **chosen}))
    services.jobs["ocr", job_key]["state"] = "DONE"

    place.tick()

    assert place.files(place.folders.archive) == ["a.pdf"]
    assert place.files(place.folders.out) == ["a.pdf"]
    assert not [*place.root.glob("stolen*"), *place.root.parent.glob("stolen*")]


@pytest.mark.parametrize("step", [3600, -3600])
def test_a_clock_that_is_set_changes_nothing(
    place: Place, services: Services, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    services.judge = lambda service, _: {"state": "RUNNING"} if service == "prep" else None
    place.drop("a.pdf", b"a")
    place.tick()
    beat = place.folders.job(place.only_key()) / "prep.heartbeat"
    beat.touch()
    place.tick()

    os.utime(beat, (time.time() + 3600,) * 2 if step > 0 else None)
    real = utils._utc
    monkeypatch.setattr(utils, "_utc", lambda: real() + timedelta(seconds=step))
    place.tick(3)
    services.judge = lambda _service, _body: None
    services.jobs.clear()
    place.tick(3)

    assert place.index["jobs"][place.only_key()]["state"] == "DONE"
    assert place.index["jobs"][place.only_key()]["attemptPrep"] == 1


def test_a_problem_that_lasts_is_said_once(place: Place) -> None:
    place.start(min_free_bytes=1 << 60)
    place.drop("a.pdf", b"a")

    with structlog.testing.capture_logs() as lines:
        for number in range(5):
            place.drop(f".fill{number}", b"x" * 8192)  # other numbers in each message
            place.tick()
        place.change(min_free_bytes=0)
        place.tick(400)
        place.change(min_free_bytes=1 << 60)
        place.drop("b.pdf", b"b")
        place.tick()

    said = [line for line in lines if line["event"] == "disk_nearly_full"]
    assert len(said) == 2  # it was over, and came again


def test_a_job_whose_folder_is_gone_keeps_nobody_waiting(place: Place, services: Services) -> None:
    services.judge = lambda _service, _body: {"state": "RUNNING"}
    place.drop("a.pdf", b"a")
    place.tick()
    place.drop("b.pdf", b"a")
    place.tick()
    job_key = place.only_key()
    shutil.rmtree(place.folders.job(job_key))

    place.start()

    assert place.index["jobs"][job_key]["cause"]["code"] == "LOST"
    assert place.events[-1]["state"] == "ERROR"
    place.decide(job_key, "USE_EXISTING_RESULT")
    place.tick()
    status = json.loads((place.folders.hold / job_key / "status.json").read_text())
    assert status["state"] == "DECISION_FAILED"


def test_what_others_put_into_our_folders_stays_as_it_is(place: Place) -> None:
    """A NAS makes `@eaDir` everywhere; people put notes where they should not."""
    for folder in (place.folders.work, place.folders.hold):
        for name in ("@eaDir", "lost+found", "notes"):
            (folder / name).mkdir()
            (folder / name / "mine.txt").write_text("mine")

    place.start()
    place.tick(12)

    for folder in (place.folders.work, place.folders.hold):
        assert len(place.files(folder)) == 3
    assert duplicates.held(place.folders) == []


def test_a_stale_heartbeat_leads_to_a_new_attempt(place: Place, services: Services) -> None:
    services.judge = lambda service, _: {"state": "RUNNING"} if service == "prep" else None
    place.drop("a.pdf", b"a")
    place.tick()
    beat = place.folders.job(place.only_key()) / "prep.heartbeat"
    beat.touch()
    os.utime(beat, (time.time() - 1000,) * 2)

    place.tick()
    assert place.state(place.only_key())["state"] == "PREP_TIMEOUT"
    services.judge = lambda _service, _body: None
    place.tick(2)

    assert place.metrics["done"] == 1
    assert place.index["jobs"][place.only_key()]["attemptPrep"] == 2


def test_no_more_jobs_than_there_is_room_for(place: Place, services: Services) -> None:
    services.judge = lambda _service, _body: {"state": "RUNNING"}
    place.start(max_jobs_in_flight=3, prep_concurrency=2)
    for number in range(10):
        place.drop(f"{number}.pdf", str(number).encode())
        os.utime(place.folders.incoming / f"{number}.pdf", (1000 + number,) * 2)

    place.tick(3)

    stages = sorted(meta["stage"] for meta in place.in_flight.values())
    assert stages == ["DISCOVERED", "PREP_RUNNING", "PREP_RUNNING"]
    assert sorted(meta["fileName"] for meta in place.in_flight.values()) == ["0.pdf", "1.pdf", "2.pdf"]
    metrics = place.metrics
    assert (metrics["running"], metrics["queued"]) == (2, 1)
    assert len(place.files(place.folders.incoming)) == 7  # not put aside either: there people see them


@pytest.mark.parametrize(("service", "most"), [("prep", 2), ("ocr", 1), ("ocr", 3)])
def test_no_service_has_more_jobs_at_once_than_it_may(
    place: Place, services: Services, service: str, most: int
) -> None:
    other = {"prep": "ocr", "ocr": "prep"}[service]
    services.judge = lambda asked, _: {"state": "RUNNING"} if asked == service else None
    place.start(**{f"{service}_concurrency": most, f"{other}_concurrency": 5})
    for number in range(5):
        place.drop(f"{number}.pdf", str(number).encode())

    place.tick(4)

    running = [meta for meta in place.in_flight.values() if meta["stage"] == f"{service.upper()}_RUNNING"]
    assert len(running) == most
    assert len(place.in_flight) == 5


def test_a_slot_that_comes_free_is_taken_in_the_same_tick(place: Place, services: Services) -> None:
    services.judge = lambda service, _: {"state": "RUNNING"} if service == "ocr" else None
    place.start(ocr_concurrency=1)
    for name in "ab":
        place.drop(f"{name}.pdf", name.encode())
    place.tick(2)
    stages = {meta["stage"]: job_key for job_key, meta in place.in_flight.items()}
    assert set(stages) == {"OCR_RUNNING", "PREP_DONE"}
    (place.folders.job(stages["OCR_RUNNING"]) / "final.pdf").write_bytes(b"read")
    services.jobs["ocr", stages["OCR_RUNNING"]]["state"] = "DONE"

    place.tick()

    assert len(place.files(place.folders.out)) == 1
    assert place.in_flight[stages["PREP_DONE"]]["stage"] == "OCR_RUNNING"


def test_a_slot_does_not_stand_empty_while_a_result_is_handed_out(
    place: Place, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Handing out takes ten writes to the disk: the next document is read meanwhile."""
    services.judge = lambda service, _: {"state": "RUNNING"} if service == "ocr" else None
    place.start(ocr_concurrency=1)
    for name in "ab":
        place.drop(f"{name}.pdf", name.encode())
    place.tick(2)
    (first,) = (job_key for job_key, meta in place.in_flight.items() if meta["stage"] == "OCR_RUNNING")
    (place.folders.job(first) / "final.pdf").write_bytes(b"read")
    services.jobs["ocr", first] |= {"state": "DONE", "result": {"pages": 7}}
    done: list[str] = []
    post, rename = services.post, utils._rename

    def handed_over(url: str, **options: object) -> requests.Response:
        done.append("handed over")
        return post(url, **options)

    def moved(source: utils.PathLike, target: utils.PathLike) -> None:
        done.append(Path(target).parent.name)
        rename(source, target)

    monkeypatch.setattr(requests, "post", handed_over)
    monkeypatch.setattr(utils, "_rename", moved)

    place.tick()

    assert done[:2] == ["handed over", "out"]
    assert place.index["jobs"][first]["result"] == {"pages": 7}
    assert place.index["jobs"][first]["pages"] == 7


def test_the_next_tick_comes_when_a_job_has_ended(
    place: Place, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orchestrator, "BUSY_TICK_SECONDS", 3600.0)
    services.judge = lambda service, _: {"state": "RUNNING"} if service == "prep" else None
    place.drop("a.pdf", b"a")
    options = replace(place.orchestrator.options, tick_s=3600.0)
    watched, stop, ticks = Orchestrator(place.folders, options), threading.Event(), []

    def ticked(_summary: Document) -> None:
        ticks.append([meta["stage"] for meta in watched.in_flight.values()])
        for job_key in watched.in_flight:
            folder = place.folders.job(job_key)
            (folder / "raw.pdf").write_bytes(b"a")
            services.jobs["prep", job_key]["state"] = "DONE"
            (folder / "prep.done.json").write_text("{}")
        if not watched.in_flight:
            stop.set()

    watched.loop(stop, ticked)

    assert ticks == [["PREP_RUNNING"], []]


def test_a_job_that_ended_is_news_once(place: Place, services: Services) -> None:
    """A service that is away, and left how a job ended, is no reason to tick without a pause."""
    services.judge = lambda service, _: {"state": "RUNNING"} if service == "prep" else None
    place.drop("a.pdf", b"a")
    place.tick()
    watched = place.orchestrator
    assert not watched.has_news()

    (place.folders.job(place.only_key()) / "prep.done.json").write_text("{}")

    assert watched.has_news()
    place.tick()
    assert place.in_flight[place.only_key()]["stage"] == "PREP_RUNNING"
    assert not watched.has_news()


def paged(**pages: int) -> Callable[[str, Document], Document | None]:
    """PREP finds so many pages in each file; OCR never ends."""

    def judge(service: str, body: Document) -> Document | None:
        if service == "ocr":
            return {"state": "RUNNING"}
        source = Path(body["inputPath"])
        (source.parent / "raw.pdf").write_bytes(b"raw")
        return {"state": "DONE", "result": {"pages": pages[source.read_text()]}}

    return judge


def test_a_short_document_passes_a_long_one(place: Place, services: Services) -> None:
    services.judge = paged(first=30, long=400, short=2)
    place.start(ocr_concurrency=1)
    for name in ("first", "long", "short"):
        place.drop(f"{name}.pdf", name.encode())
        place.tick()
    assert [meta["stage"] for meta in place.in_flight.values()] == ["OCR_RUNNING", "PREP_DONE", "PREP_DONE"]

    place.change(ocr_concurrency=2)
    place.tick()

    assert [meta["stage"] for meta in place.in_flight.values()] == ["OCR_RUNNING", "PREP_DONE", "OCR_RUNNING"]


def test_what_comes_first_has_its_turn_by_its_pages(place: Place, services: Services) -> None:
    """Neither is a long one: 15 pages wait for the two that came a second later, and not for what comes ever after."""
    services.judge = paged(first=1, more=15, few=2)
    place.start(ocr_concurrency=1)
    for name in ("first", "more", "few"):
        place.drop(f"{name}.pdf", name.encode())
        place.tick()

    place.change(ocr_concurrency=2)
    place.tick()

    stages = {meta["fileName"]: meta["stage"] for meta in place.in_flight.values()}
    assert stages == {"first.pdf": "OCR_RUNNING", "more.pdf": "PREP_DONE", "few.pdf": "OCR_RUNNING"}


def test_long_documents_leave_a_slot_for_short_ones(place: Place, services: Services) -> None:
    services.judge = paged(a=300, b=300, c=300, d=1)
    place.start(ocr_concurrency=2)
    for name in "abc":
        place.drop(f"{name}.pdf", name.encode())
    place.tick(3)
    place.drop("d.pdf", b"d")

    place.tick(2)

    stages = {meta["fileName"]: meta["stage"] for meta in place.in_flight.values()}
    assert sorted(stages.values()) == ["OCR_RUNNING", "OCR_RUNNING", "PREP_DONE", "PREP_DONE"]
    assert stages["d.pdf"] == "OCR_RUNNING"


def test_nothing_is_taken_while_the_services_do_not_say_what_they_are(place: Place) -> None:
    place.drop("a.pdf", b"a")

    place.orchestrator.tick(None)

    assert place.files(place.folders.incoming) == ["a.pdf"]


def test_fifty_twins_at_once_are_one_job_and_forty_nine_held(place: Place) -> None:
    for number in range(50):
        place.drop(f"{number}.pdf", b"the same")

    place.tick(60)

    (job_key,) = place.held()
    assert place.metrics["done"] == 1
    assert len(place.files(place.folders.hold)) == 49 + 1  # and status.json
    report = json.loads((place.folders.reports / f"{job_key}.json").read_text())
    assert report["count"] == 49
    assert place.files(place.folders.incoming) == []


def test_a_twin_of_a_job_that_runs_is_a_duplicate_too(place: Place, services: Services) -> None:
    services.judge = lambda _service, _body: {"state": "RUNNING"}
    place.drop("a.pdf", b"a")
    place.tick()
    place.drop("b.pdf", b"a")
    place.tick()
    place.decide(place.only_key(), "USE_EXISTING_RESULT")

    waited = place.tick(2)  # for the result
    assert place.held() == [place.only_key()]
    status = json.loads((place.folders.hold / place.only_key() / "status.json").read_text())
    assert (waited["problems"], status) == ([], {"state": "DUPLICATE_PENDING"})
    services.judge = lambda _service, _body: None
    services.jobs.clear()
    place.tick(4)

    assert place.held() == []
    assert place.files(place.folders.out) == ["a.pdf", "b.pdf"]


def done_and_held(place: Place, *names: str) -> str:
    place.drop("a.pdf", b"a")
    place.tick(2)
    for name in names or ("b.pdf",):
        place.drop(name, b"a")
        place.tick()
    return place.only_key()


def test_discard_removes_the_file_and_nothing_else(place: Place) -> None:
    job_key = done_and_held(place)
    place.decide(job_key, "DISCARD")

    place.tick()

    assert place.held() == []
    assert place.files(place.folders.reports) == []
    assert place.files(place.folders.out) == ["a.pdf"]
    assert place.files(place.folders.archive) == ["a.pdf"]
    assert place.files(place.folders.error) == place.files(place.folders.incoming) == []
    assert list(place.index["jobs"]) == [job_key]


def test_a_decision_about_one_of_two_leaves_the_other_as_it_was(place: Place) -> None:
    job_key = done_and_held(place, "b.pdf", "c.pdf")
    first, second = (name for name in place.files(place.folders.hold) if name != "status.json")
    place.decide(job_key, "DISCARD", files=[first])

    place.tick()

    assert place.files(place.folders.hold) == [second, "status.json"]
    assert json.loads((place.folders.hold / job_key / "status.json").read_text()) == {"state": "DUPLICATE_PENDING"}
    report = json.loads((place.folders.reports / f"{job_key}.json").read_text())
    assert ([each["fileName"] for each in report["incomings"]], report["incoming"]["fileName"]) == (["c.pdf"], "c.pdf")


@pytest.mark.parametrize("action", ["DISCARD", "USE_EXISTING_RESULT", "FORCE_REPROCESS"])
def test_a_decision_about_a_file_that_is_not_held_any_more_fails_and_does_nothing(place: Place, action: str) -> None:
    job_key = done_and_held(place, "b.pdf", "c.pdf")
    first, second = (name for name in place.files(place.folders.hold) if name != "status.json")
    (place.folders.hold / job_key / first).unlink()  # by hand
    place.decide(job_key, action, files=[first, second])

    place.tick(2)

    status = json.loads((place.folders.hold / job_key / "status.json").read_text())
    assert status["state"] == "DECISION_FAILED"
    assert f"not held any more: {first}" in status["message"]
    assert place.events[-1]["state"] == "DECISION_FAILED"
    assert second in place.files(place.folders.hold)
    place.decide(job_key, action, files=[second])
    place.tick()
    assert place.held() == []


def test_a_decision_that_was_cut_off_goes_on_with_the_files_that_are_left(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are done are not held any more, and that is no reason to fail."""
    job_key = done_and_held(place, "b.pdf", "c.pdf")
    named = [name for name in place.files(place.folders.hold) if name != "status.json"]
    place.decide(job_key, "DISCARD", files=named)
    calls = itertools.count(1)

    def cut_off(path: Path) -> None:
        if next(calls) == 2:
            raise OSError(errno.EIO, "once")
        utils.unlink(path)

    monkeypatch.setattr(decisions, "unlink", cut_off)
    place.tick()
    left = [name for name in place.files(place.folders.hold) if name in named]
    place.tick()

    assert left == named[1:]
    assert place.held() == []


def test_a_decision_without_files_is_about_all_that_are_held(place: Place) -> None:
    place.decide(done_and_held(place, "b.pdf", "c.pdf"), "USE_EXISTING_RESULT")

    place.tick()

    assert place.held() == []
    assert place.files(place.folders.archive) == ["a.pdf", "b.pdf", "c.pdf"]


def test_what_is_discarded_is_recorded_with_its_hash(place: Place, logs: list[EventDict]) -> None:
    job_key = done_and_held(place, "b.pdf", "c.pdf")
    place.decide(job_key, "DISCARD", decidedBy="anna", files=[place.files(place.folders.hold)[0]])
    wanted = hashlib.sha256(b"a").hexdigest()

    place.tick()

    (line,) = (place.folders.index / "discarded.jsonl").read_text().splitlines()
    facts = json.loads(line)
    assert (facts["sha256"], facts["fileName"], facts["decidedBy"]) == (wanted, "b.pdf", "anna")
    assert [each["sha256"] for each in logs if each["event"] == "duplicate_discarded"] == [wanted]
    assert [each["sha256"] for each in place.events if each["kind"] == "discarded"] == [wanted]


def test_force_processes_it_again_under_a_key_of_its_own(place: Place) -> None:
    job_key = done_and_held(place)
    place.decide(job_key, "FORCE_REPROCESS", nonce="0123abcd99")

    place.tick()
    assert set(place.index["forced"]) <= {"0123abcd"}
    place.tick(3)

    assert len(place.index["jobs"]) == 2
    assert place.metrics["done"] == 2
    assert place.index["forced"] == {}
    assert place.files(place.folders.out) == ["a.pdf", "b.pdf"]


def test_force_sends_it_back_to_in_with_its_nonce(place: Place) -> None:
    place.decide(done_and_held(place), "FORCE_REPROCESS", nonce="0123abcd99", decidedBy="anna")
    place.change(stable_s=60.0)

    place.tick()

    assert place.files(place.folders.incoming) == ["b__force-0123abcd.pdf"]
    assert place.index["forced"]["0123abcd"]["decidedBy"] == "anna"


def test_the_nonce_of_one_file_forces_no_other(place: Place) -> None:
    place.decide(done_and_held(place), "FORCE_REPROCESS", nonce="0123abcd")
    place.change(stable_s=60.0)
    place.tick()
    (place.folders.incoming / "b__force-0123abcd.pdf").rename(place.root / "aside.pdf")
    place.drop("b__force-0123abcd.pdf", b"other bytes")
    place.change(stable_s=0.0)

    place.tick()

    other = make_job_key(hashlib.sha256(b"other bytes").hexdigest(), PROFILE)[1]
    assert place.index["jobs"][other]["fileName"] == "b__force-0123abcd.pdf"
    assert set(place.index["forced"]) == {"0123abcd"}


def test_a_name_alone_forces_nothing(place: Place) -> None:
    done_and_held(place, "b__force-0123abcd.pdf")

    assert len(place.held()) == 1
    assert len(place.index["jobs"]) == 1


def test_a_nonce_is_good_for_one_file_and_once(place: Place) -> None:
    job_key = done_and_held(place)
    place.decide(job_key, "FORCE_REPROCESS", nonce="0123abcd")
    place.tick(4)

    place.drop("c__force-0123abcd.pdf", b"a")
    place.tick(2)

    assert len(place.index["jobs"]) == 2
    assert len(place.held()) == 1


def test_use_existing_copies_the_result_and_archives_the_file(place: Place) -> None:
    job_key = done_and_held(place)
    place.decide(job_key, "USE_EXISTING_RESULT")

    place.tick()

    assert place.files(place.folders.out) == ["a.pdf", "b.pdf"]
    assert place.files(place.folders.archive) == ["a.pdf", "b.pdf"]
    assert place.held() == place.files(place.folders.reports) == []
    assert list(place.index["jobs"]) == [job_key]


def test_use_existing_takes_another_name_rather_than_overwrite(place: Place) -> None:
    job_key = done_and_held(place)
    (place.folders.out / "b.pdf").write_bytes(b"somebody else's")
    place.decide(job_key, "USE_EXISTING_RESULT")

    place.tick()

    assert (place.folders.out / "b.pdf").read_bytes() == b"somebody else's"
    assert (place.folders.out / f"b__{job_key[:8]}.pdf").read_bytes() == b"a"


def test_use_existing_copies_nothing_where_it_is_already(place: Place) -> None:
    job_key = done_and_held(place)
    (place.folders.out / "b.pdf").write_bytes(b"a")  # by a decision that a crash cut off
    place.decide(job_key, "USE_EXISTING_RESULT")

    place.tick()

    assert place.files(place.folders.out) == ["a.pdf", "b.pdf"]
    assert place.files(place.folders.archive) == ["a.pdf", "b.pdf"]


def test_use_existing_of_a_result_that_is_gone_fails_and_deletes_nothing(place: Place) -> None:
    job_key = done_and_held(place)
    for path in (*place.folders.results.iterdir(), *place.folders.out.iterdir()):
        path.unlink()
    place.decide(job_key, "USE_EXISTING_RESULT")

    place.tick(2)

    status = json.loads((place.folders.hold / job_key / "status.json").read_text())
    assert status["state"] == "DECISION_FAILED"
    assert len(place.files(place.folders.hold)) == 3


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", '{"action": "DELETE"}', '{"action": 7}'),
        *(f'{{"action": "DISCARD", "files": {files}}}' for files in ("[]", '"b.pdf"', "[7]", "{}")),
    ],
)
def test_a_decision_that_cannot_be_read_decides_nothing(place: Place, text: str) -> None:
    job_key = done_and_held(place)
    (place.folders.hold / job_key / "decision.json").write_text(text)

    place.tick(11)

    status = json.loads((place.folders.hold / job_key / "status.json").read_text())
    assert status["state"] == "DECISION_INVALID"
    assert (place.folders.hold / job_key / "decision.json").exists()
    assert [path.read_bytes() for path in (place.folders.hold / job_key).glob("*__b.pdf")] == [b"a"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_decision_may_come_from_powershell(place: Place, encoding: str) -> None:
    job_key = done_and_held(place)
    path = place.folders.hold / job_key / "decision.json"
    path.write_text('{"action": "DISCARD"}', encoding=encoding)

    place.tick()

    assert place.held() == []


def test_a_file_that_failed_before_is_a_duplicate_of_the_error(place: Place, services: Services) -> None:
    services.judge = failing("CORRUPT", retryable=False)  # type: ignore[assignment]
    place.drop("a.pdf", b"a")
    place.tick(2)
    place.drop("b.pdf", b"a")
    place.tick()
    report = json.loads((place.folders.reports / f"{place.only_key()}.json").read_text())
    place.decide(place.only_key(), "USE_EXISTING_RESULT")
    place.tick()

    assert report["existing"]["state"] == "ERROR"
    status = json.loads((place.folders.hold / place.only_key() / "status.json").read_text())
    assert status == {"state": "DECISION_FAILED", "message": "the existing job ended in an error: there is no result"}


def test_other_tools_make_other_jobs(place: Place) -> None:
    place.drop("a.pdf", b"a")
    place.tick(2)
    place.drop("b.pdf", b"a")
    newer = {"prep": {"tools": {"p": "2"}}, "ocr": {"lang": "eng+fra"}}

    for _ in range(3):
        place.orchestrator.tick(newer)

    assert len(place.index["jobs"]) == 2


def test_one_folder_has_one_orchestrator(place: Place) -> None:
    with place.folders.locked(), pytest.raises(LeaseHeld, match="watched by process"), place.folders.locked():
        pass


def test_folders_that_feed_on_themselves_are_refused(place: Place) -> None:
    inside = place.folders.__class__(**{**vars(place.folders), "out": place.folders.incoming / "out"})

    with pytest.raises(InvalidInput, match="taken for input"):
        inside.make()


def test_the_loop_ticks_until_it_is_stopped(place: Place) -> None:
    stop = threading.Event()
    place.drop("a.pdf", b"a")

    def ticked(_: Document) -> None:
        if (place.folders.out / "a.pdf").exists():
            stop.set()

    options = replace(place.orchestrator.options, tick_s=0.01)
    Orchestrator(place.folders, options).loop(stop, ticked)

    assert (place.folders.out / "a.pdf").exists()


def test_an_index_that_is_broken_is_made_anew_and_the_old_one_kept(place: Place) -> None:
    place.drop("a.pdf", b"a")
    place.tick(2)
    job_key = place.only_key()
    place.folders.index_file.write_text("{broken")

    place.start()

    assert place.index["jobs"][job_key]["state"] == "DONE"
    assert any("broken" in name for name in place.files(place.folders.index))


def moved(place: Place, services: Services) -> Place:
    """The same folder under another name, and a new process that watches it there."""
    there = place.root.with_name("moved")
    place.root.rename(there)
    made = Place(there, services)
    made.start()
    return made


@pytest.mark.parametrize("service", ["prep", "ocr"])
def test_a_folder_that_was_moved_goes_on_where_it_was(place: Place, services: Services, service: str) -> None:
    services.judge = lambda asked, _: {"state": "RUNNING"} if asked == service else None
    place.drop("a.pdf", b"a")
    place.tick(2)
    services.judge = lambda _service, _body: None
    services.jobs.clear()

    there = moved(place, services)
    there.tick(4)

    assert there.files(there.folders.out) == there.files(there.folders.archive) == ["a.pdf"]
    assert there.metrics["done"] == 1
    assert str(place.root) not in there.folders.index_file.read_text()


def test_an_existing_result_is_found_after_the_folder_was_moved(place: Place, services: Services) -> None:
    job_key = done_and_held(place, "b.pdf", "c.pdf")
    saved = json.loads(place.folders.index_file.read_text())
    for name in ("outPath", "resultPath", "archivePath"):  # as an earlier release wrote them
        saved["jobs"][job_key][name] = str(place.root / saved["jobs"][job_key][name])
    place.folders.index_file.write_text(json.dumps(saved))

    there = moved(place, services)
    held = there.files(there.folders.hold)[0]
    there.decide(job_key, "USE_EXISTING_RESULT", files=[held])
    there.tick()

    assert there.files(there.folders.out) == ["a.pdf", "b.pdf"]
    report = json.loads((there.folders.reports / f"{job_key}.json").read_text())
    assert report["count"] == 1
    assert report["incoming"]["fileName"] == "c.pdf"


def test_the_paths_in_the_files_are_relative_and_those_of_events_whole(place: Place, services: Services) -> None:
    services.judge = lambda service, _: {"state": "RUNNING"} if service == "ocr" else None
    place.drop("a.pdf", b"a")
    place.tick(2)
    state = place.state(place.only_key())
    services.judge = lambda _service, _body: None
    services.jobs.clear()
    place.tick(4)

    assert state["inputPath"] == f"work/{place.only_key()}/input.pdf"
    entry = json.loads(place.folders.index_file.read_text())["jobs"][place.only_key()]
    assert entry["outPath"] == "out/a.pdf"
    assert str(place.root) not in json.dumps([state, entry]), "not even what a service told"
    assert place.events[-1]["outPath"] == str(place.folders.out / "a.pdf")


def test_an_index_that_takes_long_to_save_is_saved_rarely_by_the_clock_of_the_place(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves: list[float] = []

    def slowly(path: Path, document: Document) -> None:
        utils.atomic_write_json(path, document)
        saves.append(place.now)
        place.now += 1.0

    place.drop("a.pdf", b"a")
    monkeypatch.setattr(context, "atomic_write_json", slowly)
    for number in range(30):
        place.drop(f"{number}.pdf", bytes([number]))
        place.tick()

    assert len(saves) > 1
    assert all(later - earlier >= 10.0 for earlier, later in itertools.pairwise(saves))


def test_an_index_that_is_gone_is_made_anew(place: Place) -> None:
    place.drop("a.pdf", b"a")
    place.tick(2)
    job_key = place.only_key()
    place.folders.index_file.unlink()

    place.start()

    assert place.index["jobs"][job_key]["state"] == "DONE"


def test_every_state_has_its_stage() -> None:
    assert {stage_of(state) for state in STATES} == set(STAGES)


def test_counters_are_counted_again_at_a_start(place: Place) -> None:
    place.drop("a.pdf", b"a")
    place.tick(2)

    place.start()

    assert place.metrics["done"] == 1
    assert (place.root / place.index["jobs"][place.only_key()]["resultPath"]).is_file()
