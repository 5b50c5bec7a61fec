"""Signs people in at the issuer: the code flow of OpenID Connect, with PKCE.

    GET /console/oidc            leads to the issuer, with a state, a nonce and a challenge
    GET /console/oidc/callback   takes the code that the issuer gave, and opens a session

What proves that both belong to one browser is in a cookie that lasts ten minutes: the state, the nonce
and the verifier of the challenge. The issuer's id token is checked as every token is, for the client
id as its audience, and must have the nonce. Tenant and roles are its claims (`oidc_tenant_claim`,
`oidc_roles_claim`).

The session's cookie is `SameSite=Strict`, which a browser does not send on the way back from another
site. So the last answer is a page of ours that goes on by itself, or by a button.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpx
from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from ostinato._core.base.errors import (
    Forbidden,
    NoAnswer,
    NotFound,
    OstinatoError,
    SettingsError,
    TooManyRequests,
    Unauthenticated,
)
from ostinato._core.base.settings import Settings
from ostinato._core.web.caller import Caller
from ostinato._faces.api.auth import network
from ostinato._faces.api.jwks import DISCOVERY, FETCH_SECONDS, ask, check_url
from ostinato._faces.api.ratelimit import RateLimit
from ostinato._faces.api.tokens import Token, Tokens
from ostinato._faces.console.doorman import is_secure, set_cookie
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.signing import inside, open_for
from ostinato._faces.console.view import Looking, View

pages = Pages()

WAIT_SECONDS = 600
"""How long somebody may take at the issuer."""
LEAST_SECONDS = 3600
"""A session lasts so long at least: id tokens of some issuers end after minutes."""
KNOWN_SECONDS = 600.0
RETURNS_PER_MINUTE = 30
LONGEST_CODE = 4096
PARTS = 4

Clock = Callable[[], float]


class Started(NamedTuple):
    """What a browser brings back: that it began, and where it wanted to go."""

    state: str
    nonce: str
    verifier: str
    next: str

    @property
    def challenge(self) -> str:
        """What the issuer gets of the verifier."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    @property
    def cookie(self) -> str:
        """The text of the cookie that keeps it."""
        place = base64.urlsafe_b64encode(self.next.encode()).decode()
        return f"{self.state}.{self.nonce}.{self.verifier}.{place}"

    @classmethod
    def read(cls, cookie: str) -> "Started | None":
        """Read what a cookie says; None if it is none of ours."""
        parts = cookie.split(".")
        if len(parts) != PARTS or not all(parts[:3]):
            return None
        try:
            place = base64.urlsafe_b64decode(parts[3]).decode()
        except (ValueError, binascii.Error):
            return None
        return cls(parts[0], parts[1], parts[2], place)


class IssuerDoor:
    """The issuer, as a place to sign in."""

    def __init__(
        self, settings: Settings, tokens: Tokens, *, clock: Clock = time.monotonic, wall: Clock = time.time
    ) -> None:
        assert settings.oidc_client_id is not None  # noqa: S101 - `door_of` has looked
        self.client_id = settings.oidc_client_id
        self._secret = settings.oidc_client_secret
        self._scope = settings.oidc_scope
        self._tokens = tokens
        self._clock = clock
        self.wall = wall
        self._known: tuple[float, dict[str, str]] | None = None
        self.returns = RateLimit("returns", RETURNS_PER_MINUTE, clock=clock)
        """How often an address may come back: each time the issuer is asked."""

    async def address(self, started: Started, back: str) -> str:
        """Return the address at which the issuer asks who it is."""
        where = (await self._endpoints())["authorization_endpoint"]
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": back,
            "scope": self._scope,
            "state": started.state,
            "nonce": started.nonce,
            "code_challenge": started.challenge,
            "code_challenge_method": "S256",
        }
        return f"{where}{'&' if '?' in where else '?'}{urlencode(asked)}"

    async def token(self, started: Started, code: str, back: str) -> Token:
        """Exchange a code for the claims of a verified id token."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "client_id": self.client_id,
            "code_verifier": started.verifier,
        }
        auth = None if self._secret is None else httpx.BasicAuth(self.client_id, self._secret)
        url = (await self._endpoints())["token_endpoint"]
        answer = await self._ask("POST", url, data=form, auth=auth)
        text = answer.get("id_token")
        if not isinstance(text, str):
            raise NoAnswer("the issuer gave no id token", hint="Its scope must have openid: oidc_scope.")
        return await self._tokens.verify(text, audience=self.client_id, nonce=started.nonce)

    async def _endpoints(self) -> dict[str, str]:
        if self._known is None or self._clock() >= self._known[0]:
            document = await self._ask("GET", self._tokens.issuer.rstrip("/") + DISCOVERY)
            if document.get("issuer") != self._tokens.issuer:
                raise NoAnswer("the discovery document of the issuer is that of another one")
            found = {name: _url(name, document) for name in ("authorization_endpoint", "token_endpoint")}
            self._known = (self._clock() + KNOWN_SECONDS, found)
        return self._known[1]

    async def _ask(self, method: str, url: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - as httpx
        try:
            async with httpx.AsyncClient(timeout=FETCH_SECONDS) as http:
                return await ask(http, method, url, **options)
        except NoAnswer as error:
            raise NoAnswer(f"the issuer cannot sign you in: {error.message}", hint=HINT) from None
        except (httpx.HTTPError, OSError) as error:
            raise NoAnswer(f"the issuer cannot be reached: {type(error).__name__}", hint=HINT) from None


HINT = "Try again, or sign in with an API key; the operator should check oidc_issuer and oidc_client_id."


def door_of(settings: Settings, tokens: Tokens | None) -> IssuerDoor | None:
    """Return the issuer as a place to sign in, where one is configured with a client id."""
    if settings.oidc_client_id is None:
        return None
    if tokens is None:
        raise SettingsError(
            "oidc_client_id is set, but oidc_issuer is not", hint="Set oidc_issuer and oidc_audience as well."
        )
    return IssuerDoor(settings, tokens)


@pages.page("/oidc", needs=None)
async def leave(view: Looking, next: str = "") -> Response:  # noqa: A002 - the name of the parameter
    """Lead to the issuer."""
    door = _door(view)
    _count(view.request, door)
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    started = Started(state, nonce, verifier, next[:2000])
    try:
        response = RedirectResponse(await door.address(started, _back(view)), 303)
    except OstinatoError as error:
        return _refused(view, error, next)
    response.set_cookie(
        _cookie(view.request),
        started.cookie,
        WAIT_SECONDS,
        httponly=True,
        samesite="lax",
        secure=is_secure(view.request),
    )
    return response


@pages.page("/oidc/callback", needs=None)
async def come_back(view: Looking, code: str = "", state: str = "", error: str = "") -> Response:
    """Take what the issuer says, and open a session."""
    door = _door(view)
    _count(view.request, door)
    started = Started.read(view.request.cookies.get(_cookie(view.request), ""))
    try:
        started = _checked(started, state, code, error)
        token = await door.token(started, code, _back(view))
        opened = await open_for(view, _caller(view, token, door.wall() + LEAST_SECONDS))
    except (Unauthenticated, Forbidden, NoAnswer) as refused:
        return _refused(view, refused, "" if started is None else started.next)
    response = view.page("welcome.html", place=inside(view, started.next))
    set_cookie(view.request, response, opened.text)
    response.delete_cookie(_cookie(view.request), httponly=True, samesite="lax", secure=is_secure(view.request))
    return response


def _checked(started: Started | None, state: str, code: str, error: str) -> Started:
    if started is None or not hmac.compare_digest(started.state.encode(), state.encode()):
        raise Unauthenticated("this sign-in was not begun in this browser, or too long ago", hint="Begin again.")
    if error or not 0 < len(code) <= LONGEST_CODE:
        raise Unauthenticated(f"the issuer refused: {error[:100] or 'it gave no code'}", hint="Begin again.")
    return started


def _caller(view: View, token: Token, least: float) -> Caller:
    ends_at = datetime.fromtimestamp(max(token.ends, least), UTC)
    return Caller(token.tenant_id, token.subject, token.roles, view.site.staff, ends_at=ends_at)


def _refused(view: View, error: OstinatoError, place: str) -> Response:
    status = type(error).status or 401
    return view.page("sign_in.html", status=status, next=place[:2000], problem=error)


def _door(view: View) -> IssuerDoor:
    if view.site.issuer is None:
        raise NotFound("nobody can sign in at an issuer here", hint="Set oidc_issuer and oidc_client_id.")
    return view.site.issuer


def _count(request: Request, door: IssuerDoor) -> None:
    grant = door.returns.take(network(request))
    if not grant.allowed:
        raise TooManyRequests("too many sign-ins from this address", retry_after=grant.seconds)


def _back(view: View) -> str:
    """Return the address that the issuer sends people back to; it must be registered there."""
    request = view.request
    return f"{request.url.scheme}://{request.headers.get('host', '')}{view.at('/oidc/callback')}"


def _cookie(request: Request) -> str:
    return "__Host-ostinato-oidc" if is_secure(request) else "ostinato-oidc"


def _url(name: str, document: Mapping[str, Any]) -> str:
    url = document.get(name)
    try:
        return check_url(name, url if isinstance(url, str) else "")
    except SettingsError as error:
        raise NoAnswer(f"the discovery document of the issuer cannot be used: {error.message}") from None
