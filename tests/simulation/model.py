"""The model: what the engine has promised so far, kept in plain Python.

It learns from committed answers only, in the order of the commits, and knows nothing of locks, rows
or arrays. Every method is one verb; an answer that it cannot follow is a broken promise.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from tests.simulation.config import LIVE
from tests.simulation.limits import QueueModel
from tests.simulation.steps import Answer, Broken, Row, shorten

Phase = Literal["waiting", "held", "dead", "done", "cancelled", "gone"]
MICROSECOND = 1e-6
SUSPECT = 2  # crashes after which a job is run alone
DOUBT = 3  # so many times `max_crashes` bury a job while other processes die too
DEATH_SECONDS = 3600.0


class Token(NamedTuple):
    """What a worker knows of a job in its hands."""

    job_id: int
    attempt: int
    claim_id: int


@dataclass(frozen=True, slots=True)
class Spec:
    """A job as it was asked for."""

    kind: str
    queue: str
    tenant: str
    priority: int
    limit_key: str | None = None
    run_at: float | None = None
    unique_key: str | None = None
    policy: str = "return"
    states: tuple[str, ...] = LIVE

    @property
    def slot(self) -> str | None:
        """Whose slots it takes: a limit key belongs to its tenant."""
        return None if self.limit_key is None else f"{self.tenant}/{self.limit_key}"


@dataclass(slots=True)
class Job:
    """A job as it must be by now. `attempt` is the next one while it waits, else the last one."""

    id: int
    spec: Spec
    due: float
    phase: Phase = "waiting"
    attempt: int = 1
    failures: int = 0
    crashes: int = 0
    claim_id: int = 0
    own_claim: int = 0
    """The claim that it got for itself; its holder may go on to name the first one."""
    place: int = 0
    """Its place in the claim, where it shares one; 0 in a claim of its own."""
    begun: bool = False
    alone: bool = False
    worker: str = ""
    cancel: int = 0
    """The moment from which on a request to cancel it stands; 0 when there is none."""
    claimed_at: float = 0.0
    progress: bool = False
    effects: list[int] = field(default_factory=list)
    guarded: list[int] = field(default_factory=list)
    dead_of: str = ""
    finished_at: float = 0.0
    outcomes: dict[int, str] = field(default_factory=dict)

    @property
    def current_claim(self) -> int:
        return self.own_claim or self.claim_id

    def is_held_as(self, token: Token) -> bool:
        claims = (self.claim_id, self.current_claim)
        known = (self.id, self.attempt) == token[:2] and token.claim_id in claims
        return self.phase == "held" and known

    def __str__(self) -> str:
        return f"{shorten(self.id)} ({self.phase}, attempt {self.attempt}, claim {self.claim_id})"


@dataclass(slots=True)
class WorkerModel:
    """A worker as the others should see it."""

    label: str
    expiry: float
    beat_at: float
    up: bool = True
    registered: bool = True
    frozen: bool = False
    """It did not run for a while, and has not beaten since."""


@dataclass(slots=True)
class Model:
    """All of it."""

    max_crashes: int
    moment: int = 1
    """Grows with every commit."""
    now: float = 0.0
    stamp: float = 0.0
    """The clock at the statement whose commit is being followed."""
    latest: float = 0.0
    """The latest time that the database's clock ever showed."""
    jobs: dict[int, Job] = field(default_factory=dict)
    keys: dict[tuple[str, str], tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    workers: dict[str, WorkerModel] = field(default_factory=dict)
    queues: dict[str, QueueModel] = field(default_factory=dict)
    rescues: set[tuple[int, int]] = field(default_factory=set)
    deaths: list[tuple[float, str, set[int], bool]] = field(default_factory=list)
    """When, which worker, what had begun there, and whether it ran one job and nothing else."""

    def set_now(self, now: float) -> None:
        self.now = now
        self.latest = max(self.latest, now)

    def job(self, job_id: int, promise: str) -> Job:
        found = self.jobs.get(job_id)
        if found is None or found.phase == "gone":
            raise Broken(promise, f"there is no committed job {shorten(job_id)}")
        return found

    def live(self) -> list[Job]:
        return [job for job in self.jobs.values() if job.phase in ("waiting", "held")]

    # Enqueue.

    def enqueued(self, spec: Spec, job_id: int, answer: Answer) -> None:
        if job_id in self.jobs:
            return  # the holder of its key, see check_returned
        if spec.unique_key is not None:
            self._take_key(spec, job_id)
        due = answer.sent_at if spec.run_at is None else spec.run_at
        self.jobs[job_id] = Job(job_id, spec, due)

    def _take_key(self, spec: Spec, job_id: int) -> None:
        key = (spec.tenant, spec.unique_key or "")
        if key in self.keys:
            holder = self.jobs[self.keys[key][0]]
            if spec.policy != "replace" or holder.phase != "waiting":
                raise Broken("one live job per unique key", f"{shorten(job_id)} beside {holder}")
            self._finish(holder, "cancelled")
            self.keys.pop(key, None)
        self.keys[key] = (job_id, spec.states)

    def check_returned(self, spec: Spec, job_id: int) -> None:
        """An id that is not new must be that of the holder of the key."""
        if job_id in self.jobs:
            holder = self.keys.get((spec.tenant, spec.unique_key or ""), (0, ()))[0]
            if holder != job_id:
                raise Broken("a key is returned with its holder", f"{self.jobs[job_id]}, {spec}")

    # Claim and what comes after it.

    def claimed(self, worker: str, queue: str, answer: Answer, params: dict[str, Any]) -> None:
        starts, apart = params.get("starts"), params.get("apart") or []
        shared = 0
        for n, (job_id, attempt, failures, crashes, claim_id, kind, *_) in enumerate(answer.rows):
            job = self.job(job_id, "only committed jobs are claimed")
            self.check_claimable(job, queue, attempt, failures, crashes)
            job.phase, job.claim_id, job.worker = "held", claim_id, worker
            own = crashes >= SUSPECT or kind in apart
            shared += not own
            job.own_claim, job.place, job.alone = (claim_id if own else 0, 0 if own else shared, False)
            soon = n < starts and crashes < SUSPECT if starts is not None and own else False
            job.begun = starts is None or soon or (not own and shared <= starts)
            job.claimed_at = answer.done_at
            self._enter(job, "running")

    def began(self, tokens: list[Token], refused: set[int], *, alone: bool) -> None:
        """A worker said what it is about to start; what stands before it has begun, too."""
        for token in tokens:
            if token.job_id in refused:
                continue
            job = self.job(token.job_id, "only held jobs begin")
            if not job.is_held_as(token):
                raise Broken("only held jobs begin", f"{token} of {job}")
            for other in self.jobs.values():
                same = other.phase == "held" and other.current_claim == job.current_claim
                if same and other.place <= job.place:
                    other.begun = True
            job.alone = alone and job.own_claim > 0

    def split(self, claims: Iterable[Row]) -> None:
        """Jobs may have got a claim of their own: `own_claims` tells which."""
        for job_id, attempt, claim_id, split_from in claims:
            job = self.job(job_id, "only held jobs are split")
            if not job.is_held_as(Token(job_id, attempt, split_from)):
                raise Broken("only held jobs are split", f"attempt {attempt} of {job}")
            if not job.own_claim:
                job.own_claim, job.place, job.begun = claim_id, 0, True

    def check_claimable(self, job: Job, queue: str, attempt: int, failures: int, crashes: int) -> None:
        if job.phase != "waiting" or job.spec.queue != queue:
            raise Broken("a job is held by one worker at most", f"{job} was claimed from {queue}")
        if job.due > self.latest + MICROSECOND:
            raise Broken("nothing starts before its time", f"{job} is due at {job.due}")
        expected = (job.attempt, job.failures, job.crashes)
        if (attempt, failures, crashes) != expected:
            got = f"{job} came as {(attempt, failures, crashes)}, expected {expected}"
            raise Broken("attempts, failures and crashes are counted right", got)

    def settled(self, verb: str, token: Token, answer: Answer, delay: float | None = None) -> None:
        """A verb of a worker was accepted."""
        job = self.job(token.job_id, "no stale write is accepted")
        if not job.is_held_as(token):
            raise Broken("no stale write is accepted", f"{verb} {token} of {job}")
        # A request counts if it stood when the verb was sent; a later one stays for the next poll.
        asked = 0 < job.cancel <= answer.sent
        if verb in ("done", "cancel") or asked:
            if job.cancel <= answer.done:
                job.cancel = 0
            self._end_run(job, "done" if verb == "done" else "cancelled")
        elif verb == "bury":
            self._end_run(job, "dead")
            job.dead_of = "failed"
        else:
            if verb == "fail":
                job.outcomes[job.attempt] = "failed"
                job.failures += 1
            elif verb == "snooze":
                job.crashes = 0
            self._wait_again(job, answer.sent_at + (delay or 0.0))

    def unheard_of(self, worker: str, held: Iterable[int], before: float) -> list[Token]:
        """The jobs that a worker was given before a time and does not know of."""
        known = set(held)
        return [
            Token(job.id, job.attempt, job.claim_id)
            for job in self.jobs.values()
            if job.phase == "held" and job.worker == worker
            if job.claimed_at < before - MICROSECOND and job.id not in known
        ]

    def check_refused(self, verb: str, token: Token) -> None:
        job = self.jobs.get(token.job_id)
        if job is not None and job.is_held_as(token):
            raise Broken("the holder of a job is never refused", f"{verb} {token} of {job}")

    def noted(self, token: Token) -> None:
        job = self.job(token.job_id, "no stale progress is accepted")
        if not job.is_held_as(token):
            raise Broken("no stale progress is accepted", f"{token} of {job}")
        job.progress = True

    def effect(self, token: Token) -> None:
        job = self.job(token.job_id, "an effect takes place at most once")
        job.effects.append(token.attempt)
        if len(job.effects) > 1:
            raise Broken("an effect takes place at most once", f"{job}: attempts {job.effects}")

    def guarded_write(self, token: Token) -> None:
        job = self.job(token.job_id, "a fenced write is the holder's")
        if not job.is_held_as(token):
            raise Broken("a fenced write is the holder's", f"{token} wrote for {job}")
        job.guarded.append(token.attempt)

    # Operators.

    def cancelled(self, job_id: int, state: str, seen: int | None = None) -> None:
        """A job was cancelled; requests that stood by the moment `seen` are fulfilled with it."""
        if state in ("done", "cancelled"):
            return  # nothing was done
        job = self.job(job_id, "cancel sees the job")
        if state == "running":
            # It waits for nobody: the run may have ended since. Then the next poll fulfils it.
            job.cancel = job.cancel or self.moment
            return
        self.check_state(job, state)
        self._forget_request(job, seen)
        if state in ("ready", "scheduled"):
            self._finish(job, "cancelled")
        elif state == "dead":
            job.attempt = max(job.outcomes) + 1
            self._finish(job, "cancelled")

    def _forget_request(self, job: Job, seen: int | None) -> None:
        if seen is not None and job.cancel <= seen:
            job.cancel = 0

    def check_state(self, job: Job, state: str | None) -> None:
        phase = {"ready": "waiting", "scheduled": "waiting", "running": "held"}.get(state or "gone", state)
        if phase != job.phase:
            raise Broken("the state of a job is told right", f"{job} is said to be {state}")

    def late_cancels(self) -> list[Job]:
        """The jobs with a request to cancel that came too late for the run it was meant for."""
        return [job for job in self.jobs.values() if job.cancel and job.phase != "held"]

    def fulfilled(self, late: list[Job]) -> None:
        """A poll fulfilled such requests."""
        for job in late:
            job.cancel = 0
            if job.phase in ("waiting", "dead"):
                self.cancelled(job.id, "dead" if job.phase == "dead" else "ready")

    def retried(self, job_id: int, state: str, answer: Answer) -> None:
        job = self.job(job_id, "retry sees the job")
        self.check_state(job, state)
        job.due = answer.sent_at
        self._forget_request(job, answer.done)
        if state != "scheduled":
            self._back_from_the_dead(job)

    def redriven(self, gone: Iterable[int], answer: Answer) -> None:
        for job_id in gone:
            job = self.jobs[job_id]
            job.due = self.now
            self._forget_request(job, answer.done)
            self._back_from_the_dead(job)

    def _back_from_the_dead(self, job: Job) -> None:
        key = (job.spec.tenant, job.spec.unique_key or "")
        if job.spec.unique_key is not None and self.keys.get(key, (0,))[0] != job.id:
            if key in self.keys:
                raise Broken("one live job per unique key", f"{job} came back beside {self.keys[key]}")
            self.keys[key] = (job.id, job.spec.states)
        job.phase, job.attempt = "waiting", max(job.outcomes) + 1
        job.failures = job.crashes = 0

    def pruned(self, ids: set[int], keys: set[int], cutoff: float) -> None:
        """Upkeep forgot jobs: only finished ones, and none before its time.

        `ids` are the jobs that are left, `keys` those that still hold a unique key: that of a
        forgotten job stays until the next upkeep.
        """
        for job in self.jobs.values():
            if job.phase != "gone" and job.id not in ids:
                if job.phase not in ("done", "cancelled") or job.finished_at > cutoff:
                    raise Broken("retention forgets only what is finished and old", str(job))
                job.phase = "gone"
        for key, (job_id, _) in list(self.keys.items()):
            if self.jobs[job_id].phase == "gone" and job_id not in keys:
                del self.keys[key]

    # Rescue.

    def rescued(self, rows: Sequence[Row], held: set[tuple[int, int]]) -> int:
        """Runs were taken back from their workers: `lost_runs` tells which."""
        count = 0
        self._note_deaths([self.jobs[row[0]] for row in rows if (row[0], row[1]) not in self.rescues], held)
        for job_id, attempt, outcome, worker_id in rows:
            if (job_id, attempt) in self.rescues:
                continue
            self.rescues.add((job_id, attempt))
            self._rescue_one(self.jobs[job_id], attempt, outcome, self.workers[worker_id])
            count += 1
        return count

    def given_back(self, held: set[tuple[int, int]]) -> int:
        """What had not begun goes back as it was; `held` is what workers still hold."""
        back = self._not_begun(held)
        for job in back:
            worker = self.workers[job.worker]
            if worker.registered:
                self._check_dead(worker, f"{job} was taken")
            self._wait_again(job, job.due)
        return len(back)

    def _not_begun(self, held: set[tuple[int, int]]) -> list[Job]:
        """What was taken back before it began."""
        return [
            job
            for job in self.jobs.values()
            if job.phase == "held" and not job.begun and (job.id, job.attempt) not in held
        ]

    def _note_deaths(self, lost: list[Job], held: set[tuple[int, int]]) -> None:
        taken = lost + self._not_begun(held)
        for worker in {job.worker for job in taken}:
            its = [job for job in taken if job.worker == worker]
            begun = {job.id for job in its if job.begun}
            self.deaths.append((self.now, worker, begun, any(job.alone for job in its)))

    def _others_died(self, job: Job) -> bool:
        """Whether processes died within the hour that had nothing to do with a job."""
        own = {worker for _, worker, begun, _ in self.deaths if job.id in begun}
        return any(
            not alone and worker not in own and abs(self.now - at) <= DEATH_SECONDS
            for at, worker, _, alone in self.deaths
        )

    def may_lose_workers(self) -> bool:
        """Whether some worker is silent for so long that a poll may remove it."""
        return any(
            worker.registered and abs(self.now - worker.beat_at) > worker.expiry for worker in self.workers.values()
        )

    def saw_workers(self, ids: set[str]) -> None:
        """Which workers are registered, after a poll removed the dead ones."""
        for worker_id, worker in self.workers.items():
            if worker.registered and worker_id not in ids:
                self._check_dead(worker, "was removed")
                worker.registered = False

    def _check_dead(self, worker: WorkerModel, what: str) -> None:
        age = self.now - worker.beat_at
        details = f"{what}: {worker}, last beat {age:.2f} s ago"
        if abs(age) <= worker.expiry:
            raise Broken("nobody counts as dead before the expiry", details)
        if worker.up and not worker.frozen:
            raise Broken("a living worker keeps its jobs", details)

    def _rescue_one(self, job: Job, attempt: int, outcome: str, worker: WorkerModel) -> None:
        if job.phase != "held" or job.attempt != attempt:
            raise Broken("only held jobs are rescued", f"{job}, attempt {attempt}")
        if worker.registered:
            self._check_dead(worker, f"{job} was taken")
        crashes = job.crashes + 1 if job.alone else max(job.crashes, min(job.crashes + 1, SUSPECT))
        buried = job.alone and crashes >= SUSPECT + self.max_crashes
        if buried and outcome == "lost" and crashes < SUSPECT + DOUBT * self.max_crashes:
            buried = not self._others_died(job)  # a rescue that has not committed yet may be unseen
        expected = "cancelled" if job.cancel else "dead" if buried else "lost"
        if outcome != expected or not (job.begun or job.cancel):
            got = f"{job} with {crashes} crashes became {outcome}, expected {expected}"
            raise Broken("only a job that killed processes alone is buried", got)
        if outcome == "cancelled":
            job.cancel = 0
        if outcome == "lost":
            job.outcomes[attempt] = "lost"
            job.crashes = crashes
            self._wait_again(job, self.now)
        else:
            self._end_run(job, outcome)
            job.dead_of = "worker_lost"

    # Moves.

    def _end_run(self, job: Job, phase: Phase | str) -> None:
        job.progress = False
        self._finish(job, phase)

    def _finish(self, job: Job, phase: Phase | str) -> None:
        if job.outcomes and job.attempt <= max(job.outcomes):
            raise Broken("the outcomes of a job count up", f"{job}: {job.outcomes}")
        job.outcomes[job.attempt] = phase
        job.phase = phase  # type: ignore[assignment]
        job.finished_at = self.stamp
        self._enter(job, phase)

    def _wait_again(self, job: Job, due: float) -> None:
        job.progress = False
        job.phase, job.due = "waiting", due
        job.attempt += 1

    def _enter(self, job: Job, state: str) -> None:
        """A job gives its unique key up when it enters a state outside the chosen ones."""
        key = (job.spec.tenant, job.spec.unique_key or "")
        holder, states = self.keys.get(key, (0, ()))
        if holder == job.id and state not in states:
            del self.keys[key]
