"""Authenticates callers by the header `Authorization: Bearer …`, and limits their rate.

    ost_7_…                 an API key; the database knows it
    xxxxx.yyyyy.zzzzz       a token (JWT) of the configured issuer (`tokens`)

Every request comes through here, so most of them cost no query. The result for a text is cached
for 2 s, a refusal for 1 s: a revoked key is refused everywhere within 5 s. The text itself is not
kept: the cache knows it by its HMAC under a secret of this process.

Guessing is slowed down, without slowing other callers:

    what is refused by its shape    costs nothing, and is not counted
    a good key or token             is let in, whatever else its address sends
    any other text                  120 wrong guesses a minute for each address (IPv6: network),
                                    then 429; they share one connection and its queries (`matcher`)
    a request of a public route     counts for its address (`api_public_rate_per_minute`)
    a large body                    counts as more requests (`weigh`): one of 1 MB takes as long as a hundred

The address is that of the true caller: behind a trusted proxy the one that the proxy saw (`front`).
"""

import asyncio
import hmac
import math
import re
import secrets
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv6Address, ip_address
from typing import Self

from fastapi import Request

from ostinato._core.base.errors import OstinatoError, TooManyRequests, Unauthenticated
from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import HTTP_REFUSED_KEYS, Recorder
from ostinato._core.base.settings import Settings
from ostinato._core.engine import keys
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.worker.loop import Loop
from ostinato._core.web.caller import Caller
from ostinato._faces.api.matcher import Matcher
from ostinato._faces.api.ratelimit import Bounded, Grant, RateLimit
from ostinato._faces.api.tokens import Tokens

log = get_logger("api")

KNOWN_SECONDS = 2.0
REFUSED_SECONDS = 1.0
MOST_KNOWN = 10_000
MOST_HEADER = 8192
GUESSES_PER_MINUTE = 120
BYTES_OF_A_REQUEST = 8192
"""So much JSON takes about the time of a small request, to read and to hash."""
GUESSES = frozenset({"unknown", "signature", "kid"})
"""Refusals of texts that may be guesses; an expired key was a real one."""

NOTE_EVERY_SECONDS = 5.0
NOTED_SECONDS = 60.0
STOP_SECONDS = 3.0

KEY_PREFIX = "ost_"
_BEARER = re.compile(r"bearer +([a-z0-9._~+/-]+=*)", re.IGNORECASE | re.ASCII)
_TOKEN = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Known:
    """A text that was found to be valid."""

    caller: Caller
    bucket: Hashable
    """Whose requests count together."""
    until: float
    """Cached until then, by the process's clock."""
    ends: float
    """Its own end, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A text that was refused, with the error."""

    error: Unauthenticated
    until: float

    def again(self) -> Unauthenticated:
        """Return the same refusal, for another request."""
        return Unauthenticated(self.error.message, hint=self.error.hint, **self.error.values)


class Authenticator:
    """Authenticates callers. An async context manager: it records the last use of keys."""

    def __init__(
        self,
        client: Client,
        settings: Settings,
        recorder: Recorder,
        *,
        clock: Clock = time.monotonic,
        wall: Clock = time.time,
    ) -> None:
        self.uses = Uses(client, clock)
        self.tokens = None if settings.oidc_issuer is None else Tokens(settings, clock=clock)
        self._client = client
        self._recorder = recorder
        self._clock = clock
        self._wall = wall
        self._rate = RateLimit("default", settings.api_rate_per_minute, clock=clock)
        self._public = RateLimit("public", settings.api_public_rate_per_minute, clock=clock)
        self._guesses = RateLimit("guesses", GUESSES_PER_MINUTE, clock=clock)
        self._secret = secrets.token_bytes(32)
        self._known: Bounded[bytes, Known] = Bounded(MOST_KNOWN)
        self._refused: Bounded[bytes, Refused] = Bounded(MOST_KNOWN)
        self._lookups: dict[bytes, asyncio.Task[Known]] = {}
        self._matcher = Matcher(client)
        self._loop = Loop("key_uses", self.uses.write)
        self._writing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._writing = asyncio.create_task(self._loop.run())
        if self.tokens is not None:
            self.tokens.keys.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in list(self._lookups.values()):
            task.cancel()
        await self._matcher.close()
        if self.tokens is not None:
            await self.tokens.keys.close()
        self._loop.stop()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                if self._writing is not None:
                    await self._writing
                await self.uses.write()
        except (TimeoutError, OstinatoError):
            log.warning("key_uses_not_written", keys=self.uses.waiting)

    async def __call__(self, request: Request) -> Caller:
        """Return the caller of a request; raises `Unauthenticated` or `TooManyRequests`."""
        try:
            text = bearer(request.headers.getlist("authorization"))
            self._check_shape(text)
            known = await self._who(text, request)
        except Unauthenticated as error:
            self._recorder.add(HTTP_REFUSED_KEYS, str(error.values.get("reason", "other")))
            raise
        self.count(request, known.bucket)
        if known.caller.key_id is not None:
            self.uses.note(known.caller.key_id)
        return known.caller

    async def still_knows(self, request: Request) -> bool:
        """Return whether the key or token of a request that goes on still works; it is not counted again."""
        try:
            await self._who(bearer(request.headers.getlist("authorization")), request)
        except Unauthenticated:
            return False
        except OstinatoError:
            return True  # nobody can tell now: the database is away
        return True

    async def knows(self, text: str, request: Request) -> bool:
        """Return whether a key or token is good here; counts no request, and says nothing."""
        try:
            self._check_shape(text)
            await self._who(text, request)
        except (Unauthenticated, TooManyRequests):
            return False
        return True

    async def tenant_of(self, text: str, request: Request) -> str:
        """Return the tenant of a key or token; raises `Unauthenticated`. It counts no request."""
        self._check_shape(text)
        return (await self._who(text, request)).caller.tenant_id

    def count(self, request: Request, bucket: Hashable) -> None:
        """Count a request of a caller; raises `TooManyRequests` when there were too many."""
        _take(self._rate, bucket, request)

    def weigh(self, request: Request, caller: Caller, size: int) -> None:
        """Count a large body as the requests whose time it takes; raises `TooManyRequests`."""
        bucket = bucket_of(caller.key_id, caller.tenant_id, caller.subject)
        _granted(self._rate, self._rate.charge(bucket, size // BYTES_OF_A_REQUEST), request)

    def count_stranger(self, request: Request) -> None:
        """Count a request of a public route, by its address; raises `TooManyRequests`."""
        _take(self._public, network(request), request)

    def _check_shape(self, text: str) -> None:
        """Refuse a text by its shape, without a look-up."""
        if text.startswith(KEY_PREFIX):
            if keys.TEXT.fullmatch(text) is None:
                raise Unauthenticated(
                    "this is not a whole API key: one looks like ost_7_ and 43 more characters", reason="malformed"
                )
        elif self.tokens is None:
            raise Unauthenticated("only API keys are accepted here (ost_…)", reason="no_issuer")
        elif _TOKEN.fullmatch(text) is None:
            raise Unauthenticated(
                "this is neither an API key (ost_…) nor a token (JWT: three parts with dots)", reason="malformed"
            )

    async def _who(self, text: str, request: Request) -> Known:
        mark = hmac.digest(self._secret, text.encode(), "sha256")
        known = self._known.get(mark)
        # An expired one is looked up again: the clock of the database decides.
        if known is not None and self._clock() < known.until and self._wall() < known.ends:
            return known
        refused = self._refused.get(mark)
        if refused is not None and self._clock() < refused.until:
            raise refused.again()
        task = self._lookups.get(mark)
        if task is None:
            task = asyncio.create_task(self._look_up(mark, text, network(request)))
            self._lookups[mark] = task
            task.add_done_callback(lambda done: self._looked_up(mark, done))
        # One look-up for all requests that wait, even if some of them are cancelled.
        return await asyncio.shield(task)

    async def _look_up(self, mark: bytes, text: str, address: str) -> Known:
        started = self._clock()
        try:
            known = await self._identify(text, started + KNOWN_SECONDS)
        except Unauthenticated as error:
            self._known.pop(mark, None)
            self._refused.keep(mark, Refused(error, started + REFUSED_SECONDS))
            if error.values.get("reason") in GUESSES:
                self._count_guess(address)
            raise
        self._known.keep(mark, known)
        return known

    def _count_guess(self, address: str) -> None:
        """Refuse a wrong guess as one too many, when its address has made too many."""
        grant = self._guesses.take(address)
        if not grant.allowed:
            self._recorder.add(HTTP_REFUSED_KEYS, "guessing")
            raise TooManyRequests(
                "too many keys or tokens from this address were refused, and this one is wrong too",
                hint="Check the key; a good one works at any time.",
                retry_after=grant.seconds,
            )

    def _looked_up(self, mark: bytes, task: "asyncio.Task[Known]") -> None:
        del self._lookups[mark]
        if not task.cancelled():
            task.exception()  # read it here: the request may have been cancelled

    async def _identify(self, text: str, until: float) -> Known:
        if text.startswith(KEY_PREFIX) or self.tokens is None:
            key = await self._matcher.match(text)
            caller = Caller(key.tenant_id, key.subject, frozenset(key.roles), self._client, key.id)
            ends = math.inf if key.expires_at is None else key.expires_at.timestamp()
            return Known(caller, bucket_of(key.id, key.tenant_id, key.subject), until, ends)
        token = await self.tokens.verify(text)
        ends_at = datetime.fromtimestamp(token.ends, UTC)
        caller = Caller(token.tenant_id, token.subject, token.roles, self._client, ends_at=ends_at)
        return Known(caller, bucket_of(None, token.tenant_id, token.subject), until, token.ends)


def _take(limit: RateLimit, bucket: Hashable, request: Request) -> None:
    _granted(limit, limit.take(bucket), request)


def _granted(limit: RateLimit, grant: Grant, request: Request) -> None:
    headers: dict[str, str] | None = getattr(request.state, "extra_headers", None)
    if headers is not None:
        headers.update(limit.headers(grant))
    if not grant.allowed:
        raise TooManyRequests(
            f"more than {limit.per_minute:,} requests a minute", limit=limit.per_minute, retry_after=grant.seconds
        )


def bucket_of(key_id: int | None, tenant_id: str | None, subject: str) -> Hashable:
    """Return whose requests count together: those of a key; without one, those of a person."""
    return (tenant_id, subject) if key_id is None else key_id


class Uses:
    """Records when keys were last used, in sets and outside the requests."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._noted: Bounded[int, float] = Bounded(MOST_KNOWN)
        self._waiting: set[int] = set()

    @property
    def waiting(self) -> int:
        """Return how many keys are to be written."""
        return len(self._waiting)

    def note(self, key_id: int) -> None:
        """Note that a key was used; it is written at most once a minute."""
        now = self._clock()
        if now - self._noted.get(key_id, -math.inf) >= NOTED_SECONDS:
            self._noted.keep(key_id, now)
            self._waiting.add(key_id)

    async def write(self) -> float:
        """Write what waits; returns the seconds until the next time."""
        if self._waiting:
            batch, self._waiting = self._waiting, set()
            try:
                async with self._client.connection() as conn:
                    await keys.note_use(conn, batch)
            except BaseException:
                self._waiting |= batch  # by the next round, or at the end
                raise
        return NOTE_EVERY_SECONDS


def bearer(given: Sequence[str]) -> str:
    """Return the key or token of the headers `Authorization`; errors never show it."""
    if not given:
        raise Unauthenticated("the header Authorization is missing", reason="missing")
    if len(given) > 1:
        raise Unauthenticated("there are several headers Authorization", reason="several")
    value = given[0]
    if len(value) > MOST_HEADER:
        raise Unauthenticated(f"the header Authorization has more than {MOST_HEADER:,} characters", reason="too_long")
    if not value.lower().startswith("bearer"):
        raise Unauthenticated("the header Authorization is not of the scheme Bearer", reason="scheme")
    found = _BEARER.fullmatch(value)
    if found is None:
        raise Unauthenticated(
            "the header Authorization is not the word Bearer, a space, and a key or token", reason="malformed"
        )
    return found[1]


def network(request: Request) -> str:
    """Return the address of a request, or its network for IPv6, where a caller has many."""
    host = "" if request.client is None else request.client.host
    try:
        address = ip_address(host)
    except ValueError:
        return host[:100]
    if not isinstance(address, IPv6Address):
        return host
    mapped = address.ipv4_mapped
    return str(mapped) if mapped is not None else f"{int(address) >> 64:x}::/64"
