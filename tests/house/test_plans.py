"""Functions that tell the planner how to work say one more thing: compile nothing.

Up to PostgreSQL 17 a way that is switched off, but is the only one, counts as enormously dear; and
what is dear is compiled (`jit` is on there by default), for half a second where a millisecond does.
"""

import re
from pathlib import Path

import pytest

from tests.house.source import function_files, shown

HEADER = re.compile(r"create (?:or replace )?function (\S+)\(.*? as \$\$", re.DOTALL)


@pytest.mark.parametrize("path", function_files(), ids=shown)
def test_a_function_with_a_say_in_its_plans_is_not_compiled(path: Path) -> None:
    headers = HEADER.finditer(path.read_text(encoding="utf-8"))
    steered = [found for found in headers if "set enable_" in found.group()]

    assert [found.group(1) for found in steered if "set jit = off" not in found.group()] == []
