"""The metrics page of one worker process, for Prometheus to scrape.

Several workers of one host take consecutive ports, from the configured one on: list as many in
Prometheus as you start; ports without a worker are down.
"""

import errno
from collections.abc import Iterable
from threading import Thread
from wsgiref.simple_server import WSGIServer

import prometheus_client

from ostinato._core.base.errors import NotConfigured
from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import WORKER_METRICS, Recorder
from ostinato._core.base.prometheus import Collector

log = get_logger("exporter")

PORTS = 64


class Exporter:
    """Serves the sum of some recorders at `/metrics`, from a thread of its own."""

    def __init__(self, recorders: Iterable[Recorder], host: str, port: int) -> None:
        registry = prometheus_client.CollectorRegistry(auto_describe=False)
        registry.register(Collector(recorders, WORKER_METRICS))
        self._server, self._thread = _listen(registry, host, port)
        self.port = int(self._server.server_port)
        log.info("metrics_served", host=host, port=self.port)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _listen(registry: prometheus_client.CollectorRegistry, host: str, first: int) -> tuple[WSGIServer, Thread]:
    for port in range(first, min(first + PORTS, 65_536)):
        try:
            return prometheus_client.start_http_server(port, host, registry)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise NotConfigured(
                    f"metrics cannot be served on {host}:{port}: {error.strerror}",
                    hint="Choose another metrics_host or metrics_port, or 0 for none.",
                ) from error
    raise NotConfigured(
        f"no port from {first} to {first + PORTS - 1} is free for metrics",
        hint="Choose another metrics_port, or 0 for none.",
    )
