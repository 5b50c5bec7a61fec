"""`python -m bench.apps`: the applications against their own yardsticks, as ratios, in one run.

Each row names a figure, what it is compared with in the same run, and the target. Absolute rates depend on the machine
and on what else it does; the ratio much less. A row that this program does not measure names the command that does, or
says that nothing measures it yet. Beside the rate, the two rows of the API have the ratio of processor time.

Two rows flatter: both sides of the GET of a job run the same long query, so the database is most of either; and the GET
of an enrichment has a shorter one than its yardstick. Events have no yardstick but their targets.
"""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import NamedTuple

from bench import app_http, app_rows, http, outbound, transactions
from bench import rounds as of_rounds
from bench.server import BenchServer, running
from bench.systems import ours
from ostinato._core.base import log

JOBS = 3_000
REQUESTS = ("GET", "POST", "POST key")


class Share(NamedTuple):
    """A figure divided by another one of the same run, or by a number."""

    mine: str
    theirs: str | float

    def value(self, found: dict[str, float]) -> float:
        return found[self.mine] / (found[self.theirs] if isinstance(self.theirs, str) else self.theirs)


@dataclass(frozen=True)
class Row:
    """A figure of the table; `share` is None where this program measures nothing."""

    figure: str
    yardstick: str
    target: float | None
    share: Share | None
    instead: str = ""
    """The command that measures it, or what is missing."""


of = Share

ROWS = (
    Row("GET of a job", "bare FastAPI, same query", 0.75, of("GET", "bare GET")),
    Row("  by processor time", "", None, of("bare GET cpu", "GET cpu")),
    Row("POST that enqueues", "bare FastAPI, same insert", 0.75, of("POST", "bare POST")),
    Row("  by processor time", "", None, of("bare POST cpu", "POST cpu")),
    Row("POST with a key", "the same bare POST", None, of("POST key", "bare POST")),
    Row("outbound: accepted", "the bare POST", 0.50, of("accept", "beside accept")),
    Row("  by processor time", "", None, of("beside accept cpu", "accept cpu")),
    Row("outbound: batch of 500", "bulk enqueue", 0.20, of("batch", "beside batch")),
    Row("outbound: sent", "httpx alone", 0.60, of("send", "beside send")),
    Row("callbacks stored", "the bare POST", 0.70, of("callbacks", "beside callbacks")),
    Row("  by processor time", "", None, of("beside callbacks cpu", "callbacks cpu")),
    Row("callbacks applied", "bulk enqueue", 0.10, of("apply", "beside apply")),
    Row("capture: new", "the bare POST", 0.45, of("new", "beside POST")),
    Row("capture: replay", "the bare POST", 0.70, of("replay", "beside POST")),
    Row("enrichment: cached POST", "the bare POST", 0.60, of("cached POST", "beside POST")),
    Row("  by processor time", "", None, of("beside POST cpu", "cached POST cpu")),
    Row("enrichment: cached GET", "the bare GET", 0.70, of("cached GET", "beside GET")),
    Row("  by processor time", "", None, of("beside GET cpu", "cached GET cpu")),
    Row("enrichment: bulk", "the sources' limits", 0.95, None, "bench.enrichment --bulk 600"),
    Row("plain functions", "async no-op drain", 0.35, of("plain", "drain")),
    Row("ctx.transaction() jobs", "pgbench, same statements", 0.70, of("worker", "same")),
    Row("events, 500 keys", "25,000 a second", 1.0, of("events 500", 25_000)),
    Row("events, one key", "2,000 a second", 1.0, of("events 1", 2_000)),
    Row("webhooks, 300 keys", "httpx alone", 0.50, of("webhooks", "beside webhooks")),
    Row("drain, no-op", "the SQL limit", 0.75, of("drain", "limit")),
    Row("one by one enqueue", "a bare single-row insert", 0.75, of("single", "bare insert")),
    Row("watch folder, pages", "OCRmyPDF's own command", 0.95, None, "bench.watchfolder"),
    Row("rounds, worst lateness", f"{of_rounds.LATEST_SECONDS:g} s / the worst", 1.0, of("rounds in time", 1)),
)


def measure_api(server: BenchServer, rounds: int) -> dict[str, float]:
    with server.database("bench_http") as dsn:
        ours.prepare(dsn)
        loads = http.measure(dsn, rounds, REQUESTS)
    found: dict[str, float] = {}
    for (which, request), each in loads.items():
        name = f"bare {request}" if which == "bare" else request
        found[name] = median(one.rate for one in each)
        found[f"{name} cpu"] = median(one.cpu for one in each)
    return found


def measure_app_requests(server: BenchServer, rounds: int) -> dict[str, float]:
    """Requests of applications, with the bare ones of the same rounds as `beside …`."""
    loads = {name.replace("bare", "beside"): each for name, each in app_http.measure(server, rounds).items()}
    rates = {name: median(one.rate for one in each) for name, each in loads.items()}
    return rates | {f"{name} cpu": median(one.cpu for one in each) for name, each in loads.items()}


def merged(*parts: dict[str, float]) -> dict[str, float]:
    """All figures; no name stands for two, because a row would be divided by another one's yardstick."""
    found: dict[str, float] = {}
    for part in parts:
        if twice := found.keys() & part.keys():
            raise ValueError(f"two figures have one name: {', '.join(sorted(twice))}")
        found |= part
    return found


PARTS = (
    frozenset(f"{bare}{request}{cpu}" for bare in ("", "bare ") for request in REQUESTS for cpu in ("", " cpu")),
    outbound.NAMES,
    frozenset(transactions.Round._fields),
    app_http.NAMES,
    app_rows.NAMES,
)
"""The names of what each part finds."""


def measure(server: BenchServer, rounds: int) -> dict[str, float]:
    """All figures; an even number of rounds, so that each server is first as often."""
    return merged(
        measure_api(server, rounds),
        outbound.measure(server),
        transactions.one_round(server, JOBS)._asdict(),
        measure_app_requests(server, max(1, rounds // 2)),
        app_rows.measure(server),
    )


def shares(found: dict[str, float], rows: Sequence[Row] = ROWS) -> dict[str, float]:
    """The rows that were measured, by `key_of`."""
    return {key_of(row.share): row.share.value(found) for row in rows if row.share is not None}


def key_of(share: Share) -> str:
    """How a row is named in `bench/baseline.json`: its title stands for two of them, where one is of processor time."""
    return f"{share.mine} / {share.theirs}"


def lines(found: dict[str, float], rows: Sequence[Row] = ROWS) -> list[str]:
    """The table, at most 80 columns wide."""
    made = [f"{'figure':<27}{'against':<28}{'target':>7}{'now':>7}"]
    for row in rows:
        share = 0.0 if row.share is None else row.share.value(found)
        wanted = "" if row.target is None else f"{row.target:.0%}"
        head = f"{row.figure:<27}{row.yardstick:<28}{wanted:>7}"
        made.append(f"{head}{share:>7.0%}" if share else f"{head}{'-':>7}")
        if not share:
            made.append(f"{'':<27}{row.instead or 'nothing was done in the time'}")
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4, help="an even number: each server is first as often")
    rounds: int = parser.parse_args().rounds
    log.configure(level="error")
    before = os.getloadavg()[0]
    with running() as server:
        found = measure(server, rounds)
    print("\n".join(lines(found)))
    quiet = "" if before < 1 else ": the machine was not quiet"
    print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, load {before:.1f} before{quiet}")


if __name__ == "__main__":
    main()
