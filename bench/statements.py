"""`python -m bench.statements`: how many statements requests and messages take, from the server's log.

Those of requests no machine and no load changes, so `bench.check` guards them: a POST and a GET of a job, a message
that is accepted (alone, and in a batch), a callback that is stored. What a worker sends for each message, and for each
callback that it applies, depends on how many go together: it is printed, and tests count the calls of a set.
"""

import asyncio
import tempfile
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import psycopg

from bench import http, outbound
from bench.server import BenchServer
from bench.systems import ours

DONE = 200
OUTBOUND = "bench_outbound"
JOBS = "bench_jobs"
TITLES = {
    "statements POST": "statements, POST of a job",
    "statements GET": "statements, GET of a job",
    "statements accept": "statements, message accepted",
    "statements batch": "statements, batch of 500",
    "statements stored": "statements, callback stored",
}


def asked(server: BenchServer, database: str, port: int, requests: Iterable[bytes]) -> float:
    """How many statements each of some requests takes, once all that is kept is known."""
    given = list(requests)
    warm, counted_ones = given[: len(given) // 4], given[len(given) // 4 :]
    asyncio.run(http.load(port, iter(warm), 1e9))
    with server.counting(database) as counted:
        asyncio.run(http.load(port, iter(counted_ones), 1e9))
        return counted() / len(counted_ones)


def of_jobs(server: BenchServer) -> dict[str, float]:
    with server.database(JOBS) as dsn:
        ours.prepare(dsn)
        key = asyncio.run(http.key_of(dsn))
        job_id = asyncio.run(http.job_of(dsn))
        with http.server_of("ours", dsn) as (port, _):
            return {
                f"statements {which}": asked(server, JOBS, port, [http.request_of(which, key, job_id)] * DONE)
                for which in ("POST", "GET")
            }


def of_messages(server: BenchServer, *, work: bool) -> dict[str, float]:
    with (
        server.database(OUTBOUND) as dsn,
        server.database("bench_bare") as bare,
        tempfile.TemporaryDirectory() as folder,
        outbound.place(dsn, bare, Path(folder)) as here,
    ):
        asyncio.run(outbound.set_up(here))
        found = {"statements accept": asked(server, OUTBOUND, here.port, islice(outbound.messages(here, "a"), DONE))}
        found["statements batch"] = asked(server, OUTBOUND, here.port, outbound.batches(here, "b"))
        ids = [f"wamid.{number}" for number in range(DONE)]
        if work:
            found["each message sent"] = worked(server, here, outbound.SENT, DONE + outbound.BATCHES * outbound.BATCH)
            with psycopg.connect(dsn, autocommit=True) as conn:
                named = "select provider_message_id from outbound.message where sent_at is not null"
                ids = [str(row[0]) for row in conn.execute(named)]
        found["statements stored"] = asked(server, OUTBOUND, here.port, outbound.told(here, ids))
        if work:
            found["each callback applied"] = worked(server, here, outbound.DELIVERED, len(ids))
    return found


def worked(server: BenchServer, here: outbound.Place, statement: str, count: int) -> float:
    """How many statements a worker sends for each of what waits; our own looks at how far it is are not counted."""
    with server.counting(OUTBOUND) as counted:
        asyncio.run(outbound.drained(here, statement, count, 600))
        mine = counted(statement)
        return (counted() - mine) / count


def measure(server: BenchServer, *, work: bool = False) -> dict[str, float]:
    """Those of requests, by the names of `TITLES`; with `work`, what a worker sends too."""
    found = of_jobs(server) | of_messages(server, work=work)
    return {name: round(each, 2) for name, each in found.items()}


def main() -> None:
    from bench.server import running  # noqa: PLC0415 - a script only

    with running() as server:
        for name, count in measure(server, work=True).items():
            print(f"{TITLES.get(name, name):<32}{count:>8.2f}")


if __name__ == "__main__":
    main()
