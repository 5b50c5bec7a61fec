"""One run: a seed, its configuration, the game, and then the quiet in which everything must come to an end."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.simulation.arena import Arena
from tests.simulation.clients import Enqueuer
from tests.simulation.config import Config
from tests.simulation.model import Token, WorkerModel
from tests.simulation.nemesis import Nemesis
from tests.simulation.operators import ACTORS, Operator, configure_call
from tests.simulation.steps import BEGIN, COMMIT, Broken, Call, Plain, Process, Sleep, shorten
from tests.simulation.verbs import settle_call
from tests.simulation.workers import claim_call, new_crew, poll_call
from tests.simulation.world import Task, World

LAST_LINES = 40
DRAIN_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class Run:
    """What became of a seed."""

    seed: int
    config: Config
    steps: int
    digest: str
    trace: list[str]
    broken: Broken | None

    def report(self) -> str:
        """For people: what broke, where it happened, and how to see it again."""
        lines = [
            f"seed {self.seed} breaks a promise: {self.broken}",
            "configuration:",
            *self.config.lines(),
            f"the last {min(LAST_LINES, len(self.trace))} steps (step, time, clock, who, what):",
            *self.trace[-LAST_LINES:],
            f"replay: python -m tests.simulation --seed {self.seed} --trace",
        ]
        return "\n".join(lines)


def run(
    arena: Arena,
    seed: int,
    *,
    on_line: Callable[[str], None] | None = None,
    look_always: bool = False,
) -> Run:
    """Play a seed. With `look_always` the database is compared with the model after every step."""
    config = Config.of(seed)
    world = World(arena, config)
    world.on_line, world.look_always = on_line, look_always
    broken: Broken | None = None
    try:
        _play(world)
    except Broken as found:
        broken = found
        world.log("broken", str(found))
    return Run(seed, config, len(world.trace), world.digest.hexdigest(), world.trace, broken)


def _play(world: World) -> None:
    config = world.config
    for name, limits in config.limits.items():
        task = world.spawn("setup", lambda _, n=name, li=limits: _once(configure_call(world, n, li)))
        while not task.over:
            world.step(task)
    for _ in range(config.workers):
        new_crew(world, after=round(world.rng.uniform(0, 3), 3))
    for number in range(config.enqueuers):
        world.spawn(f"client{number + 1}", Enqueuer(world).work)
    for name in sorted(config.actors):
        world.spawn(name, Operator(world, ACTORS[name]).work)
    if config.faults:
        world.spawn("nemesis", Nemesis(world).work)
    world.run(config.steps)
    world.quiesce()
    world.look()
    _drain(world)
    world.look()
    _check_end(world)


def _once(call: Call) -> Process:
    yield call


def _drain(world: World) -> None:
    """A healthy worker does all that is left. It must come to an end."""
    task = world.spawn("drain", Drain(world).work)
    for _ in range(DRAIN_STEPS):
        if task.over:
            return
        if task.wake_at > world.time:
            world.pass_time(task.wake_at - world.time)
        world.step(task)
    raise Broken("every job comes to an end", shorten([str(job) for job in world.model.live()]))


class Drain:
    """The healthy worker of the end."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.model = world.model
        config = world.config
        windows = (
            (queue.limits.rate_seconds or 0) + (queue.limits.key_rate_seconds or 0)
            for queue in self.model.queues.values()
        )
        self.patience = 4 * max(config.expiries) + 2 * sum(windows) + 30
        """How long nothing may happen although something should, in seconds."""
        self.pause = 0.4 * min(*config.expiries, 15.0)
        """Often enough that the polls are not taken for a gap."""

    def work(self, _: Task) -> Process:
        config = self.world.config
        for name in config.queues:
            queue = self.model.queues[name]
            yield Call("resume_queue", {"name": name}, commit=lambda _, q=queue: setattr(q, "paused", False))
        answer = yield Call("register_worker", {"name": "drain", "queues": list(config.queues), "kinds": list(config.kinds), "expiry_seconds": 30.0})
        worker_id = str(answer.value)
        self.world.labels[worker_id] = "drain"
        me = self.model.workers[worker_id] = WorkerModel("drain", 30.0, self.world.clock)
        quiet = 0.0
        while self.model.live() or any(job.cancel for job in self.model.jobs.values()):
            yield Call("heartbeat_worker", {"worker_id": worker_id})
            me.beat_at = self.world.clock
            poll = yield poll_call(self.world, worker_id)
            rescued, promoted, ready, due, _ = poll.rows[0]
            done = 0
            for queue in ready:
                params = {"wanted": 50, "kinds": None, "cursor": None, "suspects": True}
                got = yield claim_call(self.world, None, worker_id, queue, params)
                yield from self._finish([Token(row[0], row[1], row[4]) for row in got.rows])
                done += len(got.rows)
            if rescued or promoted or done:
                quiet = 0.0
                continue
            seconds = self._until_due(due, bool(ready))
            if seconds is None:
                seconds = self.pause
                quiet += seconds
                if quiet > self.patience:
                    left = shorten([str(job) for job in self.model.live()])
                    raise Broken("every job comes to an end", f"nothing moves any more: {left}")
            yield Sleep(seconds)

    def _until_due(self, next_due: float | None, ready: bool) -> float | None:
        """How long nothing can happen, because everything waits for its time; None: it should."""
        live = self.model.live()
        if ready or not live or any(job.phase == "held" for job in live):
            return None
        seconds = round(min(job.due for job in live) - self.world.clock, 3)
        if seconds <= 0:
            return None
        if next_due is None or next_due > seconds + 0.01:
            raise Broken("a poll tells when the next job is due", f"{next_due}, but in {seconds} s")
        return seconds + 0.001

    def _finish(self, tokens: list[Token]) -> Process:
        split = len(tokens) // 2
        if tokens[split:]:
            yield settle_call(self.model, "done_many", tokens[split:], [])
        for token in tokens[:split]:
            yield BEGIN
            yield Plain("note_effect", token[:2], commit=lambda _, t=token: self.model.effect(t))
            yield Call(
                "complete_job",
                {"job_id": token.job_id, "attempt": token.attempt},
                commit=lambda answer, t=token: self.model.settled("done", t, answer),
            )
            yield COMMIT


def _check_end(world: World) -> None:
    for job in world.model.jobs.values():
        if job.phase not in ("done", "dead", "cancelled", "gone"):
            raise Broken("every job comes to an end", str(job))
        if job.effects and job.phase not in ("done", "gone"):
            raise Broken("an effect belongs to a done job", str(job))
    rows = world.arena.look("everything")
    for what, job_id, attempt, *_ in rows:
        if what in ("ready", "scheduled", "claim", "cancel", "progress"):
            raise Broken("nothing is left over", f"{what} {shorten(job_id)} {attempt}")
