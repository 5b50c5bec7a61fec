"""Writes the declared metrics as a dashboard for Grafana: a panel for each, in rows by subject.

A counter is shown as a rate, a gauge as it is, a histogram by its quantiles. The data source is
chosen in Grafana; nothing else has to be set.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ostinato._core.base.metrics import METRICS, WORKER_METRICS, Counter, Histogram, Metric

Row = tuple[str, tuple[str, ...]]
"""A title, and the prefixes of the metrics that are shown below it."""

ROWS: tuple[Row, ...] = (
    ("Alerts", ("ostinato_alert",)),
    ("Queues", ("ostinato_queue_",)),
    ("Workers", ("ostinato_worker", "ostinato_expired_workers", "ostinato_blocked_workers", "ostinato_rescued")),
    ("Events", ("ostinato_event", "ostinato_subscription", "ostinato_unseq")),
    ("Schedules", ("ostinato_schedule_",)),
    ("Webhooks", ("ostinato_webhook_",)),
    ("API", ("ostinato_http_", "ostinato_figure_")),
)
REST = "Jobs and engine"
QUANTILES = (0.5, 0.95, 0.99)
WIDTH, HEIGHT, ACROSS = 8, 8, 3
SOURCE = {"type": "prometheus", "uid": "${source}"}


def dashboard(metrics: Iterable[Metric] = METRICS, rows: Iterable[Row] = (), *, of: str | None = None) -> str:
    """Return the dashboard, as JSON to import; `rows`: of applications, by how their metrics begin.

    `of` names the application that has this one to itself.
    """
    made = {
        "uid": "ostinato" if of is None else f"ostinato-{of}",
        "title": "Ostinato" if of is None else f"Ostinato: {of}",
        "tags": ["ostinato"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [{"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}]
        },
        "panels": list(_panels(list(metrics), (*ROWS, *rows))),
    }
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def _panels(metrics: list[Metric], rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    number, top = 1, 0
    for title in (*(title for title, _ in rows), REST):
        shown = [metric for metric in metrics if _row_of(metric, rows) == title]
        if not shown:
            continue
        place = {"x": 0, "y": top, "w": WIDTH * ACROSS, "h": 1}
        yield {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": place}
        number, top = number + 1, top + 1
        for index, metric in enumerate(shown):
            x, y = WIDTH * (index % ACROSS), top + HEIGHT * (index // ACROSS)
            yield _panel(metric, number, {"x": x, "y": y, "w": WIDTH, "h": HEIGHT})
            number += 1
        top += HEIGHT * -(-len(shown) // ACROSS)


def _row_of(metric: Metric, rows: Sequence[Row]) -> str:
    found = (title for title, starts in rows if metric.name.startswith(starts))
    return next(found, REST)


def _panel(metric: Metric, number: int, place: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": "timeseries",
        "title": metric.name.removeprefix("ostinato_").removesuffix("_total").replace("_", " "),
        "description": metric.help,
        "gridPos": place,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": {"unit": _unit(metric), "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": SOURCE, "expr": text, "legendFormat": key}
            for index, (text, key) in enumerate(_queries(metric))
        ],
    }


def _queries(metric: Metric) -> Iterator[tuple[str, str]]:
    by = ", ".join(metric.labels)
    legend = " ".join(f"{{{{{label}}}}}" for label in metric.labels)
    if isinstance(metric, Histogram):
        buckets = ", ".join(("le", *metric.labels))
        rate = f"sum by ({buckets}) (rate({metric.name}_bucket[$__rate_interval]))"
        for quantile in QUANTILES:
            named = f"p{quantile * 100:g} {legend}".strip()
            yield f"histogram_quantile({quantile}, {rate})", named
    elif isinstance(metric, Counter):
        yield f"sum by ({by}) (rate({metric.name}[$__rate_interval]))", legend or "rate"
    else:
        # Every API process exports the figures of the database; what workers have adds up.
        over = "sum" if metric in WORKER_METRICS else "max"
        yield f"{over} by ({by}) ({metric.name})", legend or "value"


def _unit(metric: Metric) -> str:
    name = metric.name.removesuffix("_total")
    if name.endswith("_seconds"):
        # The rate of seconds is a share of time.
        return "percentunit" if isinstance(metric, Counter) else "s"
    if isinstance(metric, Counter):
        return "cps"
    return "bytes" if name.endswith("_bytes") else "short"
