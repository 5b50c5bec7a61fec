"""The socket that a server listens on, and what it takes of a request that never becomes whole."""

import asyncio
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from ostinato._core.base.errors import NotConfigured
from ostinato._core.base.proxies import Proxies
from ostinato._core.base.settings import Settings
from ostinato._faces.cli.serve.listening import checked_tls, config_of, listen, listen_for_metrics, url_of
from ostinato._faces.cli.serve.listening_limits import HalfOpen
from tests.waiting import until

HEAD = b"POST / HTTP/1.1\r\nhost: a\r\n"


async def echo(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - as ASGI has it
    """An application that reads a body, and answers how long it was."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message["body"]), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


@contextmanager
def serving(limits: HalfOpen, tls: tuple[Path, Path] | None = None, app: Any = echo) -> Iterator[socket.socket]:  # noqa: ANN401 - an ASGI application
    """The socket of a running server."""
    config = config_of(app, 1.0, tls=tls, limits=limits)
    server = uvicorn.Server(config)
    with listen("127.0.0.1", 0) as sock:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([sock])))
        thread.start()
        try:
            until(lambda: server.started)
            yield sock
        finally:
            server.should_exit = True
            thread.join()


def everything(connection: socket.socket) -> bytes:
    """What comes until the other side closes."""
    connection.settimeout(60)
    found = b""
    try:
        while data := connection.recv(65_536):
            found += data
    except ConnectionResetError:
        pass
    return found


@pytest.mark.parametrize("sent", [b"", b"POST", HEAD, HEAD + b"content-length: 9\r\n\r\nhalf"], ids=len)
def test_a_request_that_never_becomes_whole_is_closed(sent: bytes) -> None:
    limits = HalfOpen(head_seconds=0.2, body_seconds=0.2)
    with serving(limits) as sock, socket.create_connection(sock.getsockname()) as caller:
        caller.sendall(sent)

        assert everything(caller)[:12] in (b"HTTP/1.1 408", b"")


def test_a_head_without_an_end_is_refused_by_its_size() -> None:
    limits = HalfOpen(head_seconds=3600.0)  # its time does not end it
    with serving(limits) as sock, socket.create_connection(sock.getsockname()) as caller:
        caller.sendall(HEAD + b"x-long: ")
        try:
            for _ in range(1_000):  # 69 MB were taken
                caller.sendall(b"a" * 69_000)
        except (BrokenPipeError, ConnectionResetError):
            return
        pytest.fail("it took all of it")


CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"


@pytest.mark.parametrize("trailers", [b"x-long: " + b"a" * 2_000, b"x-a: b\r\n" * 300 + b"x-a: b"], ids=["one", "many"])
def test_what_follows_a_body_is_refused_by_its_size(trailers: bytes) -> None:
    """Neither the limit of a head nor that of a body counted it."""
    limits = HalfOpen(head_bytes=1_000, body_seconds=3600.0)
    with serving(limits) as sock, socket.create_connection(sock.getsockname()) as caller:
        caller.sendall(CHUNKED + trailers + b"\r\n\r\n")

        assert everything(caller).startswith(b"HTTP/1.1 431")


def test_what_follows_a_body_without_an_end_is_refused_by_its_size() -> None:
    limits = HalfOpen(head_seconds=3600.0, body_seconds=3600.0)
    with serving(limits) as sock, socket.create_connection(sock.getsockname()) as caller:
        caller.sendall(CHUNKED + b"x-long: ")
        try:
            for _ in range(1_000):
                caller.sendall(b"a" * 69_000)
        except (BrokenPipeError, ConnectionResetError):
            return
        pytest.fail("it took all of it")


async def names(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - as ASGI has it
    """An application that answers which headers there are, once the body is read."""
    while (await receive()).get("more_body", False):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b",".join(name for name, _ in scope["headers"])})


def test_what_follows_a_body_adds_no_header_to_those_that_were_believed() -> None:
    """A small one is let through, as RFC 9110 wants it, and nobody sees it."""
    limits = HalfOpen(head_bytes=1_000)
    with serving(limits, app=names) as sock, socket.create_connection(sock.getsockname()) as caller:
        caller.sendall(CHUNKED.replace(b"host: a", b"host: a\r\nconnection: close") + b"authorization: mine\r\n\r\n")

        answer = everything(caller)

    assert answer.startswith(b"HTTP/1.1 200")
    assert b"transfer-encoding" in answer
    assert b"authorization" not in answer


def test_a_body_in_very_many_chunks_is_no_long_head() -> None:
    with serving(HalfOpen(head_bytes=1_000)) as sock:
        answer = httpx.post(url_of(sock), content=(b"x" for _ in range(5_000)), trust_env=False, timeout=60)

    assert answer.text == "5000"


def test_a_long_body_in_one_piece_with_its_head_is_no_long_head() -> None:
    with serving(HalfOpen(head_bytes=1_000)) as sock:
        answer = httpx.post(url_of(sock), content=b"x" * 100_000, trust_env=False, timeout=60)

    assert answer.text == "100000"


def test_half_requests_of_one_address_are_closed_from_the_oldest_on() -> None:
    limits = HalfOpen(most_of_address=3, young_seconds=0.0, head_seconds=3600.0)  # it is not their time that ends them
    with serving(limits) as sock, ExitStack() as stack:
        callers = []
        for _ in range(8):
            callers.append(stack.enter_context(socket.create_connection(sock.getsockname())))
            callers[-1].sendall(HEAD)

        for caller in callers[:5]:
            everything(caller)
        answer = httpx.post(url_of(sock), content=b"whole", trust_env=False, timeout=60)
        assert answer.text == "5"


class Connection:
    """A connection that owes us the rest of a request."""

    def __init__(self, limits: HalfOpen, address: str) -> None:
        self.limits, self.address = limits, address
        self.closed = False

    def refuse(self, _: bytes) -> None:
        self.closed = True
        self.limits.remove(self, self.address)  # type: ignore[arg-type]


def test_800_half_requests_of_one_address_do_not_stay_at_default_settings() -> None:
    """800 were all still open after 12 s."""
    limits = HalfOpen()
    callers: list[Any] = [Connection(limits, "203.0.113.9") for _ in range(800)]
    for number, caller in enumerate(callers):
        limits.add(caller, caller.address, number / 100)
    other: Any = Connection(limits, "198.51.100.1")
    limits.add(other, other.address, 7.9)

    limits.add(callers[-1], callers[-1].address, 12.0)

    assert sum(not caller.closed for caller in callers) == limits.most_of_address == 256
    assert not other.closed
    assert (limits.head_seconds, limits.body_seconds, limits.head_bytes) == (10.0, 120.0, 65_536)


def test_a_trusted_proxy_stands_for_many_callers() -> None:
    limits = HalfOpen(most_of_address=3, young_seconds=0.0, proxies=Proxies.parse("10.0.0.0/8"))
    callers: list[Any] = [Connection(limits, "10.0.0.7") for _ in range(10)]

    for number, caller in enumerate(callers):
        limits.add(caller, caller.address, float(number))

    assert not any(caller.closed for caller in callers)


def test_bytes_that_begin_no_request_do_not_keep_a_connection() -> None:
    """An empty line ended the time of an idle connection, and began no other."""
    limits = HalfOpen()
    with serving(limits) as sock, socket.create_connection(sock.getsockname()) as caller:
        caller.sendall(HEAD + b"content-length: 2\r\n\r\nok")
        answer = b""
        while not answer.endswith(b"\r\n0\r\n\r\n"):  # whole: the connection is idle
            answer += caller.recv(65_536)
        limits.head_seconds = 0.01  # for what comes now, and not for the request before
        caller.sendall(b"\r\n")

        assert b"HTTP/1.1 408" in everything(caller)


def test_an_idle_connection_is_kept_longer_than_proxies_keep_theirs_and_no_header_is_believed() -> None:
    config = config_of(echo, 1.0)  # type: ignore[arg-type]

    assert (config.timeout_keep_alive, config.proxy_headers) == (75, False)


def test_a_slow_body_is_told_so() -> None:
    with serving(HalfOpen(body_seconds=0.2)) as sock, socket.create_connection(sock.getsockname()) as caller:
        caller.sendall(HEAD + b"content-length: 9\r\n\r\nhalf")

        assert everything(caller).startswith(b"HTTP/1.1 408")


def test_the_page_of_metrics_takes_the_next_free_port() -> None:
    with listen("127.0.0.1", 0) as taken:
        first = taken.getsockname()[1]
        with listen_for_metrics(Settings(api_metrics_port=first)) or pytest.fail("there is a page") as sock:
            assert first < sock.getsockname()[1] < first + 64
    assert listen_for_metrics(Settings(api_metrics_port=0)) is None
    with pytest.raises(NotConfigured, match="metrics page") as caught:
        listen_for_metrics(Settings(api_metrics_host="203.0.113.9"))
    assert "api_metrics_host" in (caught.value.hint or "")


def test_callers_that_come_all_at_once_are_served() -> None:
    limits = HalfOpen(most_of_address=2, young_seconds=60.0)
    with serving(limits) as sock, ExitStack() as stack:
        callers = [stack.enter_context(socket.create_connection(sock.getsockname())) for _ in range(8)]
        for caller in callers:
            caller.sendall(HEAD + b"connection: close\r\ncontent-length: 2\r\n\r\nok")

        assert all(everything(caller).strip().endswith(b"2\r\n0") for caller in callers)


def test_requests_on_a_connection_that_is_kept_are_counted_one_by_one() -> None:
    limits = HalfOpen(head_bytes=1_000, most_of_address=1, young_seconds=0.0)
    with serving(limits) as sock, httpx.Client(trust_env=False, timeout=60) as client:
        for _ in range(20):
            answer = client.post(url_of(sock), content=b"x", headers={"x-some": "a" * 200})
            assert answer.text == "1"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    made = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    made += f" -addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {cert}"
    subprocess.run(made.split(), check=True, capture_output=True)
    return cert, key


def test_the_api_speaks_tls_by_itself(certificate: tuple[Path, Path]) -> None:
    tls = checked_tls(*certificate)
    with serving(HalfOpen(), tls) as sock:
        url = url_of(sock, scheme="https")
        trusted = ssl.create_default_context(cafile=certificate[0])
        answer = httpx.post(url, content=b"12", verify=trusted, trust_env=False, timeout=60)

        assert answer.text == "2"
        with pytest.raises(httpx.TransportError):
            httpx.post(url_of(sock), content=b"12", trust_env=False, timeout=60)


def test_a_certificate_and_a_key_that_do_not_fit_are_refused(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    cert, _ = certificate
    (tmp_path / "key.pem").write_text("no key")

    for key in (None, tmp_path / "none.pem", tmp_path / "key.pem"):
        with pytest.raises(NotConfigured):
            checked_tls(cert, key)
    assert checked_tls(None, None) is None


def test_an_answer_is_not_held_back_until_the_last_one_was_acknowledged() -> None:
    with listen("127.0.0.1", 0) as sock, socket.create_connection(sock.getsockname()):
        taken, _ = sock.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
