"""Plays the scenario "watchfolder": drawn scans found again as text; a decided duplicate."""

import asyncio
from pathlib import Path
from typing import Any

from ostinato.apps.watchfolder import scans
from ostinato.testing import Scenario, System

PATH = "/api/v1/watchfolder/folders"
CREATED, ACCEPTED = 201, 202
PATIENCE = 180.0
MOST_WRONG = 2.0


async def run(system: System) -> None:
    """Watch a folder, put scans into it, and look for their words in what comes out."""
    name = f"demo-{system.run}"
    made = await system.call("POST", PATH, status=CREATED, json={"name": name})
    root = Path(made.json()["path"])
    await system.until("the folder is watched", lambda: _exists(root / "in"), PATIENCE)
    pages = {"acte été.jpg": scans.ACTE, "compte-rendu.jpg": scans.COMPTE_RENDU}
    drawn = {
        file: await asyncio.to_thread(scans.render, text, dpi=150, noise=0.1, seed=len(system.run))
        for file, text in pages.items()
    }
    drawn["compte-rendu.jpg"] += system.run.encode()  # other bytes in each run, the same picture
    drawn["acte été.jpg"] += system.run.encode()
    for file, data in drawn.items():
        await asyncio.to_thread(_put, root, file, data)
    await asyncio.to_thread(_put, root, "cassé.pdf", b"%PDF-1.7 " + system.run.encode())
    jobs = await system.until("every scan is read", lambda: _all(system, name, "DONE", 2), PATIENCE)
    await _read_again(system, jobs, pages)
    failed = await system.until("a broken file", lambda: _all(system, name, "ERROR", 1), PATIENCE)
    system.check(
        "a broken file is an error with its reason, and keeps nobody waiting",
        failed[0]["cause"]["code"] == "CORRUPT",
        failed,
    )
    await _twin(system, name, root, drawn["acte été.jpg"])
    await system.call("POST", f"{PATH}/{name}/pause")


async def _read_again(system: System, jobs: list[dict[str, Any]], pages: dict[str, str]) -> None:
    from ostinato.apps.watchfolder.ocr.work import text_of  # noqa: PLC0415 - heavy

    for job in jobs:
        out = Path(job["out_path"])
        found = "\n".join(await asyncio.to_thread(text_of, out))
        wrong = await asyncio.to_thread(scans.error_rate, pages[job["file_name"]], found)
        system.check(
            f"{job['file_name']}: its French text is found in the PDF ({wrong:.2f} % wrong)",
            wrong <= MOST_WRONG and "é" in found,
            found,
        )
    kept = [await _exists(Path(job["archive_path"])) for job in jobs]
    system.check("the originals are in the archive", all(kept), jobs)


async def _twin(system: System, name: str, root: Path, data: bytes) -> None:
    await asyncio.to_thread(_put, root, "encore.jpg", data)
    held = await system.until("the twin is held", lambda: _held(system, name), PATIENCE)
    system.proved("a file that came before is held, and nothing is decided without a person")
    await system.call(
        "POST",
        f"{PATH}/{name}/duplicates/{held['job_key']}/decision",
        status=ACCEPTED,
        json={"action": "USE_EXISTING_RESULT"},
    )
    await system.until("the result there is", lambda: _exists(root / "out/encore.pdf"), PATIENCE)
    system.proved("decided by the API: the result that there is, under the new name")


def _put(root: Path, name: str, data: bytes) -> None:
    (root / "in" / f".{name}.part").write_bytes(data)
    (root / "in" / f".{name}.part").rename(root / "in" / name)


async def _exists(path: Path) -> bool | None:
    return await asyncio.to_thread(path.exists) or None


async def _all(system: System, name: str, state: str, count: int) -> list[dict[str, Any]] | None:
    answer = await system.call("GET", f"{PATH}/{name}/jobs", params={"state": state})
    found: list[dict[str, Any]] = answer.json()["jobs"]
    return found if len(found) >= count else None


async def _held(system: System, name: str) -> dict[str, Any] | None:
    answer = await system.call("GET", f"{PATH}/{name}/duplicates", params={"state": "DUPLICATE_PENDING"})
    found: list[dict[str, Any]] = answer.json()["duplicates"]
    return found[0] if found else None


SCENARIO = Scenario("watchfolder", "Scans come out as PDFs that can be searched; twins wait for a person.", run)
