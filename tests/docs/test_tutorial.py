"""The tutorial, typed from its first command to its last: an empty folder, and only the wheel."""

import os
import re
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.docs.blocks import blocks
from tests.docs.reader import Reader
from tests.house.source import ROOT
from tests.wheels import build_wheel, closure, link

TUTORIAL = ROOT / "docs" / "tutorial" / "tutorial.md"
MOST_COMMANDS = 20
COMMAND = re.compile(r"^\S.*$", re.MULTILINE)


def typed() -> list[str]:
    return [line for block in blocks(TUTORIAL) if block.tag == "sh" for line in COMMAND.findall(block.body)]


def test_the_tutorial_has_fewer_than_twenty_commands_and_leaves_none_out() -> None:
    assert 10 < len(typed()) < MOST_COMMANDS
    assert not any(block.reason for block in blocks(TUTORIAL))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_tutorial_works_from_an_empty_folder_with_only_the_wheel(tmp_path: Path) -> None:
    for name in ("wheel", "packages", "bin", "empty"):
        (tmp_path / name).mkdir()
    wheel = build_wheel(tmp_path / "wheel")
    # pip installs the wheel for real; what the wheel asks for is there already, and nothing else is.
    asked = metadata.requires("ostinato") or []
    link({*closure(asked, "embedded"), *closure(["pytest", "pytest-asyncio"])}, tmp_path / "packages")
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    reader = Reader(
        tmp_path / "empty",
        PATH=f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        PYTHONPATH=str(tmp_path / "packages"),
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(wheel.parent),
        PIP_NO_DEPS="1",
    )

    said = reader.types(blocks(TUTORIAL))

    for wanted in (
        "label of order 1, packed by attempt 2",
        "gap: 02:30 does not exist, 03:30 instead",
        "overlap: the first of two",
        "2 passed",
    ):
        assert wanted in said
