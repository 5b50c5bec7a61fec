"""Functions that tell the planner how to work say one more thing: compile nothing.

Up to PostgreSQL 17 a way that is switched off, but is the only one, counts as enormously dear; and
what is dear is compiled (`jit` is on there by default), for half a second where a millisecond does.
"""

import re
from pathlib import Path

from tests.house.source import findings, function_files, text_of

HEADER = re.compile(r"create (?:or replace )?function (\S+)\(.*? as \$\$", re.DOTALL)


def compiled(path: Path) -> list[str]:
    steered = (found for found in HEADER.finditer(text_of(path)) if "set enable_" in found.group())
    return [found.group(1) for found in steered if "set jit = off" not in found.group()]


def test_a_function_with_a_say_in_its_plans_is_not_compiled() -> None:
    assert findings(function_files(), compiled) == {}
