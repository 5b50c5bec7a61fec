"""Medians over rounds, percentiles over pooled samples."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any


def percentile(samples: Sequence[float], rank: float) -> float:
    """The smallest sample that `rank` per cent of all do not exceed."""
    ordered = sorted(samples)
    at = -(-len(ordered) * rank // 100) - 1
    return ordered[max(0, int(at))]


def summary(rounds: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """One figure per measurement: the median of the rounds, latencies from all their samples."""
    gathered: dict[str, list[Any]] = {}
    for figures in rounds:
        for name, value in figures.items():
            gathered.setdefault(name, []).append(value)
    result: dict[str, Any] = {}
    for name, values in gathered.items():
        if name == "latencies_ms":
            # The median of the rounds' percentiles: one disturbed round must not set the tail.
            result["latency_p50"] = median(percentile(samples, 50) for samples in values)
            result["latency_p99"] = median(percentile(samples, 99) for samples in values)
        elif isinstance(values[0], str):
            result[name] = values[0]
        else:
            result[name] = median(values)
    return result
