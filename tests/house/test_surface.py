"""What users import is small, sorted, typed and documented."""

from importlib import resources
from types import ModuleType

import pytest

import ostinato

NAMES: list[str] = ostinato.__all__


def test_the_surface_is_small() -> None:
    assert len(NAMES) <= 20


def test_the_surface_is_sorted_and_lists_nothing_twice() -> None:
    assert sorted(set(NAMES)) == NAMES


def test_the_surface_is_exactly_what_can_be_imported() -> None:
    reachable = {
        name
        for name, value in vars(ostinato).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }

    assert reachable <= set(NAMES)
    assert all(hasattr(ostinato, name) for name in NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("_")])
def test_every_public_name_is_documented(name: str) -> None:
    assert getattr(ostinato, name).__doc__


def test_the_types_are_shipped() -> None:
    assert (resources.files("ostinato") / "py.typed").is_file()
