"""A program that makes itself a disk of a megabyte, and has every step of a folder meet it full.

`python -m tests.apps.watchfolder.smalldisk FOLDER` needs no privileges: the disk is mounted in a
name space of its own and ends with it. It prints what became of each scenario as one line of JSON,
or why there could be none.
"""

import ctypes
import errno
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests
import structlog

from ostinato.apps.watchfolder.model import Document
from ostinato.apps.watchfolder.tick import context
from tests.apps.watchfolder.place import Place, Services, answer

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
STATES = (
    "INGESTING",
    "DISCOVERED",
    "PREP_SUBMITTED",
    "PREP_RUNNING",
    "PREP_DONE",
    "OCR_SUBMITTED",
    "OCR_RUNNING",
    "FINALIZING",
    "DONE",
)
INPUTS = {"a.pdf": b"a" * 9_000, "é b.pdf": b"b" * 5_000, "c.pdf": b"c" * 20_000}

_libc = ctypes.CDLL(None, use_errno=True)


class Crowded(Services):
    """Services that share the disk: what they cannot write they do not take."""

    def post(self, url: str, **options: Any) -> requests.Response:  # noqa: ANN401 - as requests
        try:
            return super().post(url, **options)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            self.submits.pop()
            for left in Path(options["json"]["inputPath"]).parent.glob("*.new"):
                left.unlink()
            return answer(503, {"code": "BUSY"})


def own_name_space() -> str | None:
    """Why we can have no mounts of our own; None: we have."""
    uid, gid = os.getuid(), os.getgid()
    if _libc.unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0:
        return f"unshare: {os.strerror(ctypes.get_errno())}"
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    except OSError as error:
        return str(error)
    return None


def mount(folder: Path, size: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if _libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={size}".encode()) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(folder))


def fill(disk: Path) -> None:
    """Leave no room at all."""
    with (disk / ".filler").open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while file.write(b"\0" * size) == size:
                    pass
            except OSError:
                continue


def new_place(root: Path) -> Place:
    context.SAVE_SHARE = 0  # the index is saved at the same points in every run, however slow
    services = Crowded()
    requests.get, requests.post = services.get, services.post  # type: ignore[assignment]
    place = Place(root, services)
    place.start()
    return place


def check(place: Place, inputs: dict[str, bytes], out: int) -> None:
    assert sorted(path.read_bytes() for path in place.folders.archive.rglob("*.pdf")) == sorted(inputs.values())
    for name in ("incoming", "staging", "work", "error"):
        assert place.files(getattr(place.folders, name)) == [], name
    assert len(place.files(place.folders.out)) == out
    assert place.held() == []
    entries = json.loads(place.folders.index_file.read_text())["jobs"].values()
    assert {(e["state"], e["attemptPrep"], e["attemptOcr"]) for e in entries} == {("DONE", 1, 1)}
    left = [path.name for path in place.root.rglob(".*") if path.suffix in {".tmp", ".part"}]
    assert left == []


def through(place: Place, disk: Path) -> None:
    """Ticks on a full disk, then on one that has room again."""
    place.tick(20)
    (disk / ".filler").unlink(missing_ok=True)
    place.orchestrator.hooks.on_event = place.events.append
    place.tick(40)


def full_from_the_start(root: Path) -> None:
    mount(root, "1m")
    place = new_place(root)
    for name, data in INPUTS.items():
        place.drop(name, data)
    fill(root)
    through(place, root)
    check(place, INPUTS, len(INPUTS))


def full_after(state: str, *, restarted: bool) -> Callable[[Path], None]:
    def scenario(root: Path) -> None:
        mount(root, "1m")
        place = new_place(root)
        for name, data in INPUTS.items():
            place.drop(name, data)
        place.orchestrator.hooks.on_event = lambda event: _fill_at(root, event, state)
        if restarted:
            place.tick(3)
            place.start()
        through(place, root)
        check(place, INPUTS, len(INPUTS))

    return scenario


def _fill_at(disk: Path, event: Document, state: str) -> None:
    if event.get("state") == state and not (disk / ".filler").exists():
        fill(disk)


def out_is_full(root: Path) -> None:
    """`out/` and `archive/` are on a small disk of their own: moves there are copies."""
    mount(root, "8m")
    place = new_place(root)
    for folder in (place.folders.out, place.folders.archive):
        mount(folder, "256k")
        fill(folder)
    for name, data in INPUTS.items():
        place.drop(name, data)
    place.tick(20)
    (place.folders.archive / ".filler").unlink()
    place.tick(20)
    through(place, place.folders.out)
    check(place, INPUTS, len(INPUTS))


def full_while_a_decision_is_done(root: Path) -> None:
    mount(root, "1m")
    place = new_place(root)
    place.drop("a.pdf", b"a" * 9_000)
    place.tick(3)
    place.drop("twin.pdf", b"a" * 9_000)
    place.tick(2)
    place.decide(place.only_key(), "USE_EXISTING_RESULT")
    fill(root)
    through(place, root)
    check(place, {"a.pdf": b"a" * 9_000, "twin.pdf": b"a" * 9_000}, 2)


SCENARIOS: dict[str, Callable[[Path], None]] = {
    "from the start": full_from_the_start,
    **{f"after {state}": full_after(state, restarted=False) for state in STATES},
    **{
        f"at a start after {state}": full_after(state, restarted=True)
        for state in ("INGESTING", "PREP_RUNNING", "FINALIZING")
    },
    "out and archive": out_is_full,
    "a decision": full_while_a_decision_is_done,
}


def main(folder: Path) -> None:
    refused = own_name_space()
    if refused is None:
        try:
            mount(folder / "probe", "64k")
        except OSError as error:
            refused = str(error)
    told: dict[str, str] = {}
    if refused is None:
        with structlog.testing.capture_logs():
            for number, (name, scenario) in enumerate(SCENARIOS.items()):
                try:
                    scenario(folder / str(number))
                    told[name] = "well"
                except Exception:  # noqa: BLE001 - told
                    told[name] = traceback.format_exc()
    print(json.dumps({"refused": refused, "told": told}))  # noqa: T201 - the answer


if __name__ == "__main__":
    main(Path(sys.argv[1]))
