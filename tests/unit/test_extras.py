"""What is installed is known from metadata, and what is not says how to install it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ostinato._core.base import extras
from ostinato._core.base.errors import NotConfigured

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Make distributions with these requirements, in a folder that is looked at first."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(name: str, *requires: str) -> None:
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0"]
        told = [*lines, *(f"Requires-Dist: {each}" for each in requires)]
        (info / "METADATA").write_text("\n".join(told) + "\n")

    return make


def test_an_extra_that_is_all_there_misses_nothing(install: Install) -> None:
    install("soap")
    install("wash", 'soap>=1; extra == "clean"', 'starch>=1; extra == "stiff"')

    assert extras.missing("clean", "wash") == []
    assert extras.missing("stiff", "wash") == ["starch"]
    assert extras.missing("no-such-extra", "wash") == []


def test_extras_may_name_each_other_and_those_of_others(install: Install) -> None:
    install("soap", 'scent; extra == "rose"')
    install("wash", 'soap[rose]; extra == "clean"', "wash[clean]; extra == 'all'", 'starch; extra == "all"')

    assert extras.missing("all", "wash") == ["scent", "starch"]


def test_what_depends_on_more_than_the_extra_is_left_to_pip(install: Install) -> None:
    install("wash", 'starch; sys_platform == "plan9" and extra == "clean"', "water")

    assert extras.missing("clean", "wash") == []


def test_a_distribution_that_is_not_installed_misses_nothing() -> None:
    assert extras.missing("clean", "no-such-distribution") == []


def test_a_part_that_is_not_there_is_refused_with_the_command(install: Install) -> None:
    install("wash", 'starch; extra == "stiff"', 'blue; extra == "stiff"')

    with pytest.raises(NotConfigured) as refused:
        extras.need("stiff", "the iron", "wash")

    assert refused.value.message == "the iron is not installed: starch, blue are missing"
    assert refused.value.hint == "pip install 'wash[stiff]'"
