"""`ostinato cells …`, `ostinato tenants move`, and one API for all cells."""

import asyncio
import base64
import json
import os
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from ostinato._core.base.cellmap import read_cells
from ostinato._core.base.settings import Settings
from ostinato._core.db.backup import server
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.engine import keys
from ostinato._core.engine.moves import Move, Side
from ostinato._core.runtime import cells as asked_cells
from ostinato._core.runtime.cells import Cells
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato._faces.api.cells import CellsApi, metrics_of
from ostinato.errors import NotConfigured, SettingsError
from tests.api.issuer import Issuer, rsa_key
from tests.conftest import copy_of_engine
from tests.faces.conftest import EMPTY, Shell
from tests.opened import OPEN, opened
from tests.proxy import Proxy, between
from tests.waiting import until_async

JOBS = "/api/v1/engine/jobs"
FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def two(shared_server: Server) -> dict[str, Urls]:
    return {name: copy_of_engine(shared_server, f"api_cell_{name}") for name in ("one", "two")}


@pytest.fixture
def file(two: dict[str, Urls], tmp_path: Path) -> Path:
    lines = ['home = "one"']
    for number, (name, urls) in enumerate(two.items(), 1):
        lines += [f"[{name}]", f"number = {number}", f'database_url = "{urls.worker}"', f'admin_url = "{urls.admin}"']
        lines += [f'api_database_url = "{urls.api}"']
        with psycopg.connect(urls.admin, autocommit=True) as conn:
            conn.execute(EMPTY)
            conn.execute(OPEN, opened("app.task"))
    path = tmp_path / "cells.toml"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def at(file: Path) -> Shell:
    shell = Shell({"OSTINATO_CELLS_FILE": str(file)})
    shell.run("cells", "init")
    return shell


def ask(urls: Urls, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(urls.admin, autocommit=True) as conn:
        return conn.execute(statement.encode()).fetchall()


async def key_in(urls: Urls, tenant: str, *roles: str) -> str:
    async with Client(Database(urls.worker, urls.admin, None)) as client, client.connection() as conn:
        return (await keys.create(conn, tenant_id=tenant, subject="ann", roles=roles or ("admin",))).key


def test_tenants_are_placed_moved_and_found_by_commands(at: Shell, two: dict[str, Urls]) -> None:
    assert at.json("cells", "init")["cells"][1]["sequences"] == 0  # it was done before
    at.run("cells", "place", "globex", "--in", "two")
    assert at.json("cells", "where", "globex")["cell"] == "two"
    assert "is known in the cell one" in at.fails("cells", "place", "globex", "--in", "one")
    ask(two["one"], "select ostinato.enqueue_job('app.task', tenant_id => 'acme')")
    assert at.json("cells", "where", "acme")["cell"] == "one"

    moved = at.run("tenants", "move", "acme", "--to", "two")
    assert re.search(r"No job of it was started for \d+\.\d\d s", moved.stdout)
    assert "load: the other cell serves it" in moved.stderr
    assert at.json("cells", "where", "acme")["cell"] == "two"
    assert "lives in the cell two" in at.fails("tenants", "move", "acme", "--to", "two")
    assert "no move of acme" in at.fails("tenants", "move", "acme", "--to", "one", "--give-up")
    assert at.json("tenants", "move", "acme", "--to", "one")["source"] == "two"
    assert "there is nothing of the tenant acmee" in at.fails("tenants", "move", "acmee", "--to", "two")
    assert list(at.json("cells", "where", "acmee")["known"].values()) == [None, None]
    assert "no cell 'nine'" in at.fails("tenants", "move", "acme", "--to", "nine", code=2)

    lines = {line["name"]: line for line in at.json("cells", "list")["cells"]}
    assert lines["one"]["ready"] == 1
    assert (lines["one"]["left"], lines["two"]["left"]) == (1, 1)


@pytest.mark.parametrize("how", ["open to all", "a link"])
def test_a_move_puts_no_row_where_another_user_waits_for_it(
    at: Shell, two: dict[str, Urls], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """All may write to the folder for temporary files, and the name is known."""
    taken, elsewhere = tmp_path / "ostinato-move-one-two", tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    if how == "a link":
        taken.symlink_to(elsewhere)
    else:
        taken.mkdir()
        taken.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ask(two["one"], "select ostinato.enqueue_job('app.task', tenant_id => 'acme')")

    assert "not a folder of our own" in at.fails("tenants", "move", "acme", "--to", "two")

    assert at.json("cells", "where", "acme")["cell"] == "one"
    assert ask(two["one"], "select count(*) from ostinato_data.tenant_place") == [(0,)]


def test_a_cell_that_is_away_is_said_and_the_others_are_listed(at: Shell, file: Path) -> None:
    file.write_text(f'{file.read_text()}\n[three]\nnumber = 3\ndatabase_url = "postgresql://localhost:1/none"\n')

    lines = {line["name"]: line for line in at.json("cells", "list")["cells"]}
    assert lines["three"]["error"]
    assert lines["two"]["error"] is None


def test_a_cell_that_is_away_holds_up_no_move_between_two_others(at: Shell, file: Path, two: dict[str, Urls]) -> None:
    file.write_text(f'{file.read_text()}\n[three]\nnumber = 3\ndatabase_url = "postgresql://localhost:1/none"\n')
    ask(two["one"], "select ostinato.enqueue_job('app.task', tenant_id => 'acme')")

    assert at.json("tenants", "move", "acme", "--to", "two")["target"] == "two"
    where = at.run("cells", "where", "acme", "--json")
    assert json.loads(where.stdout)["cell"] == "two"
    assert "three is away" in where.stderr
    at.fails("cells", "place", "globex", "--in", "two", code=69)  # it may be known there
    at.fails("tenants", "move", "acme", "--to", "three", code=69)
    ask(two["one"], "select 1 from ostinato.set_place('initech', 'left', 'three')")
    at.fails("tenants", "move", "initech", "--to", "two", code=69)
    at.fails("cells", "where", "initech", code=69)


def test_a_map_whose_addresses_are_mixed_up_is_refused_by_whoever_asks(
    at: Shell, file: Path, two: dict[str, Urls]
) -> None:
    """A tenant of one would be served by two as well; and ids that were renumbered would clash in a move."""
    crossed = file.read_text().replace("api_cell_one", "x").replace("api_cell_two", "api_cell_one")
    file.write_text(crossed.replace('/x"', '/api_cell_two"').replace("/x?", "/api_cell_two?"))
    before = ask(two["one"], "select nextval('ostinato_data.job_id_seq') % 100")

    lines = at.json("cells", "list")["cells"]
    assert "has the number 2, and the map says 1" in lines[0]["error"]
    for command in (("init",), ("where", "acme"), ("place", "acme", "--in", "two")):
        assert "mixed up" in at.fails("cells", *command, code=2)
    assert "mixed up" in at.fails("tenants", "move", "acme", "--to", "two", code=2)
    assert ask(two["one"], "select nextval('ostinato_data.job_id_seq') % 100") == before


async def test_a_client_refuses_cells_that_are_mixed_up(at: Shell, file: Path, two: dict[str, Urls]) -> None:
    del at
    found = read_cells(Settings(cells_file=str(file)))
    one, other = found.cells["one"], found.cells["two"]
    crossed = {"one": replace(one, settings=other.settings), "two": replace(other, settings=one.settings)}
    async with Cells(replace(found, cells=crossed)) as cells:
        with pytest.raises(SettingsError, match="has the number 2"):
            await cells.for_tenant("acme").enqueue("app.task")
    assert ask(two["two"], "select from ostinato_data.job") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('home = "x"\n', "names no home"),
        ('home = "a"\n[a]\nnumber = 100\ndatabase_url = "postgresql://"', "needs number"),
        ('home = "a"\n[a]\nnumber = 1\ndatabase_url = "postgresql://"\nport = 1', "knows no"),
        ('home = "a"\n[a]\nnumber = 1\ndatabase_url = "postgresql://"\n[b]\nnumber = 1\ndatabase_url = "x:"', "same"),
        ("home", "cannot be read"),
        ('home = "A"\n[A]\nnumber = 1', "is no cell"),
    ],
)
def test_a_map_that_makes_no_sense_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "cells.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=said):
        read_cells(Settings(cells_file=str(file)))
    with pytest.raises(NotConfigured):
        read_cells(Settings())


@pytest.mark.slow
async def test_one_api_serves_each_tenant_from_its_cell_before_during_and_after_a_move(
    at: Shell, file: Path, two: dict[str, Urls]
) -> None:
    found = read_cells(Settings(cells_file=str(file)))
    api = CellsApi(found, [])
    acme, globex = await key_in(two["one"], "acme"), await key_in(two["two"], "globex")
    operator = await key_in(two["two"], "default", "admin", "installation")
    transport = httpx.ASGITransport(api, raise_app_exceptions=False)
    async with api.running(), httpx.AsyncClient(transport=transport, base_url="http://api.test") as http:

        async def add(key: str) -> httpx.Response:
            return await http.post(JOBS, json={"kind": "app.task"}, headers={"Authorization": f"Bearer {key}"})

        for key in (acme, globex):
            assert (await add(key)).status_code == 202
        assert ask(two["one"], "select tenant_id from ostinato_data.job") == [("acme",)]
        assert ask(two["two"], "select tenant_id from ostinato_data.job") == [("globex",)]
        assert (await add("ost_1_" + "x" * 43)).status_code == 401
        assert (await http.post(JOBS, json={})).status_code == 401

        ask(two["one"], "select 1 from ostinato.set_place('acme', 'closed', 'two')")
        refused = await add(acme)
        assert (refused.status_code, refused.json()["code"]) == (503, "tenant_moved")
        assert refused.headers["Retry-After"] == "1"
        assert (await add(globex)).status_code == 202
        ask(two["one"], "delete from ostinato_data.tenant_place returning 1")

        command = [sys.executable, "-m", "ostinato", "tenants", "move", "acme", "--to", "two"]
        moving = await asyncio.create_subprocess_exec(*command, env=os.environ | at.env)
        assert await moving.wait() == 0
        api.apps["one"].state.authenticate._known.clear()  # what it remembers for two seconds
        api.apps["two"].state.authenticate._refused.clear()
        api.cells.forget("acme")
        assert (await add(acme)).status_code == 202
        assert ask(two["two"], "select count(*) from ostinato_data.job where tenant_id = 'acme'") == [(2,)]

        assert (await http.post("/cells/two/console/sign-in", data={"key": operator})).status_code == 303
        page = await http.get("/cells/two/console/cells")
        assert page.status_code == 200, page.text
        assert 'href="/cells/one/console/"' in page.text
        assert (await http.get("/cells/one/console/cells")).status_code == 303  # a session is of one cell
        pages = httpx.ASGITransport(metrics_of(api, "one"))
        async with httpx.AsyncClient(transport=pages, base_url="http://metrics.test") as figures:
            assert re.search(
                r'ostinato_queue_ready_jobs{queue="\w+"} 4', (await figures.get("/cells/two/metrics")).text
            )
            assert (await figures.get("/cells/nine/metrics")).status_code == 404


class Killed(BaseException):
    """The process of a move is gone."""


@pytest.mark.parametrize("after", ["load", "point"])
@pytest.mark.usefixtures("at")
async def test_once_a_tenant_is_loaded_the_api_serves_it_there_whatever_became_of_the_move(
    file: Path, two: dict[str, Urls], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    """Its key is known in both cells until its rows are removed, which takes as long as they are many."""
    monkeypatch.setattr(
        asked_cells, "HURRY_SECONDS", 60
    )  # the cell that knew it last is asked alone, however long it takes
    found = read_cells(Settings(cells_file=str(file)))
    api, key = CellsApi(found, []), await key_in(two["one"], "acme")
    transport = httpx.ASGITransport(api, raise_app_exceptions=False)

    def step(name: str) -> None:
        if name == after:
            raise Killed

    async with api.running(), httpx.AsyncClient(transport=transport, base_url="http://api.test") as http:

        async def add() -> int:
            header = {"Authorization": f"Bearer {key}"}
            return (await http.post(JOBS, json={"kind": "app.task"}, headers=header)).status_code

        assert await add() == 202
        assert await api.cells.where("acme") == "one"
        async with AsyncExitStack() as stack:
            one, other = [
                Side(name, await stack.enter_async_context(await server.connect(urls.admin)))
                for name, urls in two.items()
            ]
            with pytest.raises(Killed):
                await Move("acme", one, other, one, file=tmp_path / "acme.gz", schemas=[], step=step).run()
            assert await add() == 503  # the first one finds out
            assert await add() == 202
            api.cells.forget("acme")  # what is remembered for two seconds
            assert await api.cells.where("acme") == "two"
            assert ask(two["two"], "select count(*) from ostinato_data.job where tenant_id = 'acme'") == [(2,)]

            await Move("acme", one, other, one, file=tmp_path / "acme.gz", schemas=[]).run()
            assert await add() == 202


@pytest.mark.usefixtures("at")
async def test_a_key_signs_in_to_the_console_of_its_cell_whichever_page_it_was_typed_on(
    file: Path, two: dict[str, Urls]
) -> None:
    api = CellsApi(read_cells(Settings(cells_file=str(file))), [])
    acme, globex = await key_in(two["one"], "acme"), await key_in(two["two"], "globex")
    transport = httpx.ASGITransport(api, raise_app_exceptions=False)
    async with api.running(), httpx.AsyncClient(transport=transport, base_url="http://api.test") as http:

        async def sign_in(key: str, page: str = "/console", then: str = "") -> httpx.Response:
            return await http.post(f"{page}/sign-in", data={"key": key, "next": then})

        for page in ("/console", "/cells/one/console", "/cells/two/console"):
            there = await sign_in(globex, page)
            assert (there.status_code, there.headers["location"]) == (303, "/cells/two/console/")
            assert "ostinato-two=" in there.headers["set-cookie"]
            assert (await sign_in(acme, page)).headers["location"] == "/cells/one/console/"
        assert (await http.get("/cells/two/console/")).status_code == 200
        # A page that asked for a key is come back to, in the cell of the key.
        for then in ("/cells/one/console/jobs?queue=mail", "/cells/two/console/jobs?queue=mail"):
            assert (await sign_in(globex, then=then)).headers["location"] == "/cells/two/console/jobs?queue=mail"
        assert (await sign_in(globex, then="//evil.test/cells/one/")).headers["location"] == "/cells/two/console/"

        wrong = await sign_in("ost_1_" + "x" * 43)
        assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
        assert 'action="/cells/one/console/sign-in"' in wrong.text
        strange = await http.post("/console/sign-in", content=b"\xff", headers={"Content-Type": FORM})
        assert strange.status_code == 422
        huge = await http.post("/console/sign-in", content=b"k" * 100_000, headers={"Content-Type": FORM})
        assert huge.status_code == 422


def _token(claims: str) -> str:
    """Claims as a token has them, signed by nobody."""
    parts = (base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode() for text in ("{}", claims, "x"))
    return ".".join(parts)


NO_KEYS = (f"ost_{'9' * 5_000}_{'x' * 43}", _token("[" * 5_900), _token('{"tenant": "acme"}'))
"""What strangers write in the place of a key or a token: a number that Python does not read, claims of their own."""


@pytest.mark.usefixtures("at")
async def test_what_a_stranger_writes_in_the_place_of_a_key_is_refused_and_asks_no_cell(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def where(_cells: Cells, tenant_id: str) -> str:
        asked.append(tenant_id)
        return "one"

    monkeypatch.setattr(Cells, "where", where)
    with Issuer() as issuer:
        forged = issuer.token(tenant="acme", key=rsa_key("second"))
        api = CellsApi(read_cells(issuer.settings(cells_file=str(file))), [])
        transport = httpx.ASGITransport(api, raise_app_exceptions=False)
        async with api.running(), httpx.AsyncClient(transport=transport, base_url="http://api.test") as http:
            for text in (*NO_KEYS, forged):
                assert (await http.get(JOBS, headers={"Authorization": f"Bearer {text}"})).status_code == 401
            for text in (*NO_KEYS, forged, f"ost_²_{'x' * 43}"):
                assert (await http.post("/console/sign-in", data={"key": text})).status_code == 401

    assert asked == []


@pytest.mark.usefixtures("at")
async def test_a_token_goes_to_the_cell_of_its_tenant(file: Path, two: dict[str, Urls]) -> None:
    ask(two["one"], "select 1 from ostinato.set_place('globex', 'left', 'two')")
    with Issuer() as issuer:
        api = CellsApi(read_cells(issuer.settings(cells_file=str(file))), [])
        transport = httpx.ASGITransport(api, raise_app_exceptions=False)
        async with api.running(), httpx.AsyncClient(transport=transport, base_url="http://api.test") as http:
            for tenant in ("acme", "globex"):
                sent = {"Authorization": f"Bearer {issuer.token(tenant=tenant)}"}
                assert (await http.post(JOBS, json={"kind": "app.task"}, headers=sent)).status_code == 202

    assert ask(two["one"], "select tenant_id from ostinato_data.job") == [("acme",)]
    assert ask(two["two"], "select tenant_id from ostinato_data.job") == [("globex",)]


@pytest.fixture
def moved(at: Shell, two: dict[str, Urls]) -> str:
    """A key that was made at home, before its tenant moved."""
    ask(two["one"], "select ostinato.enqueue_job('app.task', tenant_id => 'globex')")
    key = asyncio.run(key_in(two["one"], "globex"))
    at.run("tenants", "move", "globex", "--to", "two")
    return key


@pytest.fixture
def home(file: Path, two: dict[str, Urls], tmp_path: Path) -> Iterator[Proxy]:
    """The way to the home of the map."""
    folder = tmp_path / "home"
    folder.mkdir()
    with between(two["one"].worker, folder) as proxy:
        text = file.read_text()
        for url in (two["one"].worker, two["one"].admin, two["one"].api):
            text = text.replace(url, proxy.url(url))
        file.write_text(text)
        yield proxy


@pytest.mark.slow
async def test_a_home_that_is_away_takes_no_tenant_of_another_cell_along(
    moved: str, home: Proxy, file: Path, two: dict[str, Urls]
) -> None:
    """It is away already when the process starts."""
    home.refusing = True
    acme, wrong = await key_in(two["one"], "acme"), "ost_1_" + "x" * 43
    api = CellsApi(read_cells(Settings(cells_file=str(file))), [])
    transport = httpx.ASGITransport(api, raise_app_exceptions=False)
    async with api.running(), httpx.AsyncClient(transport=transport, base_url="http://api.test") as http:

        async def add(key: str) -> httpx.Response:
            return await http.post(JOBS, json={"kind": "app.task"}, headers={"Authorization": f"Bearer {key}"})

        assert (await add(moved)).status_code == 202
        assert ask(two["two"], "select count(*) from ostinato_data.job where tenant_id = 'globex'") == [(2,)]
        entered = await http.post("/console/sign-in", data={"key": moved})
        assert (entered.status_code, entered.headers["location"]) == (303, "/cells/two/console/")
        ready = await http.get("/health/ready")
        assert (ready.status_code, ready.json()["checks"][0]["state"]) == (200, "ok")
        for key in (acme, wrong):  # nobody can tell now which of them is good
            refused = await add(key)
            assert (refused.status_code, refused.json()["code"]) == (503, "database_unavailable")

        home.refusing = False
        await until_async(lambda: succeeds(add, acme))
        assert (await add(wrong)).status_code == 401


async def succeeds(add: Callable[[str], Awaitable[httpx.Response]], key: str) -> bool:
    return (await add(key)).status_code == 202
