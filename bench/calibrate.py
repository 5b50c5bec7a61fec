"""How fast is this machine right now? Three fixed loads that no change of ours can touch.

A figure divided by its calibration hardly moves from machine to machine or hour to hour, which a
time does: that quotient is what `bench/baseline.json` holds.

`python -m bench.calibrate` prints the three.
"""

import json
import time
from dataclasses import dataclass
from math import sqrt

import psycopg

from bench.places import sql
from bench.server import BenchServer, pgbench, running

SECONDS = 1
LIMIT_SECONDS = 30
DATABASE = "bench_calibrate"


@dataclass(frozen=True)
class Calibration:
    """Rates a second of the three loads."""

    python: float
    batch: float
    commit: float

    def of(self, by: str) -> float:
        """The yardstick of a figure: one of the loads, `mixed` of two, or none."""
        match by:
            case "python":
                return self.python
            case "batch":
                return self.batch
            case "commit":
                return self.commit
            case "mixed":
                return sqrt(self.python * self.batch)
            case "none":
                return 1.0
        raise ValueError(f"No calibration named {by}.")


def python_rate(seconds: float = SECONDS) -> float:
    """Rounds a second of what a worker's interpreter does: dictionaries, calls and JSON."""
    rounds = 0
    started = time.perf_counter()
    while (elapsed := time.perf_counter() - started) < seconds:
        waiting = {n: {"n": n, "queue": "default", "attempt": 1} for n in range(100)}
        done = [json.loads(json.dumps(waiting.pop(n))) for n in range(100)]
        done.sort(key=lambda job: -int(job["n"]))
        rounds += 1
    return rounds / elapsed


def measure(server: BenchServer) -> Calibration:
    """Runs the three loads, each for about a second."""
    with server.database(DATABASE) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql("calibrate_tables"))
        rates = {
            name: pgbench(url, sql(f"calibrate_{name}").decode(), limit=LIMIT_SECONDS, seconds=SECONDS)
            for name in ("batch", "commit")
        }
    return Calibration(python=python_rate(), **rates)


if __name__ == "__main__":
    with running() as started:
        print(measure(started))
