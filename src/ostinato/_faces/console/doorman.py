"""Lets people in: the session of a browser, by its cookie.

A cookie holds a random text; the database knows its hash (`engine.sessions`). What it said is kept
for 2 s, so that most pages cost no query for it: a session that is closed, or whose key is revoked,
is out everywhere within 2 s. Those who ask at the same time are answered by one query: 200 pages that
follow the figures ask together, each time that these change.

Every form has a token that only a page of the same session can have: the HMAC of a fixed word under
the text of the cookie. It needs no place of its own, and ends with the session.
"""

import asyncio
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass

from fastapi import Request, Response

from ostinato._core.base.errors import Forbidden, OstinatoError
from ostinato._core.engine import sessions
from ostinato._core.engine.sessions import Session
from ostinato._core.runtime.client import Client
from ostinato._faces.api.parts import parts_of
from ostinato._faces.api.ratelimit import Bounded

KNOWN_SECONDS = 2.0
MOST_KNOWN = 10_000
FORM_WORD = b"ostinato form"
SAFE_SITES = frozenset({"same-origin", "none"})


@dataclass(frozen=True, slots=True)
class Visit:
    """A session, and the token of its forms."""

    session: Session
    token: str


class Doorman:
    """Finds the sessions of requests, and sets and clears their cookies."""

    def __init__(self, client: Client, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._known: Bounded[str, tuple[float, Session]] = Bounded(MOST_KNOWN)
        self._asked: dict[str, asyncio.Future[Session | OstinatoError | None]] = {}
        self._asking = asyncio.Lock()

    async def find(self, request: Request) -> Visit | None:
        """Return the visit that a request belongs to, if its session still lasts."""
        text = request.cookies.get(cookie_name(request), "")
        if sessions.TEXT.fullmatch(text) is None:
            return None
        mark = token_of(text)
        until, session = self._known.get(mark) or (0.0, None)
        if session is None or self._clock() >= until:
            session = await self._look_up(text)
            if session is None:
                self._known.pop(mark, None)
                return None
            self._known.keep(mark, (self._clock() + KNOWN_SECONDS, session))
        return Visit(session, mark)

    async def _look_up(self, text: str) -> Session | None:
        """Ask the database, together with all who ask while it is busy with the others."""
        answer = self._asked.get(text)
        if answer is None:
            answer = self._asked[text] = asyncio.get_running_loop().create_future()
        await asyncio.sleep(0)  # those who were woken together come first
        while not answer.done():
            async with self._asking:
                if not answer.done():
                    await self._ask()
        found = answer.result()
        if isinstance(found, OstinatoError):
            raise found
        return found

    async def _ask(self) -> None:
        asked, self._asked = self._asked, {}
        try:
            async with self._client.connection() as conn:
                found = await sessions.find(conn, asked)
        except OstinatoError as error:
            for answer in asked.values():
                answer.set_result(error)
        except asyncio.CancelledError:
            self._asked = asked | self._asked  # somebody else who waits asks for all
            raise
        else:
            for text, answer in asked.items():
                answer.set_result(found.get(text))

    def forget(self, visit: Visit) -> None:
        """Drop what is kept of a session that was closed here."""
        self._known.pop(visit.token, None)


def token_of(text: str) -> str:
    """Return the token of the forms of a session."""
    return hmac.digest(text.encode(), FORM_WORD, "sha256").hex()


def is_secure(request: Request) -> bool:
    """Return whether the browser speaks TLS to us, or to the proxy in front of us."""
    return request.url.scheme == "https"


def cookie_name(request: Request) -> str:
    """Return the name of the cookie; with TLS one that no other host and no plain page can set."""
    name = "__Host-ostinato" if is_secure(request) else "ostinato"
    cell = parts_of(request).cell  # a browser may be signed in to each
    return f"{name}-{cell}" if cell else name


def set_cookie(request: Request, response: Response, text: str) -> None:
    """Give a browser its session. The cookie goes with the browser; the database ends it earlier."""
    response.set_cookie(cookie_name(request), text, httponly=True, samesite="strict", secure=is_secure(request))


def clear_cookie(request: Request, response: Response) -> None:
    """Take the session from a browser."""
    response.delete_cookie(cookie_name(request), httponly=True, samesite="strict", secure=is_secure(request))


def check_origin(request: Request) -> None:
    """Refuse a form that another site sent.

    Browsers say where a request comes from. One that says nothing is no browser, or one from before
    2020; it has to have the token of the form all the same.
    """
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    here = f"{request.url.scheme}://{request.headers.get('host', '')}"
    if (site is not None and site not in SAFE_SITES) or (origin not in {None, here}):
        raise Forbidden("the form was sent by a page of another site", hint="Open the page here, and send it again.")


def check_token(visit: Visit, given: str) -> None:
    """Refuse a form that no page of this session made."""
    if not hmac.compare_digest(visit.token.encode(), given.encode()):
        raise Forbidden(
            "the form belongs to another session, or to one that has ended",
            hint="Load the page again, and send the form again.",
        )
