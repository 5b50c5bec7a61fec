"""`python -m bench.restore [gigabytes]`: the data folder is destroyed, and restored from a base backup and the log.

Commits wait for the log in the repository (`backup stream --synchronous`), so nothing that was acknowledged is lost;
ends with 1 if something was. The time is from the command to a server that takes commits, by gigabyte of the backup.
"""

import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

import psycopg

from bench.places import sql
from ostinato._core.base import log
from ostinato._core.db import embedded, migrate
from ostinato._core.db.backup import take
from ostinato._core.db.backup.restore import restore_embedded
from ostinato._core.engine.schema import ENGINE
from ostinato.lab.torture.pair import kill_family
from tests.faults.receiving import receiving, source_of

GIGABYTES = 1.0
ROWS = 500_000  # a gigabyte of them
AFTERWARDS = 1_000


def main() -> int:
    """Measure and print."""
    size = float(sys.argv[1]) if len(sys.argv) > 1 else GIGABYTES
    log.configure(level="error")
    with tempfile.TemporaryDirectory(prefix="bench-restore-") as name:
        folder = Path(name)
        server = embedded.start(folder / "data")
        asyncio.run(migrate.migrate(server.admin_url, [ENGINE]))
        with psycopg.connect(server.admin_url, autocommit=True) as conn:
            conn.execute(sql("restore_fill"), [int(size * ROWS)])
        source = source_of(server)
        repository = asyncio.run(take.init(source, folder / "repository"))
        with receiving(source, repository, synchronous=True):
            base = asyncio.run(take.take(source, repository))
            with psycopg.connect(server.worker_url, autocommit=True) as conn:
                for _ in range(AFTERWARDS):
                    conn.execute(sql("hosts_one"))
            assert server.pid is not None  # noqa: S101 - it was started above
            kill_family(server.pid)
            shutil.rmtree(server.cluster.pgdata)
        server.stop()
        began = time.perf_counter()
        restore_embedded(repository, base, folder / "restored", step=lambda _: None)
        with embedded.start(folder / "restored") as again:
            seconds = time.perf_counter() - began
            with psycopg.connect(again.admin_url, autocommit=True) as conn:
                row = conn.execute(sql("restore_count")).fetchone() or (0,)
    gigabytes, lost = base.bytes / 2**30, AFTERWARDS - row[0]
    print(f"{gigabytes:.2f} GB restored in {seconds:.1f} s, {seconds / gigabytes:.1f} s per GB; {lost} lost")
    return int(lost != 0)


if __name__ == "__main__":
    sys.exit(main())
