"""Producers that insert one by one, 1,000 commits a second in all, while one worker keeps up."""

import time
from contextlib import ExitStack

from bench.catalog import System
from bench.launch import child
from bench.measure import START_LIMIT_SECONDS, Bench, Figures, milliseconds
from bench.scenarios.common import prepared
from bench.stats import percentile


def run(bench: Bench, system: System) -> Figures:
    sizes = bench.sizes
    share = sizes.sustained_rate // sizes.sustained_producers
    each = share * sizes.sustained_seconds
    total = each * sizes.sustained_producers
    limit = START_LIMIT_SECONDS + sizes.sustained_seconds * 3
    with prepared(bench, system) as url, ExitStack() as stack:
        worker = stack.enter_context(child(system, "work", url, bench.extra, n=total, limit=limit))
        producers = [
            stack.enter_context(
                child(
                    system, "produce", url, bench.extra, n=each, rate=share, offset=i * each, knock=i == 0, limit=limit
                )
            )
            for i in range(sizes.sustained_producers)
        ]
        for producer in producers:
            producer.answer(START_LIMIT_SECONDS)
        worker.answer(START_LIMIT_SECONDS)
        time.sleep(sizes.settle_seconds)
        for producer in producers:
            producer.go()
        seconds = max(producer.answer(limit)["seconds"] for producer in producers)
        latencies = milliseconds(worker.answer(limit), warmup=0)
    return {
        "sustained_rate": total / seconds,
        "sustained_p50": percentile(latencies, 50),
        "sustained_p99": percentile(latencies, 99),
    }
