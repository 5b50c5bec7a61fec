"""What the SQL tests speak: sessions that call functions, a clock to move, calls that wait."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Self
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Json

from ostinato._core.db.embedded import Urls
from tests.schemas import call_text
from tests.sql.saying import check_said
from tests.waiting import until

Row = dict[str, Any]
Value = Any  # what SQL takes and returns is known to the test, not to the type checker

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
FIRST_DAY = 60 * 10_000_000_000  # the first id of START's day: 60 days after 2026-01-01


@dataclass(frozen=True, slots=True)
class Held:
    """A job in a worker's hands, as `claim_jobs` returned it."""

    id: int
    attempt: int
    claim_id: int
    row: Row


@dataclass(slots=True)
class Session:
    """One connection, and the verbs of the engine on it."""

    conn: psycopg.Connection[Row]
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    @classmethod
    def open(cls, url: str) -> Self:
        return cls(psycopg.connect(url, autocommit=True, row_factory=dict_row))

    def close(self) -> None:
        self.threads.shutdown()
        self.conn.close()

    def rows(self, statement: str, *values: object) -> list[Row]:
        """The rows of a statement; a test may look into the tables."""
        cursor = self.conn.execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def row(self, statement: str, *values: object) -> Row:
        (row,) = self.rows(statement, *values)
        return row

    def value(self, statement: str, *values: object) -> Value:
        (value,) = self.row(statement, *values).values()
        return value

    def call(self, function: str, /, **params: Value) -> list[Row]:
        """The rows of a verb, or of a helper; parameters by name."""
        bound = {n: Json(v) if isinstance(v, dict) else v for n, v in params.items()}
        return self.conn.execute(call_text(function, tuple(bound)), bound).fetchall()

    def get(self, function: str, /, **params: Value) -> Value:
        """The one value of `ostinato.<function>`."""
        (row,) = self.call(function, **params)
        (value,) = row.values()
        return value

    def later(self, function: str, /, **params: Value) -> "Future[list[Row]]":
        """A call in a thread of its own; it may have to wait for another session."""
        return self.threads.submit(self.call, function, **params)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self.conn.transaction():
            yield

    # The verbs that nearly every test needs, with short names.

    def enqueue(self, kind: str = "app.task", **params: Value) -> int:
        return int(self.get("enqueue_job", kind=kind, **params))

    def worker(
        self,
        name: str = "w1",
        queues: Sequence[str] = ("default",),
        kinds: Sequence[str] = ("app.task",),
        **params: Value,
    ) -> UUID:
        found = self.get("register_worker", name=name, queues=list(queues), kinds=list(kinds), **params)
        return UUID(str(found))

    def claim(self, worker: UUID, wanted: int = 100, queue: str = "default", **params: Value) -> list[Held]:
        rows = self.call("claim_jobs", worker_id=worker, queue=queue, wanted=wanted, **params)
        return [Held(row["job_id"], row["attempt"], row["claim_id"], row) for row in rows]

    def claim_one(self, worker: UUID, queue: str = "default", **params: Value) -> Held:
        (held,) = self.claim(worker, 1, queue, **params)
        return held

    def claimed_ids(self, worker: UUID, wanted: int = 100, **params: Value) -> list[int]:
        return [held.id for held in self.claim(worker, wanted, **params)]

    def complete(self, *jobs: Held, **params: Value) -> list[int]:
        return ids(self.call("complete_jobs", **arrays(jobs), **params))

    def fail(self, *jobs: Held, delay: float | None = None, type_: str = "ValueError") -> list[int]:
        return ids(
            self.call(
                "fail_jobs",
                **arrays(jobs),
                delays=[delay for _ in jobs],
                errors=[json.dumps({"type": type_, "message": "it broke"}) for _ in jobs],
                signatures=[type_ for _ in jobs],
            )
        )

    def snooze(self, *jobs: Held, delay: float = 60.0) -> list[int]:
        return ids(self.call("snooze_jobs", **arrays(jobs), delays=[delay for _ in jobs]))

    def release(self, *jobs: Held) -> list[int]:
        return ids(self.call("release_jobs", **arrays(jobs)))

    def state(self, job_id: int) -> str | None:
        found: str | None = self.get("job_state", job_id=job_id)
        return found

    def outcomes(self, job_id: int) -> list[str]:
        return [row["outcome"] for row in self.call("job_attempts", job_id=job_id)]

    def why(self, job_id: int) -> dict[str, Row]:
        """The answers of `why` by code, in order."""
        found = self.call("why", job_id=job_id)
        check_said(job_id, found)
        return {row["code"]: row for row in found}


def arrays(jobs: Sequence[Held]) -> dict[str, list[int]]:
    """Jobs as the finishing verbs take them."""
    return {
        "claim_ids": [job.claim_id for job in jobs],
        "job_ids": [job.id for job in jobs],
        "attempts": [job.attempt for job in jobs],
    }


def ids(rows: list[Row]) -> list[int]:
    return [int(value) for row in rows for value in row.values()]


@dataclass(slots=True)
class Clock:
    """The engine's time in every session of the test database."""

    session: Session
    now: datetime = START

    def set(self, at: datetime) -> None:
        self.now = at
        self.session.rows("update ostinato_data.test_clock set frozen = %s, shift = '0'", at)

    def advance(self, **length: float) -> datetime:
        self.set(self.now + timedelta(**length))
        return self.now

    def beat(self, seconds: float, *workers: UUID, every: float = 5) -> None:
        """Let time pass as it does when all is well: these workers beat, so the tick goes on."""
        while seconds > 0:
            self.advance(seconds=min(every, seconds))
            seconds -= every
            self.session.call("tick")
            for worker in workers:
                self.session.call("heartbeat_worker", worker_id=worker)


@dataclass(slots=True)
class Sessions:
    """Opens further connections of a role; they are closed with the test."""

    urls: Urls
    opened: list[Session] = field(default_factory=list)

    def open(self, role: str = "worker") -> Session:
        session = Session.open(getattr(self.urls, role))
        self.opened.append(session)
        return session

    def tenant(self, tenant_id: str) -> Session:
        session = self.open("tenant")
        session.rows("select set_config('app.tenant_id', %s, false)", tenant_id)
        return session


@contextmanager
def refused(sqlstate: str, *words: str) -> Iterator[None]:
    """The block ends with this error of ours, which says what with which values, and what to do."""
    with pytest.raises(psycopg.Error) as caught:
        yield
    error = caught.value
    assert error.sqlstate == sqlstate, error
    for word in words:
        assert word in str(error)
    if sqlstate.startswith("OS"):
        assert isinstance(json.loads(error.diag.message_detail or ""), dict)
        assert error.diag.message_hint


def until_blocked(watcher: Session, waiting: Session, by: Session, unless: Callable[[], bool] = lambda: False) -> None:
    """Return as soon as one session waits for a lock that the other one holds."""
    pids = waiting.conn.info.backend_pid, by.conn.info.backend_pid
    blocked = "select %s = any (pg_blocking_pids(%s))"
    until(lambda: unless() or watcher.value(blocked, pids[1], pids[0]))
