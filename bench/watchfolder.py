"""`python -m bench.watchfolder`: pages a minute, the orchestrator's share of it, and a large `in/`.

command        OCRmyPDF's own command with Tesseract and our options: a document for each core at a time, and one
               after the other with a job for each core; the faster is the yardstick
pipeline       the same pages from `in/` to `out/`: orchestrator, PREP and OCR as processes
share          processor time of the orchestrator's process, of all the time that passes
tick           one tick while 10,000 files wait in `in/`: all slots taken, and all looked at
memory         with `--folders 20` only this: PREP and OCR of a worker that watches so many folders (PSS)
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

from ostinato.apps.watchfolder import scans
from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.prep.images import Pages, write_pdf
from ostinato.apps.watchfolder.prep.limits import PrepLimits
from ostinato.apps.watchfolder.settings import WatchfolderSettings
from ostinato.apps.watchfolder.station import client
from ostinato.apps.watchfolder.station.places import address
from ostinato.apps.watchfolder.station.processes import ServiceProcess, running, services
from ostinato.apps.watchfolder.tick.options import Options
from ostinato.apps.watchfolder.tick.orchestrator import Orchestrator

OPTIONS = ("--quiet", "--language=fra+eng", "--skip-text", "--rotate-pages", "--optimize=0", "--output-type=auto")
"""What a document is given by our OCR, too."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=6)
    parser.add_argument("--pages", type=int, default=2, help="of each document")
    parser.add_argument("--engine", default="auto", choices=("auto", "tesseract", "rapid"))
    parser.add_argument("--waiting", type=int, default=10_000)
    parser.add_argument("--folders", type=int, help="measure the memory that so many folders cost, and nothing else")
    parser.add_argument("--quick", action="store_true", help="four documents of one page, and few that wait")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.documents, chosen.pages, chosen.waiting = 4, 1, 100
    if chosen.folders:
        asyncio.run(_memory(chosen.folders))
        return
    with tempfile.TemporaryDirectory(prefix="bench-watchfolder-") as folder:
        root = Path(folder)
        documents = _documents(root, chosen.documents, chosen.pages)
        pages = chosen.documents * chosen.pages
        alone = _commands(root, documents)
        whole, processor, engine = _pipeline(root, documents, chosen.engine)
        print(f"engine                    {engine}")
        for name, seconds in alone.items():
            print(f"{name:25} {pages * 60 / seconds:6.1f} pages a minute")
        print(f"pipeline                  {pages * 60 / whole:6.1f} pages a minute")
        print(f"of the faster command     {100 * min(alone.values()) / whole:6.1f} %")
        print(f"orchestrator's share      {100 * processor / whole:6.2f} % of the time")
        for name, seconds in _ticks(root / "waiting", chosen.waiting).items():
            print(f"tick, {chosen.waiting:,} waiting, {name:11} {seconds * 1000:6.1f} ms")


def _documents(root: Path, count: int, pages: int) -> list[Path]:
    made = []
    for number in range(count):
        folder = root / f"pages-{number}"
        folder.mkdir()
        drawn = Pages(folder, PrepLimits())
        for page in range(pages):
            text = scans.PAGES[(number + page) % len(scans.PAGES)]
            drawn.add(scans.render(text, dpi=200, noise=0.1, seed=number * 100 + page))
        made.append(root / f"document-{number}.pdf")
        write_pdf(drawn, made[-1])
    return made


def _commands(root: Path, documents: list[Path]) -> dict[str, float]:
    """How long OCRmyPDF's own command takes for the documents, run in both ways."""
    cores = os.cpu_count() or 1
    return {
        f"command, {cores} at a time": _command(root, documents, at_once=cores, jobs=1),
        f"command, --jobs {cores}": _command(root, documents, at_once=1, jobs=cores),
    }


def _command(root: Path, documents: list[Path], *, at_once: int, jobs: int) -> float:
    program = str(Path(sys.executable).with_name("ocrmypdf"))

    def read(path: Path) -> None:
        made = root / f"{path.stem}-{at_once}.out.pdf"
        subprocess.run([program, *OPTIONS, f"--jobs={jobs}", str(path), str(made)], check=True)

    started = time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(read, documents))
    return time.monotonic() - started


def _pipeline(root: Path, documents: list[Path], engine: str) -> tuple[float, float, str]:
    folders = Folders.below(root / "data")
    folders.make()
    prep = ServiceProcess("prep", folders.work)
    ocr = ServiceProcess("ocr", folders.work, [f"--engine={engine}"])
    stop = threading.Event()
    with running(prep, ocr):
        options = Options(prep_url=prep.url, ocr_url=ocr.url, stable_s=0.0, min_free_bytes=0)
        watched = Orchestrator(folders, options)
        for path in documents:
            (folders.incoming / path.name).write_bytes(path.read_bytes())
        started, used = time.monotonic(), time.process_time()
        watched.loop(stop, lambda _: stop.set() if watched.metrics["done"] == len(documents) else None)
        seconds, processor = time.monotonic() - started, time.process_time() - used
    results = next(iter(json.loads(folders.index_file.read_text())["jobs"].values()))
    return seconds, processor, str(results["result"]["engine"])


async def _memory(count: int) -> None:
    """Have PREP read one scan in each folder, then say what the services hold when they are idle."""
    scan = scans.render(scans.FACTURE, dpi=100)
    with tempfile.TemporaryDirectory(prefix="bench-watchfolder-") as folder:
        root, chosen = Path(folder), WatchfolderSettings()
        async with services(chosen, root) as urls:
            for number in range(count):
                folders = Folders.below(root / "bench" / f"folder-{number}")
                folders.make()
                job_key = f"{number:064x}__{0:016x}"
                folders.job(job_key).mkdir()
                (folders.job(job_key) / "input.jpg").write_bytes(scan)
                places = {name: address(url, folders.work, "fra+eng") for name, url in urls.items()}
                client.fetch_info(places["ocr"])
                client.submit_prep(places["prep"], job_key, str(folders.job(job_key) / "input.jpg"), attempt=1)
                await asyncio.to_thread(_ended, places["prep"], job_key)
            found = _pss(os.getpid())
    for name, kilobytes in found.items():
        print(f"{name:25} {kilobytes / 1024:6.1f} MB (PSS)")
    print(f"{f'{count} folders':25} {sum(found.values()) / 1024:6.1f} MB (PSS)")


def _ended(url: str, job_key: str) -> None:
    while client.poll_job(url, job_key)["state"] == "RUNNING":
        time.sleep(0.05)


def _pss(parent: int) -> dict[str, int]:
    """The proportional memory of the processes below one, by what they are, in kilobytes."""
    found: dict[str, int] = {}
    threads = Path(f"/proc/{parent}/task").glob("*/children")
    for child in [child for each in threads for child in each.read_text().split()]:
        lines = Path(f"/proc/{child}/smaps_rollup").read_text().splitlines()
        words = Path(f"/proc/{child}/cmdline").read_text().split("\0")
        name = " ".join(words[2:4])[-24:]
        found[name] = found.get(name, 0) + sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        for inner, kilobytes in _pss(int(child)).items():
            found[inner] = found.get(inner, 0) + kilobytes
    return found


def _ticks(root: Path, waiting: int) -> dict[str, float]:
    folders = Folders.below(root)
    folders.make()
    for number in range(waiting):
        (folders.incoming / f"{number:06}.pdf").write_bytes(b"%PDF-1.4 " + str(number).encode())
    profile: dict[str, Any] = {"prep": {}, "ocr": {}}
    found = {}
    for name, slots in (("no slot", 0), ("all looked at", 10)):
        options = Options(stable_s=3600.0, max_jobs_in_flight=slots, min_free_bytes=0)
        watched = Orchestrator(folders, options)
        watched.begin()
        times = []
        for _ in range(12):
            started = time.perf_counter()
            watched.tick(profile)
            times.append(time.perf_counter() - started)
        found[name] = median(times)
    return found


if __name__ == "__main__":
    main()
