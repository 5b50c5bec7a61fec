"""Recorders as Prometheus reads them. Only who serves or prints such a page imports its library."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

import prometheus_client
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector as PrometheusCollector

from ostinato._core.base.metrics import METRICS, Counter, Histogram, Labels, Metric, Recorder


class Collector(PrometheusCollector):
    """Hands the sum of some recorders to a Prometheus registry."""

    def __init__(self, recorders: Iterable[Recorder], metrics: Iterable[Metric] = METRICS) -> None:
        self._recorders = tuple(recorders)
        self._metrics = tuple(metrics)

    def collect(self) -> Iterator[prometheus_client.Metric]:
        """Yield one family per declared metric, those that nothing was recorded for included."""
        for metric in self._metrics:
            yield self._family(metric)

    def _family(self, metric: Metric) -> prometheus_client.Metric:
        if isinstance(metric, Histogram):
            return self._histogram(metric)
        cls = CounterMetricFamily if isinstance(metric, Counter) else GaugeMetricFamily
        family = cls(metric.name, metric.help, labels=metric.labels)
        for labels, (_, value) in self._summed(metric).items():
            family.add_metric(labels, value)
        return family

    def _histogram(self, metric: Histogram) -> prometheus_client.Metric:
        family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
        bounds = [f"{bound:g}" for bound in metric.buckets] + ["+Inf"]
        for labels, (counts, total) in self._summed(metric).items():
            cumulative = zip(bounds, accumulate(counts), strict=True)
            family.add_metric(labels, buckets=list(cumulative), sum_value=total)
        return family

    def _summed(self, metric: Metric) -> dict[Labels, tuple[list[int], float]]:
        sums: dict[Labels, tuple[list[int], float]] = {}
        for recorder in self._recorders:
            for labels, counts, value in recorder.series(metric):
                before, so_far = sums.get(labels, ([0] * len(counts), 0))
                added = [old + new for old, new in zip(before, counts, strict=True)]
                sums[labels] = (added, so_far + value)
        return sums


def render(
    recorders: Iterable[Recorder], more: Iterable[Metric] = (), instead: Mapping[Metric, Metric] | None = None
) -> bytes:
    """Return the recorders as a page for Prometheus to scrape.

    `more`: metrics of applications; `instead`: what stands in the place of a metric, with more labels.
    """
    shown = [(instead or {}).get(metric, metric) for metric in (*METRICS, *more)]
    registry = prometheus_client.CollectorRegistry(auto_describe=False)
    registry.register(Collector(recorders, shown))
    return prometheus_client.generate_latest(registry)
