"""Runs a regex that holds the GIL for a minute, beside an idle worker, and prints how often it started.

    python -m tests.faults.minute [seconds]

All settings are the defaults. `test_blocked.py` proves the same with a shorter hold in every run of
the tests.
"""

import asyncio
import re
import sys
import tempfile
import time
from pathlib import Path

import psycopg

from ostinato._core.base.settings import Settings
from ostinato._core.db import embedded, migrate
from ostinato._core.engine.schema import ENGINE
from tests.faults.site import QUICK, Site, say

DEFAULTS = {name: getattr(Settings(), name) for name in QUICK}


def length_for(seconds: float) -> int:
    """The length of text at which the pattern takes so long here: each letter doubles it."""
    length, took = 18, 0.0
    while took < 1:
        length += 1
        begun = time.perf_counter()
        re.match(r"(a+)+$", "a" * length + "!")
        took = time.perf_counter() - begun
    while took < seconds:
        length, took = length + 1, took * 2
    return length


def main(seconds: float) -> None:
    """Start it, wait for its end, and print what was seen."""
    length = length_for(seconds)
    with tempfile.TemporaryDirectory(prefix="ostinato-minute-") as name, embedded.start(Path(name, "data")) as server:
        urls = server.urls()
        asyncio.run(migrate.migrate(urls.admin, [ENGINE]))
        Path(name, "site").mkdir()
        with Site(server, urls, Path(name, "site")) as site:
            crew = site.crew(**DEFAULTS)
            site.ready(crew.start(), crew.start())
            (job_id,) = site.enqueue("backtracks", length=length)
            site.until("select exists (select from ostinato_data.outcome)")
            with psycopg.connect(urls.admin) as conn:
                ((took,),) = conn.execute("select duration_ms / 1000.0 from ostinato_data.outcome").fetchall()
            starts = site.value("select count(*) from started")
            say(
                f"A regex of {took:.0f} s at an expiry of {Settings().expiry_seconds:g} s:"
                f" started {starts} time(s), {site.outcomes(job_id)}, rescued {crew.said('rescued')} times"
            )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60)
