"""The nemesis: crashes, freezes, lost answers, cut connections, outages, and a clock that jumps."""

from tests.simulation.stage import Crew
from tests.simulation.steps import Process, Sleep
from tests.simulation.world import Task, World

DAY = 86400.0


class Nemesis:
    """Does one thing after the other; never two that shake the clock within one beat."""

    def __init__(self, world: World, longest: float = 0.0) -> None:
        self.world = world
        self.rng = world.rng
        self.faults = sorted(world.config.faults)
        self.expiry = max(longest, *world.config.expiries)
        self.calm_seconds = round(self.expiry / 3 + 0.1, 3)

    def work(self, _: Task) -> Process:
        pause = self.world.config.fault_seconds
        while True:
            yield Sleep(round(self.rng.uniform(0.3, 1.7) * pause, 3))
            match self.rng.choice(self.faults):
                case "crash":
                    self._crash()
                case "lost_answer":
                    yield from self._lose_answer()
                case "freeze":
                    self._freeze()
                case "cut":
                    self._cut()
                case "outage":
                    self._outage()
                    yield Sleep(self.calm_seconds)
                case "jump":
                    far = [10 * DAY] * 5 if "upkeep" in self.world.config.actors else []
                    self.world.jump(self.rng.choice([2.0, 6.5, 12.0, 40.0, 3600.0, *far]))
                    yield Sleep(self.calm_seconds)
                case _:
                    self.world.jump(-self.rng.choice([0.4, 6.5, 20.0, 3600.0]))
                    yield Sleep(self.calm_seconds)

    def _crash(self) -> None:
        if self.world.crews:
            crew = self.rng.choice(self.world.crews)
            self.world.crash(crew)
            self._start_again(crew)

    def _lose_answer(self) -> Process:
        crews = [crew for crew in self.world.crews if crew.worker_id or not crew.deaf]
        if not crews:
            return
        crew = self.rng.choice(crews)
        crew.unheard = self.rng.choice(("dies", "lives"))
        while crew in self.world.crews and crew.unheard:
            yield Sleep(0.5)
        if crew in self.world.crews:
            return
        self._start_again(crew)

    def _start_again(self, crew: Crew) -> None:
        if crew.again is not None:
            crew.again(round(self.rng.uniform(0, 8), 3))

    def _freeze(self) -> None:
        awake = [crew for crew in self.world.crews if crew.frozen_until <= self.world.time]
        busy = [crew for crew in awake if any(task.session.in_transaction for task in crew.tasks)]
        if busy and self.rng.random() < 0.7:
            awake = busy
        if awake:
            crew = self.rng.choice(awake)
            self.world.freeze(crew, round(self.rng.uniform(1, 3 * self.expiry), 3))

    def _cut(self) -> None:
        open_ones = [task for task in self.world.tasks if task.session.in_transaction]
        if open_ones:
            self.world.lose_connection(self.rng.choice(open_ones))

    def _outage(self) -> None:
        """Nobody reaches the database for a while; after a restart all transactions are gone."""
        seconds = round(self.rng.choice((self.rng.uniform(1, 8), self.rng.uniform(8, 90))), 3)
        self.world.log("database", f"is away for {seconds:g} s")
        if self.rng.random() < 0.5:
            for task in list(self.world.tasks):
                if not task.over and task.session.in_transaction:
                    self.world.lose_connection(task)
        self.world.pass_time(seconds)
