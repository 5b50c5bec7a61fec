"""What guards every page and every form: permission, the token of the session, and the headers of answers."""

import re
from collections.abc import Iterator, Mapping

import httpx
import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.testing import KEY
from ostinato._faces.console.routes import PageRoute
from tests.api.conftest import Api
from tests.console import desk
from tests.console.conftest import Console, Visitor
from tests.console.test_portal import customer_of

FOR_ALL = {"/sign-in", "/enter", "/sign-out", "/prefer", "/portal/enter"}
"""The forms that need no permission: they open a session, end one's own, or keep a choice in a cookie."""
SEEN_BY_ALL = FOR_ALL - {"/sign-out", "/prefer"} | {"/oidc", "/oidc/callback"}
VALUES = {
    "worker_id": "00000000-0000-0000-0000-000000000000",
    "name": "desk",
    "verb": "stamp",
    "file": "sheet",
    "page": "papers",
    "tenant": "acme",
}
OTHERS = {"digits": "1"}


@pytest.fixture
def api_settings() -> Settings:
    return Settings(secret_key=KEY)


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    return (desk.APP,)


def routes(api: Api, method: str) -> Iterator[tuple[str, PageRoute]]:
    """The paths of all pages that take a method, below /console, with values for what they name."""
    for route in api.app.routes:
        if isinstance(route, PageRoute) and method in (route.methods or ()):
            yield re.sub(r"{(\w+)(?::(\w+))?}", _value, route.path.removeprefix("/console")), route


def _value(found: re.Match[str]) -> str:
    return OTHERS.get(found[2] or "", VALUES.get(found[1], "1"))


def test_only_the_forms_of_the_door_need_no_permission(api: Api) -> None:
    assert {path for path, route in routes(api, "POST") if route.needs is None} == FOR_ALL
    assert {path for path, route in routes(api, "GET") if route.needs is None} <= SEEN_BY_ALL


async def test_every_form_without_the_token_of_its_session_is_refused(console: Console, api: Api) -> None:
    boss = await console.visitor("acme", "admin", "ops", "installation")
    customer = await customer_of(console, api)
    other = await (await console.visitor("acme", "admin")).token()
    wrong = []
    for path, _ in routes(api, "POST"):
        if path in FOR_ALL:
            continue
        who = customer if path.startswith("/portal") else boss
        for form in ({"next": "/"}, {"token": "0" * 64}, {"token": other}):
            answer = await who.http.post(f"/console{path}", data=form)
            if answer.status_code != 403 or "another session" not in answer.text:
                wrong.append((path, form, answer.status_code))

    assert wrong == []


async def test_a_reader_and_a_stranger_are_refused_every_form(console: Console, api: Api) -> None:
    reader, stranger = await console.visitor("acme", "reader"), console.stranger()
    token, wrong = await reader.token(), []
    for path, _ in routes(api, "POST"):
        if path in FOR_ALL:
            continue
        answer = await reader.http.post(f"/console{path}", data={"token": token})
        if answer.status_code != 403 or "another session" in answer.text:
            wrong.append((path, answer.status_code))
        strange = await stranger.http.post(f"/console{path}", data={"token": token})
        if strange.status_code not in (303, 401) or "ostinato" in strange.cookies:
            wrong.append((path, strange.status_code))

    assert wrong == []


async def test_a_form_that_another_site_sends_is_refused_by_every_route(console: Console, api: Api) -> None:
    boss = await console.visitor("acme", "admin", "ops", "installation")
    token = await boss.token()
    answers = {
        path: await boss.http.post(f"/console{path}", data={"token": token}, headers={"Origin": "https://evil.test"})
        for path, _ in routes(api, "POST")
    }

    assert {path: each.status_code for path, each in answers.items()} == dict.fromkeys(answers, 403)


async def test_every_answer_tells_the_browser_to_be_careful(console: Console, api: Api) -> None:
    """Pages, redirects, errors, files and refusals in front of all routes, to people and to strangers, over TLS."""
    boss, stranger = await console.visitor("acme", "admin", "ops", "installation"), console.stranger()
    boss.http.cookies.set("__Host-ostinato", boss.http.cookies["ostinato"])
    paths = [path for path, _ in routes(api, "GET") if path != "/live"]  # a stream has no end
    paths += [
        "/access",
        "/nowhere",
        "/jobs?before=x",
        "/find?q=%00",
        "/apps/desk/file/sheet?id=7",
        "/apps/desk/file/pdf?id=7",
    ]
    wrong = []
    for path in paths:
        for who in (boss, stranger):
            answer = await _asked(who, path)
            wrong += [(path, answer.status_code, each) for each in _careless(answer.headers)]

    assert wrong == []
    assert (await _asked(boss, "/access")).status_code == 200  # the pages themselves were asked, not the door


async def _asked(who: Visitor, path: str) -> httpx.Response:
    return await who.http.get(f"https://api.test/console{path}", headers={"Accept": "text/html"})


def _careless(given: Mapping[str, str]) -> list[str]:
    """The headers that are missing, or say something else than they must."""
    policy = given.get("content-security-policy", "")
    found = [] if "default-src 'none'" in policy and "unsafe" not in policy else [f"content policy {policy!r}"]
    if not given.get("strict-transport-security", "").startswith("max-age="):
        found.append("strict-transport-security")
    for name, value in (
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-store"),
        ("x-frame-options", "DENY"),
    ):
        if given.get(name) != value:
            found.append(f"{name}: {given.get(name)}")
    return found


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/find?q=%00", 400, "Leave %00 out"),
        ("/workers/none", 422, "pas un identifiant"),
        ("/jobs?before=x", 422, "pas un nombre entier"),
        ("/webhooks?failing=perhaps", 422, "ni true ni false"),
        ("/schedules/acme/x?ahead=99", 422, "ahead: trop grand"),
    ],
)
async def test_bad_input_gets_a_page_in_the_language_of_its_reader(
    console: Console, path: str, status: int, said: str
) -> None:
    visitor = await console.visitor("acme", "admin", "installation")
    await visitor.http.post("/console/prefer", data={"language": "fr"})

    answer = await visitor.get(path)

    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert '<html lang="fr"' in answer.text
    assert said in answer.text
    assert "Input should" not in answer.text


async def test_a_program_that_asks_for_no_page_gets_a_problem(console: Console) -> None:
    answer = await console.stranger().http.get("/console/find?q=%00", headers={"Accept": "application/json"})

    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
