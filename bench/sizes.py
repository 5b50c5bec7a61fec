"""How much is measured: the default is for numbers to publish, quick is for a first look."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Counts and seconds of one run."""

    rounds: int
    jobs_share: float  # of a system's own backlog, see `catalog.System.jobs`
    singles: int
    batch: int
    latency_rate: int
    latency_seconds: int
    latency_warmup: int
    settle_seconds: float
    idle_seconds: float
    trickle_seconds: int
    drain_limit_seconds: float
    snapshot_jobs: int
    backlog_small: int
    backlog_large: int
    tenants: int
    tenant_jobs: int
    limit_jobs: int
    contend_jobs: int
    contend_workers: tuple[int, ...]
    sustained_rate: int
    sustained_seconds: int
    sustained_producers: int
    steps_jobs: int
    steps_jobs_of_peers: int
    schedules: int
    schedules_due: int
    repeats: int  # of each side of a scenario that compares two


FULL = Sizes(
    rounds=3,
    jobs_share=1.0,
    singles=500,
    batch=1_000,
    latency_rate=50,
    latency_seconds=6,
    latency_warmup=25,
    settle_seconds=2.0,
    idle_seconds=12.0,
    trickle_seconds=15,
    drain_limit_seconds=120,
    snapshot_jobs=300_000,
    backlog_small=100_000,
    backlog_large=1_000_000,
    tenants=1_000,
    tenant_jobs=100_000,
    limit_jobs=100_000,
    contend_jobs=200_000,
    contend_workers=(1, 16, 64),
    sustained_rate=1_000,
    sustained_seconds=10,
    sustained_producers=4,
    steps_jobs=30_000,
    steps_jobs_of_peers=1_000,
    schedules=100_000,
    schedules_due=10_000,
    repeats=2,
)

QUICK = Sizes(
    rounds=1,
    jobs_share=0.2,
    singles=200,
    batch=1_000,
    latency_rate=50,
    latency_seconds=2,
    latency_warmup=10,
    settle_seconds=1.0,
    idle_seconds=6.0,
    trickle_seconds=5,
    drain_limit_seconds=60,
    snapshot_jobs=30_000,
    backlog_small=20_000,
    backlog_large=200_000,
    tenants=1_000,
    tenant_jobs=20_000,
    limit_jobs=20_000,
    contend_jobs=40_000,
    contend_workers=(1, 16),
    sustained_rate=1_000,
    sustained_seconds=4,
    sustained_producers=4,
    steps_jobs=5_000,
    steps_jobs_of_peers=300,
    schedules=20_000,
    schedules_due=2_000,
    repeats=1,
)
