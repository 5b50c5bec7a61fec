"""The targets of the engine, as data: each says what it compares and when it is met."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.catalog import BY_KEY, OURS

NOTHING = "-"  # in place of a figure that was not measured

Summaries = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Verdict:
    """A target with what was measured. `met` is None when the run did not measure it."""

    figure: str
    target: str
    measured: str
    met: bool | None


@dataclass(frozen=True)
class Target:
    """A figure of ours and its bound; `value` gives None when the run lacks a part of it."""

    figure: str
    target: str
    value: Callable[[Summaries], float | None]
    met: Callable[[float], bool]
    shown: Callable[[float], str]

    def verdict(self, summaries: Summaries) -> Verdict:
        value = self.value(summaries)
        if value is None:
            return Verdict(self.figure, self.target, NOTHING, None)
        return Verdict(self.figure, self.target, self.shown(value), self.met(value))


def ours(name: str) -> Callable[[Summaries], float | None]:
    return lambda summaries: summaries.get(OURS, {}).get(name)


def times(peer: str, name: str, own: str = OURS) -> Callable[[Summaries], float | None]:
    """Our figure as a multiple of the peer's."""

    def value(summaries: Summaries) -> float | None:
        mine = summaries.get(own, {}).get(name)
        theirs = summaries.get(peer, {}).get(name)
        return None if mine is None or not theirs else mine / theirs

    return value


def best_of(peers: tuple[str, ...], name: str) -> Callable[[Summaries], float | None]:
    """Our figure as a multiple of the lowest of the peers'."""

    def value(summaries: Summaries) -> float | None:
        mine = summaries.get(OURS, {}).get(name)
        theirs = [summaries[peer][name] for peer in peers if name in summaries.get(peer, {})]
        return None if mine is None or not theirs else mine / min(theirs)

    return value


def at_least(figure: str, value: Callable[[Summaries], float | None], bound: float) -> Target:
    return Target(figure, f"at least {bound:,.0f}/s", value, lambda v: v >= bound, lambda v: f"{v:,.0f}/s")


def multiple(peer: str, name: str, figure: str, bound: float, own: str = OURS) -> Target:
    return Target(
        f"{figure} against {BY_KEY[peer].title}",
        f"at least {bound:g}x",
        times(peer, name, own),
        lambda v: v >= bound,
        lambda v: f"{v:.1f}x" if bound >= 1 else f"{v:.2f}x",
    )


def share(figure: str, name: str, bound: float) -> Target:
    return Target(figure, f"at least {bound:.0%}", ours(name), lambda v: v >= bound, lambda v: f"{v:.0%}")


def at_most(figure: str, value: Callable[[Summaries], float | None], bound: float, unit: str) -> Target:
    return Target(
        figure,
        f"at most {bound:,g}{unit}",
        value,
        lambda v: v <= bound,
        lambda v: f"{v:,.2f}{unit}" if bound < 10 else f"{v:,.0f}{unit}",
    )


PLAIN = "ours-plain"
PGQUEUER = ("pgqueuer-10", "pgqueuer-100")

TARGETS: tuple[Target, ...] = (
    multiple("graphile", "drain", "drain", 1),
    multiple("graphile-2000", "drain", "drain", 1),
    multiple("pgqueuer-100", "drain", "drain", 2.5),
    multiple("celery", "drain", "drain", 20),
    multiple("absurd", "drain", "drain", 40),
    multiple("dbos", "drain", "drain", 40),
    multiple("procrastinate", "drain", "drain", 50),
    multiple(OURS, "drain", "plain functions", 0.35, PLAIN),
    multiple("celery", "drain", "plain functions", 1, PLAIN),
    multiple("celery-threads", "drain", "plain functions", 1, PLAIN),
    share("share of the SQL limit", "limit_share", 0.75),
    at_least("bulk enqueue", ours("bulk"), 40_000),
    multiple("procrastinate", "single", "one by one", 2),
    at_most("start latency p50 against PgQueuer", best_of(PGQUEUER, "latency_p50"), 1, "x"),
    at_most("start latency p99, idle, 50/s", ours("latency_p99"), 10, " ms"),
    at_most("idle queries", ours("idle"), 1, "/s"),
    at_most("CPU of worker and database at 10 jobs/s", ours("cpu_at_10"), 3, "%"),
    at_most("statements per job at 10 jobs/s", ours("statements"), 6, ""),
    at_most("start latency p50 at 10 jobs/s", ours("trickle_p50"), 3, " ms"),
    at_most("start latency p99 at 10 jobs/s", ours("trickle_p99"), 8, " ms"),
    share("a snapshot held open, 300,000 jobs", "snapshot_share", 0.85),
    share("backlog of 1,000,000 against 100,000", "backlog_share", 0.8),
    at_most("small tenants, mean position", ours("tenants_small_mean"), 1.1, "x"),
    at_most("1,000 tenants, cost of the claim", ours("tenants_claim_cost"), 1.5, "x"),
    at_most("write-ahead log per job", ours("wal"), 1_100, " B"),
    share("16 workers against one", "contend_16_share", 0.8),
    share("64 workers against one", "contend_64_share", 0.8),
    at_least("sustained single inserts", ours("sustained_rate"), 990),
    at_most("their start latency p99", ours("sustained_p99"), 100, " ms"),
    multiple("absurd", "steps", "jobs of 5 steps", 10),
    multiple("dbos", "steps", "jobs of 5 steps", 10),
    at_most("schedules due at once, lateness p99", ours("schedules_p99"), 1_000, " ms"),
    at_most("their worker's memory", ours("schedules_mb"), 100, " MB"),
)


def verdicts(summaries: Summaries) -> list[Verdict]:
    return [target.verdict(summaries) for target in TARGETS]
