"""`python -m bench.jsonb [--jobs 300]`: what a caller pays that sends its arguments as `jsonb`.

The engine stores `json` as it came, so `jsonb` is converted. Counted is the time on a processor of the session's server
process, as the kernel counts it (Linux), for one `enqueue_job`; so other work on the machine adds little.
"""

import argparse
import json
from pathlib import Path
from statistics import median

import psycopg
from psycopg.types.json import Json, Jsonb

from bench.server import running
from bench.systems import ours

ROUNDS = 5
SMALL = {
    "customer": 4711,
    "template": "invoice",
    "language": "de",
    "lines": [1, 2, 3],
    "urgent": False,
    "note": "as agreed",
}
LARGE = {"rows": [{"id": n, "name": f"row {n}", "price": n / 4, "tags": ["a", "b"]} for n in range(370)]}
SENT = {"json": Json, "jsonb": Jsonb}


def main() -> None:
    """Enqueue in both ways, in turns, and print the medians."""
    given = argparse.ArgumentParser()
    given.add_argument("--jobs", type=int, default=300)
    jobs = given.parse_args().jobs
    print(f"server's processor for one enqueue_job, transactions of {jobs}, median of {ROUNDS} rounds")
    print(f"{'arguments':<12} {'json':>10} {'jsonb':>10}")
    with running() as server, server.database("bench_jsonb") as dsn:
        ours.prepare(dsn)
        with psycopg.connect(dsn, autocommit=True) as conn:
            for args in (SMALL, LARGE):
                cost = costs(conn, args, jobs)
                size = f"{len(json.dumps(args)):,} B"
                print(f"{size:<12} {cost['json']:>7.0f} µs {cost['jsonb']:>7.0f} µs")


def costs(conn: psycopg.Connection[tuple[object, ...]], args: dict[str, object], jobs: int) -> dict[str, float]:
    """Return the microseconds of a job by the type that is sent; the first round only warms up."""
    times: dict[str, list[float]] = {name: [] for name in SENT}
    for turn in range(ROUNDS + 1):
        for name, wrap in SENT.items():
            before = on_processor(conn.info.backend_pid)
            with conn.transaction():
                for _ in range(jobs):
                    conn.execute("select ostinato.enqueue_job('bench.noop', %s)", [wrap(args)])
            if turn:
                times[name].append((on_processor(conn.info.backend_pid) - before) / jobs / 1000)
    return {name: median(each) for name, each in times.items()}


def on_processor(pid: int) -> int:
    """Return the nanoseconds that a process has run."""
    return int(Path("/proc", str(pid), "schedstat").read_text().split()[0])


if __name__ == "__main__":
    main()
