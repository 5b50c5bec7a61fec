"""The workers: a heart that beats, a poller that rescues and promotes, and hands that run jobs.

They do what the real ones do (runtime/worker.py), and more: they claim inside longer transactions,
stop in the middle, and go on with stale tokens after a freeze.
"""

from collections.abc import Callable
from functools import partial

from tests.simulation.calls import begin_call, claim_call, poll_call, reconcile_call, split_call
from tests.simulation.clients import enqueue_one, random_spec
from tests.simulation.model import SUSPECT, Model, Token, WorkerModel
from tests.simulation.runs import Runs, Steps, only, understand
from tests.simulation.steps import BEGIN, COMMIT, ROLLBACK, Answer, Broken, Call, Failed, Process, Sleep
from tests.simulation.verbs import settle_call
from tests.simulation.world import Crew, Task, World


def new_crew(world: World, after: float = 0.0) -> Crew:
    """A worker process that starts in so many seconds."""
    number = len(world.labels) + len(world.crews) + 1
    crew = Crew(f"w{number}", again=partial(new_crew, world))
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
        self.runs = Runs(world, crew)
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
                understand(error)

    def _start(self, part: Callable[[Task], Process], name: str, *, heart: bool = False) -> None:
        self.world.spawn(f"{self.crew.label}.{name}", part, crew=self.crew, heart=heart)

    def _round(self) -> Steps:
        if self.dead and self.rng.random() < 0.6:
            yield from self._be_reborn()
        elif self.rng.random() < 0.02:
            yield from self._stop()
        elif self.rng.random() < 0.1:
            yield reconcile_call(self.world, self.crew.worker_id, self.runs.held)
        elif self.runs.held and self.rng.random() < 0.2:
            yield from self._mark()
        elif len(self.runs.held) < self.config.batch and self.rng.random() < 0.6:
            yield from self._claim()
        elif len(self.crew.tasks) < 3 + self.config.runs and self.rng.random() < 0.5:
            self._start(self.runs.alone, "run")
        else:
            yield from self.runs.settle()

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
        self.runs.held.clear()
        self.suspects.clear()
        self.cursors.clear()
        yield from self._register()
        self.dead = False

    def _stop(self) -> Steps:
        """A graceful end: give back, unregister, and let a new process follow."""
        if self.runs.held and self.rng.random() < 0.8:
            yield settle_call(self.model, "release", list(self.runs.held.values()), [])
        yield Call("unregister_worker", {"worker_id": self.crew.worker_id}, commit=self._left)
        for task in list(self.crew.tasks):
            if task is not self.task:
                self.world.end(task)
        self.world.crews.remove(self.crew)
        if self.crew.again is not None:
            self.crew.again(self.rng.uniform(0, 5))
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
            self.runs.held[job_id] = Token(job_id, attempt, claim_id)
            if crashes >= SUSPECT:
                self.suspects.add(job_id)

    def _mark(self) -> Steps:
        """Says what begins, and whether alone, or sets jobs apart."""
        tokens = list(self.runs.held.values())
        some = self.rng.sample(tokens, self.rng.randint(1, len(tokens)))
        alone = self.rng.random() < 0.5
        split = self.rng.random() < 0.5
        call = split_call(self.world, some) if split else begin_call(self.world, some, alone=alone)
        if self.rng.random() < self.config.in_transaction:
            yield from self.runs.in_transaction(only(call), [])
        else:
            yield call

    def _claim_params(self, queue: str) -> dict[str, object]:
        some = self.rng.random() < 0.2
        return {
            "wanted": self.rng.randint(1, self.config.batch),
            "kinds": [self.rng.choice(self.config.kinds)] if some else None,
            "cursor": self.cursors.get(queue) if self.rng.random() < 0.7 else None,
            "suspects": not (self.suspects & set(self.runs.held)),
            "starts": self.rng.choice((None, 0, 1, self.config.batch)),
            "apart": self.rng.choice((None, list(self.config.kinds[:1]))),
        }
