"""The commands of the pages, typed by a reader beside a running system; tests/docs/blocks.py has the convention."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.docs.blocks import blocks, pages
from tests.docs.reader import Reader, at_home
from tests.house.source import ROOT, shown

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

OWN_TEST = {"docs/tutorial/tutorial.md"}  # tests/docs/test_tutorial.py: from an empty folder, with the wheel
TYPED = [page for page in pages() if shown(page) not in OWN_TEST and any(each.commands for each in blocks(page))]


def in_short(commands: str) -> str:
    """With one scenario for all of them, which take a minute: tests/faces/test_up.py has a proof for those."""
    return re.sub(r"\bostinato demo(?= +#|$)", "ostinato demo --scenario webhook", commands, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    folder = tmp_path_factory.mktemp("reader")
    for name in ("examples", "deploy"):
        (folder / name).symlink_to(ROOT / name)
    with at_home(folder) as found:
        yield found


@pytest.mark.parametrize("page", TYPED, ids=shown)
def test_every_command_of_a_page_does_what_it_is_there_for(reader: Reader, page: Path) -> None:
    found = [replace(each, body=in_short(each.body)) for each in blocks(page)]

    said = reader.types(found)

    assert said.count("== ") >= sum(bool(each.commands) for each in found)
