"""A failover by Patroni, from the files of deploy/patroni: it elects, and workers and clients follow."""

import os
from itertools import cycle, islice
from pathlib import Path

import pytest

from tests.faults import failovers
from tests.faults.site import say
from tests.patroni import Fault, trio

FAULTS: tuple[Fault, ...] = ("crash", "host")


@pytest.mark.proof
def test_when_patroni_fails_over_nothing_acknowledged_is_lost_and_no_effect_is_doubled(tmp_path: Path) -> None:
    """The server crashes, then a whole machine dies. TEST_FAILOVERS=20 is the long run of docs/faults.md."""
    count = int(os.environ.get("TEST_FAILOVERS", "2"))
    with trio() as cluster:
        story = failovers.run(cluster, tmp_path, list(islice(cycle(FAULTS), count)))
    say(story.line())

    assert (story.lost, story.doubled, story.missing) == (0, 0, 0)
    assert story.acknowledged >= (count + 1) * failovers.AFTERWARDS
    assert len(story.gaps) == count
