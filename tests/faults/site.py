"""What the fault tests speak: a database, worker processes on it, and the promises to check."""

import itertools
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import psycopg
from psycopg.types.json import Json

from ostinato._core.db.embedded import Server, Urls
from ostinato._core.runtime.testing import KEY
from ostinato.lab.torture.crew import Crew, Hand
from tests.waiting import until

APP = "tests.faults.app:app"
# Times that make a test short. What a fault may use up, `max_crashes` and attempts, is as users have it.
QUICK: dict[str, object] = {
    "beat_seconds": 0.25,
    "expiry_seconds": 1.0,
    "poll_seconds": 0.2,
    "concurrency": 20,
    "cancel_grace_seconds": 0.5,
    "drain_seconds": 5,
    "call_timeout_seconds": 3,
}

_names = itertools.count(1)


class Site:
    """A fresh database on a real server, and a crew of real workers."""

    def __init__(self, server: Server | None, urls: Urls, folder: Path) -> None:
        self._server = server
        self.urls = urls
        self.folder = folder
        self._conn: psycopg.Connection[Any] | None = None
        self._crews: list[Crew] = []

    @property
    def server(self) -> Server:
        """The server, where it is one that the test may crash."""
        assert self._server is not None
        return self._server

    def __enter__(self) -> Self:
        self.rows("create table effect (job_id bigint, attempt integer)")
        self.rows("create table started (job_id bigint, attempt integer, at timestamptz default clock_timestamp())")
        self.rows("grant select, insert on effect, started to ostinato_worker")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for crew in self._crews:
            crew.__exit__(kind, error, trace)
            if error is not None:
                for hand in crew.hands:
                    say(f"---- {hand.name}\n{hand.log_path.read_text()[-4000:]}")
        if self._conn is not None:
            self._conn.close()

    def crew(self, url: str | None = None, *, app: str = APP, **settings: object) -> Crew:
        """Workers that die with the test; `url`: how they reach the database."""
        folder = self.folder / f"crew-{next(_names)}"
        folder.mkdir()
        values: Mapping[str, object] = QUICK | {"test_url": self.urls.worker, "secret_key": KEY} | settings
        made = Crew(app, url or self.urls.worker, folder, values)
        self._crews.append(made)
        return made

    # The database, as a superuser sees it; asked again when it was away.

    @property
    def conn(self) -> psycopg.Connection[Any]:
        if self._conn is None or self._conn.closed:
            self._conn = psycopg.connect(self.urls.admin, autocommit=True, connect_timeout=15)
        return self._conn

    def leave(self) -> None:
        """Connect again with the next statement."""
        if self._conn is not None:
            self._conn.close()

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        cursor = self.conn.execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def value(self, statement: str, *values: object) -> Any:  # noqa: ANN401 - whatever SQL says
        ((value,),) = self.rows(statement, *values)
        return value

    def now(self) -> datetime:
        found: datetime = self.value("select clock_timestamp()")
        return found

    def until(self, statement: str, *values: object) -> None:
        """Wait until a statement says true; the database may be away meanwhile."""
        until(lambda: self._true(statement, *values))

    def _true(self, statement: str, *values: object) -> bool:
        try:
            return bool(self.value(statement, *values))
        except psycopg.OperationalError:
            return False

    # Jobs.

    def enqueue(self, kind: str, count: int = 1, **args: object) -> list[int]:
        """Add some jobs of a kind, each committed, and return their ids."""
        call = "select ostinato.enqueue_job(%s, %s) from generate_series(1, %s)"
        return [row[0] for row in self.rows(call, f"faults.{kind}", Json(args), count)]

    def state(self, job_id: int) -> str | None:
        found: str | None = self.value("select ostinato.job_state(%s)", job_id)
        return found

    def outcomes(self, job_id: int) -> list[str]:
        rows = self.rows("select outcome from ostinato_data.outcome where job_id = %s order by attempt", job_id)
        return [row[0] for row in rows]

    def until_idle(self) -> None:
        """Wait until nothing waits or runs any more."""
        self.until(
            "select not exists (select from ostinato_data.ready)"
            " and not exists (select from ostinato_data.scheduled)"
            " and not exists (select from ostinato_data.claim)"
        )

    def ended(self) -> int:
        """How many jobs are done; none, as far as we know, while the database is away."""
        try:
            return int(self.value("select count(*) from ostinato_data.outcome where outcome = 'done'"))
        except psycopg.OperationalError:
            return 0

    # Workers.

    def ready(self, *hands: Hand) -> None:
        """Wait until workers are registered."""
        names = [hand.name for hand in hands]
        self.until(
            "select count(distinct name) = %s from ostinato_data.worker where name = any (%s)", len(names), names
        )

    def worker_id(self, hand: Hand) -> UUID:
        found: UUID = self.value("select id from ostinato_data.worker where name = %s", hand.name)
        return found

    def holder(self, job_id: int) -> str | None:
        """The name of the worker that holds a job."""
        rows = self.rows(
            "select w.name from ostinato_data.claim c join ostinato_data.worker w"
            " on w.id = c.worker_id where %s = any (c.job_ids)",
            job_id,
        )
        return rows[0][0] if rows else None

    def expired(self, hand: Hand) -> bool:
        """Whether a stopped worker was declared dead; until then its last beat was an hour ago."""
        self.rows(
            "update ostinato_data.worker set beat_at = clock_timestamp() - make_interval(secs => 2 * expiry_seconds)"
            " where name = %s",
            hand.name,
        )
        return not self.rows("select from ostinato_data.worker where name = %s", hand.name)

    def tell(self) -> None:
        """Let those jobs go on that wait until they are told."""
        self.rows("insert into started values (0, 0)")

    # Promises.

    def check(self, ids: list[int], with_effect: list[int]) -> None:
        """Every job is done, once, and left exactly the effects that it should."""
        done = self.rows("select job_id, count(*) from ostinato_data.outcome where outcome = 'done' group by 1")
        assert dict(done) == dict.fromkeys(ids, 1)
        effects = self.rows("select job_id, count(*) from effect group by 1")
        assert dict(effects) == dict.fromkeys(with_effect, 1)
        self.check_fence()

    def check_fence(self) -> None:
        """No write was accepted but that of the attempt that ended its job."""
        stale = self.rows(
            "select e.* from effect e where not exists (select from ostinato_data.outcome o"
            " where (o.job_id, o.attempt, o.outcome) = (e.job_id, e.attempt, 'done'))"
        )
        assert stale == []


def say(text: str) -> None:
    """Leave a word in the output of a test: a seed, a measure, a reason to skip."""
    print(text)  # noqa: T201 - meant to be read
