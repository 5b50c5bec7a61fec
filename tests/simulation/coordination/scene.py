"""The scene: the world of jobs, and the concepts that play in it."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

from tests.simulation.arena import Arena
from tests.simulation.clients import START
from tests.simulation.config import Config
from tests.simulation.stage import Crew, Task
from tests.simulation.steps import BEGIN, COMMIT, ROLLBACK, Broken, Call, Failed, Process, Row, Statement, Step
from tests.simulation.world import World

MICROSECOND = 1e-6

Steps = Generator[Step, Any, None]
Actor = Callable[[Crew], Process]


@dataclass(slots=True)
class Keeper:
    """Somebody who renews what it holds, as long as it lives."""

    crew: Crew
    freezes: int
    disturbed: bool = False
    """A renewal met a lock: no promise is made until the next one."""
    over: bool = False
    """It does not need it any more."""

    def renewed(self) -> None:
        self.freezes, self.disturbed = self.crew.freezes, False


class Scene(World):
    """One run of the coordination play."""

    def __init__(self, arena: Arena, config: Config) -> None:
        super().__init__(arena, config)
        arena.has_coordination = True
        self.concepts: list[Concept] = []
        self.names: frozenset[str] = frozenset()
        """Of the concepts that play."""
        self._crews = 0

    @property
    def has_workers(self) -> bool:
        """Whether somebody polls, and so ticks."""
        return bool(self.names & {"steps", "children"})

    def look(self) -> None:
        super().look()
        for concept in self.concepts:
            concept.look()

    def check_may_wait(self, task: Task, statement: Statement) -> None:
        super().check_may_wait(task, statement)
        for concept in self.concepts:
            concept.check_may_wait(task, statement)

    def crew(self, name: str, actor: Actor, after: float = 0.0) -> Crew:
        """A process that can freeze, die and be followed by another one of its kind."""
        self._crews += 1
        crew = Crew(f"{name}{self._crews}", deaf=False)
        crew.again = lambda after: self.crew(name, actor, after)
        self.crews.append(crew)
        self.spawn(crew.label, lambda _: actor(crew), crew=crew, after=after)
        return crew

    def perform(self, call: Call) -> None:
        """One call, at once, before anything else happens."""

        def work(_: Task) -> Process:
            yield call

        task = self.spawn("setup", work)
        while not task.over:
            self.step(task)

    def is_kept(self, keeper: Keeper | None) -> bool:
        """Whether somebody lives who renews in time: not dead, not frozen since, not hindered."""
        if keeper is None or keeper.disturbed or keeper.over:
            return False
        return keeper.crew in self.crews and keeper.crew.freezes == keeper.freezes

    def is_calm(self) -> bool:
        """Whether no transaction is open."""
        return not any(task.session.in_transaction for task in self.tasks)


class Concept(ABC):
    """A concept of the engine: who uses it, what it has promised so far, and what that means."""

    name: ClassVar[str]
    needs_workers: ClassVar[bool] = False
    never_wait: ClassVar[tuple[str, ...]] = ()
    """Functions that meet no lock."""
    longest: float = 0.0
    """The longest time for which somebody may be silent, in seconds."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.rng = scene.rng

    @abstractmethod
    def start(self) -> None:
        """Let the actors begin."""

    @abstractmethod
    def look(self) -> None:
        """Compare the tables with the model."""

    def settle(self) -> Process:
        """What must be done before the jobs can come to an end."""
        yield from ()

    @abstractmethod
    def drain(self) -> Process:
        """What must still come to an end when all faults are over."""

    def check_may_wait(self, task: Task, statement: Statement) -> None:
        """A statement met a lock: complain if it must not."""
        if isinstance(statement, Call) and statement.function in self.never_wait:
            raise Broken("who must not wait does not", f"{task.name}: {statement}")

    def pause(self, most: float = 1.0) -> float:
        return round(self.rng.uniform(0, most), 3)

    def habits(self) -> str:
        """What this seed drew, for the report."""
        hidden = ("scene", "rng")
        plain = (str, int, float, tuple, bool)
        shown = {n: v for n, v in vars(self).items() if n not in hidden and isinstance(v, plain)}
        return f"  {self.name}: " + ", ".join(f"{n} = {v}" for n, v in shown.items())


def transaction(steps: Steps, *, keep: bool = True) -> Steps:
    """Some steps in one transaction."""
    yield BEGIN
    try:
        yield from steps
    except Failed as error:
        if not error.lost:
            yield ROLLBACK
        raise
    yield COMMIT if keep else ROLLBACK


def understand(error: Failed, *expected: str) -> None:
    """An actor goes on after a lock, a lost connection, and errors that it expects."""
    if not error.busy and not error.lost and error.sqlstate not in expected:
        raise Broken("no call fails without a reason", str(error)) from error


def seconds_of(text: str) -> float:
    """A time of the database, in seconds since the start."""
    return round((datetime.fromisoformat(text) - START).total_seconds(), 6)


def same(promise: str, found: Iterable[Row], expected: Iterable[Row]) -> None:
    """What is committed must be exactly what the model has followed."""
    there, wanted = Counter(found), Counter(expected)
    if there != wanted:
        missing, extra = list((wanted - there).elements()), list((there - wanted).elements())
        raise Broken(promise, f"missing {missing[:4]}; too much {extra[:4]}")


def config_of(seed: int) -> Config:
    """The circumstances of a seed: those of the job play, with a quiet job engine."""
    config = Config.of(seed)
    rng = config.rng
    return replace(
        config,
        mood="",
        steps=rng.randint(100, 320),
        workers=0,
        enqueuers=0,
        limits={},
        queues=("a",),
        kinds=("k1",),
        unique_keys=(),
        limit_keys=(None,),
        tenants=("t1", "t2")[: rng.randint(1, 2)],
        actors=frozenset(),
        faults=config.faults | ({rng.choice(("crash", "freeze", "outage"))} - {""}),
        extras=rng.choice((0.3, 0.7)),
        verbs={"done": 2, "done_many": 1, "fail": rng.choice((0, 1)), "release": rng.choice((0, 1))},
    )
