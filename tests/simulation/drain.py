"""The end of a run: a healthy worker does all that is left, and nothing may be left over."""

from collections.abc import Generator
from functools import partial
from typing import Any

from tests.simulation.calls import claim_call, poll_call
from tests.simulation.model import Token, WorkerModel
from tests.simulation.steps import BEGIN, COMMIT, Answer, Broken, Call, Failed, Plain, Process, Sleep, Step, shorten
from tests.simulation.verbs import settle_call
from tests.simulation.world import Task, World

MOST_STEPS = 20_000
EXPIRY = 30.0
LONG_AGO = -1e10


def drain(world: World) -> None:
    """Let the healthy worker work until every job has come to an end."""
    task = world.spawn("drain", Drain(world).work)
    for _ in range(MOST_STEPS):
        if task.over:
            break
        if task.wake_at > world.time:
            world.pass_time(task.wake_at - world.time)
        try:
            world.step(task)
        except Failed as error:  # nobody else is there any more
            raise Broken("no call fails without a reason", str(error)) from error
    for job in world.model.jobs.values():
        if job.phase not in ("done", "dead", "cancelled", "gone"):
            raise Broken("every job comes to an end", str(job))
        if job.effects and job.phase not in ("done", "gone"):
            raise Broken("an effect belongs to a job that is done", str(job))


class Drain:
    """The healthy worker."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.config = world.config
        self.model = world.model
        windows = (
            (queue.limits.rate_seconds or 0) + (queue.limits.key_rate_seconds or 0)
            for queue in self.model.queues.values()
        )
        self.patience = 4 * max(self.config.expiries) + 2 * sum(windows) + 30
        """How long nothing may happen although something should, in seconds."""
        self.pause = 0.4 * min(*self.config.expiries, 15.0)
        """Often enough that the polls are not taken for a gap."""
        self.quiet = 0.0

    def work(self, _: Task) -> Process:
        for name in self.config.queues:
            yield Call("resume_queue", {"name": name}, commit=partial(self._resumed, name))
        worker_id = yield from self._register()
        while self.model.live() or any(job.cancel for job in self.model.jobs.values()):
            yield Call("heartbeat_worker", {"worker_id": worker_id})
            self.model.workers[worker_id].beat_at = self.world.clock
            poll = yield poll_call(self.world, worker_id)
            rescued, promoted, ready, due, _, _ = poll.rows[0]
            done = 0
            for queue in ready:
                params = {"wanted": 50, "kinds": None, "cursor": None, "suspects": True}
                answer = yield claim_call(self.world, None, worker_id, queue, params)
                yield from self._finish([Token(row[0], row[1], row[4]) for row in answer.rows])
                done += len(answer.rows)
            if rescued or promoted or done:
                self.quiet = 0.0
            else:
                yield Sleep(self._seconds(due, ready))

    def _register(self) -> Generator[Step, Any, str]:
        params: dict[str, object] = {
            "name": "drain",
            "queues": list(self.config.queues),
            "kinds": list(self.config.kinds),
            "expiry_seconds": EXPIRY,
        }
        answer = yield Call("register_worker", params)
        worker_id = str(answer.value)
        self.world.labels[worker_id] = "drain"
        self.model.workers[worker_id] = WorkerModel("drain", EXPIRY, self.world.clock)
        return worker_id

    def _resumed(self, name: str, _: Answer) -> None:
        self.model.queues[name].paused = False

    def _seconds(self, next_due: float | None, ready: list[str]) -> float:
        """How long to sleep: to the time that everything waits for, or a little."""
        live = self.model.live()
        dues = [job.due for job in live if job.due > LONG_AGO]  # others wait for their children, and have no time
        if dues and not ready and not any(job.phase == "held" for job in live):
            seconds = round(min(dues) - self.world.clock, 3)
            if seconds > 0:
                if next_due is None or next_due > seconds + 0.01:
                    details = f"said {next_due}, but it is {seconds}"
                    raise Broken("a poll tells when the next job is due", details)
                return seconds + 0.001
        self.quiet += self.pause
        if self.quiet > self.patience:
            left = shorten([str(job) for job in live])
            raise Broken("every job comes to an end", f"nothing moves any more: {left}")
        return self.pause

    def _finish(self, tokens: list[Token]) -> Process:
        half = len(tokens) // 2
        if tokens[half:]:
            yield settle_call(self.model, "done_many", tokens[half:], [])
        for token in tokens[:half]:
            yield BEGIN
            yield Plain("note_effect", token[:2], commit=partial(self._effect, token))
            params: dict[str, object] = {"job_id": token.job_id, "attempt": token.attempt}
            yield Call("complete_job", params, commit=partial(self.model.settled, "done", token))
            yield COMMIT

    def _effect(self, token: Token, _: Answer) -> None:
        self.model.effect(token)
