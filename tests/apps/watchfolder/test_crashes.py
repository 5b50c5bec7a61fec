"""A crash before and after every change of the file system, one by one, then several in a run.

And the same with a full disk, which a process lives through: each change refused once, then for a
while. Between two changes nothing happens on the disk, so a crash after one and before the next
leave the same files, and only one of them is tried, unless a service or a folder came between.
"""

import contextlib
import errno
import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from ostinato.apps.watchfolder import utils
from ostinato.apps.watchfolder.model import Document
from ostinato.apps.watchfolder.tick import context
from tests.apps.watchfolder.place import Place, Services
from tests.slow import first_only

CHANGES = ("_rename", "_replace", "_link", "_unlink", "_rmtree", "_write")
KEPT = ("incoming", "staging", "work", "hold", "archive", "error")
OWN = {"state.json", "status.json", "decision.json", "error.json", "raw.pdf", "final.pdf"}


SHARDS = 4


class Crash(BaseException):
    """The process is gone: nothing catches it."""


class Crasher:
    """Counts changes, and crashes at some, or has them refused."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, services: Services) -> None:
        self.count = 0
        self.at: frozenset[int] = frozenset()
        self.full = False
        self.before: list[int] = []
        """The points just before a change."""
        self.worlds: list[tuple[int, ...]] = []
        """What else had happened when each point was reached."""
        self._folders = 0
        self._services = services
        self.place: Place | None = None
        for name in CHANGES:
            monkeypatch.setattr(utils, name, self._wrapped(getattr(utils, name)))
        monkeypatch.setattr(os, "mkdir", self._counted(os.mkdir))

    def begin(self, at: frozenset[int], place: Place | None = None) -> None:
        self.count, self.at, self.place = 0, at, place
        self.before, self.worlds = [], []

    def points(self) -> list[int]:
        """The points that differ, of the run that was just made."""
        last = len(self.worlds)
        return [
            point
            for point in range(1, last + 1)
            if point in self.before or point == last or self.worlds[point - 1] != self.worlds[point]
        ]

    def _wrapped(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def crashing(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - as it was
            self.before.append(self.count + 1)
            self._reach()
            result = change(*args, **options)
            if not self.full:  # a change that was made was not refused
                self._reach()
            return result

        return crashing

    def _counted(self, make: Callable[..., None]) -> Callable[..., None]:
        def counting(*args: Any, **options: Any) -> None:  # noqa: ANN401 - as it was
            make(*args, **options)
            self._folders += 1

        return counting

    def _reach(self) -> None:
        self.count += 1
        moment = int(self.place.now) if self.place else 0
        self.worlds.append((moment, self._folders, len(self._services.submits)))
        if self.count in self.at:
            if self.full:
                raise OSError(errno.ENOSPC, "No space left on device")
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
    """Do something as often as it takes, each time in a new process.

    A full disk ends a process only at its start: a tick that raises one fails the test.
    """
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
        with contextlib.suppress(OSError):
            place.start()
            return
        work()

    surviving(place, work)


def key_of(content: bytes, place: Place) -> str:
    wanted = hashlib.sha256(content).hexdigest()
    return next(str(key) for key in place.index["jobs"] if key.startswith(wanted))


def patiently(place: Place, there: Callable[[], bool]) -> None:
    """More ticks, for what was refused and is tried again after a pause."""
    for _ in range(20):
        if there():
            return
        surviving(place, place.tick)


def play(place: Place) -> None:
    """Two good files, a broken one, one that needs retries, then twins and what is decided."""
    inputs = {"a.pdf": b"first", "é b.pdf": b"second", "c.pdf": b"broken", "d.pdf": b"slow"}
    for name, content in inputs.items():
        place.drop(name, content)
    for _ in range(7):
        surviving(place, place.tick)
    patiently(place, lambda: not place.in_flight and not place.files(place.folders.incoming))
    for name, content in {"a2.pdf": b"first", "a3.pdf": b"first", "b2.pdf": b"second"}.items():
        place.drop(name, content)
    for _ in range(2):
        surviving(place, place.tick)
    patiently(place, lambda: sum("__" in name for name in place.files(place.folders.hold)) == 3)
    place.decide(key_of(b"second", place), "DISCARD")
    held = place.files(place.folders.hold / key_of(b"first", place))
    second = [name for name in held if name.endswith("a3.pdf")]
    place.decide(key_of(b"first", place), "USE_EXISTING_RESULT", files=second)
    surviving(place, place.tick)
    patiently(place, lambda: "decision.json" not in place.files(place.folders.hold))
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
        found[name] = sorted(path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name not in OWN)
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
    assert saved["forced"] == {}
    assert list(place.folders.staging.iterdir()) == []
    for entry in saved["jobs"].values():
        if entry["state"] == "DONE":
            assert (place.root / entry["resultPath"]).is_file()
            assert (place.root / entry["outPath"]).is_file()
    metrics = place.metrics
    assert (metrics["done"], metrics["error"], metrics["running"]) == (4, 1, 0)


def run(root: Path, services: Services, crasher: Crasher, at: frozenset[int]) -> int:
    shutil.rmtree(root, ignore_errors=True)
    services.jobs.clear()
    services.submits.clear()
    services.judge = judge
    crasher.begin(frozenset())
    place = Place(root, services)
    place.start()
    crasher.begin(at, place)
    play(place)
    reached = crasher.count
    crasher.at = frozenset()
    place.tick(REST if crasher.full else 2)
    del crasher.worlds[reached:]
    check(place)
    return reached


REST = 8


@pytest.fixture
def crasher(services: Services, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crasher]:
    monkeypatch.setattr(utils.os, "fsync", lambda _: None)  # type: ignore[attr-defined]
    monkeypatch.setattr(context, "SAVE_SHARE", 0)  # the same points in every run, however slow
    with structlog.testing.capture_logs():  # thousands of lines that nobody reads
        yield Crasher(monkeypatch, services)


@pytest.mark.slow
@pytest.mark.parametrize("shard", first_only(range(SHARDS)))
def test_a_crash_at_any_point_loses_and_strands_nothing(
    memory_path: Path, services: Services, crasher: Crasher, capsys: pytest.CaptureFixture[str], shard: int
) -> None:
    run(memory_path / "place", services, crasher, frozenset())
    points = crasher.points()

    for point in points[shard::SHARDS]:
        try:
            run(memory_path / "place", services, crasher, frozenset({point}))
        except BaseException:
            print(f"crashed at point {point} of {points[-1]}")  # noqa: T201 - what a person wants to know
            raise

    with capsys.disabled():
        print(f"\n  watchfolder: {len(points)} crash points, no file lost or stranded")  # noqa: T201 - what a person wants to know


@pytest.mark.slow
def test_several_crashes_in_one_run_lose_and_strand_nothing(
    memory_path: Path, services: Services, crasher: Crasher
) -> None:
    points = run(memory_path / "place", services, crasher, frozenset())

    for seed in range(60):
        chance = random.Random(seed)
        at = frozenset(chance.sample(range(1, points + 40), chance.randint(2, 4)))
        try:
            run(memory_path / "place", services, crasher, at)
        except BaseException:
            print(f"seed {seed}: crashes at {sorted(at)}")  # noqa: T201 - what a person wants to know
            raise


@pytest.mark.slow
@pytest.mark.parametrize("shard", first_only(range(SHARDS)))
@pytest.mark.parametrize("length", [1, 6])
def test_an_error_at_any_point_loses_and_strands_nothing(
    memory_path: Path, services: Services, crasher: Crasher, shard: int, length: int
) -> None:
    """A disk without room at one change, or at several in a row, while the process lives on."""
    crasher.full = True
    changes = run(memory_path / "place", services, crasher, frozenset())

    for first in range(1 + shard * length, changes + 1, SHARDS * length):
        at = frozenset(range(first, first + length))
        try:
            run(memory_path / "place", services, crasher, at)
        except BaseException:
            print(f"refused at {sorted(at)} of {changes}")  # noqa: T201 - what a person wants to know
            raise
