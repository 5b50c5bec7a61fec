"""DBOS: a workflow that starts children on a queue and gets their results. Prints children a second."""

import sys
import time

import dbos  # type: ignore[import-not-found]

from bench.systems.dbos import POLL_SECONDS, QUEUE, WORKER_CONCURRENCY, launch


def main(dsn: str, count: int) -> None:
    """Run it once."""
    launch(dsn)

    @dbos.DBOS.workflow()
    def leaf(n: int) -> int:
        return n

    @dbos.DBOS.workflow()
    def parent(children: int) -> int:
        handles = [dbos.DBOS.enqueue_workflow(QUEUE, leaf, n) for n in range(children)]
        return sum(handle.get_result() is not None for handle in handles)

    dbos.DBOS.launch()
    dbos.DBOS.register_queue(QUEUE, worker_concurrency=WORKER_CONCURRENCY, polling_interval_sec=POLL_SECONDS)
    started = time.perf_counter()
    joined = parent(count)
    seconds = time.perf_counter() - started
    dbos.DBOS.destroy()
    if joined != count:
        raise SystemExit(f"{joined} of {count} were joined")
    print(count / seconds)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
