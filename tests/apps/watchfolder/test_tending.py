"""Tending without services: what is told, what is refused, and how a tending ends."""

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
from ostinato.apps.watchfolder import decisions, main
from ostinato.apps.watchfolder.duplicates import held
from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.local import Local
from ostinato.apps.watchfolder.model import Document
from ostinato.apps.watchfolder.service import Place
from ostinato.apps.watchfolder.settings import WatchfolderSettings
from ostinato.apps.watchfolder.tending import Tending
from tests.apps.watchfolder.engine import PATH, Office

KEY = f"{'ab' * 32}__{'0' * 16}"
HELD = "20260101T000000000000Z__b.pdf"


@dataclass
class Keeper:
    """The context of a job, without one."""

    office: Office
    stopping: bool = False
    cancelled: bool = False

    @contextlib.asynccontextmanager
    async def fenced(self) -> AsyncIterator[AsyncConnection[Any]]:
        async with self.office.lab.client.transaction() as conn:
            yield conn


async def tended(office: Office, **more: Any) -> tuple[Tending, Folders, Place]:  # noqa: ANN401 - as Tending
    folders = await office.make("courrier")
    folder_id = await office.lab.value("select id from watchfolder.folder")
    place = Place("acme", folder_id, "courrier")
    config = WatchfolderSettings.load().config(folders, "fra+eng")
    config |= {"prep_url": "http://127.0.0.1:1", "ocr_url": "http://127.0.0.1:1"}
    return Tending(Keeper(office), place, folders, config, **more), folders, place


async def look(tending: Tending) -> None:
    """Tell, and see what is held, whenever that was done last."""
    tending._reconciled = float("-inf")
    with flow.flow(tenant="acme", correlation="test"):
        await tending._tell()


def document(job_key: str = KEY, **more: object) -> Document:
    at = "2026-01-01T00:00:00.000Z"
    history = [{"seq": 1, "state": "PREP_ERROR", "at": at, "message": more.get("message")}]
    plain: Document = {"jobKey": job_key, "seq": 1, "state": "PREP_ERROR", "fileName": "a.pdf"}
    return {"kind": "job", **plain, "history": history, "updatedAt": at, **more}


async def test_a_decision_that_could_not_be_done_can_be_taken_anew(office: Office) -> None:
    tending, folders, _ = await tended(office)
    place = folders.hold / KEY
    place.mkdir()
    (place / HELD).write_bytes(b"again")
    (folders.hold / "@eaDir").mkdir()  # as a NAS makes it
    (folders.hold / "@eaDir" / "x").write_bytes(b"x")
    index: Document = {"jobs": {KEY: {"state": "ERROR"}}, "forced": {}}
    at = main._tick({}, index, folders.index_file, None, {"folders": folders})
    path = f"{PATH}/courrier/duplicates/{KEY}/decision"
    await look(tending)

    first = await office.api.call("POST", path, json={"action": "USE_EXISTING_RESULT"})
    second = await office.api.call("POST", path, json={"action": "DISCARD"})
    await look(tending)
    decisions.apply_decisions(at)
    await look(tending)
    (pending,) = (await office.get("courrier/duplicates"))["duplicates"]
    again = await office.api.call("POST", path, json={"action": "FORCE_REPROCESS"})
    await look(tending)
    decisions.apply_decisions(at)
    await look(tending)

    assert (first.status_code, second.status_code, again.status_code) == (202, 409, 202)
    assert pending["state"] == "DUPLICATE_PENDING"
    assert "no result" in pending["message"]
    (applied,) = (await office.get("courrier/duplicates"))["duplicates"]
    assert (applied["state"], applied["action"]) == ("APPLIED", "FORCE_REPROCESS")
    assert held(folders) == []
    assert [found.name[:9] for found in folders.incoming.iterdir()] == ["b__force-"]
    told = await office.told("watchfolder.duplicate_changed")
    assert [each["state"] for each in told] == ["DUPLICATE_PENDING", "DECISION_FAILED", "APPLIED"]


async def test_one_job_that_the_database_refuses_stops_no_other(office: Office) -> None:
    tending, _, place = await tended(office)
    strange = {"code": "WORKER_CRASHED", "message": "half \ud800 and \0 nothing", "\0": ["\0"]}
    for told in (
        document(cause=strange, message="a \0 in it"),
        document("no-job-key"),
        document(f"{'cd' * 32}__{'0' * 16}"),
    ):
        tending._hear(told)

    await look(tending)

    kept = await office.get("courrier/jobs")
    assert sorted(job["job_key"][:2] for job in kept["jobs"]) == ["ab", "cd"]
    causes = [job["cause"] for job in kept["jobs"] if job["cause"]]
    assert causes == [{"code": "WORKER_CRASHED", "message": "half ? and  nothing", "": [""]}]
    assert not tending._config["settled"]("no-job-key")  # its folder is not removed
    assert tending._config["settled"](KEY)
    tending._noted = float("-inf")
    await look(tending)
    assert "job_not_kept: no-job-key" in (await office.get("courrier"))["problem"]
    assert len(await office.told("watchfolder.job_changed")) == 2
    assert place.name == "courrier"


async def test_a_file_that_is_refused_is_an_event(office: Office) -> None:
    tending, _, _ = await tended(office)
    cause = {"code": "EMPTY", "message": "the file is empty"}
    tending._hear({"kind": "refused", "fileName": "a.pdf", "cause": cause, "at": "now"})

    await look(tending)
    await look(tending)

    (told,) = await office.told("watchfolder.file_refused")
    assert (told["file_name"], told["code"], told["folder"]) == ("a.pdf", "EMPTY", "courrier")


async def test_a_tending_that_is_cancelled_ends_only_when_its_tick_has(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes next must not find files that are still being moved."""
    entered, go = threading.Event(), threading.Event()

    def slow(*_: object) -> Document:
        entered.set()
        go.wait(60)
        return {"problems": []}

    monkeypatch.setattr(main, "process_tick", slow)
    tending, _, _ = await tended(office)
    task = asyncio.create_task(tending.run())
    await asyncio.to_thread(entered.wait, 60)

    task.cancel()
    await asyncio.to_thread(tending._config["halt"].wait, 60)  # the tick in hand is asked to end
    task.cancel()
    assert not task.done()
    go.set()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_tending_after_a_crash_comes_back_with_a_verdict(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that took workers down is a suspect, and a worker has one of them at a time."""
    monkeypatch.setattr(main, "process_tick", lambda *_: {"problems": []})
    tending, _, _ = await tended(office, renew_seconds=1e-9)

    assert await tending.run() == "renew"


@pytest.mark.parametrize(
    "tenant", ["../other", "/etc", "acme/eu", ".", "..", "é", "t-forged", "x" * 150]
)
def test_a_tenant_is_a_folder_below_the_root_whatever_its_id(tmp_path: Path, tenant: str) -> None:
    chosen = WatchfolderSettings(root=str(tmp_path / "root"))

    path = chosen.folders(tenant, "courrier").incoming.parent

    assert path.parent.parent == tmp_path / "root"
    assert path.parent.name.startswith("t-")
    assert path != chosen.folders(f"{tenant}2", "courrier").incoming.parent
    assert chosen.folders("acme", "x").incoming.parent == tmp_path / "root" / "acme" / "x"


async def test_a_tenant_has_so_many_folders_and_no_more(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTINATO_WATCHFOLDER_MAX_FOLDERS", "2")
    await office.make("a")
    await office.make("b")

    third = await office.api.call("POST", PATH, json={"name": "c"})
    again = await office.api.call("POST", PATH, json={"name": "a"})
    await office.make("c", tenant="other")

    assert (third.status_code, again.status_code) == (409, 409)
    assert "max_folders" in json.dumps(third.json())
    assert "already" in json.dumps(again.json())


def test_a_service_that_cannot_be_started_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("ostinato.apps.watchfolder.local.sys.executable", "/bin/false")
    monkeypatch.setattr("ostinato.apps.watchfolder.local.time.monotonic", lambda: clock[0])
    local = Local("prep", tmp_path, log_to=tmp_path / "log")
    with pytest.raises(NotConfigured, match="did not start"):
        local.start()

    local.mend()
    local.mend()  # too soon
    assert local.starts == 2
    clock[0] += 1.5
    local.mend()
    assert local.starts == 3
    assert (tmp_path / "log").exists()
    local.stop()
    clock[0] += 100
    local.mend()
    assert local.starts == 3
