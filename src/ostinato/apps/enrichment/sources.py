"""The three official sources over HTTP: one fetch, with its retries, is one result.

    API_RECHERCHE_ENTREPRISES   GET /search                                     no key
    INPI_RNE                    GET /companies/{siren}                          a token, by login
    API_ENTREPRISE_RCS          GET /v3/infogreffe/rcs/unites_legales/{siren}/extrait_kbis

A source is called when it is its turn (`sql/functions/sources.sql`), at most three times, each
within 5 seconds. What goes wrong is no exception but a `SourceError` with a canonical code. What an
answer says is stashed until the run ends; how the call went is what a step keeps.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, NamedTuple

import httpx
from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from ostinato import database
from ostinato.apps.enrichment import queries
from ostinato.apps.enrichment.extract import extract
from ostinato.apps.enrichment.inpi import Inpi
from ostinato.apps.enrichment.model import ErrorCode, Fetched, SourceApi, SourceError
from ostinato.apps.enrichment.rules import (
    MOST_BYTES,
    error_of_status,
    is_retryable,
    next_pause,
    retry_after,
    stable_checksum,
)
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.apps.enrichment.wire import Reply, exchange
from ostinato.errors import InvalidInput
from ostinato.observe import FilteringBoundLogger

__all__ = ["Sources", "pooled"]

Lend = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]
"""Lends a connection in a transaction."""

INCLUDED: Final = "siege,complements,finances,score"
DIRECTORS: Final = "dirigeants,matching_etablissements"
"""What the search is asked to include: always, and in a second pass (M3G)."""
LONG_WAIT: Final = 0.1
"""Seconds of waiting for a turn, after which somebody else may have been told to stay away."""
FAILING: Final = (ErrorCode.TIMEOUT, ErrorCode.UPSTREAM_5XX, ErrorCode.SOURCE_UNAVAILABLE)
"""What the breaker counts: that the source is not well. A 404 or a 401 is an answer."""


@asynccontextmanager
async def pooled() -> AsyncIterator[httpx.AsyncClient]:
    """One pool of connections for all runs of a worker."""
    limits = httpx.Limits(max_connections=100, max_keepalive_connections=20)
    async with httpx.AsyncClient(limits=limits, timeout=None, trust_env=False) as http:  # noqa: S113 - each exchange has its time
        yield http


class Turn(NamedTuple):
    """Whether and when a source may be called."""

    verdict: str
    wait: float
    probe: bool
    reason: str | None


class Sources:
    """The sources, for one run."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        settings: EnrichmentSettings,
        lend: Lend,
        log: FilteringBoundLogger,
        job_id: int,
    ) -> None:
        self._http = http
        self._settings = settings
        self._lend = lend
        self._log = log
        self._job_id = job_id
        self._inpi = Inpi(http, settings, lend)

    async def wait_of_search(self) -> float:
        """Seconds until the next turn at the search: before a lock is taken for nothing."""
        async with self._lend() as conn:
            turn = await self._turn(conn, SourceApi.SEARCH, look_only=True)
        return turn.wait

    async def fetch(self, source: SourceApi, siren: str) -> Fetched:
        """Ask a source about a company, again where that may help."""
        if (missing := unset(self._settings, source)) is not None:
            async with self._lend() as conn:
                await queries.run(conn, "note_missing", source=str(source))
            error = SourceError(ErrorCode.AUTH_ERROR, source, None, missing, retryable=False)
            return Fetched(source, None, 0, error, called=False, configured=False)
        started = time.perf_counter()
        reply = await self._retried(source, siren)
        fetched = self._fetched(source, reply, int((time.perf_counter() - started) * 1000))
        if reply.called:
            await self._note(fetched)
        return fetched

    async def add_directors(self, siren: str) -> str | None:
        """Ask the search for directors, too, and add them to its answer; the new checksum of that.

        None: it did not tell, which is no failure of the source.
        """
        source = SourceApi.SEARCH
        reply = await self._retried(source, siren, include=DIRECTORS)
        if reply.called and reply.error is not None:
            await self._note(Fetched(source, reply.status, reply.duration_ms, reply.error))
        unit = None if reply.error is not None else reply.payload["results"][0]
        found = unit.get("dirigeants") if isinstance(unit, dict) else None
        if not isinstance(found, list):
            self._log.info("directors_not_fetched", source_api=str(source))
            return None
        async with self._lend() as conn:
            kept = await queries.rows(
                conn,
                "stash_directors",
                job_id=self._job_id,
                source_api=str(source),
                directors=Jsonb(found),
            )
        payload = kept[0][0] if kept else None
        return None if payload is None else stable_checksum(source, payload)

    async def _retried(self, source: SourceApi, siren: str, include: str = INCLUDED) -> Reply:
        """A call, again where that may help."""
        tries = 0
        while True:
            tries += 1
            reply = await self._try(source, siren, include)
            if reply.error is None:
                return reply
            pause = next_pause(
                reply.error,
                tries,
                self._settings.backoff_seconds,
                self._settings.longest_retry_after,
            )
            self._log.warning(
                "source_call_failed",
                source_api=str(source),
                http_status=reply.status,
                error_code=str(reply.error.error_code),
                error_message=reply.error.message,
                duration_ms=reply.duration_ms,
                tries=tries,
            )
            if pause is None:
                return reply
            if reply.error.error_code is ErrorCode.RATE_LIMIT:
                # For everybody, and now: whoever goes on calling gets all of us banned.
                async with self._lend() as conn:
                    await queries.run(conn, "hold_back", source=str(source), seconds=pause)
            await asyncio.sleep(pause)

    async def _try(self, source: SourceApi, siren: str, include: str) -> Reply:
        """One call, when it is its turn."""
        turn = await self._turn_now(source)
        if turn.verdict != "go":
            code = ErrorCode(turn.reason or ErrorCode.SOURCE_UNAVAILABLE)
            error = SourceError(code, source, None, "the source is paused", retryable=False)
            return Reply(error=error, called=False)
        began = time.perf_counter()
        match source:
            case SourceApi.SEARCH:
                reply = await self._search(siren, include)
            case SourceApi.INPI:
                reply = await self._inpi.ask(siren)
            case SourceApi.RCS:
                reply = await self._rcs(siren, probe=turn.probe)
        reply = await self._judged(source, siren, reply)
        return reply._replace(duration_ms=int((time.perf_counter() - began) * 1000))

    async def _turn_now(self, source: SourceApi) -> Turn:
        """Wait for a turn; one that came late is asked for anew if the source is held by then."""
        while True:
            async with self._lend() as conn:
                turn = await self._turn(conn, source)
            if turn.verdict != "go" or turn.wait <= 0:
                return turn
            await asyncio.sleep(turn.wait)
            if turn.wait <= LONG_WAIT:
                return turn
            async with self._lend() as conn:
                (held,) = await queries.one(conn, "is_held", source=str(source))
            if not held:
                return turn

    async def _search(self, siren: str, include: str) -> Reply:
        settings = self._settings
        headers = {"User-Agent": settings.user_agent}
        if settings.search_api_key:
            headers["Authorization"] = f"Bearer {settings.search_api_key}"
        # By SIREN also when the request has a SIRET: the company is what is shared and kept.
        asked = {"q": siren, "minimal": "true", "include": include}
        request = self._http.build_request(
            "GET",
            f"{settings.search_url.rstrip('/')}/search",
            params=asked | {"page": "1", "per_page": "1"},
            headers=headers,
        )
        return await exchange(self._http, request, SourceApi.SEARCH, settings.timeout_ms)

    async def _rcs(self, siren: str, *, probe: bool) -> Reply:
        settings = self._settings
        source = SourceApi.RCS
        base = settings.rcs_url.rstrip("/")
        headers = {
            "Authorization": f"Bearer {settings.rcs_token}",
            "User-Agent": settings.user_agent,
        }
        if probe:  # after a pause: unthrottled, and it costs no call of the quota
            ping = self._http.build_request("GET", f"{base}/ping/infogreffe/rcs", headers=headers)
            found = await exchange(self._http, ping, source, settings.timeout_ms)
            if found.status != httpx.codes.OK:
                down = "the source says that it is down"
                error = SourceError(
                    ErrorCode.SOURCE_UNAVAILABLE, source, None, down, retryable=False
                )
                return Reply(error=found.error or error)
        request = self._http.build_request(
            "GET",
            f"{base}/v3/infogreffe/rcs/unites_legales/{siren}/extrait_kbis",
            params={
                "context": settings.rcs_context,
                "object": settings.rcs_object,
                "recipient": settings.rcs_recipient,
            },
            headers=headers,
        )
        return await exchange(self._http, request, source, settings.timeout_ms)

    async def _judged(self, source: SourceApi, siren: str, reply: Reply) -> Reply:
        """What a reply means: success, or an error with its canonical code."""
        if reply.error is not None or reply.status is None:
            return reply
        status = reply.status
        if status == httpx.codes.OK:
            if named(source, reply.payload) == siren:
                return reply
            message = "the source does not know this company"
            return reply._replace(
                error=SourceError(ErrorCode.NOT_FOUND, source, status, message, retryable=False)
            )
        told = _told(reply.payload)
        code = error_of_status(source, status, told.code)
        async with self._lend() as conn:
            now = await database.now(conn)
        wait = retry_after(reply.retry_after, now)
        return reply._replace(
            error=SourceError(
                code,
                source,
                status,
                f"HTTP {status}" + (f", {told.code}" if told.code else ""),
                is_retryable(code, status),
                told.retry_in if wait is None else wait,
            )
        )

    def _fetched(self, source: SourceApi, reply: Reply, duration_ms: int) -> Fetched:
        if reply.error is not None:
            return Fetched(
                source, reply.error.http_status, duration_ms, reply.error, called=reply.called
            )
        found = extract(source, reply.payload)
        try:
            checksum = stable_checksum(source, reply.payload)
        except InvalidInput as error:
            wrong = SourceError(
                ErrorCode.INTERNAL_ERROR, source, reply.status, error.message, retryable=False
            )
            return Fetched(source, reply.status, duration_ms, wrong)
        kept = reply.payload if reply.size <= MOST_BYTES else None
        return Fetched(
            source,
            reply.status,
            duration_ms,
            None,
            found.values,
            found.masked,
            kept,
            checksum,
        )

    async def _turn(
        self, conn: AsyncConnection[Any], source: SourceApi, *, look_only: bool = False
    ) -> Turn:
        settings = self._settings
        per_second = {
            SourceApi.SEARCH: settings.search_per_second,
            SourceApi.INPI: settings.inpi_per_second,
            SourceApi.RCS: settings.rcs_per_second,
        }
        row = await queries.one(
            conn,
            "take_turn",
            source=str(source),
            per_second=per_second[source],
            per_day=settings.inpi_per_day if source is SourceApi.INPI else None,
            look_only=look_only,
        )
        return Turn(*row)

    async def _note(self, fetched: Fetched) -> None:
        """Stash what was said, and tell everybody how the source is."""
        settings = self._settings
        error = fetched.error
        pause = None
        if error is not None and error.error_code is ErrorCode.RATE_LIMIT:
            pause = error.retry_after or settings.breaker_seconds
        async with self._lend() as conn:
            if error is None:
                await queries.run(
                    conn,
                    "stash_fetched",
                    job_id=self._job_id,
                    source_api=str(fetched.source_api),
                    found=Jsonb(dict(fetched.values)),
                    masked=list(fetched.masked),
                    payload=None if fetched.payload is None else Jsonb(fetched.payload),
                )
            await queries.run(
                conn,
                "note_fetch",
                source=str(fetched.source_api),
                failed=error is not None and error.error_code in FAILING,
                error=None if error is None else str(error.error_code),
                pause_seconds=pause,
                most_failures=settings.breaker_failures,
                breaker_seconds=settings.breaker_seconds,
            )


def unset(settings: EnrichmentSettings, source: SourceApi) -> str | None:
    """What a source lacks to be called at all; None: nothing."""
    match source:
        case SourceApi.SEARCH:
            return None
        case SourceApi.INPI:
            known = settings.inpi_username and settings.inpi_password
            return None if known else "inpi_username or inpi_password is not set"
        case SourceApi.RCS:
            known = settings.rcs_token and settings.rcs_recipient
            return None if known else "rcs_token or rcs_recipient is not set"


class Told(NamedTuple):
    """What an error body says."""

    code: str | None
    retry_in: float | None


def named(source: SourceApi, payload: Any) -> str | None:  # noqa: ANN401 - JSON
    """The SIREN that an answer is about; None: about none."""
    place: Any = payload
    if source is SourceApi.SEARCH:
        listed = payload.get("results") if isinstance(payload, dict) else None
        place = listed[0] if isinstance(listed, list) and listed else None
    elif source is SourceApi.RCS:
        place = payload.get("data") if isinstance(payload, dict) else None
    found = place.get("siren") if isinstance(place, dict) else None
    return found if isinstance(found, str) else None


def _told(payload: Any) -> Told:  # noqa: ANN401 - JSON, or not
    """The code of an error body, and the seconds that API Entreprise asks us to wait."""
    if not isinstance(payload, dict):
        return Told(None, None)
    listed = payload.get("errors")
    first = listed[0] if isinstance(listed, list) and listed else payload
    if not isinstance(first, dict):
        return Told(None, None)
    code = first.get("code")
    meta = first.get("meta")
    retry_in = meta.get("retry_in") if isinstance(meta, dict) else None
    seconds = float(retry_in) if isinstance(retry_in, int | float) else None
    return Told(code if isinstance(code, str) and len(code) <= 5 else None, seconds)  # noqa: PLR2004 - as they are
