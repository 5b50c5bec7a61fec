"""The signature test: the engine keeps its promises in hundreds of random histories.

`make test` plays some and tries one mutant; the rest are proofs, for `make test-faults`. Thousands more:
`python -m tests.simulation --seeds 5000`. What the promises are says the package.
"""

import sys
from collections.abc import Iterator

import pytest

from tests.simulation.arena import Arena, arena
from tests.simulation.coordination.mutants import MUTANTS as COORDINATION
from tests.simulation.mutants import DEADLY, MUTANTS, Mutant
from tests.simulation.run import run
from tests.slow import first_only

SEEDS_PER_TEST = 12
SEEDS = range(1, 126, SEEDS_PER_TEST)
MORE_SEEDS = 120  # for a mutant whose own seed does not find it any more

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with arena(tmp_path_factory.mktemp("simulation")) as made:
        yield made


@pytest.mark.parametrize("first", first_only(SEEDS), ids=lambda first: f"seeds {first} and following")
def test_no_history_breaks_a_promise(place: Arena, first: int) -> None:
    for seed in range(first, first + SEEDS_PER_TEST):
        played = run(place, seed)

        assert played.broken is None, played.report()


@pytest.mark.parametrize("seed", first_only([5, 19, 35]))
def test_the_same_seed_is_the_same_run(place: Arena, seed: int) -> None:
    first = run(place, seed)
    run(place, seed + 1)
    second = run(place, seed)

    assert second.trace == first.trace
    assert second.digest == first.digest


def test_another_seed_is_another_run(place: Arena) -> None:
    assert run(place, 1).digest != run(place, 2).digest


@pytest.mark.parametrize("mutant", first_only(MUTANTS), ids=lambda mutant: mutant.name)
def test_a_mutant_is_found(place: Arena, mutant: Mutant, capsys: pytest.CaptureFixture[str]) -> None:
    seeds = [mutant.seed, *(seed for seed in range(1, MORE_SEEDS) if seed != mutant.seed)]
    with mutant.applied(place):
        plays = (run(place, seed) for seed in seeds)
        found = next((played for played in plays if played.broken), None)

    assert found is not None, f"{mutant.name} survives {len(seeds)} seeds"
    assert run(place, found.seed).broken is None, "it breaks without the mutant, too"
    with capsys.disabled():
        sys.stdout.write(f"  {mutant.name}: seed {found.seed}, {found.broken}\n")


def test_every_mutant_still_changes_one_place_of_a_function() -> None:
    """Without a database: whether it is found is a proof, that there is something to find is not."""
    for mutant in (*MUTANTS, *DEADLY, *COORDINATION):
        original, mutated = mutant.statements()

        assert mutated != original, mutant.name
