"""The systems of the comparison, each at its best fair settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from bench.places import sql

OURS = "ours"


class Runner(Enum):
    """Which interpreter runs a system's module."""

    OURS = "our own environment"
    PEERS = "the peers' environment"
    NODE = "node"


@dataclass(frozen=True)
class System:
    """One row of the table.

    `jobs` is the backlog of a full drain, chosen so that it lasts seconds: a slow system with a
    short backlog is measured kindly, since none gets faster with a longer one.
    """

    key: str
    title: str
    module: str
    runner: Runner
    jobs: int
    note: str
    environment: Mapping[str, str] = field(default_factory=dict)
    imports: str = ""
    needs_redis: bool = False

    @property
    def unfinished(self) -> str:
        """The query for "is any job not completed?"; empty where the system has no tables."""
        return "" if self.needs_redis else sql(f"unfinished/{self.module}").decode().strip()


SYSTEMS: tuple[System, ...] = (
    System(OURS, "Ostinato", "ours", Runner.OURS, 100_000, "default settings, all features on"),
    System(
        "ours-plain",
        "Ostinato, plain functions",
        "ours",
        Runner.OURS,
        50_000,
        "the same with a handler that is a plain function, so that it runs in a thread",
        {"BENCH_PLAIN": "1"},
    ),
    System(
        "graphile",
        "graphile-worker",
        "graphile",
        Runner.NODE,
        100_000,
        "node; local queue 500, batched completion, 24 concurrent jobs (its published settings)",
    ),
    System(
        "graphile-2000",
        "graphile-worker, queue 2,000",
        "graphile",
        Runner.NODE,
        100_000,
        "the same with a local queue of 2,000: the fastest found here",
        {"BENCH_LOCAL_QUEUE": "2000"},
    ),
    System(
        "pgqueuer-100",
        "PgQueuer, batch 100",
        "pgqueuer",
        Runner.PEERS,
        30_000,
        "asyncpg pool, uvloop, batch 100",
        {"BENCH_BATCH": "100"},
        "pgqueuer",
    ),
    System(
        "pgqueuer-10",
        "PgQueuer, batch 10",
        "pgqueuer",
        Runner.PEERS,
        10_000,
        "the same with its default batch of 10",
        {"BENCH_BATCH": "10"},
        "pgqueuer",
    ),
    System(
        "celery",
        "Celery + Redis",
        "celery",
        Runner.PEERS,
        4_000,
        "solo pool, prefetch 100, no results, Redis on a Unix socket without persistence",
        imports="celery",
        needs_redis=True,
    ),
    System(
        "celery-threads",
        "Celery + Redis, threads",
        "celery",
        Runner.PEERS,
        4_000,
        "the same with the threads pool, 100 threads",
        {"BENCH_POOL": "threads"},
        imports="celery",
        needs_redis=True,
    ),
    System(
        "absurd",
        "Absurd",
        "absurd",
        Runner.PEERS,
        3_000,
        "async client, concurrency and claim batch 50; bulk through its SQL function",
        imports="absurd_sdk",
    ),
    System(
        "dbos",
        "DBOS",
        "dbos",
        Runner.PEERS,
        3_000,
        "async workflows, worker concurrency 500, queue polled every 50 ms",
        imports="dbos",
    ),
    System(
        "procrastinate",
        "Procrastinate",
        "procrastinate",
        Runner.PEERS,
        3_000,
        "async tasks, concurrency 50, pool of 4 (more was slower)",
        imports="procrastinate",
    ),
)

BY_KEY = {system.key: system for system in SYSTEMS}
