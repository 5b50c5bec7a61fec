"""Events of few keys, in random histories of everything that can happen to them.

Several sessions emit, dispatch, claim, finish, die and operate, statement by statement from a seed,
with transactions left open in between. After every step the invariants of `delivery` hold; in the
end every event was delivered to every subscription, and each key first in its order. Each mutant of
the engine breaks one of these.
"""

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import psycopg
import pytest

from tests.simulation.mutants import Mutant
from tests.slow import first_only
from tests.sql.conftest import EMPTY
from tests.sql.deliveries import broken, event_of
from tests.sql.engine import Held, Session, Sessions
from tests.sql.test_outbox import emit, sequence

SUBSCRIPTIONS = {"skips": "skip", "blocks": "block"}
KEYS = ("a", "b", None)
STEPS = 120
SEEDS = 12
TRIES = 60
"""Seeds until which a mutant must be found."""
BUSY = ("55P03", "40P01")


class Broken(AssertionError):
    """A promise was broken."""


class Play:
    """One history."""

    def __init__(self, sessions: Sessions, admin: Session, seed: int) -> None:
        self.rng = random.Random(seed)
        self.admin = admin
        self.db = sessions.open()
        self.side = sessions.open()
        for session in (self.db, self.side):
            session.rows("set lock_timeout = '20ms'")
        for name, poison in SUBSCRIPTIONS.items():
            self.db.call("subscribe", name=name, on_poison=poison)
        self.workers: dict[UUID, list[Held]] = {}
        self.stale: list[Held] = []
        self.leaving: set[int] = set()
        self.orphans: set[int] = set()
        """Followers of one that did not succeed: to be released, and not to be run."""
        self.first: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        """The positions of each subscription and key, in the order of their first completion."""
        self.delivered: set[tuple[str, int]] = set()
        self.excused: set[tuple[str, int]] = set()
        """What an operator or a dead letter took out of its order."""
        self.open: tuple[Held, UUID] | None = None

    def close(self) -> None:
        self.side.conn.rollback()
        self.db.close()
        self.side.close()

    # The steps.

    def run(self) -> None:
        for _ in range(STEPS):
            self.step()
        self.drain()

    def step(self) -> None:
        actions = (
            [self.emit] * 4
            + [self.dispatch] * 4
            + [self.claim] * 5
            + [self.finish] * 7
            + [self.end_in_transaction] * 3
            + [self.leave] * 2
            + [self.die, self.come_late, self.promote, self.heal, self.operate, self.operate]
        )
        try:
            self.rng.choice(actions)()
        except psycopg.Error as error:
            if error.sqlstate not in BUSY:
                raise
        self.check()

    def check(self) -> None:
        found = broken(self.admin, self.leaving, self.orphans)
        if found:
            raise Broken(str(found))

    def emit(self) -> None:
        for _ in range(self.rng.randint(1, 4)):
            emit(self.db, key=self.rng.choice(KEYS))
        sequence(self.db)

    def dispatch(self) -> None:
        name = self.rng.choice(list(SUBSCRIPTIONS))
        self.db.call("dispatch_deliveries", subscription=name, most=self.rng.choice((1, 3, 100)))

    def claim(self) -> None:
        if len(self.workers) < 3:
            self.workers[self.db.worker(expiry_seconds=86400)] = []
        worker = self.rng.choice(list(self.workers))
        jobs = self.db.claim(worker, self.rng.choice((1, 2, 5, 20)), kinds=list(SUBSCRIPTIONS))
        self.workers[worker] += jobs
        at = {job.id: event_of(job)["position"] for job in jobs}
        for job in jobs:
            behind = job.row["behind"]
            if behind is not None and job.attempt == 1 and at[behind] >= at[job.id]:
                raise Broken(f"{job} comes before the one that it is behind")

    def lane(self) -> tuple[UUID, list[Held]] | None:
        """What a worker holds of one lane, in the order in which it runs it."""
        held = [worker for worker, jobs in self.workers.items() if jobs]
        if not held:
            return None
        worker = self.rng.choice(held)
        first = self.rng.choice([job for job in self.workers[worker] if self.is_first(job, worker)])
        chain = [first]
        behind = {job.row["behind"]: job for job in self.workers[worker]}
        while (job := behind.get(chain[-1].id)) is not None:
            chain.append(job)
        return worker, chain

    def is_first(self, job: Held, worker: UUID) -> bool:
        return job.row["behind"] not in {other.id for other in self.workers[worker]}

    def finish(self) -> None:
        """Some of a lane are done; perhaps the next one fails, and the rest goes back."""
        found = self.lane()
        if found is None:
            return
        worker, chain = found
        if chain[0].id in self.orphans:
            self.gone(worker, chain, self.db.release(*chain))
            return
        done = self.rng.randint(0, len(chain))
        if done:
            self.ended(worker, chain[:done], self.db.complete(*chain[:done]))
        left = chain[done:]
        if not left:
            return
        fate = self.rng.choice(("hold", "fail", "bury", "snooze", "release"))
        if fate == "hold":
            return
        if fate == "fail":
            self.gone(worker, left[:1], self.db.fail(left[0], delay=0))
        elif fate == "bury":
            self.excuse(left[0])
            self.gone(worker, left[:1], self.db.fail(left[0]))
        elif fate == "snooze":
            self.gone(worker, left[:1], self.db.snooze(left[0], delay=0))
        rest = left if fate == "release" else left[1:]
        self.orphans |= {job.id for job in rest}
        if rest:
            self.gone(worker, rest, self.db.release(*rest))

    def end_in_transaction(self) -> None:
        """A handler's own transaction: begun in one step, committed in another."""
        if self.open is not None:
            job, worker = self.open
            self.open = None
            self.side.rows("commit" if self.rng.random() < 0.8 else "rollback")
            if self.db.state(job.id) == "done":
                self.leaving.add(job.id)
                self.ended(worker, [job], [])
            return
        found = self.lane()
        if found is None:
            return
        worker, chain = found
        if chain[0].id in self.orphans:
            return
        self.side.rows("begin")
        try:
            self.side.call("complete_job", job_id=chain[0].id, attempt=chain[0].attempt)
        except psycopg.Error:
            self.side.rows("rollback")
            raise
        self.open = chain[0], worker

    def leave(self) -> None:
        self.db.call("leave_lanes", job_ids=list(self.leaving))
        self.leaving.clear()

    def heal(self) -> None:
        self.db.call("heal_lanes")
        self.leaving.clear()

    def die(self) -> None:
        if self.workers and self.open is None:
            worker = self.rng.choice(list(self.workers))
            behind = [job for job in self.workers[worker] if not self.is_first(job, worker)]
            self.db.call("unregister_worker", worker_id=worker)
            self.db.call("rescue_jobs", max_crashes=3)
            self.check_innocent(behind)
            for row in self.db.call("list_buried", most=1000):
                self.excused.add((row["subscription"], row["position"]))
            if not self.admin.rows("select from ostinato_data.claim where worker_id = %s", worker):
                self.stale += self.workers.pop(worker)
                self.orphans -= {job.id for job in self.stale}

    def check_innocent(self, behind: list[Held]) -> None:
        """What was behind another has not run: no crash may be noted for it."""
        crashes = {job.id: job.row["crashes"] for job in behind}
        for row in self.admin.rows(
            "select job_id, crashes from ostinato_data.ready where job_id = any (%s)"
            " union all select job_id, crashes from ostinato_data.scheduled where job_id = any (%s)",
            list(crashes),
            list(crashes),
        ):
            if row["crashes"] > crashes[row["job_id"]]:
                raise Broken(f"{row['job_id']} was behind another, and is blamed for a crash")

    def come_late(self) -> None:
        for job in self.stale:
            if self.db.complete(job) != [job.id]:
                raise Broken(f"a stale {job} was completed")
        self.stale.clear()

    def promote(self) -> None:
        self.db.call("promote_jobs")

    def operate(self) -> None:
        name = self.rng.choice(list(SUBSCRIPTIONS))
        match self.rng.choice(("redeliver", "discard", "replay", "pause", "resume", "cancel")):
            case "redeliver":
                self.db.call("redeliver", subscription=name)
            case "discard":
                (*_, last) = ({"position": 0}, *self.db.call("list_buried", subscription=name))
                self.db.call("discard", subscription=name, positions=[last["position"]])
            case "replay":
                start = self.rng.randint(1, 10)
                self.db.call("replay", subscription=name, from_position=start)
            case "pause":
                self.db.call("pause_subscription", name=name)
            case "resume":
                self.db.call("resume_subscription", name=name)
            case _:
                self.cancel_and_retry(name)

    def cancel_and_retry(self, name: str) -> None:
        rows = self.admin.rows(
            "select d.job_id, d.position from ostinato_data.delivery d where d.subscription = %s order by 1", name
        )
        if rows:
            row = self.rng.choice(rows)
            self.excused.add((name, row["position"]))
            self.db.call("cancel_job", job_id=row["job_id"])
            self.check()
            if self.db.state(row["job_id"]) == "cancelled":
                self.db.call("retry_job", job_id=row["job_id"])

    # What is known.

    def gone(self, worker: UUID, jobs: list[Held], refused: list[int]) -> None:
        if refused:
            raise Broken(f"the holder of {refused} was refused")
        ids = {job.id for job in jobs}
        self.orphans -= ids
        self.workers[worker] = [job for job in self.workers[worker] if job.id not in ids]

    def ended(self, worker: UUID, jobs: list[Held], refused: list[int]) -> None:
        self.gone(worker, jobs, refused)
        for job in jobs:
            event = event_of(job)
            name, key = event["subscription"], event["ordering_key"]
            if key is not None and (name, event["position"]) not in self.delivered:
                self.first[name, key].append(event["position"])
            self.delivered.add((name, event["position"]))

    def excuse(self, job: Held) -> None:
        event = event_of(job)
        self.excused.add((event["subscription"], event["position"]))

    # The end.

    def drain(self) -> None:
        if self.open is not None:
            self.end_in_transaction()
        for name in SUBSCRIPTIONS:
            self.db.call("resume_subscription", name=name)
        for worker in list(self.workers):
            self.db.call("unregister_worker", worker_id=worker)
        self.db.call("rescue_jobs", max_crashes=1000)
        self.workers = {self.db.worker(expiry_seconds=86400): []}
        (worker,) = self.workers
        self.heal()
        sequence(self.db)
        for _ in range(300):
            self.db.call("dispatch_events")
            self.db.call("promote_jobs")
            self.db.call("settle_cancels")
            for name in SUBSCRIPTIONS:
                self.db.call("redeliver", subscription=name)
            jobs = self.db.claim(worker, 50, kinds=list(SUBSCRIPTIONS))
            self.workers[worker] += jobs
            if jobs:
                self.ended(worker, jobs, self.db.complete(*jobs))
            self.check()
            if not jobs and not self.admin.rows("select from ostinato_data.delivery"):
                break
        self.check_end()

    def check_end(self) -> None:
        log = self.admin.rows("select position from ostinato_data.event_log")
        cancelled = {
            (args["subscription"], args["position"])
            for row in self.admin.rows(
                "select j.args::text from ostinato_data.job j join ostinato_data.outcome o"
                " on o.job_id = j.id and o.outcome = 'cancelled'"
            )
            for args in [json.loads(row["args"])]
        }
        wanted = {(name, row["position"]) for name in SUBSCRIPTIONS for row in log}
        if lost := wanted - self.delivered - cancelled:
            raise Broken(f"never delivered: {sorted(lost)}")
        for (name, key), positions in self.first.items():
            plain = [p for p in positions if (name, p) not in self.excused | cancelled]
            if plain != sorted(plain):
                raise Broken(f"{name} got {key} as {plain}")


def play(sessions: Sessions, admin: Session, seed: int) -> None:
    made = Play(sessions, admin, seed)
    try:
        made.run()
    finally:
        made.close()


@pytest.mark.parametrize("seed", first_only(range(SEEDS), each=lambda seed: min(seed, 3)))  # four of them
def test_no_history_breaks_a_lane(sessions: Sessions, admin: Session, seed: int) -> None:
    play(sessions, admin, seed)


FORGOTTEN = "ostinato_internal.forget_run(array[cancel_job.job_id], array[cancel_job.job_id])"
ENDED = "ostinato_internal.end_deliveries(array[cancel_job.job_id])"
MUTANTS = {
    "a lane is in several hands": (
        "dispatch_window",
        "row_number() over (partition by c.lane order by c.position) = 1 and",
        "true and",
    ),
    "what is dispatched overtakes what waits": ("dispatch_window", "and not o.open", "and false"),
    "the cursor skips what does not fit": (
        "dispatch_window",
        "case when (select count(*) from matching) = most",
        "case when false",
    ),
    "the next of a lane never goes": ("end_deliveries", "perform ostinato_internal.open_lanes(", "perform ("),
    "a lane goes on while one of it is held": ("open_lanes", "and o.lane = l.lane and o.open", "and false"),
    "the next of a lane is any": ("open_lanes", "order by d.position, d.job_id", "order by d.position desc"),
    "followers are taken while others hold the lane": (
        "take_followers",
        "and o.job_id <> d.job_id limit 1) is null",
        "and false limit 1) is null",
    ),
    "followers are not noted": (
        "take_followers",
        "update delivery d set open = true where d.job_id = any (v_got.job_ids);",
        "",
    ),
    "what is released stands beside the first": ("release_jobs", ", ostinato_internal.keep_order(v_done)", ""),
    "followers are blamed for a crash": (
        "rescue_claims",
        "perform ostinato_internal.release_followers(claim_ids);",
        "",
    ),
    "a dead letter blocks nothing": (
        "end_deliveries",
        "case v_sub.on_poison when 'skip' then over || dead else over end",
        "over || dead",
    ),
    "a cancelled one keeps its place": ("cancel_job", f"perform {FORGOTTEN}, {ENDED};", f"perform {FORGOTTEN};"),
    "a cancelled dead letter keeps its place": (
        "cancel_job",
        f"'cancelled'), {FORGOTTEN}, {ENDED},",
        f"'cancelled'), {FORGOTTEN},",
    ),
    "who comes back overtakes": ("rejoin_lanes", "perform ostinato_internal.keep_order(job_ids);", ""),
    "a paused subscription opens lanes": ("open_lanes", "if not sub.paused and", "if"),
    "what has not begun stays at a replay": ("drop_deliveries", "not d.open or", "false and"),
    "it is left before it is over": (
        "leave_lanes",
        "select o.job_id from outcome o where o.job_id = any (job_ids) and o.outcome = 'done'",
        "select unnest(job_ids)",
    ),
    "nobody heals": ("heal_lanes", "perform ostinato_internal.end_deliveries(v_strays);", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", first_only(MUTANTS))
def test_a_mutant_is_found(sessions: Sessions, admin: Session, name: str) -> None:
    with mutated(admin, name):
        for seed in range(TRIES):
            admin.rows(EMPTY)
            try:
                play(sessions, admin, seed)
            except (AssertionError, psycopg.Error) as found:
                if is_nonsense(found):
                    raise
                return
    pytest.fail(f"{name} survives {TRIES} seeds")


def is_nonsense(found: Exception) -> bool:
    """Whether the mutant's text cannot even run (class 42): that says nothing about the play."""
    return isinstance(found, psycopg.Error) and (found.sqlstate or "").startswith("42")


@contextmanager
def mutated(admin: Session, name: str) -> Iterator[None]:
    original, mutant = Mutant(name, *MUTANTS[name]).statements()
    admin.conn.execute(mutant.encode())
    try:
        yield
    finally:
        admin.conn.execute(original.encode())
