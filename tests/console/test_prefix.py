"""The console below a path of a proxy's: every link, form and redirect stays below it."""

import re
from collections.abc import Iterator
from html import unescape

import pytest

from ostinato._core.base.errors import SettingsError
from ostinato._core.base.settings import Settings
from tests.console.conftest import Console

PREFIX = "/ops/queue"
PLACES = re.compile(r'(?:href|src|action|data-stream)="(/[^"]*)"')
PAGES = ("/", "/jobs", "/dead-letters", "/queues", "/workers", "/schedules", "/events", "/webhooks", "/trail")


@pytest.fixture
def api_settings() -> Settings:
    return Settings(api_path_prefix=PREFIX)


def strays(text: str) -> Iterator[str]:
    return (place for place in PLACES.findall(unescape(text)) if not place.startswith(f"{PREFIX}/console"))


@pytest.mark.parametrize("seen", ["", PREFIX], ids=["taken away by the proxy", "passed on"])
async def test_nothing_leads_out_of_the_prefix(console: Console, seen: str) -> None:
    someone = console.stranger()
    key = await console.api.key("acme", "admin")
    refused = await someone.http.get(f"{seen}/console/jobs?state=dead", headers={"Accept": "text/html"})
    place = "/ops/queue/console/jobs?state=dead"
    entered = await someone.http.post(f"{seen}/console/sign-in", data={"key": key, "next": place})
    front = await someone.http.get(seen or "/")

    assert refused.headers["location"].startswith("/ops/queue/console/sign-in?next=%2Fops%2Fqueue%2Fconsole%2Fjobs")
    assert entered.headers["location"] == place
    assert front.headers["location"] == "/ops/queue/console/"
    for path in PAGES:
        page = await someone.http.get(f"{seen}/console{path}", headers={"Accept": "text/html"})
        assert page.status_code == 200, path
        assert list(strays(page.text)) == []
    token = await someone.token()
    sent = await someone.http.post(f"{seen}/console/webhooks-portal", data={"token": token})
    assert "http://api.test/ops/queue/console/portal/enter?ticket=" in sent.text
    lost = await someone.http.get(f"{seen}/console/nowhere", headers={"Accept": "text/html"})
    assert lost.status_code == 404
    assert list(strays(lost.text)) == []


async def test_a_path_that_only_begins_alike_is_another(console: Console) -> None:
    answer = await console.stranger().http.get("/ops/queues/console/", headers={"Accept": "text/html"})

    assert answer.status_code == 404


async def test_the_pages_of_the_api_load_their_parts_from_beside_them(console: Console) -> None:
    page = (await console.stranger().http.get(f"{PREFIX}/docs")).text
    start = (await console.stranger().http.get(f"{PREFIX}/docs/start.js")).text

    assert not re.search(r'(href|src)="/', page)
    assert 'url: "openapi.json"' in start


@pytest.mark.parametrize("prefix", ["ops", "/ops/", "//elsewhere.test", "/a b", '/"', "/.."])
def test_what_is_no_path_is_refused(prefix: str) -> None:
    with pytest.raises(SettingsError, match="api_path_prefix"):
        Settings(api_path_prefix=prefix)
