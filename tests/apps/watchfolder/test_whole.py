"""All of it as real processes: a thousand files at once, kills at any time, and a mixed pile."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ostinato.apps.watchfolder import scans
from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.ocr.work import text_of
from ostinato.apps.watchfolder.station.processes import ServiceProcess, running
from ostinato.apps.watchfolder.tick.options import Options
from ostinato.apps.watchfolder.tick.orchestrator import Orchestrator
from tests.apps.watchfolder.papers import text_pdf, zipped
from tests.slow import first_only
from tests.waiting import until

SOME, MANY = 40, 1000
OF_ONE = 10  # states that a document is counted for when it is done


@contextmanager
def stations(folders: Folders, ocr: int = 2) -> Iterator[dict[str, Any]]:
    """The real services, as processes of their own."""
    folders.make()
    prep = ServiceProcess("prep", folders.work, ["--concurrency=2"])
    reader = ServiceProcess("ocr", folders.work, [f"--concurrency={ocr}"])
    with running(prep, reader):
        yield {"prep_url": prep.url, "ocr_url": reader.url}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("many", first_only([SOME, MANY]))
def test_a_thousand_files_at_once(memory_path: Path, many: int, capsys: pytest.CaptureFixture[str]) -> None:
    folders = Folders.below(memory_path)
    with stations(folders, ocr=4) as urls:
        template = text_pdf("Page 000000")
        for number in range(many):
            # Other bytes for each: a comment after the end of the PDF.
            (folders.incoming / f"{number:04}.pdf").write_bytes(template + f"\n%{number}\n".encode())
        stop = threading.Event()
        started = time.monotonic()

        options = Options(
            **urls,
            stable_s=0.0,
            tick_s=0.05,
            retry_s=0.1,
            min_free_bytes=0,
            max_jobs_in_flight=100,
            prep_concurrency=16,
            ocr_concurrency=16,
        )
        watched = Orchestrator(folders, options)

        def ticked(_: dict[str, Any]) -> None:
            if not watched.in_flight and sum(1 for _ in folders.out.iterdir()) == many:
                stop.set()

        watched.loop(stop, ticked)
        seconds = time.monotonic() - started

    with capsys.disabled():
        print(f"\n  watchfolder: {many} files in {seconds:.0f} s")  # noqa: T201 - asked for
    assert watched.metrics["done"] == many
    assert watched.metrics["error"] == 0
    assert len(list(folders.archive.rglob("*.pdf"))) == many
    assert jobs_left(folders) == []


def jobs_left(folders: Folders) -> list[str]:
    """The work folders that there are; the services keep their locks beside them."""
    return [path.name for path in folders.work.iterdir() if path.is_dir()]


def orchestrator(folders: Folders, urls: dict[str, str]) -> "subprocess.Popen[bytes]":
    """`python -m ostinato.apps.watchfolder.main`, without a database."""
    environment = {
        **os.environ,
        "DATA_DIR": str(folders.incoming.parent),
        "PREP_URL": urls["prep_url"],
        "OCR_URL": urls["ocr_url"],
        "STABLE_SECONDS": "0",
        "MIN_FREE_BYTES": "0",
        "TICK_SECONDS": "0.02",
        "MAX_JOBS_IN_FLIGHT": "4",
        "JOB_TIMEOUT_SECONDS": "60",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "ostinato.apps.watchfolder.main"], env=environment, stderr=subprocess.DEVNULL
    )


@pytest.mark.proof
def test_an_orchestrator_killed_again_and_again_loses_nothing(memory_path: Path) -> None:
    folders = Folders.below(memory_path / "data")
    chance = random.Random(7)
    inputs = {f"{n}.pdf": text_pdf(f"Document {n}") for n in range(12)}
    with stations(folders) as urls:
        for name, data in inputs.items():
            (folders.incoming / name).write_bytes(data)
        for _ in range(4):
            process = orchestrator(folders, urls)
            # Let it begin, then kill it after a number of states that is different each time.
            wanted = min(_states(folders) + chance.randint(3, 25), OF_ONE * len(inputs))
            until(lambda p=process, w=wanted: _states(folders) >= w or p.poll() is not None)  # type: ignore[misc]
            process.send_signal(signal.SIGKILL)
            process.wait()
        process = orchestrator(folders, urls)
        until(lambda: len(list(folders.out.iterdir())) == 12 and not jobs_left(folders))
        # It may have been done before this one began; from here on it hears signals.
        until(lambda: folders.lock_file.read_text() == f"process {process.pid}")
        process.terminate()
        assert process.wait() == 0

    archived = {path.name: path.read_bytes() for path in folders.archive.rglob("*.pdf")}
    assert archived == inputs
    index = json.loads(folders.index_file.read_text())
    assert sorted(entry["state"] for entry in index["jobs"].values()) == ["DONE"] * 12


def _states(folders: Folders) -> int:
    """How many states were written, of jobs that there are and of those that are done."""
    count = OF_ONE * len(list(folders.out.iterdir()))
    for path in folders.work.glob("*/state.json"):
        try:
            count += json.loads(path.read_text())["seq"]
        except (OSError, ValueError):
            continue
    return count


@pytest.mark.slow
def test_a_mixed_pile_through_the_command(tmp_path: Path) -> None:
    """`ostinato watch --once`: scans, archives, twins, broken and locked files, all in one go."""
    folders = Folders.below(tmp_path / "scans")
    folders.make()
    scan = scans.render(scans.FACTURE, dpi=150)
    pile = {
        "facture.jpg": scan,
        "encore.jpg": scan,
        "deux pages.cbz": zipped(
            {
                "page 10.jpg": scans.render("Dernière page du procès-verbal", dpi=100),
                "page 2.jpg": scans.render("Première page, déjà signée", dpi=100),
            }
        ),
        "lettre.pdf": text_pdf("Bonjour"),
        "cassé.pdf": b"%PDF-1.7 broken",
        "notes.txt": b"plain text",
    }
    for name, data in pile.items():
        (folders.incoming / name).write_bytes(data)

    command = [sys.executable, "-m", "ostinato", "watch", str(tmp_path / "scans")]
    told = subprocess.run(
        [*command, "--once", "--stable-seconds", "0", "--min-free", "0", "--json"], check=True, capture_output=True
    )

    events = [json.loads(line) for line in told.stdout.splitlines()]
    assert events[-1] == {"event": "stopped", "done": 3, "failed": 2, "held": 1, "left": 0, "waiting": 0}
    texts = text_of(folders.out / "deux pages.pdf")
    assert ["Première" in texts[0], "Dernière" in texts[1]] == [True, True]
    (one,) = [path for path in folders.out.iterdir() if path.stem in {"facture", "encore"}]
    assert scans.error_rate(scans.FACTURE, "\n".join(text_of(one))) < 1.0
    kept = {hashlib.sha256(path.read_bytes()).hexdigest() for path in _all(folders)}
    assert {hashlib.sha256(data).hexdigest() for data in pile.values()} <= kept


def _all(folders: Folders) -> list[Path]:
    found = []
    for folder in (folders.archive, folders.error, folders.hold):
        found += [path for path in folder.rglob("*") if path.is_file()]
    return found
