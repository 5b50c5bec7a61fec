"""Files as people leave them: half written, strangely named, on other disks, without room."""

import ctypes
import errno
import io
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ostinato.apps.watchfolder import utils
from ostinato.apps.watchfolder.folders import Folders, is_local
from ostinato.apps.watchfolder.names import (
    candidates,
    fit,
    forced_name,
    is_ignored,
    natural_key,
    raw_name,
    safe_name,
    shown_name,
)
from ostinato.apps.watchfolder.tick.sights import is_being_written
from ostinato.apps.watchfolder.utils import atomic_write_json, copy_to, move_atomic, move_unique, read_json
from tests.apps.watchfolder.place import Place, Services
from tests.needs import lacking

LONG = "é" * 124 + ".pdf"  # 252 bytes


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on another file system."""
    shared = Path("/dev/shm")  # noqa: S108 - a folder of its own is made there
    if not shared.is_dir() or shared.stat().st_dev == tmp_path.stat().st_dev:
        lacking("filesystem", "this machine has only one file system")
    with tempfile.TemporaryDirectory(dir=shared) as made:
        yield Path(made)


def test_a_move_never_replaces_another_file(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("mine")
    target.write_text("theirs")

    with pytest.raises(FileExistsError):
        move_atomic(source, target)
    assert move_unique(source, tmp_path, "b") == str(tmp_path / "b-1")
    assert (target.read_text(), (tmp_path / "b-1").read_text()) == ("theirs", "mine")


def test_a_move_to_another_disk_is_whole_or_not_there(tmp_path: Path, other_disk: Path) -> None:
    source = tmp_path / "a"
    source.write_bytes(b"x" * 100_000)

    move_atomic(source, other_disk / "deep" / "a")

    assert (other_disk / "deep" / "a").read_bytes() == b"x" * 100_000
    assert not source.exists()
    assert [path.name for path in (other_disk / "deep").iterdir()] == ["a"]


def test_without_renameat2_a_move_still_replaces_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utils, "_renameat2", lambda *_: errno.EINVAL)
    (tmp_path / "a").write_text("mine")
    (tmp_path / "b").write_text("theirs")

    with pytest.raises(FileExistsError):
        move_atomic(tmp_path / "a", tmp_path / "b")
    move_atomic(tmp_path / "a", tmp_path / "c")
    assert (tmp_path / "c").read_text() == "mine"


def test_a_disk_that_is_full_leaves_the_old_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.json"
    atomic_write_json(path, {"state": "DONE"})

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(utils, "_write", full)
    with pytest.raises(OSError, match="No space"):
        atomic_write_json(path, {"state": "ERROR"})

    assert read_json(path) == {"state": "DONE"}
    assert [found.name for found in tmp_path.iterdir()] == ["state.json"]


def test_a_copy_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("x")
    monkeypatch.setattr(utils.os, "fsync", _full)  # type: ignore[attr-defined]

    with pytest.raises(OSError, match="No space"):
        copy_to(tmp_path / "a", tmp_path / "b")

    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def _full(_: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_disk_that_is_full_stops_discovery_and_nothing_else(place: Place, services: Services) -> None:
    services.judge = lambda service, _: {"state": "RUNNING"} if service == "prep" else None
    place.drop("a.pdf", b"a")
    place.tick()
    place.change(min_free_bytes=1 << 60)
    place.drop("b.pdf", b"b")
    services.jobs.clear()
    services.judge = lambda _service, _body: None

    done = place.tick(4)

    assert done["degraded"] == "disk"
    assert place.files(place.folders.incoming) == ["b.pdf"]
    assert place.files(place.folders.out) == ["a.pdf"]
    place.change(min_free_bytes=0)
    place.tick(2)
    assert place.files(place.folders.out) == ["a.pdf", "b.pdf"]


def test_an_out_folder_on_a_full_disk_holds_the_job_until_there_is_room(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = utils._rename

    def full(source: utils.PathLike, target: utils.PathLike) -> None:
        if Path(target).parent == place.folders.out:
            raise OSError(errno.ENOSPC, "No space left on device")
        rename(source, target)

    place.drop("a.pdf", b"a")
    with monkeypatch.context() as patch:
        patch.setattr(utils, "_rename", full)
        place.tick(3)
        assert place.state(place.only_key())["state"] == "FINALIZING"
    place.tick(2)

    assert place.files(place.folders.out) == ["a.pdf"]
    assert place.files(place.folders.archive) == ["a.pdf"]


def test_folders_on_two_disks_work_all_the_same(tmp_path: Path, other_disk: Path, services: Services) -> None:
    place = Place(tmp_path / "place", services)
    moved = {**vars(place.folders), "out": other_disk / "out", "archive": other_disk / "archive"}
    place.folders = Folders(**moved)
    place.start()
    place.drop("a.pdf", b"a")

    place.tick(2)

    assert (other_disk / "out" / "a.pdf").read_bytes() == b"a"
    assert place.folders.scattered() == [other_disk / "out", other_disk / "archive"]


def test_a_slow_writer_is_waited_for(place: Place) -> None:
    place.start(stable_s=5.0)
    path = place.drop("scan.tif", b"page 1")
    for page in range(2, 8):
        place.tick(3)  # three seconds, then the scanner writes its next page
        with path.open("ab") as file:
            file.write(f" page {page}".encode())
        assert place.files(place.folders.incoming) == ["scan.tif"]

    place.tick(8)

    assert b"page 7" in (place.folders.out / "scan.pdf").read_bytes()


def test_a_pdf_without_its_end_is_given_three_times_the_time(place: Place) -> None:
    place.start(stable_s=5.0)
    place.drop("cut.pdf", b"%PDF-1.4 no end")

    place.tick(12)
    assert place.files(place.folders.incoming) == ["cut.pdf"]
    place.tick(8)
    assert place.files(place.folders.out) == ["cut.pdf"]


@pytest.mark.parametrize("where", ["main thread", "another thread"])
def test_a_file_that_is_open_for_writing_is_left_alone(place: Place, where: str) -> None:
    """Under the engine ticks run in threads."""

    def tick(times: int) -> None:
        if where == "main thread":
            place.tick(times)
            return
        thread = threading.Thread(target=place.tick, args=(times,))
        thread.start()
        thread.join()

    before = signal.getsignal(signal.SIGIO)
    path = place.drop("open.pdf", b"x")
    with path.open("ab") as file:
        file.write(b"y")
        file.flush()
        if not is_being_written(path):
            lacking("filesystem", "this file system knows no leases")
        tick(3)
        assert place.files(place.folders.incoming) == ["open.pdf"]

    tick(2)

    assert (place.folders.out / "open.pdf").read_bytes() == b"xy"
    assert signal.getsignal(signal.SIGIO) is before


ASKING = """
import sys
from pathlib import Path
from typing import IO
from ostinato.apps.watchfolder.tick.sights import is_being_written
print("asking", flush=True)
while not Path(sys.argv[2]).exists():
    is_being_written(Path(sys.argv[1]))
print("alive", flush=True)
"""


def test_a_writer_that_comes_while_we_ask_ends_nobody(tmp_path: Path) -> None:
    """The kernel tells whoever holds a lease by a signal, whose default is to end the process."""
    path, stop = tmp_path / "a.pdf", tmp_path / "stop"
    path.write_bytes(b"x")
    asking = subprocess.Popen([sys.executable, "-c", ASKING, str(path), str(stop)], stdout=subprocess.PIPE)
    assert asking.stdout is not None
    with asking, asking.stdout as told:
        assert told.readline() == b"asking\n"
        for _ in range(2000):
            with path.open("ab"):
                pass
        stop.touch()
        assert told.readline() == b"alive\n"

    assert asking.returncode == 0


MOUNTS = """22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 0:40 / /srv/scans rw shared:1 - nfs4 server:/scans rw
31 30 8:2 / /srv/scans/local\\040disk rw - xfs /dev/sdb1 rw
32 22 0:41 / /mnt/share rw - cifs //server/share rw
33 22 0:42 / /home/me/cloud rw - fuse.rclone cloud: rw
"""


@pytest.mark.parametrize(
    ("path", "local"),
    [
        ("/var/scans/in", True),
        ("/srv/scans", False),
        ("/srv/scans/in", False),
        ("/srv/scans/local disk/in", True),
        ("/srv/scans-2/in", True),
        ("/mnt/share/in", False),
        ("/home/me/cloud/in", False),
    ],
)
def test_a_share_is_known_from_a_disk_of_this_machine(path: str, local: bool) -> None:  # noqa: FBT001 - a parameter
    assert is_local(Path(path), MOUNTS) is local


def test_on_a_share_nobody_is_asked_who_writes(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS and SMB answer that somebody does, whoever asks, and nothing would ever be taken."""
    monkeypatch.setattr("ostinato.apps.watchfolder.tick.sights.is_local", lambda _: False)
    monkeypatch.setattr("ostinato.apps.watchfolder.tick.arrivals.is_being_written", lambda _: True)
    place.drop("a.pdf", b"a")

    place.tick(2)

    assert place.files(place.folders.out) == ["a.pdf"]


def test_a_file_that_is_never_finished_is_waited_for_and_told_of(place: Place) -> None:
    place.start(stable_s=5.0)
    path = place.drop("endless.pdf", b"x")
    told = []
    for _ in range(40):
        place.now += 100
        with path.open("ab") as file:
            file.write(b"x")
        told += place.tick()["problems"]

    assert {problem["what"] for problem in told} == {"file_never_finished"}
    assert place.files(place.folders.incoming) == ["endless.pdf"]


def test_ten_files_that_cannot_be_moved_keep_nobody_waiting(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = utils._rename

    def refusing(source: utils.PathLike, target: utils.PathLike) -> None:
        if Path(source).name.startswith("locked") and locked:
            tried.append(Path(source).name)
            raise OSError(errno.EIO, "Input/output error")
        rename(source, target)

    locked, tried = True, list[str]()
    monkeypatch.setattr(utils, "_rename", refusing)
    for number in range(12):
        os.utime(place.drop(f"locked{number}.pdf", str(number).encode()), (1000, 1000))
    place.drop("good.pdf", b"good")

    place.tick(20)

    assert place.files(place.folders.out) == ["good.pdf"]
    assert len(tried) <= 12 * 6  # with growing pauses
    locked = False
    place.tick(40)
    assert len(place.files(place.folders.out)) == 13


@contextmanager
def without_override() -> Iterator[None]:
    """The rights of files hold for this process, also where it is root."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = struct.pack("<Ii", 0x20080522, 0), ctypes.create_string_buffer(24)
    assert libc.capget(header, data) == 0
    words = list(struct.unpack("<6I", data.raw))
    lowered = [words[0] & ~0b110, *words[1:]]  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    assert libc.capset(header, struct.pack("<6I", *lowered)) == 0
    try:
        yield
    finally:
        assert libc.capset(header, struct.pack("<6I", *words)) == 0


def test_files_that_can_be_moved_but_not_read_stay_and_keep_nobody_waiting(place: Place) -> None:
    """A scanner with umask 077: more such files than there are slots, and one that is all right."""
    for number in range(12):
        place.drop(f"{number:02}.pdf", b"%d" % number).chmod(0)
        os.utime(place.folders.incoming / f"{number:02}.pdf", (1000, 1000))
    place.drop("bon.pdf", b"bon")

    with without_override():
        done = place.tick(5)

    assert place.files(place.folders.out) == ["bon.pdf"]
    assert place.files(place.folders.staging) == []
    assert len(place.files(place.folders.incoming)) == 12
    assert len(done["blocked"]) == place.metrics["blocked"] == 12
    assert "cannot be read" in done["blocked"]["00.pdf"]
    for path in place.folders.incoming.iterdir():
        path.chmod(0o600)
    place.tick(200)
    assert len(place.files(place.folders.out)) == 13
    assert place.metrics["blocked"] == 0


def test_a_file_that_becomes_unreadable_after_it_was_taken_goes_back(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.start(max_jobs_in_flight=1)
    place.drop("a.pdf", b"a")
    with monkeypatch.context() as patch, without_override():
        patch.setattr("ostinato.apps.watchfolder.tick.arrivals.check_readable", lambda path: path.chmod(0))
        place.tick()
    assert place.files(place.folders.incoming) == ["a.pdf"]
    assert place.files(place.folders.staging) == []
    (place.folders.incoming / "a.pdf").chmod(0o600)
    place.tick(3)

    assert place.files(place.folders.out) == ["a.pdf"]


@pytest.mark.parametrize("code", [errno.EBUSY, errno.ESTALE, errno.EACCES])
def test_a_file_that_is_busy_is_taken_when_it_no_longer_is(
    place: Place, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    rename = utils._rename

    def busy(source: utils.PathLike, target: utils.PathLike) -> None:
        if Path(source).parent == place.folders.incoming:
            raise OSError(code, "busy")
        rename(source, target)

    name = "zwei\nZeilen.pdf"  # one whose own name has to be noted beside it
    place.drop(name, b"a")
    with monkeypatch.context() as patch:
        patch.setattr(utils, "_rename", busy)
        done = place.tick(3)
        assert list(place.folders.staging.iterdir()) == []

    place.tick(6)

    assert {problem["what"] for problem in done["problems"]} <= {"file_busy"}
    assert place.index["jobs"][place.only_key()]["fileName"] == name


def test_a_copy_from_a_share_that_cannot_be_removed_there_is_made_once(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename, unlink = utils._rename, utils._unlink

    def far(source: utils.PathLike, target: utils.PathLike) -> None:
        if Path(source).parent == place.folders.incoming:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(source, target)

    def refusing(path: utils.PathLike) -> None:
        if Path(path).parent == place.folders.incoming:
            raise PermissionError(errno.EACCES, "Permission denied")
        unlink(path)

    monkeypatch.setattr(utils, "_rename", far)
    monkeypatch.setattr(utils, "_unlink", refusing)
    place.drop("a.pdf", b"a")
    place.tick(5)
    assert place.files(place.folders.staging) == []
    assert place.files(place.folders.incoming) == ["a.pdf"]

    monkeypatch.setattr(utils, "_unlink", unlink)
    place.tick(20)

    assert place.files(place.folders.out) == ["a.pdf"]
    assert place.held() == []


def test_a_file_that_is_written_to_while_it_is_hashed_goes_back(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size stays as it was: only who reads the file can notice."""
    writer = place.drop("a.pdf", b"before").open("r+b")
    monkeypatch.setattr("ostinato.apps.watchfolder.tick.arrivals.is_being_written", lambda _: False)
    real = utils._opened

    class Meanwhile(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            read = super().read(size)
            writer.seek(0)
            writer.write(b"after!")
            writer.flush()
            os.utime(self.fileno(), (1, 1))
            return read or b""

    with monkeypatch.context() as patch:
        patch.setattr(utils, "_opened", lambda path: Meanwhile(path) if path.suffix == ".pdf" else real(path))
        place.tick()
    writer.close()
    assert place.files(place.folders.incoming) == ["a.pdf"]
    assert place.index["jobs"] == {}

    place.tick(2)

    assert (place.folders.out / "a.pdf").read_bytes() == b"after!"


def test_a_file_that_is_written_to_after_it_was_taken_goes_back(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = place.drop("a.pdf", b"part 1").open("ab")
    monkeypatch.setattr("ostinato.apps.watchfolder.tick.arrivals.is_being_written", lambda _: False)

    def before_it_is_read(path: utils.PathLike) -> str:
        writer.write(b" part 2")
        writer.flush()
        return utils.sha256_file(path)

    with monkeypatch.context() as patch:
        patch.setattr("ostinato.apps.watchfolder.tick.arrivals.sha256_file", before_it_is_read)
        place.tick()
    assert place.files(place.folders.incoming) == ["a.pdf"]
    assert place.index["jobs"] == {}
    writer.close()

    place.tick(2)

    assert (place.folders.out / "a.pdf").read_bytes() == b"part 1 part 2"


def test_large_files_are_hashed_beside_the_tick(place: Place) -> None:
    place.start(inline_bytes=0)
    place.drop("large.pdf", b"large")

    while not place.files(place.folders.out):
        place.tick()

    assert place.files(place.folders.out) == ["large.pdf"]
    place.orchestrator.memory.close()


def test_an_empty_file_is_given_time_to_be_filled_then_refused(place: Place) -> None:
    place.drop("empty.pdf", b"")
    place.tick(100)
    assert place.files(place.folders.incoming) == ["empty.pdf"]

    place.now += 600
    place.tick()

    assert place.files(place.folders.incoming) == []
    (report,) = place.folders.error.glob("*/error.json")
    assert json.loads(report.read_text())["cause"]["code"] == "EMPTY"
    assert place.index["jobs"] == {}


def test_the_same_bytes_under_another_extension_are_the_same(place: Place) -> None:
    place.drop("a.pdf", b"a")
    place.tick(2)
    place.drop("a.tiff", b"a")

    place.tick()

    assert place.held() == [place.only_key()]


def test_links_folders_and_pipes_are_left_alone(place: Place, tmp_path: Path) -> None:
    secret = tmp_path / "secret.pdf"
    secret.write_text("mine")
    (place.folders.incoming / "link.pdf").symlink_to(secret)
    (place.folders.incoming / "folder.pdf").mkdir()
    os.mkfifo(place.folders.incoming / "pipe.pdf")

    place.tick(3)

    assert place.index["jobs"] == {}
    assert secret.read_text() == "mine"


@pytest.mark.parametrize(
    "name",
    [
        ".hidden.pdf",
        "._mac.pdf",
        "~$word.pdf",
        ".DS_Store",
        "Thumbs.db",
        "desktop.ini",
        "@eaDir",
        "~syncthing~a.pdf",
        ".syncthing.a.pdf.tmp",
        "a.pdf.part",
        "a.pdf.partial",
        "a.filepart",
        "a.tmp",
        "a.crdownload",
        "a.download",
        ".a.swp",
        "a.lock",
        ".nfs0001",
        ".a.pdf.X7aB12",
    ],
)
def test_what_is_hidden_or_on_its_way_is_ignored(name: str) -> None:
    assert is_ignored(name)


@pytest.mark.parametrize("name", ["a.pdf", "part.pdf", "Temp.tif", "a.b.c.jpg", "~a.pdf", "no-dot"])
def test_a_normal_name_is_not_ignored(name: str) -> None:
    assert not is_ignored(name)


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("a.pdf", "a.pdf"),
        ("a/b:c*?.pdf", "a_b_c__.pdf"),
        ("new\nline.pdf", "new_line.pdf"),
        ("CON.pdf", "_CON.pdf"),
        ("lpt1", "_lpt1"),
        ("trailing. ", "trailing"),
        ("e\u0301te\u0301.pdf", "été.pdf"),
        ("", "_"),
        (".pdf", "_.pdf"),
    ],
)
def test_names_are_made_safe_for_every_system(name: str, safe: str) -> None:
    assert safe_name(name) == safe


@pytest.mark.parametrize("name", [LONG, "x" * 300, "é" * 200 + ".pdf", "日" * 100 + ".tiff"])
def test_long_names_are_cut_between_characters(name: str) -> None:
    for made in (fit(name), forced_name(name, "0123abcd"), next(iter(candidates(name)))):
        assert len(made.encode()) <= 255
    assert fit(name).endswith(Path(name).suffix)


def test_a_very_long_name_goes_all_the_way_twice(place: Place) -> None:
    place.drop(LONG, b"a")
    place.tick(2)
    place.drop(LONG, b"a")
    place.tick()
    place.decide(place.only_key(), "FORCE_REPROCESS")

    place.tick(4)

    assert len(place.files(place.folders.out)) == 2
    first = next(iter(place.index["jobs"].values()))
    assert first["fileName"] == LONG


def test_bytes_that_are_no_utf8_go_all_the_way(place: Place) -> None:
    name = os.fsdecode(b"latin\xe9.pdf")
    place.drop(name, b"a")

    place.tick(2)

    entry = place.index["jobs"][place.only_key()]
    assert entry["fileName"] == shown_name(name) == "latin\ufffd.pdf"
    assert entry["nameRaw"] == raw_name(name)
    assert place.files(place.folders.out) == ["latin\ufffd.pdf"]


def test_two_files_of_one_name_have_two_results(place: Place) -> None:
    place.drop("scan.pdf", b"one")
    place.tick(2)
    place.drop("scan.pdf", b"two")
    place.tick(2)
    place.drop("SCAN.pdf", b"three")
    place.tick(2)

    contents = sorted(path.read_bytes() for path in place.folders.out.iterdir())
    assert contents == [b"one", b"three", b"two"]
    assert len(place.files(place.folders.archive)) == 3


def test_a_file_that_may_not_be_moved_is_told_once_and_stops_nobody(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = utils._rename

    def refusing(source: utils.PathLike, target: utils.PathLike) -> None:
        if Path(source).name == "locked.pdf":
            raise PermissionError(errno.EACCES, "Permission denied")
        rename(source, target)

    monkeypatch.setattr(utils, "_rename", refusing)
    place.drop("locked.pdf", b"a")
    place.drop("free.pdf", b"b")

    place.tick(3)

    assert place.files(place.folders.out) == ["free.pdf"]
    assert place.files(place.folders.incoming) == ["locked.pdf"]


def test_a_share_that_is_not_mounted_is_said_and_survived(place: Place) -> None:
    place.folders.incoming.rmdir()

    done = place.tick()
    assert done["degraded"] == "in"
    place.folders.incoming.mkdir()
    place.drop("a.pdf", b"a")
    place.tick(2)

    assert place.files(place.folders.out) == ["a.pdf"]


def test_pages_are_sorted_as_people_read_them() -> None:
    names = ["page 10.jpg", "page 2.jpg", "Page 1.jpg", "cover.jpg"]

    assert sorted(names, key=natural_key) == ["cover.jpg", "Page 1.jpg", "page 2.jpg", "page 10.jpg"]


@pytest.mark.parametrize("sort", ["link", "fifo", "folder"])
def test_what_a_process_left_in_the_place_of_a_file_is_neither_followed_nor_waited_for(
    tmp_path: Path, sort: str
) -> None:
    """A worker process writes into its job's folder; the service reads there with rights that the process has not."""
    secret, place = tmp_path / "secret.json", tmp_path / "state.json"
    secret.write_text('{"password": "sesame"}')
    match sort:
        case "link":
            place.symlink_to(secret)
        case "fifo":
            os.mkfifo(place)
        case _:
            place.mkdir()

    with pytest.raises(ValueError, match=r"plain|link"):
        utils.read_json(place)
    with pytest.raises(utils.NotPlain):
        utils.sha256_file(place)
