"""What several scenarios do."""

from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from bench.catalog import System
from bench.measure import Bench


@contextmanager
def prepared(bench: Bench, system: System) -> Iterator[str]:
    """A fresh database with the system's schema."""
    with bench.server.database(f"bench_case_{system.module}") as url:
        bench.call(system, "prepare", url)
        bench.server.checkpoint()
        yield url


def filled_and_drained(bench: Bench, system: System, url: str, count: int) -> float:
    """The rate at which one worker drains a backlog of `count`."""
    bench.fill(system, url, count)
    bench.server.analyze(url)
    return float(bench.drain(system, url, count)["rate"])


def ratio(part: list[float], whole: list[float]) -> float:
    return median(part) / median(whole)
