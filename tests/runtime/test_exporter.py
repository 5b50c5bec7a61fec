"""The metrics page of a worker."""

import socket
import urllib.request
from collections.abc import Iterator

import pytest

from ostinato._core.base.errors import NotConfigured
from ostinato._core.base.metrics import CLAIMS, Recorder
from ostinato._core.runtime.observe import exporter
from ostinato._core.runtime.observe.exporter import Exporter

HOST = "127.0.0.1"


@pytest.fixture
def port() -> Iterator[int]:
    """A port that somebody else has."""
    with socket.create_server((HOST, 0)) as taken:
        yield taken.getsockname()[1]


def test_it_serves_what_was_counted_on_the_next_free_port(port: int) -> None:
    recorder = Recorder()
    recorder.add(CLAIMS, "mail", by=3)
    page = Exporter([recorder], HOST, port)
    try:
        with urllib.request.urlopen(f"http://{HOST}:{page.port}/metrics", timeout=120) as answer:
            text = answer.read().decode()
    finally:
        page.close()

    assert page.port > port
    assert 'ostinato_claims_total{queue="mail"} 3.0' in text
    assert "ostinato_queue_ready_jobs" not in text  # only the database knows that


def test_no_free_port_is_said(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "PORTS", 1)

    with pytest.raises(NotConfigured, match=f"no port from {port} to {port}"):
        Exporter([], HOST, port)


def test_an_address_that_is_not_ours_is_said() -> None:
    with pytest.raises(NotConfigured, match=r"192\.0\.2\.1"):
        Exporter([], "192.0.2.1", 9464)
