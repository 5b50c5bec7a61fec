"""The middleware that every request passes first: correlation id, size limits, log line.

It is plain ASGI, because every request pays for it. Nothing that comes in is trusted: an invalid
correlation id is replaced, and a body is counted while it is read.
"""

import re
import secrets
import time
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ostinato._core.base import flow
from ostinato._core.base.errors import BodyTooLarge, MediaTypeRefused, OstinatoError, RequestRefused
from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import HTTP_REQUESTS, HTTP_SECONDS, Recorder
from ostinato._core.base.proxies import Proxies
from ostinato._core.web.problems import problem

log = get_logger("api")

_CORRELATION = re.compile(r"[A-Za-z0-9._:/+=@-]{1,200}")
_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_ZEROS = "0" * 32
NO_PROXIES = Proxies()
LEFT = 499  # the status of a request whose caller left before an answer began
MOST_DIGITS = 18
"""Of the length of a body: a longer number is too large by those alone."""
QUIET = frozenset({"/health/live", "/health/ready"})
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Counted by name; what else a caller makes up is one label, "other"."""


class Trace(NamedTuple):
    """The correlation id and the trace of a request."""

    correlation_id: str
    traceparent: str

    @classmethod
    def of(cls, headers: dict[bytes, bytes]) -> "Trace":
        """Read it from the headers; what is missing or invalid is made."""
        given = _CORRELATION.fullmatch(headers.get(b"x-correlation-id", b"").decode("latin-1"))
        parent = _TRACEPARENT.fullmatch(headers.get(b"traceparent", b"").decode("latin-1"))
        trace_id, flags = (parent[1], parent[3]) if parent else (_ZEROS, "01")
        if trace_id == _ZEROS:
            trace_id = secrets.token_hex(16)
        correlation_id = given[0] if given else trace_id
        return cls(correlation_id, f"00-{trace_id}-{secrets.token_hex(8)}-{flags}")


class Front:
    """The middleware around the application."""

    def __init__(
        self,
        app: ASGIApp,
        recorder: Recorder,
        max_body_bytes: int,
        larger: Mapping[tuple[str, str], int] | None = None,
        proxies: Proxies = NO_PROXIES,
        *,
        prefix: str = "",
    ) -> None:
        """Wrap an application; `larger` has the routes that take larger bodies than others, by method and path."""
        self._app = app
        self._recorder = recorder
        self._most = max_body_bytes
        self._larger = dict(larger or {})
        self._proxies = proxies
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if self._proxies.networks:
            _see_through(scope, self._proxies)
        if self._prefix:
            _take_away(scope, self._prefix)
        trace = Trace.of(headers)
        scope.setdefault("state", {}).update(extra_headers={}, prefix=self._prefix)
        most = max(self._most, self._larger.get((scope["method"], scope["path"]), 0))
        passage = _Passage(scope, receive, send, trace, most)
        started = time.perf_counter()
        with flow.flow(correlation=trace.correlation_id):
            try:
                passage.check(headers)
                await self._app(scope, passage.receive, passage.send)
            except OstinatoError as error:
                await passage.refuse(error)
            except ClientDisconnect:
                pass  # nobody is there to be answered; the log line says 499
            except Exception:
                # An unexpected error. Its text may hold anything, so only the log has it.
                log.exception("request_failed", path=_path(scope), method=scope["method"])
                await passage.refuse(
                    OstinatoError(
                        "internal error", hint="Report it with the correlation id; the server's log has the rest."
                    )
                )
            finally:
                self._note(scope, passage.status, time.perf_counter() - started)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        path = _path(scope)
        method = scope["method"] if scope["method"] in METHODS else "other"
        self._recorder.add(HTTP_REQUESTS, method, path, str(status))
        self._recorder.observe(HTTP_SECONDS, seconds, method, path)
        caller = scope["state"].get("caller")
        write = log.debug if scope["path"] in QUIET else log.info
        write(
            "request",
            method=scope["method"],
            path=path,
            http_status=status,
            duration_ms=round(seconds * 1000, 3),
            tenant_id=None if caller is None else caller.tenant_id,
            subject=None if caller is None else caller.subject,
            key_id=None if caller is None else caller.key_id,
            **{"request_id": None, "error_code": scope["state"].get("error_code")} | scope["state"].get("line", {}),
        )


class _Passage:
    """One request: counts the bytes that come in, and adds headers to the answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, trace: Trace, most: int) -> None:
        self.status = LEFT
        self._scope = scope
        self._receive = receive
        self._send = send
        self._trace = trace
        self._most = most
        self._seen = 0

    def check(self, headers: dict[bytes, bytes]) -> None:
        """Refuse a request by its headers, before its body is read."""
        query = unquote_to_bytes(self._scope.get("query_string", b""))
        if "\0" in self._scope["path"] or b"\0" in query:
            raise RequestRefused("the address has a NUL character", hint="Leave %00 out.")
        encoding = headers.get(b"content-encoding", b"identity").lower()
        if encoding not in {b"", b"identity"}:
            raise MediaTypeRefused("the body is compressed", hint="Send it as it is.")
        length = headers.get(b"content-length", b"")
        # Any number of zeros may stand before it, and Python refuses to read thousands of digits.
        size = int(length.lstrip(b"0")[:MOST_DIGITS] or b"0") if length.isdigit() else 0
        if size > self._most:
            raise self._too_large(size)

    async def receive(self) -> Message:
        """Receive the next piece of the body; raises `BodyTooLarge` when there is too much."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._seen += len(message.get("body", b""))
            if self._seen > self._most:
                raise self._too_large(self._seen)
        return message

    async def send(self, message: Message) -> None:
        """Send a piece of the answer; the first one gets our headers."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            more = {
                "x-correlation-id": self._trace.correlation_id,
                "traceparent": self._trace.traceparent,
                "x-content-type-options": "nosniff",
                "cache-control": "no-store",
                **self._scope["state"]["extra_headers"],
            }
            there = {name for name, _ in message["headers"]}
            message["headers"] = [
                *message["headers"],
                *(
                    (name.encode(), value.encode("latin-1"))
                    for name, value in more.items()
                    if name.encode() not in there
                ),
            ]
        await self._send(message)

    async def refuse(self, error: OstinatoError) -> None:
        """Answer with a page where a browser asks for one, else with a problem, unless an answer has begun."""
        if self.status != LEFT:
            return
        self._scope["state"]["error_code"] = type(error).code
        answer = await self._page(error) or problem(error, instance=self._scope["path"])
        await answer(self._scope, self.receive, self.send)

    async def _page(self, error: OstinatoError) -> Response | None:
        """Ask the console for a page of the error; what breaks it must not keep the problem from being told."""
        draw = getattr(getattr(self._scope.get("app"), "state", None), "lost_page", None)
        if draw is None:
            return None
        try:
            page: Response | None = await draw(Request(self._scope), error, type(error).status or 500)
        except Exception:
            log.exception("error_page_failed", path=_path(self._scope))
            return None
        return page

    def _too_large(self, size: int) -> BodyTooLarge:
        return BodyTooLarge(
            f"the body has at least {size:,} bytes, more than the limit of {self._most:,}", size=size, limit=self._most
        )


def _take_away(scope: Scope, prefix: str) -> None:
    """Take the prefix of a proxy that passed it on from the path: routes know nothing of it."""
    if f"{scope['path']}/".startswith(f"{prefix}/"):
        scope["path"] = scope["path"].removeprefix(prefix) or "/"


def _see_through(scope: Scope, proxies: Proxies) -> None:
    """Put the true caller, and the scheme that it used, in the place of a trusted proxy."""
    peer = scope.get("client")
    if peer is None or not proxies.trusts(peer[0]):
        return
    forwarded = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
    scope["client"] = (proxies.caller(peer[0], forwarded), 0)
    schemes = [value for name, value in scope["headers"] if name == b"x-forwarded-proto"]
    scheme = schemes[-1].rpartition(b",")[2].strip().lower() if schemes else b""
    if scheme in {b"http", b"https"}:
        scope["scheme"] = scheme.decode()


def _path(scope: Scope) -> str:
    """Return the route by its pattern: the values in its path may be personal data."""
    route: Any = scope.get("route")
    return getattr(route, "path", "-")
