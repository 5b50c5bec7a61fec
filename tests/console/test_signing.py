"""Who gets in, how a session ends, and what a form must have."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from ostinato._core.engine import keys, sessions
from tests.api.conftest import Api
from tests.console.conftest import Console

ATTACKS = (
    *("//evil.test/", "https://evil.test/", "/\\evil.test", "javascript:alert(1)", "/x\r\nSet-Cookie: a=b"),
    *("/\t/evil.test/", "/\n/evil.test", "/€", "/a\x01b", "/ /evil.test"),  # browsers drop tabs and ends of lines
)


async def test_a_page_leads_a_stranger_to_the_sign_in_and_back(console: Console) -> None:
    stranger = console.stranger()

    answer = await stranger.get("/jobs", state="dead")

    assert answer.status_code == 303
    assert answer.headers["location"] == "/console/sign-in?next=%2Fconsole%2Fjobs%3Fstate%3Ddead"
    key = await console.api.key("acme", "ops")
    entered = await stranger.http.post("/console/sign-in", data={"key": key, "next": "/console/jobs?state=dead"})
    assert entered.headers["location"] == "/console/jobs?state=dead"


async def test_a_page_whose_address_has_other_letters_is_come_back_to(console: Console) -> None:
    stranger = console.stranger()
    asked = (await stranger.get("/trail/caf%C3%A9 100%25")).headers["location"]
    place = parse_qs(urlsplit(asked).query)["next"][0]

    entered = await stranger.http.post("/console/sign-in", data={"key": await console.api.key("acme"), "next": place})

    assert entered.headers["location"] == place == "/console/trail/caf%C3%A9%20100%25"


@pytest.mark.parametrize("place", ATTACKS)
async def test_signing_in_leads_to_no_other_site(console: Console, place: str) -> None:
    key = await console.api.key("acme", "ops")

    answer = await console.stranger().http.post("/console/sign-in", data={"key": key, "next": place})

    assert answer.headers["location"] == "/console/"


@pytest.mark.parametrize("key", ["", "ost_1_x", "ost_1_" + "a" * 43, "é" * 40, "a" * 300])
async def test_a_wrong_key_is_refused_with_a_reason_and_without_a_cookie(console: Console, key: str) -> None:
    answer = await console.stranger().http.post("/console/sign-in", data={"key": key})

    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert 'role="alert"' in answer.text
    assert not key or key not in answer.text


async def test_a_key_without_a_role_of_the_engine_does_not_get_in(console: Console) -> None:
    key = await console.api.key("acme", "agent")

    answer = await console.stranger().http.post("/console/sign-in", data={"key": key})

    assert answer.status_code == 403


async def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(console: Console) -> None:
    key = await console.api.key("acme", "ops")

    plain = await console.stranger().http.post("/console/sign-in", data={"key": key})
    secure = await console.stranger().http.post("https://api.test/console/sign-in", data={"key": key})

    assert re.fullmatch(r"ostinato=[\w-]{43}; HttpOnly; Path=/; SameSite=strict", plain.headers["set-cookie"])
    assert secure.headers["set-cookie"].startswith("__Host-ostinato=")
    assert "Secure" in secure.headers["set-cookie"]
    assert secure.headers["strict-transport-security"]


async def test_pages_forbid_frames_inline_scripts_and_other_hosts(console: Console) -> None:
    answer = await (await console.visitor()).get("/")

    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert not re.search(r"<script(?![^>]*src=)|\sstyle=|\son\w+=", answer.text)


async def test_a_session_ends_with_its_key(console: Console, api: Api) -> None:
    visitor = await console.visitor("acme", "ops")
    assert (await visitor.get("/jobs")).status_code == 200
    async with api.worker.connection() as conn:
        (key,) = await keys.list_keys(conn, tenant_id="acme")
        await keys.revoke(conn, key.id)

    api.app.state.site.doorman._known.clear()  # kept for two seconds
    answer = await visitor.get("/jobs")

    assert answer.status_code == 303


async def test_signing_out_ends_the_session_at_once(console: Console) -> None:
    visitor = await console.visitor()
    cookie = visitor.http.cookies["ostinato"]

    await visitor.send("/sign-out")

    other = console.stranger()
    other.http.cookies.set("ostinato", cookie)
    assert (await other.get("/jobs")).status_code == 303


async def test_a_link_signs_in_once(console: Console, api: Api) -> None:
    async with api.worker.connection() as conn:
        opened = await sessions.open_session(conn, tenant_id="acme", subject="lea", roles=["ops"], ticket_seconds=60)
    stranger = console.stranger()
    asked = await stranger.get("/enter", ticket=opened.text)
    assert asked.status_code == 200
    assert "set-cookie" not in asked.headers  # a preview of the link does not use it up

    first = await stranger.http.post("/console/enter", data={"ticket": opened.text})
    second = await console.stranger().http.post("/console/enter", data={"ticket": opened.text})

    assert first.status_code == 303
    assert second.status_code == 401
    assert (await stranger.get("/jobs")).status_code == 200


@pytest.mark.parametrize("token", ["", "0" * 64, "é", "a" * 5000])
async def test_a_form_without_the_token_of_its_session_is_refused(console: Console, token: str) -> None:
    visitor = await console.visitor("acme", "admin", "installation")

    answer = await visitor.http.post("/console/queues/mail/pause", data={"token": token})

    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


async def test_the_token_of_another_session_is_refused(console: Console) -> None:
    one = await console.visitor("acme", "admin", "installation")
    other = await console.visitor("acme", "admin", "installation", subject="other")

    answer = await one.http.post("/console/queues/mail/pause", data={"token": await other.token()})

    assert answer.status_code == 403


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.test"}, {"Sec-Fetch-Site": "cross-site"}])
async def test_a_form_of_another_site_is_refused(console: Console, headers: dict[str, str]) -> None:
    visitor = await console.visitor("acme", "admin", "installation")
    token = await visitor.token()

    answer = await visitor.http.post("/console/queues/mail/pause", data={"token": token}, headers=headers)

    assert answer.status_code == 403


async def test_a_form_in_another_encoding_is_refused(console: Console) -> None:
    visitor = await console.visitor()

    answer = await visitor.http.post("/console/sign-out", json={"token": await visitor.token()})

    assert answer.status_code == 422
