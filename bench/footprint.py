"""What one worker and one job take: connections, memory, disk, log. `ostinato doctor --plan` computes with it.

    python -m bench.footprint

Prints the constants of `ostinato._faces.cli.operate.plan`; a figure that is off by more than a quarter is marked.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

import ostinato
from ostinato import App, Context
from ostinato._core.db import embedded
from ostinato._core.db.migrate import migrate
from ostinato._faces.cli.frame.schema import components
from ostinato._faces.cli.operate import plan

JOBS = 20_000
FAR = 0.25
SIZES = """
select (select sum(pg_total_relation_size(oid)) from pg_class
        where relnamespace = 'ostinato_data'::regnamespace and relkind = 'r')::float,
       (pg_current_wal_lsn() - '0/0'::pg_lsn)::float
"""
BACKENDS = "select pid from pg_stat_activity where usename = 'ostinato_worker'"

app = App("footprint")


@app.job()
async def nothing(ctx: Context, n: int) -> None: ...


def asked(conn: psycopg.Connection[Any], query: str) -> list[tuple[Any, ...]]:
    return conn.execute(query.encode()).fetchall()


def memory(pid: int) -> int:
    """Bytes of a process and its children; what is shared is divided by those who share it."""
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    total = 0
    for each in (pid, *map(int, children.stdout.split())):
        rollup = Path(f"/proc/{each}/smaps_rollup")
        if rollup.exists():
            total += sum(int(line.split()[1]) for line in rollup.read_text().splitlines() if line.startswith("Pss:"))
    return total * 1024


async def enqueue(url: str) -> None:
    async with ostinato.connect(url) as client:
        for start in range(0, JOBS, 1000):
            await nothing.enqueue_many(client, [{"n": n} for n in range(start, start + 1000)])


def measure(folder: str) -> dict[str, float]:
    command = [sys.executable, "-m", "ostinato", "worker", "--app", "bench.footprint:app", "--json"]
    with embedded.start(Path(folder)) as server:
        urls = server.urls()
        asyncio.run(migrate(urls.admin, components([])))
        with (
            psycopg.connect(server.admin_url, autocommit=True) as admin,
            subprocess.Popen(
                command, env=os.environ | {"OSTINATO_DATA_DIR": folder}, stdout=subprocess.PIPE, text=True
            ) as worker,
        ):
            next(line for line in worker.stdout or [] if json.loads(line).get("event") == "ready")
            ((disk, log),) = asked(admin, SIZES)
            asyncio.run(enqueue(urls.worker))
            while asked(admin, "select count(*) from ostinato_data.outcome") < [(JOBS,)]:
                time.sleep(0.2)
            ((disk_after, log_after),) = asked(admin, SIZES)
            backends = [pid for (pid,) in asked(admin, BACKENDS)]
            found = {
                "WORKER_CONNECTIONS": float(len(backends)),
                "WORKER_BYTES": float(memory(worker.pid)),
                "BACKEND_BYTES": sum(map(memory, backends)) / len(backends),
                "STORED_BYTES": (disk_after - disk) / JOBS,
                "LOG_BYTES": (log_after - log) / JOBS,
            }
            worker.terminate()
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = measure(folder)
    print(f"{'':20} {'here':>14}   {'in plan.py':>14}")
    for name, value in found.items():
        wanted = float(getattr(plan, name))
        mark = "" if abs(value - wanted) <= FAR * wanted else "   <- differs"
        print(f"{name:20} {value:14,.0f}   {wanted:14,.0f}{mark}")


if __name__ == "__main__":
    main()
