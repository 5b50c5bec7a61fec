"""The stage: one thread, many logical processes, and a scheduler that picks who goes next.

A process is a generator over a connection of its own. Each thing that it yields is one step: a
statement, `begin`, `commit`, `rollback`, or sleep. A process between two steps is suspended, with
its transaction open and its locks held, for as long as chance wants: so transactions interleave.

A statement that meets the lock of a suspended transaction really waits for it, in the database,
when the configuration says so; one at a time, so that no two statements ever run at once. All
others that meet a lock are told to try again later.

There are two times. `time` is the true one; the database's clock follows it until it is jumped.
"""

import hashlib
import random
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from tests.simulation.arena import Arena, world_sql
from tests.simulation.session import Session, call_text
from tests.simulation.steps import (
    Answer,
    Call,
    Control,
    Failed,
    Hook,
    Plain,
    Process,
    Row,
    Sleep,
    Statement,
    Step,
    shorten,
)

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
IDLE_SECONDS = 30.0  # the server ends transactions that are idle for longer


class Habits(Protocol):
    """What the scheduler asks of the configuration of a run."""

    @property
    def rng(self) -> random.Random: ...

    @property
    def waits(self) -> float:
        """How many of the calls that meet a lock wait for it; the others try again later."""

    @property
    def hurry(self) -> float:
        """How often the time moves, per step."""

    @property
    def longest_step(self) -> float:
        """How far the time moves at once, in seconds."""

    @property
    def look_every(self) -> int:
        """After how many steps the whole database is compared with the model."""


@dataclass(eq=False)
class Task:
    """A process with its connection."""

    name: str
    process: Process
    session: Session
    crew: "Crew | None"
    heart: bool = False
    wake_at: float = 0.0
    next: Step | None = None
    sent_at: float = 0.0
    sent: int = 0
    pending: list[tuple[Hook, Answer]] = field(default_factory=list)
    """What the model learns when the transaction is committed."""
    cut_off: bool = False
    """The server ended its transaction while it was frozen; it will notice."""
    over: bool = False


@dataclass(eq=False)
class Crew:
    """The processes of one worker: they live, freeze and die together."""

    label: str
    tasks: list[Task] = field(default_factory=list)
    worker_id: str = ""
    again: "Callable[[float], object] | None" = None
    """Starts another one in its place, in so many seconds."""
    deaf: bool = True
    """Nobody would notice that an answer to it gets lost."""
    frozen_until: float = 0.0
    freezes: int = 0
    unheard: Literal["", "dies", "lives"] = ""
    """The answer to its next commit gets lost, because it dies or because the connection breaks."""


class Stage(ABC):
    """Everything that happens in one run; what is judged, and how, says the play."""

    def __init__(self, arena: Arena, habits: Habits) -> None:
        self.arena = arena
        self.habits = habits
        self.rng = habits.rng
        self.time = 0.0
        self.drift = 0.0
        self.tasks: list[Task] = []
        self.crews: list[Crew] = []
        self.waiting: Task | None = None
        self.trace: list[str] = []
        self.labels: dict[str, str] = {}
        self.digest = hashlib.sha256()
        self.on_line: Callable[[str], None] | None = None
        self.look_always = False
        arena.empty()

    # What a play adds.

    @property
    @abstractmethod
    def moment(self) -> int:
        """The number of commits that the model has followed."""

    @abstractmethod
    def follow(self, task: Task, pending: list[tuple[Hook, Answer]]) -> None:
        """A transaction was committed."""

    @abstractmethod
    def look(self) -> None:
        """Compare what is committed with the model."""

    @abstractmethod
    def undo(self, task: Task) -> None:
        """A transaction was rolled back."""

    @abstractmethod
    def time_passed(self) -> None:
        """The clock shows another time."""

    @abstractmethod
    def crashed(self, crew: Crew) -> None:
        """The processes of a crew are gone."""

    @abstractmethod
    def froze(self, crew: Crew) -> None:
        """The processes of a crew stand still for a while."""

    @abstractmethod
    def check_may_wait(self, task: Task, statement: Statement) -> None:
        """A statement met a lock: complain if it must not."""

    # Processes.

    def spawn(
        self,
        name: str,
        start: Callable[[Task], Process],
        *,
        crew: Crew | None = None,
        heart: bool = False,
        after: float = 0.0,
    ) -> Task:
        task = Task(name, iter(()), self.arena.session(), crew, heart)  # type: ignore[arg-type]
        task.process = start(task)
        task.wake_at = self.time + after
        self.tasks.append(task)
        if crew is not None:
            crew.tasks.append(task)
        return task

    def end(self, task: Task) -> None:
        """A process is gone, and what it did not commit."""
        if task.over:
            return
        task.over = True
        task.process.close()
        if self.waiting is task or task.session.in_transaction:
            self._cut(task)
        self.tasks.remove(task)
        if task.crew is not None:
            task.crew.tasks.remove(task)
        self.arena.give_back(task.session)

    def _cut(self, task: Task) -> None:
        """The connection of a process breaks."""
        if self.waiting is task:
            self.waiting = None
        self._end_transaction(task, committed=False)
        self.arena.set_clock(self.clock)  # somebody who waited may go on
        self.arena.kill(task.session)
        self._wake_waiting()

    def lose_connection(self, task: Task) -> None:
        """As `_cut`; the process lives on and hears of it."""
        self._cut(task)
        self.log(task.name, "connection lost")
        self._resume(task, error=Failed(Failed.LOST, "connection lost"))

    def crash(self, crew: Crew) -> None:
        self.log(crew.label, "crash")
        for task in list(crew.tasks):
            self.end(task)
        self.crews.remove(crew)
        self.crashed(crew)

    def freeze(self, crew: Crew, seconds: float) -> None:
        self.log(crew.label, f"freezes for {seconds:g} s")
        crew.frozen_until = self.time + seconds
        crew.freezes += 1
        self.froze(crew)
        for task in crew.tasks:
            task.cut_off = seconds > IDLE_SECONDS and task.session.in_transaction

    # Time.

    @property
    def clock(self) -> float:
        return round(self.time + self.drift, 3)

    def pass_time(self, seconds: float) -> None:
        self.time = round(self.time + seconds, 3)
        self.time_passed()

    def jump(self, seconds: float) -> None:
        self.drift = round(self.drift + seconds, 3)
        self.pass_time(0)
        self.log("clock", f"jumps by {seconds:g} s")

    def advance(self) -> None:
        """Let time pass, but not beyond what a living worker needs for its next beat."""
        chosen = self.rng.uniform(0.01, self.habits.longest_step)
        beats = [task.wake_at for task in self.tasks if task.heart and self._is_awake(task)]
        until = min([self.time + chosen, *beats])
        self.pass_time(max(0.0, round(until - self.time, 3)))

    # The scheduler.

    def run(self, steps: int) -> None:
        """Go on until so many statements were executed."""
        looked = 0
        while len(self.trace) < steps:
            ready = [task for task in self.tasks if self._can_run(task)]
            hearts = any(task.heart for task in ready)
            if not ready or (not hearts and self.rng.random() < self.habits.hurry):
                self.advance()
            else:
                self.step(self.rng.choice(ready))
            if len(self.trace) >= looked + (1 if self.look_always else self.habits.look_every):
                looked = len(self.trace)
                self.look()

    def _is_awake(self, task: Task) -> bool:
        return task.crew is None or task.crew.frozen_until <= self.time

    def _can_run(self, task: Task) -> bool:
        return task is not self.waiting and task.wake_at <= self.time and self._is_awake(task)

    def step(self, task: Task) -> None:
        """One step of one process."""
        cut_off, task.cut_off = task.cut_off, False
        if cut_off and task.session.in_transaction:
            self.lose_connection(task)
        elif task.next is None or isinstance(task.next, Sleep):
            self._resume(task)
        else:
            self._execute(task, task.next)

    def _execute(self, task: Task, statement: Statement) -> None:
        self.arena.set_clock(self.clock)
        task.sent_at, task.sent = self.clock, self.moment
        task.session.send(*_text(statement))
        if self.arena.comes_to_an_end(task.session):
            self._finish(task)
            return
        self.check_may_wait(task, statement)
        leave = not isinstance(statement, Control) and statement.may_wait
        if leave and self.waiting is None and self.rng.random() < self.habits.waits:
            self.waiting = task
            self.log(task.name, f"{statement} waits …")
        else:
            self.arena.cancel(task.session)
            self._finish(task)

    def _finish(self, task: Task) -> None:
        """A statement is done: the model learns, the process goes on to its next step."""
        statement = task.next
        assert statement is not None
        assert not isinstance(statement, Sleep)
        try:
            rows = task.session.rows()
        except Failed as error:
            self.log(task.name, f"{statement} ! {error}")
            self._end_transaction(task, committed=False)
            self._resume(task, error=error)
            self._wake_waiting()
            return
        self.log(task.name, f"{statement}{self._shown(rows)}")
        answer = Answer(rows, task.sent_at, self.clock, task.sent, self.moment)
        if isinstance(statement, Call | Plain):
            if statement.check is not None:
                statement.check(answer)
            if statement.commit is not None:
                task.pending.append((statement.commit, answer))
        ended = not task.session.in_transaction
        if ended:
            self._end_transaction(task, committed=statement != Control("rollback"))
        self._go_on(task, answer, ended=ended)
        if ended and isinstance(statement, Control):
            self._wake_waiting()

    def _go_on(self, task: Task, answer: Answer, *, ended: bool) -> None:
        crew = task.crew
        if crew is None or not crew.unheard or not ended or task is not crew.tasks[0]:
            self._resume(task, answer)
        elif crew.unheard == "dies":
            self.log(crew.label, "dies before it hears of the commit")
            self.crash(crew)
        else:
            crew.unheard = ""
            self.lose_connection(task)

    def _end_transaction(self, task: Task, *, committed: bool) -> None:
        pending, task.pending = task.pending, []
        if committed:
            self.follow(task, pending)
        else:
            self.undo(task)

    def _wake_waiting(self) -> None:
        """A transaction ended: whoever waited for it goes on now, before anybody else."""
        task = self.waiting
        if task is not None and self.arena.comes_to_an_end(task.session):
            self.waiting = None
            self._finish(task)

    def _resume(self, task: Task, answer: Answer | None = None, error: Failed | None = None) -> None:
        try:
            if error is not None:
                task.next = task.process.throw(error)
            else:
                task.next = task.process.send(answer)
        except StopIteration:
            self.end(task)
            return
        if isinstance(task.next, Sleep):
            task.wake_at = round(self.time + task.next.seconds, 3)

    # Quiet.

    def quiesce(self) -> None:
        """All faults end, and with them everybody who was at work."""
        self.log("world", "everybody stops")
        if self.waiting is not None:
            self.end(self.waiting)
        for task in list(self.tasks):
            if task.session.in_transaction:
                task.session.run(b"rollback")  # as good as a cut, and cheaper
                self._end_transaction(task, committed=False)
            self.end(task)
        for crew in list(self.crews):
            self.crash(crew)

    # Trace.

    def log(self, who: str, what: str) -> None:
        what = UUID.sub(lambda found: self.labels.get(found[0], "(new id)"), what)
        line = f"{len(self.trace):4} {self.time:9.3f} {self.clock:9.3f}  {who:10} {what}"
        self.trace.append(line)
        self.digest.update(line.encode())
        if self.on_line is not None:
            self.on_line(line)

    def _shown(self, rows: list[Row]) -> str:
        if not rows:
            return ""
        cells = (" ".join(shorten(value) for value in row) for row in rows)
        text = " | ".join(cells)
        return f" -> {text if len(text) <= 300 else text[:297] + '…'}"


def _text(statement: Statement) -> tuple[bytes, list[object] | None]:
    match statement:
        case Call(function, params):
            return call_text(function, tuple(params)), list(params.values())
        case Plain(name, values):
            return world_sql(name), list(values)
        case Control(word):
            return word.encode(), None
