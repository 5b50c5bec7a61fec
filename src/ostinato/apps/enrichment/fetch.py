"""The fetcher asks one source about one company: when it is its turn, and again where that helps.

A source is called when it is its turn (`turns.py`), at most three times, each within 5 seconds; if
it is paused, `Paused` is raised, and the run sleeps. What goes wrong is no exception but a
`SourceError` with a canonical code. What an answer says is stashed until the run ends; how the call
went is what a step keeps. What differs from source to source is in `sources/`.
"""

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, NoReturn

import httpx
from psycopg.types.json import Jsonb

from ostinato import jobs
from ostinato.apps.enrichment.extract import extract
from ostinato.apps.enrichment.model import ErrorCode, Fetched, SourceApi, SourceError
from ostinato.apps.enrichment.queries import QUERIES, Connection
from ostinato.apps.enrichment.rules import MOST_BYTES, is_retryable, next_pause, stable_checksum
from ostinato.apps.enrichment.sources import Source
from ostinato.apps.enrichment.sources.reading import at
from ostinato.apps.enrichment.turns import Paused, Turns
from ostinato.apps.enrichment.wire import Reply, Wire
from ostinato.errors import InvalidInput
from ostinato.observe import FilteringBoundLogger

FAILING: Final = (ErrorCode.TIMEOUT, ErrorCode.UPSTREAM_5XX, ErrorCode.SOURCE_UNAVAILABLE)
"""What the breaker counts: that the source is not well. A 404 or a 401 is an answer."""
LONGEST_CODE: Final = 5

LOGINS_SECONDS: Final = 30.0
"""Within which logins are counted: who may not log in waits for so long."""

Call = Callable[[Wire, bool], Awaitable[Reply]]
"""Calls a source over a wire; the second says whether it is the first call after a pause."""


class Told(NamedTuple):
    """What an error body says: its code, and the seconds to wait."""

    code: str | None
    retry_in: float | None


class Fetcher:
    """Asks sources, for one run."""

    def __init__(self, wire: Wire, log: FilteringBoundLogger, job_id: int) -> None:
        self._wire = wire
        self._settings = wire.settings
        self._lend = wire.lend
        self._log = log
        self._job_id = job_id

    async def fetch(self, source: Source, siren: str) -> Fetched:
        """Ask a source about a company, again where that may help."""
        if (missing := source.missing(self._settings)) is not None:
            async with self._lend() as conn:
                await QUERIES.run(conn, "note_missing", source=str(source.api))
            error = SourceError(ErrorCode.AUTH_ERROR, source.api, None, missing, retryable=False)
            return Fetched(source.api, None, 0, error, called=False, configured=False)
        started = time.perf_counter()
        reply = await self._retried(source, siren, lambda wire, probe: source.ask(wire, siren, probe=probe))
        fetched = _fetched(source, reply, int((time.perf_counter() - started) * 1000))
        if reply.called:
            await self._note(fetched)
        return fetched

    async def fetch_more(self, source: Source, siren: str) -> str | None:
        """Ask a source a second time and add what it says to its answer; the checksum of that.

        None: it did not say, which is no failure of the source.
        """
        reply = await self._retried(source, siren, lambda wire, _: source.ask_more(wire, siren))
        if reply.called and reply.error is not None:
            await self._note(Fetched(source.api, reply.status, reply.duration_ms, reply.error))
        more = None if reply.error is not None else source.more(reply.payload)
        if more is None:
            self._log.info("directors_not_fetched", source_api=str(source.api))
            return None
        async with self._lend() as conn:
            payload = await QUERIES.value(
                conn, "stash_more", job_id=self._job_id, source_api=str(source.api), path=more.path, more=more.value
            )
        return None if payload is None else stable_checksum(payload, source.volatile)

    async def _retried(self, source: Source, siren: str, call: Call) -> Reply:
        """Call, again where that may help."""
        tries = 0
        while True:
            tries += 1
            reply = await self._try(source, siren, call)
            if reply.error is None:
                return reply
            pause = next_pause(reply.error, tries, self._settings.backoff_seconds, self._settings.longest_retry_after)
            self._log.warning(
                "source_call_failed",
                source_api=str(source.api),
                http_status=reply.status,
                error_code=str(reply.error.error_code),
                error_message=reply.error.message,
                duration_ms=reply.duration_ms,
                tries=tries,
            )
            if pause is None:
                return reply
            if reply.error.error_code is ErrorCode.RATE_LIMIT:
                # For all workers, and now: one that goes on calling gets all of them banned.
                async with self._lend() as conn:
                    await QUERIES.run(conn, "hold_back", source=str(source.api), seconds=pause)
            await asyncio.sleep(pause)

    async def _try(self, source: Source, siren: str, call: Call) -> Reply:
        """Call once, when it is its turn; raise `Paused` if it has none."""
        turns = Turns(self._lend, source, self._settings)
        await turns.take()
        began = time.perf_counter()
        reply = _judged(source, siren, await call(dataclasses.replace(self._wire, turn=turns.use), turns.probe))
        if not reply.called and reply.error is not None and reply.error.error_code is ErrorCode.RATE_LIMIT:
            await self._pause(source)
        return reply._replace(duration_ms=int((time.perf_counter() - began) * 1000))

    async def _pause(self, source: Source) -> NoReturn:
        """Keep everybody away from a source that we may not log in at for now."""
        async with self._lend() as conn:
            await self._tell(conn, source.api, ErrorCode.RATE_LIMIT, LOGINS_SECONDS)
        await Turns(self._lend, source, self._settings).take()
        raise Paused(str(source.api), LOGINS_SECONDS)  # it was over before we asked

    async def _note(self, fetched: Fetched) -> None:
        """Stash the answer, and note for all workers how the source is."""
        error = fetched.error
        code = None if error is None else error.error_code
        pause = None
        if error is not None and code is ErrorCode.RATE_LIMIT:
            pause = error.retry_after or self._settings.breaker_seconds
        async with self._lend() as conn:
            if error is None:
                await QUERIES.run(
                    conn,
                    "stash_fetched",
                    job_id=self._job_id,
                    source_api=str(fetched.source_api),
                    found=dict(fetched.values),
                    masked=list(fetched.masked),
                    payload=None if fetched.payload is None else Jsonb(fetched.payload),
                )
            await self._tell(conn, fetched.source_api, code, pause)

    async def _tell(self, conn: Connection, source: SourceApi, code: ErrorCode | None, pause: float | None) -> None:
        """Note how a source is; when its pause is over, wake up who sleeps until then."""
        opened = await QUERIES.value(
            conn,
            "note_fetch",
            source=str(source),
            failed=code in FAILING,
            error=None if code is None else str(code),
            pause_seconds=pause,
            most_failures=self._settings.breaker_failures,
            breaker_seconds=self._settings.breaker_seconds,
        )
        if opened and code in (None, ErrorCode.NOT_FOUND):
            asleep = await QUERIES.rows(conn, "jobs_at_work")
            await jobs.hasten(conn, [row["job_id"] for row in asleep])


def _judged(source: Source, siren: str, reply: Reply) -> Reply:
    """Say what a reply means: success, or an error with its canonical code."""
    if reply.error is not None or reply.status is None:
        return reply
    status = reply.status
    if status == httpx.codes.OK:
        if source.about(reply.payload) == siren:
            return reply
        unknown = "the source does not know this company"
        not_found = ErrorCode.NOT_FOUND
        return reply._replace(error=SourceError(not_found, source.api, status, unknown, retryable=False))
    told = _told(reply.payload)
    code = source.error_code(status, told.code)
    return reply._replace(
        error=SourceError(
            code,
            source.api,
            status,
            f"HTTP {status}" + (f", {told.code}" if told.code else ""),
            is_retryable(code, status),
            told.retry_in if reply.retry_after is None else reply.retry_after,
        )
    )


def _told(payload: Any) -> Told:  # noqa: ANN401 - JSON, or not
    """Read an error body, a list of errors or one."""
    first = at(payload, "errors", 0) or payload
    code, retry_in = at(first, "code"), at(first, "meta", "retry_in")
    return Told(
        code if isinstance(code, str) and len(code) <= LONGEST_CODE else None,
        float(retry_in) if isinstance(retry_in, int | float) else None,
    )


def _fetched(source: Source, reply: Reply, duration_ms: int) -> Fetched:
    error = reply.error
    if error is not None:
        return Fetched(source.api, error.http_status, duration_ms, error, called=reply.called)
    found = extract(source.api, reply.payload)
    try:
        checksum = stable_checksum(reply.payload, source.volatile)
    except InvalidInput as odd:
        internal = ErrorCode.INTERNAL_ERROR
        wrong = SourceError(internal, source.api, reply.status, odd.message, retryable=False)
        return Fetched(source.api, reply.status, duration_ms, wrong)
    return Fetched(
        source.api,
        reply.status,
        duration_ms,
        None,
        found.values,
        found.masked,
        reply.payload if reply.size <= MOST_BYTES else None,
        checksum,
    )
