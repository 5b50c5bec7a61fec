"""A backlog ten times as long must not be drained much slower."""

from statistics import median

from bench.catalog import System
from bench.measure import Bench, Figures
from bench.scenarios.common import filled_and_drained, prepared, ratio


def run(bench: Bench, system: System) -> Figures:
    small: list[float] = []
    large: list[float] = []
    for _ in range(bench.sizes.repeats):
        with prepared(bench, system) as url:
            small.append(filled_and_drained(bench, system, url, bench.sizes.backlog_small))
    with prepared(bench, system) as url:
        large.append(filled_and_drained(bench, system, url, bench.sizes.backlog_large))
    return {"backlog_small": median(small), "backlog_large": median(large), "backlog_share": ratio(large, small)}
