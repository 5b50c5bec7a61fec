"""What the package needs is declared, and locked with its hashes."""

import re
import tomllib
from itertools import chain
from pathlib import Path

from ostinato._faces.cli.dev.sbom import bill

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"[A-Za-z0-9._-]+")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def names(file: str) -> set[str]:
    """The packages of a file of requirements."""
    lines = (ROOT / "requirements" / file).read_text(encoding="utf-8").splitlines()
    return {normal(found[0]) for line in lines if (found := NAME.match(line))}


def declared() -> set[str]:
    """What the package and its extras need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    found = (NAME.match(each) for each in [*project["dependencies"], *chain(*extras)])
    return {normal(each[0]) for each in found if each} - {"ostinato"}


def test_every_dependency_is_locked_for_those_who_run_it() -> None:
    assert declared() <= names("run.lock")
    assert names("run.lock") <= names("dev.lock")


def test_zones_are_known_where_the_system_has_no_data() -> None:
    assert "tzdata" in declared()


def test_what_tests_need_is_not_what_the_package_needs() -> None:
    wanted = {line.partition(">")[0] for line in names("dev.in")}

    assert not wanted & declared()


def test_the_bill_of_materials_is_that_of_the_lock() -> None:
    """Check 23: every package that is locked, with its hashes, and nothing else."""
    lock = (ROOT / "requirements" / "run.lock").read_text(encoding="utf-8")

    found = bill(lock)["components"]

    assert {normal(each["name"]) for each in found} == names("run.lock")
    assert sum(len(each["externalReferences"][0]["hashes"]) for each in found) == lock.count("--hash=sha256:")
