"""A folder in the place of a file, or a file in the place of a folder: one document suffers, no other one waits."""

import hashlib
import json
import os
from pathlib import Path
from subprocess import DEVNULL

import pytest

from ostinato.apps.watchfolder import readings, utils
from ostinato.apps.watchfolder.core import make_job_key
from ostinato.apps.watchfolder.model import Document
from ostinato.apps.watchfolder.station.processes import ServiceProcess
from tests.apps.watchfolder.engine import PATH, Office
from tests.apps.watchfolder.place import PROFILE, Place, Services
from tests.apps.watchfolder.test_watcher import HELD, KEY, look, watched

OTHER = f"{'cd' * 32}__{'0' * 16}"


def lay(path: Path) -> Path:
    """Put a folder there with something in it, so that nothing removes or replaces it."""
    (path / "inside").mkdir(parents=True)
    return path


def test_a_folder_in_the_place_of_what_was_read_is_nothing_that_was_read(tmp_path: Path) -> None:
    lay(tmp_path / readings.TEXT)
    assert readings.read(tmp_path) is None

    (tmp_path / readings.TEXT / "inside").rmdir()
    (tmp_path / readings.TEXT).rmdir()
    (tmp_path / readings.TEXT).write_text("words")
    lay(tmp_path / readings.FIRST_PAGE)
    found = readings.read(tmp_path)

    assert found is not None
    assert (found.body, found.first_page) == ("words", None)


def test_a_file_in_the_place_of_a_folder_is_no_name_that_is_taken(tmp_path: Path) -> None:
    """Every name below it was tried, without an end."""
    (tmp_path / "a.pdf").write_bytes(b"a")
    (tmp_path / "archive").write_bytes(b"")

    with pytest.raises(FileExistsError):
        utils.move_unique(tmp_path / "a.pdf", tmp_path / "archive", "a.pdf")


def test_a_folder_in_the_place_of_a_heartbeat_ends_that_job_and_no_other(place: Place, services: Services) -> None:
    def judge(_: str, body: Document) -> Document | None:
        if not body["inputPath"].endswith(".tif"):
            return None
        lay(place.folders.job(body["jobKey"]) / "prep.heartbeat")
        return {"state": "ERROR", "error": {"code": "WORKER_CRASHED", "message": "no", "retryable": True}}

    services.judge = judge
    place.drop("a.tif", b"a")
    place.drop("b.pdf", b"b")

    place.tick(8)

    assert place.files(place.folders.out) == ["b.pdf"]
    (ended,) = (job for job in place.index["jobs"].values() if job["fileName"] == "a.tif")
    assert (ended["state"], ended["cause"]["code"]) == ("ERROR", "UNSAFE")
    assert "prep.heartbeat" in ended["cause"]["message"]
    assert "a.tif" in place.files(place.folders.error)


def test_a_folder_in_staging_stops_no_discovery(place: Place) -> None:
    lay(place.folders.staging / ".0badcafe.name")
    lay(place.folders.staging / ".12345678.name")
    (place.folders.staging / "12345678__left.pdf").write_bytes(b"left")
    place.drop("a.pdf", b"a")

    place.tick(6)

    assert place.files(place.folders.out) == ["a.pdf", "left.pdf"]


def test_what_became_a_folder_before_it_was_taken_goes_back(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.start(max_jobs_in_flight=1)
    path = place.drop("a.pdf", b"a")

    def swap(source: Path) -> None:
        source.unlink()
        lay(source)

    with monkeypatch.context() as patch:
        patch.setattr("ostinato.apps.watchfolder.tick.arrivals.check_readable", swap)
        place.tick()
    place.drop("b.pdf", b"b")
    place.tick(4)

    assert path.is_dir()
    assert place.files(place.folders.out) == ["b.pdf"]
    assert list(place.folders.staging.iterdir()) == []


@pytest.mark.parametrize("sort", ["folder", "link"])
def test_a_file_whose_place_is_taken_is_refused_and_takes_no_slot(place: Place, tmp_path: Path, sort: str) -> None:
    """It kept one of the slots for ever: whoever knows what comes could have all of them."""
    place.start(max_jobs_in_flight=1)
    job_key = make_job_key(hashlib.sha256(b"a").hexdigest(), PROFILE)[1]
    taken = place.folders.job(job_key) / "input.pdf"
    if sort == "folder":
        lay(taken)
    else:
        taken.parent.mkdir()
        taken.symlink_to(tmp_path)
    place.drop("a.pdf", b"a")
    place.tick(2)
    place.drop("b.pdf", b"b")

    place.tick(4)

    assert place.files(place.folders.out) == ["b.pdf"]
    (report,) = place.folders.error.glob("unsafe-*/error.json")
    assert json.loads(report.read_text())["fileName"] == "a.pdf"
    assert (report.parent / "a.pdf").read_bytes() == b"a"
    assert job_key not in place.index["jobs"]
    assert list(place.folders.staging.iterdir()) == []


def test_a_folder_under_the_name_of_a_result_is_passed(place: Place) -> None:
    place.drop("a.pdf", b"a")
    place.tick(3)
    place.drop("b.pdf", b"a")
    place.tick()
    lay(place.folders.out / "b.pdf")
    place.decide(place.only_key(), "USE_EXISTING_RESULT")

    place.tick()

    assert place.held() == []
    assert (place.folders.out / f"b__{place.only_key()[:8]}.pdf").read_bytes() == b"a"


def test_a_report_that_cannot_be_restored_keeps_back_no_other(place: Place) -> None:
    for job_key in (KEY, OTHER):
        (place.folders.hold / job_key).mkdir()
        (place.folders.hold / job_key / HELD).write_bytes(b"again")
    lay(place.folders.reports / f"{KEY}.json")
    place.start()

    assert (place.folders.reports / f"{OTHER}.json").is_file()
    assert (place.folders.hold / OTHER / "status.json").is_file()
    assert not place.orchestrator.memory.reports_complete  # it is tried again


@pytest.mark.parametrize("report", [None, '["jobKey"]', "7", '{"jobKey": ["a"]}'])
def test_a_report_that_is_none_keeps_no_index_from_being_made_anew(place: Place, report: str | None) -> None:
    place.folders.index_file.unlink(missing_ok=True)
    strange, good = (place.folders.error / key / "error.json" for key in (KEY, OTHER))
    for path in (strange, good):
        path.parent.mkdir()
    good.write_text(json.dumps({"jobKey": OTHER}))
    if report is None:
        lay(strange)
    else:
        strange.write_text(report)

    place.start()

    assert list(place.index["jobs"]) == [OTHER]


async def test_a_decision_that_cannot_be_written_is_told_and_keeps_no_other_waiting(office: Office) -> None:
    watcher, folders, _ = await watched(office)
    for job_key in (KEY, OTHER):
        (folders.hold / job_key).mkdir()
        (folders.hold / job_key / HELD).write_bytes(b"again")
    lay(folders.hold / KEY / "status.json")
    await look(watcher)
    for job_key in (KEY, OTHER):
        path = f"{PATH}/courrier/duplicates/{job_key}/decision"
        assert (await office.api.call("POST", path, json={"action": "DISCARD"})).status_code == 202

    await look(watcher)
    watcher._noted = float("-inf")
    await look(watcher)

    assert json.loads((folders.hold / OTHER / "decision.json").read_text())["action"] == "DISCARD"
    said = (await office.get("courrier"))["problem"]
    assert said.startswith(f"decision_not_written: {KEY}: IsADirectoryError")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("reports", '{"existing": [1], "detectedAt": 7}'),
        ("reports", '{"existing": {"state": {}, "fileName": "\\ud800\\u0000"}}'),
        ("status.json", '{"state": {}, "message": {"a": "\\ud800"}}'),
        ("decision.json", '{"action": "DISCARD", "decidedAt": 7}'),
    ],
)
async def test_files_that_say_nonsense_of_a_duplicate_end_no_watcher(office: Office, name: str, text: str) -> None:
    """They are written by people, too; the job that watches ended, and began anew to end again."""
    watcher, folders, _ = await watched(office)
    place = folders.hold / KEY
    place.mkdir()
    (place / HELD).write_bytes(b"again")
    await look(watcher)
    path = f"{PATH}/courrier/duplicates/{KEY}/decision"
    assert (await office.api.call("POST", path, json={"action": "DISCARD"})).status_code == 202
    (place / "status.json").write_text('{"state": "DECISION_FAILED"}')

    (folders.reports / f"{KEY}.json" if name == "reports" else place / name).write_text(text)
    await look(watcher)

    assert len((await office.get("courrier/duplicates"))["duplicates"]) == 1


@pytest.mark.parametrize("sort", ["folder", "link", "fifo"])
def test_what_lies_in_the_place_of_a_log_keeps_no_service_from_starting(tmp_path: Path, sort: str) -> None:
    log, victim = tmp_path / "log", tmp_path / "victim"
    victim.write_text("mine")
    match sort:
        case "folder":
            lay(log)
        case "link":
            log.symlink_to(victim)
        case _:
            os.mkfifo(log)

    assert ServiceProcess("prep", tmp_path, log_to=log)._opened_log() == DEVNULL
    assert victim.read_text() == "mine"
