"""What people see of their scans: a gallery, both first pages of a duplicate, the PDF, and what was read."""

import asyncio
import os
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from ostinato.apps.watchfolder import pages, panel, readings
from ostinato.apps.watchfolder.ocr.work import draw_first_page
from ostinato.apps.watchfolder.readings import FIRST_PAGE, MOST_BYTES, MOST_LETTERS, RESULT_PAGE, TEXT
from tests.apps.watchfolder.engine import PATH, Office
from tests.apps.watchfolder.papers import text_pdf
from tests.apps.watchfolder.test_watcher import KEY, document, look, watched
from tests.console.conftest import Console
from tests.waiting import until_async

CHOICE = re.compile(r'action="/console(/apps/watchfolder/do/decide)">(.*?)</form>', re.DOTALL)
FIELD = re.compile(r'name="(\w+)" value="([^"]*)"')
NAME = re.compile(r"<b>(scan-\d\.pdf)</b>")
PICTURE = re.compile(r'<img src="/console([^"]+)"')


def put(folder: Path, name: str, data: bytes) -> None:
    (folder / f".{name}").write_bytes(data)
    (folder / f".{name}").rename(folder / name)


@pytest.mark.slow
async def test_a_duplicate_is_decided_on_the_console_with_both_pages_before_one(office: Office) -> None:
    """W-pages: a scan is found by its words, its PDF is served, and a person decides about its twin."""
    folders = await office.make("courrier")
    content = text_pdf("Facture des tuiles vernissées")
    put(folders.incoming, "un.pdf", content)
    console = Console(office.api)
    clerk = await console.visitor("acme", "clerk", "reader", subject="carla")
    reader = await console.visitor("acme", "reader", subject="rita")
    stranger = await console.visitor("globex", "admin", subject="gus")
    async with office.worker():
        await office.jobs("courrier", "DONE", 1)
        put(folders.incoming, "deux.pdf", content)
        (held,) = await office.duplicates("courrier", "DUPLICATE_PENDING")

        found = (await clerk.get("/apps/watchfolder/scans", q="tuile vernissée")).text
        other = (await clerk.get("/apps/watchfolder/scans", q="moutarde")).text
        ((folder_id,),) = await office.lab.rows("select id from watchfolder.folder")
        asked = f"folder={folder_id}&job={held['job_key']}"
        scan = (await clerk.get(f"/apps/watchfolder/scan?{asked}")).text
        pdf = await clerk.get(f"/apps/watchfolder/file/pdf?{asked}")
        inbox = (await clerk.get("/inbox")).text
        pages = [await clerk.get(path.replace("&amp;", "&")) for path in PICTURE.findall(inbox)]
        seen = [(await each.get(f"/apps/watchfolder/scan?{asked}")).status_code for each in (reader, stranger)]
        taken = [(await each.get(f"/apps/watchfolder/file/pdf?{asked}")).status_code for each in (reader, stranger)]
        (path, form), *_ = CHOICE.findall(inbox)
        decided = await clerk.http.post(f"/console{path}", data=dict(FIELD.findall(form)))
        await until_async(lambda: _is_there(folders.out / "deux.pdf"))
        (applied,) = await office.duplicates("courrier", "APPLIED")

    assert "un.pdf" in found
    assert "un.pdf" not in other
    assert "Facture des tuiles vernissées" in scan
    assert pdf.content == (folders.results / f"{held['job_key']}.pdf").read_bytes()
    assert pdf.headers["content-disposition"] == 'attachment; filename="un.pdf"'
    assert "deux.pdf came again" in inbox
    assert [(page.status_code, page.headers["content-type"]) for page in pages] == [(200, "image/jpeg")] * 2
    assert (seen, taken) == ([403, 404], [403, 404])
    assert decided.status_code == 303
    assert (applied["decided_by"], applied["action"]) == ("carla", "USE_EXISTING_RESULT")
    noted = await office.lab.rows("select verb, actor from ostinato_data.audit_entry where noun = 'watchfolder'")
    assert noted == [("decide", "carla")]


@pytest.mark.parametrize(("now", "offered"), [("OCR_RUNNING", True), ("DONE", True), ("ERROR", False)])
async def test_what_may_be_decided_hangs_on_how_the_first_file_stands_now(
    office: Office,
    now: str,
    offered: bool,  # noqa: FBT001 - a parameter
) -> None:
    """Of a scan that came twice at once, the second was held before anybody had read the first."""
    watcher, folders, _ = await watched(office)
    place = folders.hold / KEY
    place.mkdir(parents=True)
    for name in ("b.pdf", "c.pdf"):
        (place / f"20260101T000000000000Z__{name}").write_bytes(b"again")
    folders.reports.mkdir(parents=True, exist_ok=True)
    (folders.reports / f"{KEY}.json").write_text('{"existing": {"state": "DISCOVERED"}}')
    watcher._hear(document(state="DISCOVERED"))
    await look(watcher)
    watcher._hear(document(seq=2, state=now, history=[{"seq": 2, "state": now, "at": "now"}]))
    await look(watcher)
    clerk = await Console(office.api).visitor("acme", "clerk", "reader")

    inbox = (await clerk.get("/inbox")).text
    (listed,) = (await office.get("courrier/duplicates"))["duplicates"]

    assert ("Use the existing result" in inbox) is offered
    assert listed["existing"] == now
    assert "b.pdf, c.pdf" in inbox
    assert 'class="danger" data-sure="Delete what came again? It cannot be had back' in inbox


async def test_only_what_was_shown_is_decided_about(office: Office) -> None:
    """A file that comes while a person looks at the others waits for a look of its own."""
    watcher, folders, _ = await watched(office)
    place = folders.hold / KEY
    place.mkdir(parents=True)
    (place / "20260101T000000000000Z__b.pdf").write_bytes(b"again")
    await look(watcher)
    clerk = await Console(office.api).visitor("acme", "clerk", "reader")
    (path, form), *_ = CHOICE.findall((await clerk.get("/inbox")).text)
    (place / "20260101T000000000001Z__c.pdf").write_bytes(b"again")
    await look(watcher)

    decided = await clerk.http.post(f"/console{path}", data=dict(FIELD.findall(form)))

    assert decided.status_code == 303
    (row,) = (await office.get("courrier/duplicates"))["duplicates"]
    assert (len(row["files"]), row["decided_files"]) == (2, ["20260101T000000000000Z__b.pdf"])


async def test_a_folder_that_is_removed_is_out_of_the_gallery(office: Office) -> None:
    await office.make("courrier")
    await office.lab.rows(SCANS, "acme")
    clerk = await Console(office.api).visitor("acme", "clerk", "reader")
    before = NAME.findall((await clerk.get("/apps/watchfolder/scans")).text)

    await office.api.call("DELETE", f"{PATH}/courrier")

    assert len(before) == 6
    for asked in ({}, {"q": "factures"}, {"q": "scan-5"}):
        assert NAME.findall((await clerk.get("/apps/watchfolder/scans", **asked)).text) == []


@pytest.mark.parametrize("keeps", [True, False])
async def test_what_was_read_is_kept_unless_told_otherwise(office: Office, keeps: bool) -> None:  # noqa: FBT001
    watcher, folders, _ = await watched(office, keeps=keeps)
    folders.job(KEY).mkdir(parents=True)
    (folders.job(KEY) / TEXT).write_text("Facture")
    watcher._hear(document(state="DONE"))

    await look(watcher)

    kept = await office.lab.rows("select body from watchfolder.reading")
    assert kept == ([("Facture",)] if keeps else [])


SCANS = """
    with folder as (select tenant_id, id from watchfolder.folder where tenant_id = %s),
    job as (
        insert into watchfolder.job
            (tenant_id, folder_id, job_key, seq, state, file_name, pages, created_at, changed_at)
        select f.tenant_id, f.id, encode(sha256(n::text::bytea), 'hex') || '__0badcafe', 9, 'DONE',
               'scan-' || n || '.pdf', 1, now() - interval '1 minute' * n, now() - interval '1 minute' * n
        from folder f cross join generate_series(1, 6) n returning tenant_id, folder_id, job_key, file_name)
    insert into watchfolder.reading (tenant_id, folder_id, job_key, body)
    select j.tenant_id, j.folder_id, j.job_key,
           'Facture ' || case when j.file_name = 'scan-5.pdf' then 'des tuiles' else 'du plombier' end from job j
"""


async def test_words_are_found_beyond_the_newest_files_and_each_file_once(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest files are looked at one by one, all others by the indexes of words."""
    monkeypatch.setattr(pages, "WINDOW", 2)
    monkeypatch.setattr(pages, "MOST", 4)
    for tenant in ("acme", "globex"):
        await office.make("courrier", tenant)
        await office.lab.rows(SCANS, tenant)
    clerk = await Console(office.api).visitor("acme", "clerk", "reader")

    async def found(**asked: str) -> list[str]:
        return NAME.findall((await clerk.get("/apps/watchfolder/scans", **asked)).text)

    assert await found(q="tuile") == ["scan-5.pdf"]  # by its text, and in another form of the word
    assert await found(q="scan-6") == ["scan-6.pdf"]  # by its name
    assert await found(q="factures") == [f"scan-{n}.pdf" for n in range(1, 5)]  # newest first, each once
    older = re.search(r"after=([^\"&]+)", (await clerk.get("/apps/watchfolder/scans", q="factures")).text)
    assert older is not None
    assert await found(q="factures", after=unquote(older[1])) == ["scan-5.pdf", "scan-6.pdf"]
    assert await found(q="toiture") == []


async def test_counts_that_stopped_are_marked(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    await office.make("courrier")
    await office.lab.rows(SCANS, "acme")
    clerk = await Console(office.api).visitor("acme", "clerk", "reader")

    whole = await clerk.text("/apps/watchfolder")
    monkeypatch.setattr(panel, "MOST_COUNTED", 3)
    capped = await clerk.text("/apps/watchfolder")

    assert re.search(r"DONE\s+6\s", whole)
    assert re.search(r"DONE\s+≥ 3\s", capped)


@pytest.mark.parametrize(
    "asked", ["folder=1&job=../../etc/passwd", "folder=x&job=", f"folder=1&job={'a' * 64}__{'0' * 16}"]
)
async def test_no_part_of_a_path_is_the_caller_s(office: Office, asked: str) -> None:
    clerk = await Console(office.api).visitor("acme", "clerk", "reader")

    for file in ("pdf", "page"):
        assert (await clerk.get(f"/apps/watchfolder/file/{file}?{asked}")).status_code in {404, 422}


def test_what_a_worker_process_left_counts_only_if_it_is_what_it_should_be(tmp_path: Path) -> None:
    assert readings.read(tmp_path) is None
    (tmp_path / TEXT).write_bytes(b"a\0b\xff" + b"x" * MOST_LETTERS * 5)
    (tmp_path / "of somebody else").write_bytes(b"\xff\xd8\xff a picture")
    (tmp_path / FIRST_PAGE).symlink_to(tmp_path / "of somebody else")
    (tmp_path / RESULT_PAGE).write_bytes(b"<svg onload=alert(1)>")

    odd = readings.read(tmp_path)
    (tmp_path / FIRST_PAGE).unlink()
    os.mkfifo(tmp_path / FIRST_PAGE)
    (tmp_path / RESULT_PAGE).write_bytes(b"\xff\xd8\xff" + b"x" * MOST_BYTES)
    again = readings.read(tmp_path)

    assert odd is not None
    assert again is not None
    assert odd.body.startswith("ab�")
    assert len(odd.body) == MOST_LETTERS
    assert (odd.first_page, odd.result_page, again.first_page, again.result_page) == (None,) * 4


def test_the_first_page_is_drawn_small_and_a_broken_one_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "good.pdf").write_bytes(text_pdf("Bonjour", "Encore"))
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.7 nothing")

    draw_first_page(tmp_path / "good.pdf", tmp_path / FIRST_PAGE)
    draw_first_page(tmp_path / "bad.pdf", tmp_path / RESULT_PAGE)

    assert (tmp_path / FIRST_PAGE).read_bytes().startswith(b"\xff\xd8\xff")
    assert (tmp_path / FIRST_PAGE).stat().st_size < MOST_BYTES
    assert not (tmp_path / RESULT_PAGE).exists()


async def _is_there(path: Path) -> bool:
    return await asyncio.to_thread(path.is_file)
