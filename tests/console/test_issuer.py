"""People who sign in at the issuer: led there, and back with a session."""

import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from ostinato._core.base.errors import SettingsError
from ostinato._core.base.settings import Settings
from ostinato._core.engine import sessions
from ostinato._faces.api import jwks
from ostinato._faces.api.ratelimit import RateLimit
from ostinato._faces.console import issuer as door
from ostinato._faces.console.issuer import LEAST_SECONDS, RETURNS_PER_MINUTE, door_of
from tests.api.conftest import Api
from tests.api.issuer import CLIENT, CLIENT_SECRET, Issuer, failing
from tests.console.conftest import Console, Visitor

COOKIE = "ostinato-oidc"


@pytest.fixture(autouse=True)
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Issuer]:
    monkeypatch.setenv("NO_PROXY", "*")
    for module in (jwks, door):  # a machine that is busy is no issuer that is down
        monkeypatch.setattr(module, "FETCH_SECONDS", 300.0)
    with Issuer() as running:
        yield running


@pytest.fixture
def api_settings(issuer: Issuer) -> Settings:
    return issuer.settings(oidc_client_id=CLIENT, oidc_client_secret=CLIENT_SECRET)


async def at_the_issuer(visitor: Visitor, place: str = "/console/jobs?state=dead") -> str:
    """Go there, say who one is; the address that one is sent back to."""
    left = await visitor.get("/oidc", next=place)
    assert left.status_code == 303, left.text
    async with httpx.AsyncClient(trust_env=False, timeout=300) as browser:
        answer = await browser.get(left.headers["location"])
    return answer.headers["location"]


async def test_somebody_signs_in_at_the_issuer_and_comes_back_to_the_page(console: Console, api: Api) -> None:
    visitor = console.stranger()
    assert "Sign in with your organisation" in await visitor.text("/sign-in")

    back = await at_the_issuer(visitor)
    welcome = await visitor.http.get(back)

    assert welcome.status_code == 200
    assert 'href="/console/jobs?state=dead"' in welcome.text
    assert "samesite=strict" in welcome.headers["set-cookie"].lower()
    assert COOKIE not in visitor.http.cookies
    assert "acme" in await visitor.text("/jobs")
    async with api.worker.connection() as conn:
        (session,) = await sessions.list_sessions(conn)
    assert (session.tenant_id, session.subject, session.roles) == ("acme", "ada", ["ops"])


async def test_a_session_of_the_issuer_lasts_an_hour_at_least_and_ends_with_its_token(
    console: Console, api: Api, issuer: Issuer
) -> None:
    """Some issuers give id tokens for five minutes; with twelve hours nobody would be asked again."""
    before = time.time()
    await console.stranger().http.get(await at_the_issuer(visitor := console.stranger()))  # another browser: refused
    await visitor.http.get(await at_the_issuer(visitor))
    after = time.time()

    async with api.worker.connection() as conn:
        (session,) = await sessions.list_sessions(conn)
    assert before - 1 < session.expires_at.timestamp() - LEAST_SECONDS < after + 1  # stored to the microsecond
    assert LEAST_SECONDS == 3600
    assert issuer.paths.count("/token") == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"nonce": "another"}, "another sign-in"),
        ({"aud": "https://api.example.com"}, "not for the audience console"),
        ({"iss": "https://evil.test"}, "not from the issuer"),
        ({"exp": 1_000_000}, "expired"),
        ({"tenant": None}, "names no tenant"),
        ({"roles": []}, "reader"),
        ({"roles": ["installation"]}, "reader"),
    ],
    ids=lambda each: str(each)[:30],
)
async def test_an_id_token_that_is_not_right_opens_nothing(
    console: Console, api: Api, issuer: Issuer, change: dict[str, object], said: str
) -> None:
    issuer.said = change
    visitor = console.stranger()

    answer = await visitor.http.get(await at_the_issuer(visitor))

    assert answer.status_code in {401, 403}
    assert said in answer.text
    async with api.worker.connection() as conn:
        assert await sessions.list_sessions(conn) == []


async def test_a_return_that_this_browser_did_not_begin_asks_the_issuer_nothing(
    console: Console, issuer: Issuer
) -> None:
    visitor = console.stranger()
    back = await at_the_issuer(visitor)
    victim = console.stranger()
    await at_the_issuer(victim)

    for path in (back, back.split("?")[0], f"{back.split('?')[0]}?code=x&state=", f"{back}&error=access_denied"):
        answer = await victim.http.get(path)
        assert answer.status_code == 401, path
    visitor.http.cookies.set(COOKIE, "not.ours", domain="api.test")
    assert (await visitor.http.get(back)).status_code == 401
    assert "/token" not in issuer.paths


async def test_a_code_works_once_and_only_with_its_verifier(console: Console) -> None:
    visitor = console.stranger()
    back = await at_the_issuer(visitor)
    kept = visitor.http.cookies[COOKIE]
    state, nonce, _, place = kept.split(".")
    visitor.http.cookies.set(COOKIE, f"{state}.{nonce}.guessed.{place}", domain="api.test")

    assert (await visitor.http.get(back)).status_code == 502
    visitor.http.cookies.set(COOKIE, kept, domain="api.test")
    assert (await visitor.http.get(back)).status_code == 502  # the issuer took it back


async def test_after_signing_in_nobody_is_led_to_another_site(console: Console) -> None:
    for place in ("//evil.test/", "https://evil.test/", "/\\evil.test", "javascript:alert(1)"):
        visitor = console.stranger()
        welcome = await visitor.http.get(await at_the_issuer(visitor, place))
        assert 'href="/console/"' in welcome.text


async def test_an_issuer_that_is_down_says_so_and_keys_still_work(console: Console, issuer: Issuer) -> None:
    issuer.fault = failing
    stranger = console.stranger()

    answer = await stranger.get("/oidc")

    assert answer.status_code == 502
    assert "it answered 503" in answer.text
    assert "sign in with an API key" in answer.text
    await console.visitor("acme", "ops")


async def test_an_address_comes_back_so_often_and_no_more(console: Console) -> None:
    """The clock of the limit stands: on a slow machine the bucket would fill again meanwhile, by one in two seconds."""
    console.api.app.state.site.issuer.returns = RateLimit("returns", RETURNS_PER_MINUTE, clock=lambda: 0.0)
    stranger = console.stranger()
    for _ in range(RETURNS_PER_MINUTE):
        await stranger.get("/oidc/callback", code="x", state="y")

    assert (await stranger.get("/oidc/callback", code="x", state="y")).status_code == 429


async def test_what_the_issuer_is_asked_has_no_secret(console: Console) -> None:
    left = await console.stranger().get("/oidc", next="/console/jobs")

    asked = parse_qs(urlsplit(left.headers["location"]).query)
    assert set(asked) == {
        *("response_type", "client_id", "redirect_uri", "scope", "state", "nonce"),
        *("code_challenge", "code_challenge_method"),
    }
    assert asked["redirect_uri"] == ["http://api.test/console/oidc/callback"]
    assert CLIENT_SECRET not in repr(Settings(oidc_client_secret=CLIENT_SECRET))


def test_a_client_without_an_issuer_is_refused_at_the_start() -> None:
    with pytest.raises(SettingsError, match="oidc_issuer is not"):
        door_of(Settings(oidc_client_id=CLIENT), None)
