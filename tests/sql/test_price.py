"""What a verb reads does not grow with the backlog, whenever its plans were made.

A session keeps its plans. Made while the tables were empty, a plan that reads a whole table looks
cheap; made from statistics, a join that reads the whole backlog first may. So the rows and index
entries that each verb reads are counted, in sessions of both kinds, before a long backlog.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

import psycopg
import pytest

from ostinato.db.embedded import Server, Urls
from tests.conftest import copy_of_engine
from tests.sql.engine import Held, Session

BACKLOG = 5_000
FEW = 10
MOST_READ = 1_500  # `why` counts up to a thousand jobs that come first
OFTEN = 7  # from the sixth time on a plan is one for all values, and is kept

FILL = """
select count(*) from ostinato.enqueue_jobs(
    array(select 'app.task' from generate_series(1, %s)),
    array(select '{}' from generate_series(1, %s)))
"""

LATER = datetime(2100, 1, 1, tzinfo=UTC)

# Of tables the rows read in sequence, of indexes the entries returned, in this transaction so far.
READ = """
select coalesce(sum(pg_stat_get_xact_tuples_returned(c.oid)), 0)::bigint as n
from pg_class c where c.relnamespace = 'ostinato_data'::regnamespace
"""


@dataclass
class Planned:
    """A worker's session with plans for everything, and what its verbs read since."""

    db: Session
    worker: UUID
    read: dict[str, int] = field(default_factory=dict)

    def measured(self, name: str, verb: Callable[[], object]) -> None:
        with self.db.transaction():
            before = self.db.value(READ)
            verb()
            self.read[name] = self.db.value(READ) - before

    def claimed(self) -> list[Held]:
        return self.db.claim(self.worker, FEW, kinds=["app.task"])

    def polls(self) -> None:
        for queues in ([], ["default"], ["other"], ["default", "other"]):
            call = partial(self.db.call, "poll_jobs", worker_id=self.worker, queues=queues)
            self.measured(f"poll of {queues}", call)

    def everything(self) -> None:
        """Each verb of a worker, with a few jobs."""
        db = self.db
        self.polls()
        self.measured("enqueue", db.enqueue)
        self.measured("unique", lambda: db.enqueue(unique_key="u", unique_policy="return"))
        self.measured("claim", self.claimed)
        self.measured("large claim", lambda: db.claim(self.worker, 40))
        for verb in (db.complete, db.fail, db.snooze, db.release):
            held = self.claimed()
            self.measured(verb.__name__, partial(verb, *held))
        held = self.claimed()
        self.measured("retry", lambda: db.fail(*held, delay=0.0))
        self.measured("promote", lambda: db.call("promote_jobs"))
        self.measured(
            "reconcile",
            lambda: db.call("reconcile_worker", worker_id=self.worker, held=[], seconds=3600.0),
        )
        self.measured("cancel", lambda: db.call("cancel_job", job_id=db.enqueue()))
        self.measured("why", lambda: db.call("why", job_id=db.enqueue()))
        self.measured("state", lambda: db.state(db.enqueue()))
        self.measured("show", lambda: db.call("show_job", job_id=db.enqueue()))
        self.measured("list", lambda: db.call("list_jobs", most=FEW))
        later = db.enqueue(run_at=LATER)
        self.measured("retry now", lambda: db.call("retry_job", job_id=later))
        lost = db.worker("lost", expiry_seconds=15)
        taken = db.claim(lost, FEW)
        db.rows("update ostinato_data.worker set beat_at = '2020-01-01' where id = %s", lost)
        rescue = {"claim_id": taken[0].claim_id, "max_crashes": 3}
        self.measured("rescue", lambda: db.call("rescue_claim", **rescue))


@pytest.fixture
def urls(shared_server: Server) -> Iterator[Urls]:
    yield copy_of_engine(shared_server, "price_tests")
    shared_server.drop_database("price_tests")


@pytest.fixture
def planned(urls: Urls) -> Iterator[Callable[[], Planned]]:
    """Sessions that have called every verb often enough to keep its plans."""
    opened: list[Session] = []

    def new() -> Planned:
        opened.append(db := Session.open(urls.worker))
        made = Planned(db, db.worker(expiry_seconds=3600))
        for _ in range(OFTEN):  # as an idle worker does
            made.polls()
        for _ in range(OFTEN):
            db.rows(FILL, 100, 100)
            made.everything()
        return made

    yield new
    for session in opened:
        session.close()


def test_plans_made_on_empty_tables_serve_a_long_backlog(
    planned: Callable[[], Planned], urls: Urls
) -> None:
    with psycopg.connect(urls.admin, autocommit=True) as conn:
        conn.execute("vacuum analyze")
    session = planned()
    session.db.rows(FILL, BACKLOG, BACKLOG)

    session.everything()

    assert {name: n for name, n in session.read.items() if n > MOST_READ} == {}


def test_plans_made_from_statistics_serve_it_too(
    planned: Callable[[], Planned], urls: Urls
) -> None:
    with psycopg.connect(urls.admin, autocommit=True) as conn:
        conn.execute(FILL.encode(), (BACKLOG, BACKLOG))
        conn.execute("vacuum analyze")
    session = planned()

    session.everything()

    assert {name: n for name, n in session.read.items() if n > MOST_READ} == {}
