"""A snapshot held open the whole time: dead rows stay, and a naive claim wades through them."""

from statistics import median

from bench.catalog import System
from bench.measure import Bench, Figures
from bench.scenarios.common import filled_and_drained, prepared, ratio


def run(bench: Bench, system: System) -> Figures:
    count = bench.sizes.snapshot_jobs
    normal: list[float] = []
    held: list[float] = []
    for _ in range(bench.sizes.repeats):
        with prepared(bench, system) as url:
            normal.append(filled_and_drained(bench, system, url, count))
        with prepared(bench, system) as url, bench.server.held_snapshot(url):
            held.append(filled_and_drained(bench, system, url, count))
    return {"snapshot_normal": median(normal), "snapshot_held": median(held), "snapshot_share": ratio(held, normal)}
