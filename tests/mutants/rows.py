"""Reads the rows of rules in docs/specs/<app>.md."""

import re
from dataclasses import dataclass

from tests.mutants.mutant import ROOT

TEST = re.compile(r"`([\w/.-]+\.py::\w+(?:::\w+)*)`")


@dataclass(frozen=True)
class Row:
    """One rule and the tests that its row names."""

    rule: str
    tests: frozenset[str]


def rows(app: str) -> list[Row]:
    """The rules of an application, in order; "the same" in a row means the tests of the row above."""
    found: list[Row] = []
    inside = False
    for line in (ROOT / "docs" / "specs" / f"{app}.md").read_text("utf-8").splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if cells[-1] in {"Tests", "Test"}:
            inside = True
        elif inside and not set(line) <= set("|-: "):
            tests = set(TEST.findall(cells[-1]))
            if "the same" in cells[-1] and found:
                tests |= found[-1].tests
            found.append(Row(cells[0], frozenset(tests)))
    return found
