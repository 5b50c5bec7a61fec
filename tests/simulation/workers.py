"""The workers: a heart that beats, a poller that rescues and promotes, and hands that run jobs.

They do what the real ones do (runtime/worker.py), and more: they claim inside longer transactions, finish
parts of a batch in any way and order, stop in the middle, and go on with stale tokens after a freeze.
"""

from collections.abc import Generator
from functools import partial
from typing import Any

from tests.simulation.checks import SUSPECT, check_order
from tests.simulation.clients import enqueue_one, random_spec
from tests.simulation.limits import Holding, Start
from tests.simulation.model import Model, Token, WorkerModel
from tests.simulation.steps import (
    BEGIN,
    COMMIT,
    ROLLBACK,
    Answer,
    Broken,
    Call,
    Failed,
    Plain,
    Process,
    Sleep,
    Step,
    shorten,
)
from tests.simulation.verbs import settle_call
from tests.simulation.world import Crew, Task, World

Steps = Generator[Step, Any, None]


def new_crew(world: World, after: float = 0.0) -> Crew:
    """A worker process that starts in so many seconds."""
    number = len(world.labels) + len(world.crews) + 1
    crew = Crew(f"w{number}")
    world.crews.append(crew)
    hands = Hands(world, crew)
    world.spawn(f"{crew.label}.hands", hands.work, crew=crew, after=after)
    return crew


class Hands:
    """The part of a worker that claims and runs jobs."""

    def __init__(self, world: World, crew: Crew) -> None:
        self.world = world
        self.config = world.config
        self.rng = world.rng
        self.crew = crew
        self.expiry = self.rng.choice(self.config.expiries)
        self.held: dict[int, Token] = {}
        self.suspects: set[int] = set()
        self.cursors: dict[str, str | None] = {}
        self.task: Task | None = None
        self.dead = False
        """The heart was told that this worker counts as dead."""

    @property
    def model(self) -> Model:
        return self.world.model

    def work(self, task: Task) -> Process:
        self.task = task
        yield from self._register()
        self._start(self._beat, "heart", heart=True)
        self._start(self._poll, "poll")
        while True:
            yield Sleep(round(self.rng.choice((0, 0, 0, self.rng.uniform(0, 1))), 3))
            try:
                yield from self._round()
            except Failed as error:
                if not error.busy and not error.lost and not error.sqlstate.startswith("OS"):
                    raise Broken("no call fails without a reason", str(error)) from error

    def _start(self, part: Any, name: str, *, heart: bool = False) -> None:  # noqa: ANN401
        self.world.spawn(f"{self.crew.label}.{name}", part, crew=self.crew, heart=heart)

    def _round(self) -> Steps:
        if self.dead and self.rng.random() < 0.6:
            yield from self._be_reborn()
        elif self.rng.random() < 0.02:
            yield from self._stop()
        elif self.rng.random() < 0.1:
            yield self._reconcile()
        elif len(self.held) < self.config.batch and self.rng.random() < 0.6:
            yield from self._claim()
        elif self.held:
            yield from self._settle()

    # Life and death.

    def _register(self) -> Steps:
        params: dict[str, object] = {
            "name": self.crew.label,
            "queues": list(self.config.queues),
            "kinds": list(self.config.kinds),
            "expiry_seconds": self.expiry,
        }
        yield Call("register_worker", params, commit=self._registered)

    def _registered(self, answer: Answer) -> None:
        if self.crew.worker_id:
            self.model.workers[self.crew.worker_id].up = False
        self.crew.worker_id = str(answer.value)
        label = f"{self.crew.label}#{len(self.world.labels)}"
        self.world.labels[self.crew.worker_id] = label
        self.model.workers[self.crew.worker_id] = WorkerModel(label, self.expiry, answer.done_at)

    def _be_reborn(self) -> Steps:
        """Declared dead: forget everything and go on as a new worker."""
        self.held.clear()
        self.suspects.clear()
        self.cursors.clear()
        yield from self._register()
        self.dead = False

    def _stop(self) -> Steps:
        """A graceful end: give back, unregister, and let a new process follow."""
        if self.held and self.rng.random() < 0.8:
            yield settle_call(self.model, "release", list(self.held.values()), [])
        yield Call("unregister_worker", {"worker_id": self.crew.worker_id}, commit=self._left)
        for task in list(self.crew.tasks):
            if task is not self.task:
                self.world.end(task)
        self.world.crews.remove(self.crew)
        new_crew(self.world, after=self.rng.uniform(0, 5))
        while True:
            yield Sleep(1e6)

    def _left(self, _: Answer) -> None:
        worker = self.model.workers[self.crew.worker_id]
        worker.up = worker.registered = False

    def _beat(self, _: Task) -> Process:
        while True:
            yield Sleep(round(self.expiry / 3, 3))
            worker_id = self.crew.worker_id
            params: dict[str, object] = {"worker_id": worker_id, "draining": False}
            worker = self.model.workers[worker_id]
            answer = yield Call("heartbeat_worker", params, commit=partial(self._beaten, worker))
            if not answer.value and worker_id == self.crew.worker_id:
                self.dead = True

    def _beaten(self, worker: WorkerModel, answer: Answer) -> None:
        if answer.value != worker.registered:
            raise Broken("a heartbeat tells whether the worker counts", f"{worker}: {answer.value}")
        if answer.value:
            worker.beat_at, worker.frozen = answer.done_at, False

    def _poll(self, _: Task) -> Process:
        while True:
            yield Sleep(round(self.rng.uniform(1, 4), 3))
            yield poll_call(self.world, self.crew.worker_id)

    # Claim.

    def _claim(self) -> Steps:
        queue = self.rng.choice(self.config.queues)
        call = claim_call(self.world, self.task, self.crew.worker_id, queue, self._claim_params(queue))
        if self.rng.random() < self.config.in_transaction:
            yield BEGIN
            try:
                if self.rng.random() < 0.5:
                    yield enqueue_one(self.world, random_spec(self.world))
                    yield Sleep(round(self.rng.uniform(0, 3), 3))
                answer = yield call
                yield Sleep(round(self.rng.uniform(0, 1), 3))
                if self.rng.random() < 0.15:
                    yield ROLLBACK
                    return
                yield COMMIT
            except Failed as error:
                if not error.lost:
                    yield ROLLBACK
                raise
        else:
            answer = yield call
        rows = answer.rows
        self.cursors[queue] = rows[0][-1] if rows else None
        for job_id, attempt, _, crashes, claim_id, *_ in rows:
            self.held[job_id] = Token(job_id, attempt, claim_id)
            if crashes >= SUSPECT:
                self.suspects.add(job_id)

    def _claim_params(self, queue: str) -> dict[str, object]:
        some = self.rng.random() < 0.2
        return {
            "wanted": self.rng.randint(1, self.config.batch),
            "kinds": [self.rng.choice(self.config.kinds)] if some else None,
            "cursor": self.cursors.get(queue) if self.rng.random() < 0.7 else None,
            "suspects": not (self.suspects & set(self.held)),
        }

    def _reconcile(self) -> Call:
        """Give back what this worker was given without hearing of it."""
        worker_id, held = self.crew.worker_id, list(self.held)
        seconds = 10.0

        def commit(answer: Answer) -> None:
            tokens = self.model.unheard_of(worker_id, held, answer.done_at - seconds)
            if answer.value != len(tokens):
                raise Broken("what got lost on the way is given back", f"{answer.value}, not {tokens}")
            for token in tokens:
                self.model.settled("release", token, answer)

        params = {"worker_id": worker_id, "held": held, "seconds": seconds}
        return Call("reconcile_worker", params, commit=commit, may_wait=False)

    # Run and settle.

    def _settle(self) -> Steps:
        verb = self.rng.choices(*zip(*self.config.verbs.items(), strict=True))[0]
        many = verb not in ("done", "fence")
        count = self.rng.randint(1, len(self.held)) if many else 1
        tokens = self.rng.sample(list(self.held.values()), count)
        if verb == "done":
            yield from self._in_transaction(self._complete(tokens[0]), tokens)
        elif verb == "fence":
            yield from self._in_transaction(self._write_guarded(tokens[0]), [])
        else:
            delays = [round(self.rng.uniform(0, 20), 1) for _ in tokens]
            call = settle_call(self.model, verb, tokens, delays)
            if self.rng.random() < self.config.in_transaction:
                yield from self._in_transaction(_alone(call), tokens if verb != "progress" else [])
            else:
                yield call
                if verb != "progress":
                    self._forget(tokens)

    def _complete(self, token: Token) -> Steps:
        """Exactly once: the effect and the completion in one transaction."""
        place = self.model.effect
        yield Plain("note_effect", token[:2], commit=lambda _: place(token))
        if self.rng.random() < 0.5:
            yield Sleep(round(self.rng.uniform(0, 2), 3))
        claim_id = token.claim_id if self.rng.random() < 0.7 else None
        params: dict[str, object] = {"job_id": token.job_id, "attempt": token.attempt}
        yield Call(
            "complete_job",
            params | {"claim_id": claim_id},
            commit=lambda answer: self.model.settled("done", token, answer),
        )

    def _write_guarded(self, token: Token) -> Steps:
        params: dict[str, object] = {"job_id": token.job_id, "attempt": token.attempt}
        yield Call("fence_job", params | {"claim_id": token.claim_id})
        yield Sleep(round(self.rng.uniform(0, 2), 3))
        write = self.model.guarded_write
        yield Plain("note_guarded", token[:2], commit=lambda _: write(token))

    def _in_transaction(self, steps: Steps, tokens: list[Token]) -> Steps:
        """Some steps, then commit; forget the tokens when they are settled or lost."""
        yield BEGIN
        try:
            yield from steps
            yield Sleep(round(self.rng.uniform(0, 1), 3))
            yield COMMIT
        except Failed as error:
            if not error.lost:
                yield ROLLBACK
            if error.sqlstate == "OS410":
                for token in tokens:
                    self.model.check_refused("complete_job", token)
                self._forget(tokens)
            raise
        self._forget(tokens)

    def _forget(self, tokens: list[Token]) -> None:
        for token in tokens:
            self.held.pop(token.job_id, None)


def _alone(step: Step) -> Steps:
    yield step


def claim_call(
    world: World, task: Task | None, worker_id: str, queue: str, params: dict[str, Any]
) -> Call:
    """A claim, with what must be true of its answer."""
    model = world.model

    def check(answer: Answer) -> None:
        rows, limits = answer.rows, model.queues[queue].limits
        pid = task.session.pid if task is not None else 0
        starts = []
        for job_id, attempt, failures, crashes, *_ in rows:
            job = model.jobs.get(job_id)
            if job is None:
                continue  # of the same transaction, or a bug that the commit will show
            model.check_claimable(job, queue, attempt, failures, crashes)
            if any(start.session and start.job_id == job_id for start in model.queues[queue].starts):
                raise Broken("a job is held by one worker at most", f"{job} was claimed twice")
            times = (answer.done_at, world.time)
            key = job.spec.limit_key
            starts.append(Start(*times, job_id, key, pid, limits.any, limits.by_key))
        if len(rows) > params["wanted"] or sum(row[3] >= SUSPECT for row in rows) > params["suspects"]:
            raise Broken("a claim takes no more than it may", shorten([row[0] for row in rows]))
        held = (
            Holding(job.spec.limit_key, job.counted)
            for job in model.jobs.values()
            if job.phase == "held" and job.spec.queue == queue
        )
        model.queues[queue].check_claim(starts, held)
        model.queues[queue].note(starts)
        alone = not any(other.session.in_transaction for other in world.tasks)
        if alone and not limits.any and not model.queues[queue].paused:
            seen = world.arena.look("ready_rows", queue, rows[0][4] if rows else 0)
            first = params["cursor"] is None
            wanted, kinds, suspects = params["wanted"], params["kinds"], params["suspects"]
            check_order(seen, wanted, kinds, suspects=suspects, from_the_start=first)

    return Call(
        "claim_jobs",
        {"worker_id": worker_id, "queue": queue} | params,
        check=check,
        commit=lambda answer: world.claimed(worker_id, queue, answer),
    )


def poll_call(world: World, worker_id: str) -> Call:
    """A poll, with what must be true of its answer."""

    def commit(answer: Answer) -> None:
        rescued, _, _, _, cancels = answer.rows[0]
        found = world.model.rescued(world.arena.look("lost_runs")) if rescued else 0
        if found != rescued:
            raise Broken("a poll tells what it rescued", f"{rescued}, but {found} runs were lost")
        world.model.late_cancels()
        if world.model.may_lose_workers():
            world.model.saw_workers({row[0] for row in world.arena.look("workers")})
        expected = [
            job.id for job in world.model.jobs.values() if job.cancel and job.phase == "held" and job.worker == worker_id
        ]
        if sorted(cancels) != sorted(expected):
            raise Broken("a worker hears of cancel requests", f"{cancels}, expected {expected}")

    params: dict[str, object] = {
        "worker_id": worker_id,
        "queues": list(world.config.queues),
        "max_crashes": world.config.max_crashes,
    }
    return Call("poll_jobs", params, commit=commit)
