"""Hundreds of kills at the default of `max_crashes`: no healthy job is buried, and a guilty one is."""

import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ostinato._core.base.settings import Settings
from tests.simulation.arena import Arena, arena
from tests.simulation.config import Config
from tests.simulation.mutants import DEADLY, Mutant
from tests.simulation.run import play
from tests.simulation.steps import Broken
from tests.simulation.world import World
from tests.slow import first_only

KILLS = 500
SOME_KILLS = 40
DEFAULT = Settings().max_crashes
MORE_SEEDS = 40  # for a mutant whose own seed does not find it any more

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with arena(tmp_path_factory.mktemp("kills")) as made:
        yield made


def deadly(seed: int) -> Config:
    """Workers that hold many jobs die every few seconds; the jobs do what jobs do."""
    return replace(
        Config.of(seed),
        mood="workers are killed",
        steps=320,
        workers=3,
        batch=6,
        bulk=8,
        backlog=15,
        faults=frozenset({"crash"}),
        actors=frozenset(),
        fault_seconds=1.0,
        expiries=(6.0,),
        max_crashes=DEFAULT,
        limits={},
        verbs={"done": 4, "done_many": 4, "progress": 1},
        hurry=0.25,
        longest_step=3.0,
    )


@pytest.mark.parametrize("wanted", first_only([SOME_KILLS, KILLS]))
def test_no_healthy_job_is_buried_over_hundreds_of_kills(
    place: Arena, wanted: int, capsys: pytest.CaptureFixture[str]
) -> None:
    kills = jobs = suspects = seed = 0
    while kills < wanted:
        seed += 1
        world = World(place, deadly(seed))
        play(world)
        played = world.trace[: next(n for n, line in enumerate(world.trace) if "stops" in line)]
        kills += sum(line.endswith(" crash") for line in played)
        jobs += len(world.model.jobs)
        lost = [list(job.outcomes.values()).count("lost") for job in world.model.jobs.values()]
        suspects += sum(count >= 2 for count in lost)
        buried = [job for job in world.model.jobs.values() if job.phase == "dead"]

        assert buried == [], f"seed {seed}"
    with capsys.disabled():
        sys.stdout.write(f"  {kills} kills, {jobs} jobs, {suspects} suspects, none buried\n")


@pytest.mark.proof
@pytest.mark.parametrize("mutant", DEADLY, ids=lambda mutant: mutant.name)
def test_a_mutant_is_found(place: Arena, mutant: Mutant, capsys: pytest.CaptureFixture[str]) -> None:
    seeds = [mutant.seed, *(seed for seed in range(1, MORE_SEEDS) if seed != mutant.seed)]
    with mutant.applied(place):
        found = next((seed for seed in seeds if breaks(place, seed)), None)

    assert found is not None, f"{mutant.name} survives {len(seeds)} seeds"
    assert not breaks(place, found), f"seed {found} breaks without the mutant"
    with capsys.disabled():
        sys.stdout.write(f"  {mutant.name}: seed {found}\n")


def breaks(place: Arena, seed: int) -> bool:
    """Whether a promise is broken where one death of a process that ran a job alone is too many."""
    try:
        play(World(place, replace(deadly(seed), max_crashes=1)))
    except Broken:
        return True
    return False
