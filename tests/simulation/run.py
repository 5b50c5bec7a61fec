"""One run: a seed, its configuration, the game, and the quiet in which everything ends."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.simulation.arena import Arena
from tests.simulation.clients import Enqueuer
from tests.simulation.config import Config
from tests.simulation.drain import drain
from tests.simulation.nemesis import Nemesis
from tests.simulation.operators import ACTORS, Operator, configure_call
from tests.simulation.steps import Broken, Process
from tests.simulation.workers import new_crew
from tests.simulation.world import Task, World

LAST_LINES = 40


@dataclass(frozen=True, slots=True)
class Run:
    """What became of a seed."""

    seed: int
    config: Config
    steps: int
    digest: str
    trace: list[str]
    broken: Broken | None
    more: list[str] = field(default_factory=list)
    """What else there is to say of its circumstances."""
    options: str = ""
    """Those of the command line that replay it."""

    def report(self) -> str:
        """For people: what broke, where it happened, and how to see it again."""
        lines = [
            f"seed {self.seed} breaks a promise: {self.broken}",
            "configuration:",
            *self.config.lines(),
            *self.more,
            f"the last {min(LAST_LINES, len(self.trace))} steps (step, time, clock, who, what):",
            *self.trace[-LAST_LINES:],
            f"replay: python -m tests.simulation{self.options} --seed {self.seed} --trace",
        ]
        return "\n".join(lines)


def run(arena: Arena, seed: int, *, on_line: Callable[[str], None] | None = None, look_always: bool = False) -> Run:
    """Play a seed. With `look_always` the tables are compared with the model after every step."""
    config = Config.of(seed)
    world = World(arena, config)
    world.on_line, world.look_always = on_line, look_always
    broken: Broken | None = None
    try:
        play(world)
    except Broken as found:
        broken = found
        world.log("broken", str(found))
    return Run(seed, config, len(world.trace), world.digest.hexdigest(), world.trace, broken)


def play(world: World) -> None:
    """The game of a world, and the quiet after it."""
    config = world.config
    _set_limits(world)
    for _ in range(config.workers):
        new_crew(world, after=round(world.rng.uniform(0, 3), 3))
    for number in range(config.enqueuers):
        world.spawn(f"client{number + 1}", Enqueuer(world).work)
    for name in sorted(config.actors):
        for number in range(2 if name == "operate" else 1):
            world.spawn(f"{name}{number + 1}", Operator(world, ACTORS[name]).work)
    if config.faults:
        world.spawn("nemesis", Nemesis(world).work)
    world.run(config.steps)
    world.quiesce()
    world.look()
    drain(world)
    world.look()


def _set_limits(world: World) -> None:
    def work(_: Task) -> Process:
        for name, limits in world.config.limits.items():
            yield configure_call(world, name, limits)

    task = world.spawn("setup", work)
    while not task.over:
        world.step(task)
