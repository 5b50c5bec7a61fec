"""Acts in the database for a worker that cannot: beats, learns of cancels, gives its jobs back.

Used by the warden only, when a worker is silent. Everything is bounded in time. The connection for
beats is kept; the rest happens seldom, on a connection of its own.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg import AsyncConnection

from ostinato._core.base import log as logging
from ostinato._core.base.backoff import from_json
from ostinato._core.db.guard import ThreadGuard
from ostinato._core.db.pool import connect, conninfo, transaction
from ostinato._core.engine import claims, workers
from ostinato._core.engine.claims import Failure, Job
from ostinato._core.runtime.worker.board import Running
from ostinato._core.runtime.worker.execute import Failed, judge_error
from ostinato._core.runtime.worker.silence import Ending, Stack

T = TypeVar("T")

log = logging.get_logger("warden")

BEAT_SECONDS = 3.0
CALL_SECONDS = 6.0
ADVICE = (
    "use a plain function (it runs in a thread), await asyncio.to_thread(…), or a process of its"
    " own for code that holds the GIL."
)


class StandIn:
    """Stands in for one worker; made from its card (`board.py`)."""

    def __init__(self, card: dict[str, Any]) -> None:
        self._card = card
        self._conn: psycopg.Connection[Any] | None = None
        if card["log"] is not None:
            logging.configure(*card["log"])

    def beat(self, worker_id: UUID, kind: str | None) -> None:
        """Beat once; an error is logged, and the next beat connects again."""
        try:
            if self._conn is None:
                pooled: dict[str, Any] = {"prepare_threshold": None} if self._card["pooled"] else {}
                url = conninfo(self._card["url"], "warden")
                self._conn = psycopg.connect(url, autocommit=True, **pooled)
                log.warning("gil_held", handler=kind, worker=self._card["name"])
            with ThreadGuard(self._conn, BEAT_SECONDS):
                workers.heartbeat(self._conn, worker_id, blocked_by=kind)
        except Exception as error:  # noqa: BLE001 - whatever it is, the next beat may succeed
            self.complain(error)
            self.close()

    def cancels(self, worker_id: UUID) -> list[int]:
        """Return the jobs of the worker that are to be cancelled. Its other duties are done as well."""

        async def poll(conn: AsyncConnection[Any]) -> list[int]:
            return (await workers.poll(conn, worker_id, [], self._card["max_crashes"])).cancels

        return self._in_database(poll)

    def give_up(self, worker_id: UUID, ended: Ending | None) -> None:
        """Take everything from the worker, in one transaction.

        The job that is to blame ends its attempt as its policy says, or as cancelled if that was
        asked for. All others, and this one if the process was asked to stop, are given back.
        """

        async def give_back(conn: AsyncConnection[Any]) -> None:
            async with transaction(conn):
                if ended is not None and ended.job is not None:
                    await self._end_attempt(conn, ended.job, ended.reason)
                await workers.reconcile(conn, worker_id, [], 0)
                await workers.unregister(conn, worker_id)

        self._in_database(give_back)

    def bury(self, worker_id: UUID) -> None:
        """Unregister a worker whose process died; if that fails, it expires."""

        async def unregister(conn: AsyncConnection[Any]) -> None:
            await workers.unregister(conn, worker_id)

        log.error("worker_died", worker=self._card["name"], id=str(worker_id))
        try:
            self._in_database(unregister)
        except Exception as error:  # noqa: BLE001 - whatever it is, the row expires
            self.complain(error)

    def tell(self, ended: Ending, stack: Stack, *, owned: bool) -> None:
        """Log whose doing it is, and what becomes of the process."""
        log.error(
            "process_ended" if owned else "worker_taken_out",
            worker=self._card["name"],
            reason=ended.reason,
            handler=None if ended.job is None else self._kind(ended.job)["name"],
            job_id=None if ended.job is None else ended.job.job_id,
            where=stack or None,
            hint=ADVICE,
        )

    def complain(self, error: Exception) -> None:
        """Log what went wrong here."""
        log.warning("warden_failed", worker=self._card["name"], error=str(error).strip() or repr(error))

    def close(self) -> None:
        """Close the connection."""
        conn, self._conn = self._conn, None
        if conn is not None:
            with contextlib.suppress(psycopg.Error):
                conn.close()

    async def _end_attempt(self, conn: AsyncConnection[Any], running: Running, reason: str) -> None:
        job, duration = _job(running), int((time.monotonic() - running.started) * 1000)
        if reason == "timeout":
            await claims.fail(conn, [job], [self._failure(running)], [duration])
        elif reason == "cancel":
            await claims.cancel(conn, [job], ["cancelled while it ran"], [duration])

    def _kind(self, job: Running) -> dict[str, Any]:
        found: dict[str, Any] = self._card["kinds"][job.kind]
        return found

    def _failure(self, job: Running) -> Failure:
        kind = self._kind(job)
        error = TimeoutError(
            f"{kind['name']} took longer than its timeout of {kind['timeout']:g} s and blocked its process: {ADVICE}"
        )
        verdict = judge_error(error, _job(job), from_json(kind["retry"]), random.Random())  # noqa: S311 - spreads load, guards nothing
        assert isinstance(verdict, Failed)  # noqa: S101 - as every error but a lost lease
        return verdict.failure

    def _in_database(self, work: Callable[[AsyncConnection[Any]], Awaitable[T]]) -> T:
        async def bounded() -> T:
            async with (
                asyncio.timeout(CALL_SECONDS),
                await connect(self._card["url"], role="warden", pooled=self._card["pooled"]) as conn,
            ):
                return await work(conn)

        return asyncio.run(bounded())


def _job(job: Running) -> Job:
    """Return the job as the engine's verbs take it; what the board does not show they do not use."""
    return Job(
        queue="",
        id=job.job_id,
        attempt=job.attempt,
        failures=job.failures,
        crashes=0,
        claim_id=job.claim_id,
        kind="",
        args="",
        tenant_id="",
        correlation_id=None,
        max_attempts=job.max_attempts or None,
        waited=0.0,
    )
