"""The benchmark of rounds still runs, in small, and knows what is too slow."""

from datetime import timedelta

import pytest

from bench import rounds as bench
from ostinato.testing import Engine


@pytest.mark.slow
async def test_the_benchmark_opens_every_group(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    runs = await bench.measure(engine, 300, timedelta(seconds=0.3))

    assert set(runs) == {"create", "open", "close"}
    assert "open         300 groups" in capsys.readouterr().out


def test_too_few_groups_a_minute_are_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    fast, latest = bench.WANTED, bench.LATEST_SECONDS

    assert bench.verdict(bench.GROUPS, {"open": bench.Run(fast, latest)}) == 0
    assert bench.verdict(bench.GROUPS, {"open": bench.Run(fast - 1, 0.0)}) == 1
    assert "99,999 groups a minute" in capsys.readouterr().out
    assert bench.verdict(bench.GROUPS, {"open": bench.Run(fast, latest + 0.1)}) == 1
    assert "5.1 s late" in capsys.readouterr().out
    assert bench.verdict(10, {"open": bench.Run(1.0, 60.0)}) == 0
