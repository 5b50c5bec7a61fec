"""A failover by Patroni, from the files of deploy/patroni: it elects, and workers and clients follow."""

from pathlib import Path

import pytest

from tests.faults import failovers
from tests.faults.site import say
from tests.patroni import trio


@pytest.mark.proof
def test_when_patroni_fails_over_nothing_acknowledged_is_lost_and_no_effect_is_doubled(tmp_path: Path) -> None:
    """The server crashes, and then a whole machine dies: `python -m bench.failover` does twenty of them."""
    with trio() as cluster:
        story = failovers.run(cluster, tmp_path, ["crash", "host"])
    say(story.line())

    assert (story.lost, story.doubled, story.missing) == (0, 0, 0)
    assert story.acknowledged >= 3 * failovers.AFTERWARDS
    assert len(story.gaps) == 2
