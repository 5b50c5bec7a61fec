"""The model of steps: what each job has done for good, and what it waits for."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.simulation.coordination.scene import MICROSECOND, Scene, same
from tests.simulation.model import Token
from tests.simulation.steps import Answer, Broken, Row

FAR = 1e11  # seconds: when nobody knows how long it takes


@dataclass(slots=True)
class Done:
    """A step that is stored."""

    type: str
    name: str
    attempt: int
    until: float = 0.0


@dataclass(slots=True)
class Wait:
    """A job waits for an event."""

    position: int
    event: str
    key: str
    attempt: int
    deadline: float


@dataclass(slots=True)
class StepModel:
    """The steps of all jobs."""

    scene: Scene
    steps: dict[int, dict[int, Done]] = field(default_factory=lambda: defaultdict(dict))
    waits: dict[int, Wait] = field(default_factory=dict)
    effects: list[Row] = field(default_factory=list)
    events: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Which events each job took."""

    def check_held(self, token: Token, what: str) -> None:
        job = self.scene.model.jobs[token.job_id]
        if not job.is_held_as(token):
            raise Broken("no stale step is accepted", f"{what} {token} of {job}")

    def saved(self, token: Token, position: int, name: str) -> None:
        self.check_held(token, "step")
        mine = self.steps[token.job_id]
        old = mine.get(position)
        if old is not None and (old.type, old.attempt, old.name) != ("call", token.attempt, name):
            details = f"{token}, position {position} is {old}"
            raise Broken("a committed step is never repeated", details)
        if position > len(mine) + 1:
            raise Broken("the steps of a job have no gaps", f"{token}, position {position}: {mine}")
        mine.setdefault(position, Done("call", name, token.attempt))

    def took_effect(self, token: Token, position: int) -> None:
        if (token.job_id, position) in self.effects:
            raise Broken("a step's own writes take place once", f"{token}, position {position}")
        self.effects.append((token.job_id, position))

    def slept(self, token: Token, position: int, seconds: float, answer: Answer) -> None:
        self.check_held(token, "sleep")
        now = answer.sent_at
        fresh = Done("sleep", "sleep", token.attempt, now + seconds)
        step = self.steps[token.job_id].setdefault(position, fresh)
        self._leave(token, max(0.0, step.until - now), answer)

    def waited(self, token: Token, wait: Wait, answer: Answer) -> None:
        self.check_held(token, "wait")
        if wait.position in self.steps[token.job_id]:  # it ended while the job asked for it again
            self._leave(token, 0.0, answer)
            return
        old = self.waits.get(token.job_id)
        if old is None or (old.position, old.event, old.key) != (wait.position, wait.event, wait.key):
            self.waits[token.job_id] = wait
        self._leave(token, max(0.0, self.waits[token.job_id].deadline - answer.sent_at), answer)

    def _leave(self, token: Token, seconds: float, answer: Answer) -> None:
        """The job leaves its worker; the time that the call itself had to wait comes on top."""
        self.scene.model.settled("snooze", token, answer, seconds)
        self.scene.model.jobs[token.job_id].due = answer.done_at + seconds

    # Ends of waits.

    def ended(self, rows: Iterable[Row]) -> list[tuple[int, Row]]:
        """Waits that ended, by the steps that there are (job, position, type, name, attempt, …)."""
        found = []
        for row in rows:
            job_id, position = row[:2]
            if position in self.steps[job_id]:
                continue
            wait = self.waits.get(job_id)
            if wait is None or wait.position != position or row[2] not in ("event", "timeout"):
                raise Broken("only the holder's steps are stored", str(row))
            if row[3] != f"{wait.event}/{wait.key}" or row[4] != wait.attempt:
                raise Broken("a wait ends with its own event", f"{row}, {wait}")
            found.append((job_id, row))
        return found

    def end(self, ended: list[tuple[int, Row]], at: float) -> None:
        for job_id, (_, position, type_, name, attempt, event_id) in ended:
            wait = self.waits[job_id]
            if type_ == "timeout" and wait.deadline > at + MICROSECOND:
                raise Broken("a wait times out at its deadline", f"{wait} at {at}")
            if event_id is not None:
                if event_id in self.events[job_id]:
                    raise Broken("an event ends one wait of a job", f"{wait}, event {event_id}")
                self.events[job_id].add(event_id)
            self.steps[job_id][position] = Done(type_, name, attempt)
            del self.waits[job_id]
            job = self.scene.model.jobs[job_id]
            if job.phase == "waiting" and type_ == "event":
                job.due = min(job.due, at)

    def compare(self, rows: list[Row], effects: list[Row]) -> None:
        expected = [
            (job_id, position, step.type, step.name, step.attempt)
            for job_id, steps in self.steps.items()
            for position, step in steps.items()
        ]
        same("a committed step is kept as it is", [row[:5] for row in rows], expected)
        same("a step's own writes take place once", effects, self.effects)
