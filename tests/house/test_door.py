"""Applications and the lab come through one door: nobody else knows them by name."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "ostinato"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
NAMES = sorted(PROJECT["entry-points"]["ostinato.apps"])

MOST_DEPENDENCIES = 8


def elsewhere() -> list[Path]:
    """Every file of the package that is none of an application's own."""
    files = [file for kind in ("py", "sql", "html", "js", "css", "po", "txt") for file in SOURCE.rglob(f"*.{kind}")]
    return [file for file in files if SOURCE / "apps" not in file.parents]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_an_application_stands_outside_its_folder(name: str) -> None:
    word = re.compile(rf"\b{name}\b", re.IGNORECASE)
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in elsewhere()
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if word.search(line)
    ]

    assert found == []


def test_every_application_has_an_extra_of_its_name() -> None:
    assert len(NAMES) == 5
    assert set(NAMES) <= set(EXTRAS)


def test_the_plain_install_is_light() -> None:
    assert len(PROJECT["dependencies"]) <= MOST_DEPENDENCIES


def test_all_is_every_extra() -> None:
    (everything,) = EXTRAS["all"]
    inside = re.fullmatch(r"ostinato\[(.*)\]", everything)

    assert inside is not None
    assert set(inside[1].split(",")) == set(EXTRAS) - {"all"}
