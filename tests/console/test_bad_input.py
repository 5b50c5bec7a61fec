"""Bad input: whatever an address or a form says, its reader gets a page that says what to do, and never a traceback."""

import re
from collections.abc import Iterator
from dataclasses import fields
from urllib.parse import quote

import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.observe.panels import all_panels
from ostinato._core.runtime.testing import KEY
from ostinato._faces.console.pages.filters import Filter
from ostinato._faces.console.routes import PageRoute
from tests.api.conftest import Api
from tests.console import desk
from tests.console.conftest import Console, Visitor

pytestmark = pytest.mark.slow

VALUES = (
    "x",
    "-1",
    "0",
    "9" * 40,
    "1e9",
    "2026-13-45",
    "' or 1=1 --",
    "../..",
    "{",
    "[1]",
    "\N{GRINNING FACE}",
    "\x01",
)
LONG = "x" * 10_000
READ_BY_HAND = {
    "/jobs": [each.name for each in fields(Filter)],
    "/bulk/new": [each.name for each in fields(Filter)],
    "/apps/{name}/{page}": ["id", "pages", "q", "state"],
}
"""Parameters that are in no signature: those of the filter, and what pages of applications look for."""
STREAMS = {"/live"}


@pytest.fixture
def api_settings() -> Settings:
    return Settings(secret_key=KEY)


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    return (desk.APP,)


def routes(api: Api, method: str) -> Iterator[PageRoute]:
    for route in api.app.routes:
        if isinstance(route, PageRoute) and method in (route.methods or ()):
            yield route


def paths(template: str, value: str) -> list[str]:
    """The addresses of a page, with this in the place of each of its parts; the pages of applications as they are."""
    if template == "/apps/{name}/{page}":
        return [f"/apps/desk/{panel.name}" for panel in all_panels(desk.APP) if panel.name]
    return [re.sub(r"{[^}]+}", quote(value, safe=""), template)]


def asked(api: Api) -> Iterator[str]:
    """Every page with each of its parameters wrong, one at a time."""
    for route in routes(api, "GET"):
        template = route.path.removeprefix("/console")
        if template in STREAMS:
            continue
        names = [each.alias for each in route.dependant.query_params] + READ_BY_HAND.get(template, [])
        for value in (*VALUES, LONG[:500] if "{" in template else LONG):
            yield from paths(template, value)
        for path in paths(template, "1"):
            for name in names:
                yield from (f"{path}?{name}={quote(value, safe='')}" for value in (*VALUES, LONG))


async def wrong_answer(visitor: Visitor, path: str) -> str | None:
    """What is wrong with an answer: a fault of ours, or a refusal that does not say what to do."""
    answer = await visitor.get(path)
    told = re.sub(r"<[^>]+>", " ", answer.text.partition("<main")[2])
    if answer.status_code >= 500 or "Traceback" in answer.text:
        return f"{path[:120]}: {answer.status_code} {told[:200]}"
    if answer.status_code >= 400 and ("<h1>" not in answer.text or len(told.split()) < 8):
        return f"{path[:120]}: {answer.status_code} says {told[:200]!r}"
    return None


async def test_a_wrong_address_gets_a_page_that_says_what_to_do(console: Console, api: Api) -> None:
    lea = await console.visitor("acme", "admin", "clerk", "agency_user", "capture", "organizer", "installation")
    everything = list(asked(api))

    assert len(everything) > 1000
    assert [found for path in everything if (found := await wrong_answer(lea, path))] == []


async def test_a_wrong_form_gets_a_page_that_says_what_to_do(console: Console, api: Api) -> None:
    """Each form with nothing in it, and with what no field takes."""
    lea = await console.visitor("acme", "admin", "installation")
    token = await lea.token()
    names = (
        "name",
        "kind",
        "cron",
        "zone",
        "most",
        "since",
        "at",
        "until",
        "position",
        "lasting",
        "url",
        "run_at",
        "args",
    )
    found = []
    for route in routes(api, "POST"):
        path = re.sub(r"{[^}]+}", "1", route.path)
        if path.endswith(("/sign-out", "/prefer")):
            continue
        for value in ("", "x", "-1", "9" * 40, "{", "\x01\0", LONG):
            form = {"token": token, **dict.fromkeys(names, value)}
            answer = await lea.http.post(path, data=form, headers={"Accept": "text/html"})
            if answer.status_code >= 500 or "Traceback" in answer.text:
                found.append((path, value[:20], answer.status_code, answer.text[-300:]))

    assert found == []
