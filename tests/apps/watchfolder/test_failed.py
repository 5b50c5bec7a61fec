"""Files that could not be read wait for a person: in the inbox, with the reason, to be tried again or left."""

import asyncio
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from ostinato.apps.watchfolder import waiting
from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.model import INFRASTRUCTURE, PERMANENT
from ostinato.apps.watchfolder.readings import FIRST_PAGE
from ostinato.apps.watchfolder.tick.arrivals import ingest
from ostinato.apps.watchfolder.tick.memory import Staged
from ostinato.apps.watchfolder.watcher import Watcher
from tests.apps.watchfolder.engine import PATH, Office
from tests.apps.watchfolder.test_watcher import document, look, watched
from tests.console.conftest import Console

CONTENT = b"%PDF-1.7 a page that nobody could read"
KEY = f"{hashlib.sha256(CONTENT).hexdigest()}__{'0' * 16}"
CHOICE = re.compile(r'action="/console(/apps/watchfolder/do/decide-failed)">(.*?)</form>', re.DOTALL)
FIELD = re.compile(r'name="(\w+)" value="([^"]*)"')
DECIDED = "select decision, decided_by, sent_at is not null, decision_note from watchfolder.job where job_key = %s"


async def failed(office: Office, code: str = "WORKER_CRASHED", content: bytes = CONTENT) -> tuple[Watcher, Folders]:
    """A file that ended in error/, as its report says and the row has it."""
    watcher, folders, _ = await watched(office)
    put_away(folders, content)
    fail(watcher, code)
    await look(watcher)
    return watcher, folders


def put_away(folders: Folders, content: bytes = CONTENT) -> Path:
    place = folders.error / KEY
    place.mkdir(parents=True)
    (place / "a.pdf").write_bytes(content)
    (place / "error.json").write_text("{}")
    (place / "raw.pdf").write_bytes(b"what PREP made")
    return place


def fail(watcher: Watcher, code: str) -> None:
    said: dict[str, Any] = {"errorCode": "ERROR_OCR", "cause": {"code": code}, "message": f"{code} it said"}
    watcher._hear(document(KEY, state="ERROR", attemptOcr=3, **said))


async def waits(office: Office) -> int:
    async with office.lab.client.transaction() as conn:
        return await waiting.count(conn)


def forms(page: str) -> list[tuple[str, dict[str, str]]]:
    return [(path, dict(FIELD.findall(form))) for path, form in CHOICE.findall(page)]


async def test_a_failed_file_is_in_the_inbox_with_its_reason_in_plain_words(office: Office) -> None:
    await failed(office)
    clerk = await Console(office.api).visitor("acme", "clerk", "reader", subject="carla")

    page = await clerk.text("/inbox")
    clerk.http.headers["Accept-Language"] = "fr"
    french = await clerk.text("/inbox")

    assert "a.pdf could not be read" in page
    assert "The program that read it broke off. It may succeed when it is tried again." in page
    assert "WORKER_CRASHED it said" in page
    assert "a.pdf n\u2019a pas pu être lu" in french
    assert "Le programme qui le lisait s\u2019est interrompu. Un nouvel essai peut réussir." in french
    assert await waits(office) == 1


async def test_its_first_page_is_shown_where_ocr_came_to_draw_it(office: Office) -> None:
    watcher, folders, _ = await watched(office)
    folders.job(KEY).mkdir(parents=True)
    (folders.job(KEY) / FIRST_PAGE).write_bytes(b"\xff\xd8\xff drawn")
    fail(watcher, "TIMEOUT")
    await look(watcher)
    clerk = await Console(office.api).visitor("acme", "clerk", "reader")

    page = (await clerk.get("/inbox")).text
    (source,) = re.findall(r'<img src="/console([^"]+)"', page)
    picture = await clerk.get(source.replace("&amp;", "&"))

    assert (picture.status_code, picture.content) == (200, b"\xff\xd8\xff drawn")


async def test_it_is_tried_again_as_a_job_of_its_own_and_waits_for_nobody(office: Office) -> None:
    watcher, folders = await failed(office)
    clerk = await Console(office.api).visitor("acme", "clerk", "reader", subject="carla")
    (path, again), _ = forms((await clerk.get("/inbox")).text)

    decided = await clerk.http.post(f"/console{path}", data=again)
    late = await clerk.http.post(f"/console{path}", data=again | {"decision": "LEAVE"})
    await look(watcher)
    await look(watcher)  # once is enough

    assert (decided.status_code, late.status_code) == (303, 409)
    assert await office.lab.rows(DECIDED, KEY) == [("RETRY", "carla", True, None)]
    assert await waits(office) == 0
    (back,) = await asyncio.to_thread(lambda: list(folders.incoming.iterdir()))
    assert re.fullmatch(r"a__force-[0-9a-f]{8}\.pdf", back.name)
    assert back.read_bytes() == CONTENT
    assert sorted(each.name for each in (folders.error / KEY).iterdir()) == ["error.json", "raw.pdf"]
    new = takes(watcher, back)
    assert new["fileName"] == "a.pdf"
    assert new["jobKey"] != KEY
    noted = await office.lab.rows("select verb, actor from ostinato_data.audit_entry where noun = 'watchfolder'")
    assert noted == [("decide-failed", "carla")]


def takes(watcher: Watcher, path: Path) -> dict[str, Any]:
    """Make the file a job, as the next tick does."""
    orchestrator = watcher._orchestrator
    orchestrator.index["jobs"][KEY] = {"state": "ERROR"}
    tick = orchestrator.new_tick({"prep": "1", "ocr": "1"})
    heard: list[dict[str, Any]] = []
    tick.hooks.on_event = heard.append
    ingest(tick, Staged(path, path.name, path.stat().st_size), hashlib.sha256(path.read_bytes()).hexdigest())
    assert {each["kind"] for each in heard} == {"job"}  # and no twin
    return heard[-1]


async def test_one_that_is_left_stays_where_it_is(office: Office) -> None:
    watcher, folders = await failed(office, "ENCRYPTED")
    clerk = await Console(office.api).visitor("acme", "clerk", "reader", subject="carla")
    page = (await clerk.get("/inbox")).text
    _, (path, leave) = forms(page)

    decided = await clerk.http.post(f"/console{path}", data=leave)
    await look(watcher)

    assert "It is locked with a password. The same file will fail again" in page
    assert decided.status_code == 303
    assert await office.lab.rows(DECIDED, KEY) == [("LEAVE", "carla", False, None)]
    assert (folders.error / KEY / "a.pdf").read_bytes() == CONTENT
    assert "Nothing waits for a person." in await clerk.text("/inbox")


async def test_a_file_that_is_gone_waits_again_with_the_reason(office: Office) -> None:
    watcher, folders = await failed(office)
    clerk = await Console(office.api).visitor("acme", "clerk", "reader")
    (path, again), _ = forms((await clerk.get("/inbox")).text)
    (folders.error / KEY / "a.pdf").unlink()

    await clerk.http.post(f"/console{path}", data=again)
    await look(watcher)

    assert list(folders.incoming.iterdir()) == []  # raw.pdf is ours, and goes through in no one's stead
    assert await waits(office) == 1
    assert f"its file is not in error/{KEY} any more" in await clerk.text("/inbox")


async def test_one_that_was_written_to_goes_through_as_what_it_is_now(office: Office) -> None:
    watcher, folders = await failed(office, "INPUT_CHANGED", b"%PDF-1.7 written to")
    await office.lab.rows("update watchfolder.job set decision = 'RETRY', decided_by = 'x', decided_at = now()")

    await look(watcher)

    (back,) = list(folders.incoming.iterdir())
    assert takes(watcher, back)["fileName"] == "a.pdf"


async def test_a_worker_that_died_before_it_said_so_sends_nothing_twice(office: Office) -> None:
    watcher, folders = await failed(office)
    await office.lab.rows("update watchfolder.job set decision = 'RETRY', decided_by = 'x', decided_at = now()")
    await look(watcher)
    await office.lab.rows("update watchfolder.job set sent_at = null")  # as if it had died before

    await look(watcher)

    assert len(list(folders.incoming.iterdir())) == 1
    assert await office.lab.rows(DECIDED, KEY) == [("RETRY", "x", True, None)]


async def test_one_that_is_not_put_away_yet_is_waited_for(office: Office) -> None:
    watcher, folders = await failed(office)
    folders.job(KEY).mkdir(parents=True)
    await office.lab.rows("update watchfolder.job set decision = 'RETRY', decided_by = 'x', decided_at = now()")

    await look(watcher)

    assert await office.lab.rows(DECIDED, KEY) == [("RETRY", "x", False, None)]
    assert (folders.error / KEY / "a.pdf").exists()


@pytest.mark.parametrize(("tenant", "roles", "status"), [("acme", ("reader",), 403), ("globex", ("admin",), 404)])
async def test_who_may_not_or_is_of_another_tenant_neither_sees_nor_decides(
    office: Office, tenant: str, roles: tuple[str, ...], status: int
) -> None:
    await failed(office)
    folder = str(await office.lab.value("select id from watchfolder.folder"))
    other = await Console(office.api).visitor(tenant, *roles)

    page = await other.text("/inbox")
    tried = await other.send("/apps/watchfolder/do/decide-failed", folder=folder, job=KEY, decision="RETRY")

    assert "a.pdf" not in page
    assert tried.status_code == status
    assert await office.lab.rows(DECIDED, KEY) == [(None, None, False, None)]


async def test_one_of_a_removed_folder_waits_for_nobody(office: Office) -> None:
    await failed(office)
    clerk = await Console(office.api).visitor("acme", "clerk", "reader")
    (path, again), _ = forms((await clerk.get("/inbox")).text)

    await office.api.call("DELETE", f"{PATH}/courrier")

    assert await waits(office) == 0
    assert (await clerk.http.post(f"/console{path}", data=again)).status_code == 404


@pytest.mark.parametrize("asked", [{"decision": "DISCARD"}, {"job": "../../etc"}, {"folder": "x"}])
async def test_nothing_else_can_be_decided(office: Office, asked: dict[str, str]) -> None:
    await failed(office)
    folder = str(await office.lab.value("select id from watchfolder.folder"))
    clerk = await Console(office.api).visitor("acme", "clerk", "reader")

    given = {"folder": folder, "job": KEY, "decision": "RETRY"} | asked
    refused = await clerk.send("/apps/watchfolder/do/decide-failed", **given)

    assert refused.status_code in {404, 422}
    assert await office.lab.rows(DECIDED, KEY) == [(None, None, False, None)]


def test_every_cause_that_is_known_has_words() -> None:
    assert set(waiting.CAUSES) >= PERMANENT | (INFRASTRUCTURE - {"UNKNOWN_JOB"})
