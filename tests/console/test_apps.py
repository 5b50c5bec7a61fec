"""Pages that an application brings: blocks, links, forms, verbs and files, in its own words."""

import os
import re
from pathlib import Path

import pytest

from ostinato._core.base.errors import NotFound
from ostinato._core.engine import audit
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.observe.panels import File
from ostinato._faces.console.pages.apps import file_response
from ostinato._faces.console.text import DASH
from tests.api.conftest import Api
from tests.console import desk
from tests.console.conftest import Console


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    return (desk.APP,)


async def test_one_of_everything_is_drawn_and_nothing_of_it_is_markup(console: Console) -> None:
    visitor = await console.visitor("acme", "admin")

    front = (await visitor.get("/apps/desk")).text
    paper = (await visitor.get("/apps/desk/paper", id="7/a <b>")).text

    assert front.count("<svg") >= 2
    assert 'href="/console/apps/desk/paper?id=7%2Fa%20%3Cb%3E"' in front
    assert "clocks go forward" in front
    assert "3 papers wait" in front
    assert "No paper is lost." in front
    assert 'action="/console/apps/desk/papers"' in front
    assert "<script>alert" not in paper
    assert "&lt;script&gt;" in paper
    assert 'src="/console/apps/desk/file/sheet?id=7%2Fa%20%3Cb%3E"' in paper
    assert "<title>7/a &lt;b&gt; · Paper · Ostinato</title>" in paper  # several of them may be open in tabs
    assert re.search(r"<h1>7/a &lt;b&gt; <small>Paper</small></h1>", paper)


async def test_an_application_counts_the_rows_of_a_machine_that_no_table_obeys(console: Console) -> None:
    page = await (await console.visitor("acme", "admin")).text("/machines")

    papers, lost = page.index("desk_paper"), page.index("desk_lost")
    assert papers < lost
    assert re.search(r"new\s+41\s", page[papers:lost])
    assert re.search(r"stamped\s+≥ 10,000\s", page[papers:lost])
    assert re.search(rf"lost\s+{DASH}\s", page[lost:])  # it could not be counted, and took nothing from the others


async def test_a_count_that_stopped_is_marked(console: Console) -> None:
    visitor = await console.visitor("acme", "admin")

    shown = await visitor.text("/apps/desk")

    assert re.search(r"new\s+3\s", shown)
    assert re.search(r"read\s+≥ 10,000\s", shown)
    assert re.search(r"lost\s+0\s", shown)  # none of what was looked at


async def test_an_application_speaks_french_by_its_own_catalogue(console: Console) -> None:
    visitor = await console.visitor("acme", "admin")
    await visitor.http.post("/console/prefer", data={"language": "fr"})

    shown = await visitor.text("/apps/desk")

    for text in ("Bureau", "Papiers", "3 papiers attendent", "Tout tamponner", "Aperçu"):
        assert text in shown, text
    assert "retenu" in shown  # what the application means by held, and not what the engine does
    assert "Boîte de décisions" in shown
    assert "Aucun papier perdu." in shown


async def test_a_page_is_seen_by_those_whom_its_panel_allows(console: Console) -> None:
    clerk = await console.visitor("acme", "clerk", "reader", subject="carla")
    reader = await console.visitor("acme", "reader", subject="rita")
    admin = await console.visitor("acme", "admin", subject="ada")

    async def seen(path: str) -> list[int]:
        return [(await each.get(path)).status_code for each in (clerk, reader, admin)]

    assert await seen("/apps/desk") == [200, 200, 200]
    assert await seen("/apps/desk/papers") == [200, 403, 200]
    assert await seen("/apps/desk/writers") == [403, 403, 200]
    assert await seen("/apps/desk/file/sheet?id=7") == [200, 403, 200]
    assert "/apps/desk/writers" not in (await reader.get("/apps/desk")).text
    assert (await console.stranger().get("/apps/desk/papers")).status_code == 303


async def test_a_verb_runs_as_the_tenant_and_the_audit_has_who_did_it(console: Console, api: Api) -> None:
    ada = await console.visitor("acme", "ops", subject="ada")

    done = await ada.send("/apps/desk/do/stamp", words="paper 7", reason="it is right", next="/console/apps/desk")

    assert (done.status_code, done.headers["location"]) == (303, "/console/apps/desk")
    assert "paper 7 for ('acme', 'ostinato_tenant') is stamped" in await ada.text("/apps/desk")
    async with api.worker.connection() as conn:
        entry = (await audit.list_entries(conn, tenant_id="acme"))[0]
    assert (entry.verb, entry.noun, entry.target) == ("stamp", "desk", "paper 7")
    assert (entry.actor, entry.reason) == ("ada", "it is right")


async def test_a_verb_needs_its_permission_the_token_and_the_own_tenant(console: Console) -> None:
    reader = await console.visitor("acme", "reader", subject="rita")
    ada = await console.visitor("acme", "ops", subject="ada")
    lea = await console.visitor("acme", "ops", "installation", subject="lea")

    assert "/do/stamp" not in (await reader.get("/apps/desk")).text
    assert (await reader.send("/apps/desk/do/stamp", words="x")).status_code == 403
    assert (await ada.http.post("/console/apps/desk/do/stamp", data={"words": "x"})).status_code == 403
    assert (await ada.send("/apps/desk/do/stamp", words="x", tenant="globex")).status_code == 404
    assert (await ada.send("/apps/desk/do/nothing")).status_code == 404
    assert (await lea.send("/apps/desk/do/stamp", words="x")).status_code == 404  # whose it is, it must say
    elsewhere = await lea.send("/apps/desk/do/stamp", words="x", tenant="globex", next="https://elsewhere.test/")
    assert elsewhere.headers["location"] == "/console/"
    assert "x for ('globex', 'ostinato_tenant') is stamped" in await lea.text("/apps/desk")


async def test_a_file_can_do_nothing_in_a_browser(console: Console) -> None:
    ada = await console.visitor("acme", "ops")

    picture = await ada.get("/apps/desk/file/sheet", id="7")
    offered = await ada.get("/apps/desk/file/pdf", id="7")

    assert picture.headers["content-type"] == "image/png"
    for answer in (picture, offered):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
    assert picture.headers["content-disposition"] == 'inline; filename="page__7__.png"'
    assert offered.headers["content-disposition"] == 'attachment; filename="paper.pdf"'
    for file, asked in (("sheet", "none"), ("sheet", "evil"), ("sheet", "html"), ("pdf", "gone"), ("other", "7")):
        assert (await ada.get(f"/apps/desk/file/{file}", id=asked)).status_code == 404, (file, asked)


@pytest.mark.parametrize(
    "path", ["/apps/nobody", "/apps/desk/nothing", "/apps/desk/paper?pages=x", f"/apps/desk/papers?q={'x' * 3000}"]
)
async def test_bad_input_gets_a_page_that_says_what_to_do(console: Console, path: str) -> None:
    answer = await (await console.visitor("acme", "admin")).get(path)

    assert 400 <= answer.status_code < 500
    assert "Ostinato" in answer.text


@pytest.mark.parametrize("sort", ["link", "fifo", "folder"])
def test_what_stands_in_the_place_of_a_file_is_neither_followed_nor_waited_for(tmp_path: Path, sort: str) -> None:
    """A worker process that a document took over writes into the folder that a page serves files from."""
    secret, place = tmp_path / "secret.pdf", tmp_path / "final.pdf"
    secret.write_bytes(b"%PDF-")
    match sort:
        case "link":
            place.symlink_to(secret)
        case "fifo":
            os.mkfifo(place)
        case _:
            place.mkdir()

    with pytest.raises(NotFound):
        file_response(File(place, "application/pdf", "final.pdf"))


async def test_the_search_box_leads_to_the_pages_that_take_words(console: Console) -> None:
    """A number that is no job may be that of a company, or of an invoice."""
    visitor, reader = await console.visitor("acme", "admin"), await console.visitor("acme", "reader")

    found = (await visitor.get("/find", q="999000003")).text

    assert "/console/apps/desk/papers?q=999000003" in found
    assert "/apps/desk/" in found
    assert "/console/apps/desk/writers" not in (await reader.get("/find", q="999000003")).text
