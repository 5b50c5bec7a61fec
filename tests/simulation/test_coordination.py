"""Leases, idempotency, the outbox, schedules, steps and children keep their promises in random histories.

`make test` plays some and tries a mutant of each concept; the rest are proofs. Thousands more:
`python -m tests.simulation --play coordination --seeds 5000`. What the promises are says the package
`coordination`.
"""

import sys
from collections.abc import Iterator

import pytest

from tests.simulation.arena import Arena, arena
from tests.simulation.coordination.mutants import MUTANTS
from tests.simulation.coordination.run import run_coordination
from tests.simulation.mutants import Mutant
from tests.slow import first_only

SEEDS_PER_TEST = 8
SEEDS = range(1, 76, SEEDS_PER_TEST)
MORE_SEEDS = 120  # for a mutant whose own seed does not find it any more

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with arena(tmp_path_factory.mktemp("coordination")) as made:
        yield made


@pytest.mark.parametrize("first", first_only(SEEDS), ids=lambda first: f"seeds {first} and following")
def test_no_history_breaks_a_promise(place: Arena, first: int) -> None:
    for seed in range(first, first + SEEDS_PER_TEST):
        played = run_coordination(place, seed)

        assert played.broken is None, played.report()


@pytest.mark.parametrize("first", first_only(SEEDS), ids=lambda first: f"seeds {first} and following")
def test_no_history_loses_a_child(place: Arena, first: int) -> None:
    for seed in range(first, first + SEEDS_PER_TEST):
        played = run_coordination(place, seed, concept="children")

        assert played.broken is None, played.report()


CONCEPTS = ["leases", "idempotency", "outbox", "schedules", "steps", "children"]


@pytest.mark.parametrize("concept", first_only(CONCEPTS))
def test_the_same_seed_is_the_same_run(place: Arena, concept: str) -> None:
    first = run_coordination(place, 7, concept=concept)
    run_coordination(place, 8, concept=concept)
    second = run_coordination(place, 7, concept=concept)

    assert second.trace == first.trace
    assert second.digest == first.digest


def sort_of(mutant: Mutant) -> str:
    """Of each concept one is quick, but of children: such a one takes a dozen seconds of a processor."""
    return CONCEPTS[0] if mutant.concept == "children" else mutant.concept


@pytest.mark.parametrize("mutant", first_only(MUTANTS, each=sort_of), ids=lambda mutant: mutant.name)
def test_a_mutant_is_found(place: Arena, mutant: Mutant, capsys: pytest.CaptureFixture[str]) -> None:
    seeds = [mutant.seed, *(seed for seed in range(1, MORE_SEEDS) if seed != mutant.seed)]
    with mutant.applied(place):
        plays = (run_coordination(place, seed, concept=mutant.concept) for seed in seeds)
        found = next((played for played in plays if played.broken), None)

    assert found is not None, f"{mutant.name} survives {len(seeds)} seeds"
    assert run_coordination(place, found.seed, concept=mutant.concept).broken is None, (
        "it breaks without the mutant, too"
    )
    with capsys.disabled():
        sys.stdout.write(f"  {mutant.name}: seed {found.seed}, {found.broken}\n")
