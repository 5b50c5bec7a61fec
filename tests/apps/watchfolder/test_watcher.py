"""A watcher without services: what is emitted, what is rejected, and how it ends."""

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from psycopg import AsyncConnection

from ostinato._core.base import flow
from ostinato._core.base.errors import NotConfigured
from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.model import Document
from ostinato.apps.watchfolder.service import Place
from ostinato.apps.watchfolder.settings import WatchfolderSettings
from ostinato.apps.watchfolder.station import processes
from ostinato.apps.watchfolder.station.processes import ServiceProcess
from ostinato.apps.watchfolder.tick import decisions
from ostinato.apps.watchfolder.tick.duplicates import held
from ostinato.apps.watchfolder.tick.orchestrator import Orchestrator
from ostinato.apps.watchfolder.watcher import Watcher
from tests.apps.watchfolder.engine import PATH, Office

KEY = f"{'ab' * 32}__{'0' * 16}"
HELD = "20260101T000000000000Z__b.pdf"


@dataclass
class Owner:
    """The context of a job, without one."""

    office: Office
    stopping: bool = False
    cancelled: bool = False

    @contextlib.asynccontextmanager
    async def fenced(self) -> AsyncIterator[AsyncConnection[Any]]:
        async with self.office.lab.client.transaction() as conn:
            yield conn


async def watched(office: Office, **more: Any) -> tuple[Watcher, Folders, Place]:  # noqa: ANN401 - as Watcher
    folders = await office.make("courrier")
    folder_id = await office.lab.value("select id from watchfolder.folder")
    place = Place("acme", folder_id, "courrier")
    nowhere = "http://127.0.0.1:1"
    options = WatchfolderSettings.load().options("fra+eng", prep_url=nowhere, ocr_url=nowhere)
    orchestrator = Orchestrator(folders, options)
    return Watcher(Owner(office), place, orchestrator, **more), folders, place


async def look(watcher: Watcher) -> None:
    """Record, and see what is held, whenever that was done last."""
    watcher._reconciled = float("-inf")
    with flow.flow(tenant="acme", correlation="test"):
        await watcher._record()


def document(job_key: str = KEY, **more: object) -> Document:
    at = "2026-01-01T00:00:00.000Z"
    history = [{"seq": 1, "state": "PREP_ERROR", "at": at, "message": more.get("message")}]
    plain: Document = {"jobKey": job_key, "seq": 1, "state": "PREP_ERROR", "fileName": "a.pdf"}
    return {"kind": "job", **plain, "history": history, "updatedAt": at, **more}


async def test_a_decision_that_could_not_be_done_can_be_taken_anew(office: Office) -> None:
    watcher, folders, _ = await watched(office)
    place = folders.hold / KEY
    place.mkdir()
    (place / HELD).write_bytes(b"again")
    (folders.hold / "@eaDir").mkdir()  # as a NAS makes it
    (folders.hold / "@eaDir" / "x").write_bytes(b"x")
    index: Document = {"jobs": {KEY: {"state": "ERROR"}}, "forced": {}}
    at = Orchestrator(folders, index=index).new_tick(None)
    path = f"{PATH}/courrier/duplicates/{KEY}/decision"
    await look(watcher)

    first = await office.api.call("POST", path, json={"action": "USE_EXISTING_RESULT"})
    second = await office.api.call("POST", path, json={"action": "DISCARD"})
    strange = await office.api.call("POST", path, tenant="other", json={"action": "DISCARD"})
    await look(watcher)
    decisions.apply_decisions(at)
    await look(watcher)
    (pending,) = (await office.get("courrier/duplicates"))["duplicates"]
    again = await office.api.call("POST", path, json={"action": "FORCE_REPROCESS"})
    await look(watcher)
    decisions.apply_decisions(at)
    await look(watcher)

    assert (first.status_code, second.status_code, again.status_code) == (202, 409, 202)
    assert strange.status_code == 404
    assert pending["state"] == "DUPLICATE_PENDING"
    assert "no result" in pending["message"]
    (applied,) = (await office.get("courrier/duplicates"))["duplicates"]
    assert (applied["state"], applied["action"]) == ("APPLIED", "FORCE_REPROCESS")
    assert held(folders) == []
    assert [found.name[:9] for found in folders.incoming.iterdir()] == ["b__force-"]
    told = await office.told("watchfolder.duplicate_changed")
    assert [each["state"] for each in told] == ["DUPLICATE_PENDING", "DECISION_FAILED", "APPLIED"]


async def test_a_decision_about_a_file_that_was_taken_away_since_fails_and_can_be_taken_anew(office: Office) -> None:
    watcher, folders, _ = await watched(office)
    place = folders.hold / KEY
    place.mkdir(parents=True)
    other = HELD.replace("b.", "c.")
    for name in (HELD, other):
        (place / name).write_bytes(b"again")
    index: Document = {"jobs": {KEY: {"state": "DONE"}}, "forced": {}}
    at = Orchestrator(folders, index=index).new_tick(None)
    path = f"{PATH}/courrier/duplicates/{KEY}/decision"
    await look(watcher)

    await office.api.call("POST", path, json={"action": "DISCARD"})
    (place / HELD).unlink()  # by hand, before the decision is written down
    await look(watcher)
    decisions.apply_decisions(at)
    await look(watcher)

    (pending,) = (await office.get("courrier/duplicates"))["duplicates"]
    assert (pending["state"], pending["files"]) == ("DUPLICATE_PENDING", [other])
    assert f"not held any more: {HELD}" in pending["message"]
    assert (place / other).exists()
    assert (await office.api.call("POST", path, json={"action": "DISCARD"})).status_code == 202


async def test_one_job_that_the_database_refuses_stops_no_other(office: Office) -> None:
    watcher, _, place = await watched(office)
    strange = {"code": "WORKER_CRASHED", "message": "half \ud800 and \0 nothing", "\0": ["\0"]}
    for told in (
        document(cause=strange, message="a \0 in it"),
        document("no-job-key"),
        document(f"{'cd' * 32}__{'0' * 16}"),
    ):
        watcher._hear(told)

    await look(watcher)

    kept = await office.get("courrier/jobs")
    assert sorted(job["job_key"][:2] for job in kept["jobs"]) == ["ab", "cd"]
    causes = [job["cause"] for job in kept["jobs"] if job["cause"]]
    assert causes == [{"code": "WORKER_CRASHED", "message": "half ? and  nothing", "": [""]}]
    assert not watcher._is_recorded("no-job-key")  # its folder is not removed
    assert watcher._is_recorded(KEY)
    watcher._noted = float("-inf")
    await look(watcher)
    assert "job_not_kept: no-job-key" in (await office.get("courrier"))["problem"]
    assert len(await office.told("watchfolder.job_changed")) == 2
    assert place.name == "courrier"


async def test_what_was_left_out_is_in_the_event(office: Office) -> None:
    watcher, _, _ = await watched(office)
    history = [{"seq": 1, "state": "FINALIZING", "at": "now"}, {"seq": 2, "state": "DONE", "at": "now"}]
    result = {"notes": ["left out: 'x.txt'"]}
    watcher._hear(document(seq=2, state="DONE", history=history, result=result))

    await look(watcher)

    told = await office.told("watchfolder.job_changed")
    assert [(each["state"], each["notes"]) for each in told] == [("FINALIZING", None), ("DONE", ["left out: 'x.txt'"])]


async def test_a_file_that_is_refused_is_an_event(office: Office) -> None:
    watcher, _, _ = await watched(office)
    cause = {"code": "EMPTY", "message": "the file is empty"}
    watcher._hear({"kind": "refused", "fileName": "a.pdf", "cause": cause, "at": "now"})

    await look(watcher)
    await look(watcher)

    (told,) = await office.told("watchfolder.file_refused")
    assert (told["file_name"], told["code"], told["folder"]) == ("a.pdf", "EMPTY", "courrier")


async def test_a_watcher_that_is_cancelled_ends_only_when_its_tick_has(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes next must not find files that are still being moved."""
    entered, go = threading.Event(), threading.Event()

    def slow(*_: object) -> Document:
        entered.set()
        go.wait()
        return {"problems": []}

    monkeypatch.setattr(Orchestrator, "tick", slow)
    watcher, _, _ = await watched(office)
    task = asyncio.create_task(watcher.run())
    await asyncio.to_thread(entered.wait)

    task.cancel()
    await asyncio.to_thread(watcher._orchestrator.hooks.halt.wait, 60)  # the tick in hand is asked to end
    task.cancel()
    assert not task.done()
    go.set()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_watcher_after_a_crash_comes_back_with_a_verdict(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that took workers down is a suspect, and a worker has one of them at a time."""
    monkeypatch.setattr(Orchestrator, "tick", lambda *_: {"problems": []})
    watcher, _, _ = await watched(office, renew_seconds=1e-9)

    assert await watcher.run() == "renew"


@pytest.mark.parametrize("tenant", ["../other", "/etc", "acme/eu", ".", "..", "é", "t-forged", "x" * 150])
def test_a_tenant_is_a_folder_below_the_root_whatever_its_id(tmp_path: Path, tenant: str) -> None:
    chosen = WatchfolderSettings(root=str(tmp_path / "root"))

    path = chosen.folders("data", tenant, "courrier").incoming.parent

    assert path.parent.parent == tmp_path / "root"
    assert path.parent.name.startswith("t-")
    assert path != chosen.folders("data", f"{tenant}2", "courrier").incoming.parent
    assert chosen.folders("data", "acme", "x").incoming.parent == tmp_path / "root" / "acme" / "x"


async def test_a_tenant_has_so_many_folders_and_no_more(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_WATCHFOLDER_MAX_FOLDERS", "2")
    await office.make("a")
    await office.make("b")

    third = await office.api.call("POST", PATH, json={"name": "c"})
    again = await office.api.call("POST", PATH, json={"name": "a"})
    await office.make("c", tenant="other")

    assert (third.status_code, again.status_code) == (409, 409)
    assert "max_folders" in json.dumps(third.json())
    assert "already" in json.dumps(again.json())


def test_a_service_that_cannot_be_started_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(processes.sys, "executable", "/bin/false")  # type: ignore[attr-defined]
    monkeypatch.setattr(processes.time, "monotonic", lambda: clock[0])  # type: ignore[attr-defined]
    process = ServiceProcess("prep", tmp_path, log_to=tmp_path / "log")
    with pytest.raises(NotConfigured, match="did not start"):
        process.start()

    process.restart_if_dead()
    process.restart_if_dead()  # too soon
    assert process.starts == 2
    clock[0] += 1.5
    process.restart_if_dead()
    assert process.starts == 3
    assert (tmp_path / "log").exists()
    process.stop()
    clock[0] += 100
    process.restart_if_dead()
    assert process.starts == 3
