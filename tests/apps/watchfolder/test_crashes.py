"""A crash before and after every change of the file system, one by one, then several in a run."""

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ostinato.apps.watchfolder import utils
from ostinato.apps.watchfolder.model import Document
from tests.apps.watchfolder.place import Place, Services

CHANGES = ("_rename", "_replace", "_link", "_unlink", "_rmtree", "_write")
KEPT = ("incoming", "staging", "work", "hold", "archive", "error")
OWN = {"state.json", "status.json", "decision.json", "error.json", "raw.pdf", "final.pdf"}


class Crash(BaseException):
    """The process is gone: nothing catches it."""


class Crasher:
    """Counts changes, and crashes at some."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.at: frozenset[int] = frozenset()
        for name in CHANGES:
            monkeypatch.setattr(utils, name, self._wrapped(getattr(utils, name)))

    def _wrapped(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def crashing(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - as it was
            self._reach()
            result = change(*args, **options)
            self._reach()
            return result

        return crashing

    def _reach(self) -> None:
        self.count += 1
        if self.count in self.at:
            raise Crash


def judge(service: str, body: Document) -> Document | None:
    """One file can never be read; another fails its first two attempts of OCR."""
    content = Path(body["inputPath"]).read_bytes()
    if content == b"broken":
        return {"state": "ERROR", "error": {"code": "CORRUPT", "message": "no", "retryable": False}}
    if content == b"slow" and service == "ocr" and body["attempt"] < 3:
        return {"state": "ERROR", "error": {"code": "WORKER_CRASHED", "message": "again"}}
    return None


def surviving(place: Place, work: Callable[[], object]) -> None:
    """Do something as often as it takes, each time in a new process."""
    while True:
        try:
            work()
        except Crash:
            try:
                place.start()
            except Crash:
                continue
        else:
            return


def revive(place: Place) -> None:
    def work() -> None:
        place.start()

    surviving(place, work)


def key_of(content: bytes, place: Place) -> str:
    wanted = hashlib.sha256(content).hexdigest()
    return next(str(key) for key in place.index["jobs"] if key.startswith(wanted))


def play(place: Place) -> None:
    """Two good files, a broken one, one that needs retries, then twins and what is decided."""
    inputs = {"a.pdf": b"first", "é b.pdf": b"second", "c.pdf": b"broken", "d.pdf": b"slow"}
    for name, content in inputs.items():
        place.drop(name, content)
    for _ in range(7):
        surviving(place, place.tick)
    for name, content in {"a2.pdf": b"first", "a3.pdf": b"first", "b2.pdf": b"second"}.items():
        place.drop(name, content)
    for _ in range(2):
        surviving(place, place.tick)
    place.decide(key_of(b"second", place), "DISCARD")
    held = place.files(place.folders.hold / key_of(b"first", place))
    second = [name for name in held if name.endswith("a3.pdf")]
    place.decide(key_of(b"first", place), "USE_EXISTING_RESULT", files=second)
    surviving(place, place.tick)
    place.decide(key_of(b"first", place), "FORCE_REPROCESS")
    for _ in range(7):
        surviving(place, place.tick)
    revive(place)
    for _ in range(4):
        surviving(place, place.tick)


def originals(place: Place) -> dict[str, list[bytes]]:
    """What came in, by where it is now."""
    found: dict[str, list[bytes]] = {}
    for name in KEPT:
        folder: Path = getattr(place.folders, name)
        found[name] = sorted(
            path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and path.name not in OWN
        )
    return found


def check(place: Place) -> None:
    where = originals(place)
    assert where == {
        "incoming": [],
        "staging": [],
        "work": [],
        "hold": [],
        "archive": sorted([b"first", b"first", b"first", b"second", b"slow"]),
        "error": [b"broken"],
    }
    out = sorted(path.read_bytes() for path in place.folders.out.iterdir())
    assert out == sorted([b"first", b"first", b"first", b"second", b"slow"])
    states = sorted(entry["state"] for entry in place.index["jobs"].values())
    assert states == ["DONE", "DONE", "DONE", "DONE", "ERROR"]
    saved = json.loads(place.folders.index_file.read_text())
    assert saved["jobs"] == place.index["jobs"]
    assert list(place.folders.work.iterdir()) == []
    assert place.files(place.folders.reports) == []
    assert place.held() == []
    for entry in saved["jobs"].values():
        if entry["state"] == "DONE":
            assert Path(entry["resultPath"]).is_file()
            assert Path(entry["outPath"]).is_file()
    metrics = place.config["metrics"]
    assert (metrics["done"], metrics["error"], metrics["running"]) == (4, 1, 0)


def run(root: Path, services: Services, crasher: Crasher, at: frozenset[int]) -> int:
    shutil.rmtree(root, ignore_errors=True)
    services.jobs.clear()
    services.judge = judge
    crasher.count, crasher.at = 0, frozenset()
    place = Place(root, services)
    place.start()
    crasher.count, crasher.at = 0, at
    play(place)
    reached = crasher.count
    crasher.at = frozenset()
    place.tick(2)
    check(place)
    return reached


@pytest.mark.slow
def test_a_crash_at_any_point_loses_and_strands_nothing(
    memory_path: Path,
    services: Services,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(utils.os, "fsync", lambda _: None)  # type: ignore[attr-defined]
    crasher = Crasher(monkeypatch)
    points = run(memory_path / "place", services, crasher, frozenset())

    for point in range(1, points + 1):
        try:
            run(memory_path / "place", services, crasher, frozenset({point}))
        except BaseException:
            print(f"crashed at point {point} of {points}")  # noqa: T201 - what a person wants to know
            raise

    with capsys.disabled():
        print(f"\n  watchfolder: {points} crash points, no file lost or stranded")  # noqa: T201 - what a person wants to know


@pytest.mark.slow
def test_several_crashes_in_one_run_lose_and_strand_nothing(
    memory_path: Path, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(utils.os, "fsync", lambda _: None)  # type: ignore[attr-defined]
    crasher = Crasher(monkeypatch)
    points = run(memory_path / "place", services, crasher, frozenset())

    for seed in range(60):
        chance = random.Random(seed)
        at = frozenset(chance.sample(range(1, points + 40), chance.randint(2, 4)))
        try:
            run(memory_path / "place", services, crasher, at)
        except BaseException:
            print(f"seed {seed}: crashes at {sorted(at)}")  # noqa: T201 - what a person wants to know
            raise
