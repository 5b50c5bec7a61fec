"""What a verb reads does not grow with the backlog, whenever its plans were made.

A session keeps its plans. Made while the tables were empty, a plan that reads a whole table looks
cheap; made from statistics, a join that reads the whole backlog first may. So what each verb reads
is counted, in sessions of both kinds, before a long backlog.
"""

from datetime import UTC, datetime
from functools import partial

import psycopg
import pytest

from ostinato._core.db.embedded import Urls
from tests.sql.engine import Held, Session, arrays
from tests.sql.price import BACKLOG, OFTEN, Meter, Place

FEW = 10
DEAD_ROUNDS, DEAD_EACH = 20, 200
LATER = datetime(2100, 1, 1, tzinfo=UTC)

FILL = """
select count(*) from ostinato.enqueue_jobs(
    array(select 'app.task' from generate_series(1, %s)),
    array(select '{}' from generate_series(1, %s)))
"""


class Worker(Meter):
    """A worker's session that calls every verb often enough to keep its plans."""

    def __init__(self, db: Session) -> None:
        super().__init__(db)
        self.id = db.worker(expiry_seconds=3600)
        for _ in range(OFTEN):  # as an idle worker does
            self.polls()
        for _ in range(OFTEN):
            self.fill(100)
            self.everything()

    def fill(self, jobs: int) -> None:
        self.db.rows(FILL, jobs, jobs)

    def claimed(self) -> list[Held]:
        return self.db.claim(self.id, FEW, kinds=["app.task"])

    def polls(self) -> None:
        for queues in ([], ["default"], ["other"], ["default", "other"]):
            call = partial(self.db.call, "poll_jobs", worker_id=self.id, queues=queues)
            self.measure(f"poll of {queues}", call)

    def everything(self) -> None:
        """Each verb, with a few jobs."""
        self.polls()
        self.of_workers()
        self.of_people()

    def of_workers(self) -> None:
        db, measure = self.db, self.measure
        measure("enqueue", db.enqueue)
        measure("unique", lambda: db.enqueue(unique_key="u", unique_policy="return"))
        measure("claim", self.claimed)
        measure("large claim", lambda: db.claim(self.id, 40))
        for verb in (db.complete, db.fail, db.snooze, db.release):
            measure(verb.__name__, partial(verb, *self.claimed()))
        measure("retry", partial(db.fail, *self.claimed(), delay=0.0))
        measure("promote", lambda: db.call("promote_jobs"))
        mine = {"worker_id": self.id, "held": [], "seconds": 3600.0}
        measure("reconcile", lambda: db.call("reconcile_worker", **mine))
        held = self.claimed()
        numbers = {"positions": [1] * FEW, "names": ["s"] * FEW}
        measure("save steps", lambda: db.call("save_steps", **arrays(held), **numbers))
        measure("load steps", lambda: db.call("load_steps", job_ids=[job.id for job in held]))
        measure("begin", lambda: db.call("begin_jobs", **arrays(held)))
        measure("split", lambda: db.call("split_claims", **arrays(held)))
        sleep = {"positions": [2] * FEW, "seconds": [0.0] * FEW}
        measure("sleep", lambda: db.call("sleep_jobs", **arrays(held), **sleep))
        lost = db.claim(db.worker("lost"), FEW)
        rescue = {"claim_ids": [lost[0].claim_id], "max_crashes": 3}
        measure("rescue", lambda: db.call("rescue_claims", **rescue))

    def of_people(self) -> None:
        db, measure = self.db, self.measure
        for verb in ("cancel_job", "why", "job_state", "show_job", "job_attempts"):
            measure(verb, partial(db.call, verb, job_id=db.enqueue()))
        measure("list", lambda: db.call("list_jobs", most=FEW))
        later = db.enqueue(run_at=LATER)
        measure("retry now", lambda: db.call("retry_job", job_id=later))


@pytest.mark.parametrize("seen", ["empty", "full"])
def test_what_a_verb_reads_does_not_grow_with_the_backlog(place: Place, seen: str) -> None:
    if seen == "full":
        with place.session() as db:
            db.rows(FILL, BACKLOG, BACKLOG)
    place.take_statistics()

    with place.session() as db:
        worker = Worker(db)
        worker.fill(BACKLOG)
        worker.everything()

    assert worker.too_much() == {}


def test_what_a_claim_reads_does_not_grow_with_the_dead_rows_under_a_held_snapshot(db: Session, urls: Urls) -> None:
    """Nobody may remove them while it is held; a claim starts behind those that the last one took."""
    with psycopg.connect(urls.admin) as holder:
        holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        holder.execute("select count(*) from ostinato_data.ready")
        db.rows(FILL, DEAD_ROUNDS * DEAD_EACH, DEAD_ROUNDS * DEAD_EACH)
        worker, meter, cursor = db.worker(), Meter(db), None
        read: list[int] = []
        for _ in range(DEAD_ROUNDS - 1):
            held = meter.measure("claim", partial(db.claim, worker, DEAD_EACH, cursor=cursor))
            read.append(meter.read["claim"])
            cursor = held[0].row["next_cursor"]
            db.complete(*held)

    assert db.value("select count(*) from ostinato_data.ready") == DEAD_EACH
    assert max(read[1:]) < 2 * read[1]
