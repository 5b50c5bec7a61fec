"""`python -m bench.hosts [jobs]`: what a synchronous standby costs, and what three worker hosts bring.

Hosts are network name spaces of this machine (ostinato.lab.torture.network; root, `ip` and `iptables`), so all share
its cores: three worker hosts show that work spreads, not how far it would on machines of their own. Jobs do nothing; a
rate is from the end of the first to the end of the last, by the database's clock. One by one: a commit each.
"""

import asyncio
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg

from bench.places import sql
from ostinato._core.base import log
from ostinato._core.db import migrate
from ostinato._core.db.embedded import Urls
from ostinato._core.engine.schema import ENGINE
from ostinato.lab.torture.crew import Crew
from ostinato.lab.torture.network import Host, Network
from ostinato.lab.torture.pair import Pair, serve, urls

APP = "ostinato.lab.torture.app:app"
JOBS = 20_000
ONE_BY_ONE = 500
LOOK_SECONDS = 0.1
WORKERS = ("worker-1", "worker-2", "worker-3")

_names = itertools.count(1)


@contextmanager
def alone(folder: Path, net: Network) -> Iterator[Urls]:
    """A server without a standby."""
    server = serve(folder / "data", net["one"])
    try:
        yield urls(net["one"])
    finally:
        server.stop(force=True)


@contextmanager
def with_standby(folder: Path, net: Network) -> Iterator[Urls]:
    """A server whose commits wait for a standby on another host."""
    with Pair(folder, net["one"], net["two"]) as pair:
        yield urls(*pair.hosts)


def one_by_one(url: str, count: int) -> float:
    """Jobs added a second, each with its commit."""
    with psycopg.connect(url, autocommit=True) as conn:
        began = time.perf_counter()
        for _ in range(count):
            conn.execute(sql("hosts_one"))
        return count / (time.perf_counter() - began)


def drained(addresses: Urls, folder: Path, hosts: Sequence[Host], count: int) -> float:
    """Jobs done a second by one worker on each of these hosts."""
    with psycopg.connect(addresses.admin, autocommit=True) as conn:
        conn.execute(sql("hosts_fill"), [count])
        conn.execute("analyze")
        place = folder / f"workers-{next(_names)}"
        place.mkdir()
        with Crew(APP, addresses.worker, place, hosts=hosts) as crew:
            for _ in hosts:
                crew.start()
            while True:
                row = conn.execute(sql("hosts_done")).fetchone() or (0, 0.0)
                if row[0] >= count:
                    return (count - 1) / float(row[1])
                time.sleep(LOOK_SECONDS)


def measured(make: Callable[[Path, Network], object], hosts: Sequence[str], count: int) -> tuple[float, float]:
    """Both rates, in a place of its own."""
    with tempfile.TemporaryDirectory(prefix="bench-hosts-") as name, Network("client", "one", "two", *WORKERS) as net:
        folder = Path(name)
        with make(folder, net) as addresses, net["client"].inside():  # type: ignore[attr-defined]
            asyncio.run(migrate.migrate(addresses.admin, [ENGINE]))
            single = one_by_one(addresses.worker, ONE_BY_ONE)
            with psycopg.connect(addresses.admin, autocommit=True) as conn:
                conn.execute(sql("hosts_clear"))
            return single, drained(addresses, folder, [net[each] for each in hosts], count)


def main() -> int:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else JOBS
    log.configure(level="error")
    for title, make, hosts in (
        ("no standby, one worker host", alone, WORKERS[:1]),
        ("synchronous standby, one worker host", with_standby, WORKERS[:1]),
        ("no standby, three worker hosts", alone, WORKERS),
        ("synchronous standby, three worker hosts", with_standby, WORKERS),
    ):
        single, rate = measured(make, hosts, count)
        print(f"{title}: {rate:,.0f} jobs/s; one by one {single:,.0f}/s; load {os.getloadavg()[0]:.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
