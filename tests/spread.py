"""How the tests are spread over the processes of `make test`.

A file is a unit, so that what it sets up is made once, in one process. Tests that take long and share
no more than the server of their process, as the faults do, are units of their own. The longest come
first: one that is handed out last would leave the other processes idle.
"""

from collections.abc import Iterable

import pytest
from xdist.scheduler import LoadScopeScheduling

__all__ = ["Spread", "longest_first"]

APART = (
    "tests/faults/",
    "tests/simulation/",
    "tests/apps/watchfolder/test_whole.py",
    "tests/apps/watchfolder/test_crashes.py",
    "tests/apps/watchfolder/test_engine.py",
)
# with a pooler, or an older server, that all of their tests share
TOGETHER = ("tests/faults/test_coordination.py", "tests/faults/test_modes.py")
FIRST = (
    "tests/docs/test_commands.py",
    "tests/apps/watchfolder/test_whole.py",
    "tests/faces/test_up.py",
    "tests/browser/",
    "tests/db/test_oldest.py",
    "tests/faces/test_outside.py",
    "tests/faults/",
    "tests/apps/enrichment/",
    "tests/api/test_schemathesis.py",
    "tests/apps/rounds/test_document.py",
    "tests/apps/watchfolder/",
    "tests/faces/test_serve.py",
    "tests/faces/test_wheel.py",
    "tests/docs/",
    "tests/simulation/",
    "tests/migration/",
    "tests/apps/",
    "tests/db/",
    "tests/api/",
    "tests/examples/",
    "tests/faces/",
    "tests/runtime/",
    "tests/sandbox/",
    "tests/mutants/",
    "tests/console/",
    "tests/house/",
    "tests/sql/",
)


def unit_of(nodeid: str) -> str:
    """The name of the unit that a test belongs to."""
    is_apart = nodeid.startswith(APART) and not nodeid.startswith(TOGETHER)
    return nodeid if is_apart else nodeid.split("::", 1)[0]


def rank_of(nodeid: str) -> int:
    """How early a test is handed out: 0 is first."""
    return next((n for n, start in enumerate(FIRST) if nodeid.startswith(start)), len(FIRST))


class Spread(LoadScopeScheduling):  # type: ignore[misc]  # it ships no type information
    """Hands out units in the order of the collection."""

    def __init__(self, config: pytest.Config, log: object = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def remove_node(self, node: object) -> str | None:
        """Take back the units of a process that ended; the test that it ended in is not run again, unlike in xdist."""
        units = self.assigned_work[node].values()
        ended_in = next((test for unit in units for test, is_done in unit.items() if not is_done), None)
        for unit in units:
            if ended_in in unit:
                unit[ended_in] = True
        super().remove_node(node)
        return ended_in


def longest_first(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The items with the longest units first, otherwise in their old order."""
    return sorted(items, key=lambda item: rank_of(item.nodeid))
