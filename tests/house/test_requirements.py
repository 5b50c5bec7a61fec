"""What the package needs is declared, and locked with its hashes."""

import re
import tomllib
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import pytest
from httpcore._synchronization import current_async_library

from tools.sbom import bill

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


def brought_by(extra: str) -> set[str]:
    """What an extra brings, with the extras that it names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = set()
    for each in project["optional-dependencies"][extra]:
        own = re.fullmatch(r"ostinato\[(.+)\]", each)
        found |= set().union(*map(brought_by, own[1].split(","))) if own else {normal(NAME.findall(each)[0])}
    return found


@pytest.mark.parametrize("extra", ["api", "embedded", "lab", "capture", "enrichment", "outbound", "watchfolder"])
def test_who_posts_much_by_httpx_has_what_it_looks_for_at_every_request(extra: str) -> None:
    """A failing import is tried anew at every request: more than a tenth of what a request costs."""
    assert "sniffio" in brought_by(extra)


def test_what_httpx_looks_for_is_installed_beside_it() -> None:
    assert current_async_library.__code__.co_names.count("sniffio")  # if it looks for it no more, it is not needed
    assert find_spec("sniffio") is not None


def test_what_tests_need_is_not_what_the_package_needs() -> None:
    wanted = {line.partition(">")[0] for line in names("dev.in")}

    assert not wanted & declared()


def test_the_bill_of_materials_is_that_of_the_lock() -> None:
    """Check 23: every package that is locked, with its hashes, and nothing else."""
    lock = (ROOT / "requirements" / "run.lock").read_text(encoding="utf-8")

    found = bill(lock)["components"]

    assert {normal(each["name"]) for each in found} == names("run.lock")
    assert sum(len(each["externalReferences"][0]["hashes"]) for each in found) == lock.count("--hash=sha256:")
