"""Records the figures of rule 7.2 for Prometheus: queue, latencies, failures, dead letters.

They are the database's (`outbound.figures`), over the last hour, so that every process shows the
same: on `/metrics` of all tenants together, on a page of the tenant of its own. The dashboard
`deploy/grafana/outbound.json` shows them.
"""

from collections.abc import Iterable
from typing import Any, Final

import prometheus_client

from ostinato.apps.outbound import store
from ostinato.observe import Collector, Figures, Gauge, Recorder

PREFIX: Final = "ostinato_outbound_"


def _gauge(name: str, about: str, *labels: str) -> Gauge:
    return Gauge(f"{PREFIX}{name}", about, labels)


METRICS: Final = (
    _gauge("queue_size", "Messages that wait to be sent, or are being sent.", "channel"),
    _gauge("sent", "Messages that a provider took in the last hour.", "channel"),
    _gauge("delivered", "Of these, messages that arrived.", "channel"),
    _gauge("failed", "Messages that failed in the last hour.", "channel"),
    _gauge("failed_by_code", "Messages that failed in the last hour, by error code.", "code"),
    _gauge("failed_by_class", "The same by class of error.", "error_class"),
    _gauge("failure_rate", "Share of messages that failed, of those that ended."),
    _gauge("queued_to_sent_p50", "Seconds from accepted to sent: half are faster.", "channel"),
    _gauge("queued_to_sent_p95", "Seconds from accepted to sent: 95 of 100 are faster.", "channel"),
    _gauge("sent_to_delivered_p50", "Seconds from sent to delivered: half are faster.", "channel"),
    _gauge("sent_to_delivered_p95", "Seconds from sent to delivered: 95 of 100 are faster.", "channel"),
    _gauge("retries", "Attempts of the last hour that were not the first."),
    _gauge("dead_letters", "Messages whose attempts are used up."),
)


OF_ALL: Final = (
    *METRICS,
    _gauge(
        "signature_failures", "Callbacks of the last hour that were refused because of their signature.", "provider"
    ),
    _gauge("held_senders", "Senders that are held because of an error of their provider."),
)
"""The figures of all tenants together: `outbound.observe()`."""


async def record(conn: store.Connection) -> Recorder:
    """Return the figures of all tenants together."""
    return _recorded(await store.rows(conn, "observe"))


FIGURES: Final = Figures(OF_ALL, record)


def render(figures: Iterable[dict[str, Any]]) -> bytes:
    """Render the figures as a page for Prometheus to scrape."""
    recorder = _recorded(figures)
    registry = prometheus_client.CollectorRegistry(auto_describe=False)
    registry.register(Collector([recorder], METRICS))
    return prometheus_client.generate_latest(registry)


def _recorded(figures: Iterable[dict[str, Any]]) -> Recorder:
    known = {metric.name.removeprefix(PREFIX): metric for metric in OF_ALL}
    recorder = Recorder()
    for each in figures:
        gauge = known[each["name"]]
        recorder.set(gauge, each["value"] or 0.0, *((each["label"] or "",) if gauge.labels else ()))
    return recorder
