"""A job of five steps that do nothing, each committed before the next: how many jobs a second?

Beside us, the systems that have durable steps. A slow one gets a shorter backlog, which is kind to
it: none gets faster with a longer one.
"""

from statistics import median

from bench.catalog import OURS, System
from bench.launch import call
from bench.measure import Bench, Figures
from bench.scenarios.common import prepared

STEPS = 5
SYSTEMS = frozenset({OURS, "absurd", "dbos"})


def one(bench: Bench, system: System, count: int) -> float:
    with prepared(bench, system) as url:
        bench.fill(system, url, count)
        bench.server.analyze(url)
        answer = call(
            system,
            "drain",
            url,
            {**bench.extra, "BENCH_STEPS": str(STEPS)},
            limit=bench.sizes.drain_limit_seconds,
            n=count,
            unfinished=system.unfinished,
        )
    return count / float(answer["seconds"])


def run(bench: Bench, system: System) -> Figures:
    sizes = bench.sizes
    count = sizes.steps_jobs if system.key == OURS else sizes.steps_jobs_of_peers
    return {"steps": median(one(bench, system, count) for _ in range(sizes.repeats))}
