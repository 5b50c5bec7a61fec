"""Opens sockets to listen on, and serves the API on one of them until it is stopped."""

import asyncio
import errno
import math
import socket
import ssl
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from ostinato._core.base.errors import NotConfigured
from ostinato._core.base.settings import Settings
from ostinato._faces.cli.serve.process import Stop

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette

    from ostinato._faces.cli.serve.listening_limits import HalfOpen

BACKLOG = 2048
PORTS = 64  # how many API processes of a host may have a metrics page
KEEP_ALIVE_SECONDS = 75
"""How long an idle connection is kept: longer than proxies keep theirs (60 s), so that they close first."""
ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - how such an address is called


def listen(host: str, port: int, *, what: str = "the API") -> socket.socket:
    """Open a socket that listens; port 0 means any free port."""
    try:
        return _opened(host, port)
    except OSError as error:
        raise _refused(error, host, port, what) from None


def listen_for_metrics(settings: Settings) -> socket.socket | None:
    """Open the socket of the metrics page, on the next free port; None if there is to be no page."""
    host, first = settings.api_metrics_host, settings.api_metrics_port
    if not first:
        return None
    for port in range(first, min(first + PORTS, 65_536)):
        try:
            return _opened(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise _refused(error, host, port, "the metrics page", "api_metrics_") from None
    raise NotConfigured(
        f"no port of {host} from {first} to {port} is free for the metrics page",
        hint="Choose another api_metrics_port, or 0 for no page.",
    )


def _opened(host: str, port: int) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    made = socket.create_server(address[:2], family=family, backlog=BACKLOG)
    # As asyncio does for sockets that it makes. Without it an answer on a connection that is kept
    # may wait 40 ms, until the client has acknowledged the head before the body.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def _refused(error: OSError, host: str, port: int, what: str, option: str = "--") -> NotConfigured:
    place = f"port {port} of {host}"
    match error.errno:
        case errno.EADDRINUSE:
            said = f"{place} is taken: {what} cannot listen there"
            hint = f"Stop what listens there, or choose another port: {option}port 0 takes any free one."
        case errno.EACCES:
            said = f"{place} is not for this user: {what} cannot listen there"
            hint = "Choose a port from 1024 on, and put a proxy in front of it."
        case _:
            said = f"{what} cannot listen on {place}: {error.strerror or error}"
            hint = f"Name an address of this machine, such as {option}host 127.0.0.1."
    return NotConfigured(said, hint=hint, host=host, port=port)


def adopted(fd: int) -> socket.socket:
    """Return the socket that the supervisor listens on and passed to this process."""
    return socket.socket(fileno=fd)


def url_of(sock: socket.socket, *, scheme: str = "http") -> str:
    """Return the URL of a listening socket, from this machine."""
    host, port = sock.getsockname()[:2]
    host = ANYWHERE.get(host, host)
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def checked_tls(cert: Path | None, key: Path | None) -> tuple[Path, Path] | None:
    """Return the files of a certificate and its key, if TLS is asked for; they must fit together."""
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        raise NotConfigured("TLS needs a certificate and its key", hint="Give both --tls-cert and --tls-key.")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(cert, key)
    except OSError as error:  # ssl.SSLError is one
        raise NotConfigured(
            f"TLS cannot be served with {cert} and {key}: {error.strerror or error}",
            hint="Both are PEM files: the certificate with its chain, and its key, without a password.",
        ) from None
    return cert, key


def config_of(
    app: "Starlette", drain_seconds: float, *, tls: tuple[Path, Path] | None = None, limits: "HalfOpen | None" = None
) -> "uvicorn.Config":
    """Return how the API is served: it writes its own log lines, and finishes what it is at."""
    import uvicorn

    from ostinato._faces.cli.serve.listening_limits import HalfOpen, protocol

    cert, key = tls or (None, None)
    return uvicorn.Config(
        app,
        http=protocol(limits or HalfOpen()),
        ssl_certfile=cert,
        ssl_keyfile=key,
        # Whose X-Forwarded-For counts is a setting (`api.front`); uvicorn would believe all of this machine.
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=math.ceil(drain_seconds),
    )


async def serve(
    config: "uvicorn.Config",
    sock: socket.socket,
    stop: Stop,
    on_started: Callable[[], None],
    on_stop: Callable[[], None] = lambda: None,
) -> None:
    """Serve on a socket until told to stop; then accept nothing more, and finish what runs.

    `on_stop` ends what would run for ever, such as streams of events.
    """
    import uvicorn

    server = uvicorn.Server(config)
    server.capture_signals = nullcontext  # type: ignore[assignment]  # `stop` hears them
    start = server.startup

    async def startup(sockets: list[socket.socket] | None = None) -> None:
        await start(sockets)
        on_started()

    server.startup = startup  # type: ignore[method-assign]

    async def watch() -> None:
        await stop.asked.wait()
        on_stop()
        server.should_exit = True

    watching = asyncio.create_task(watch())
    try:
        await server.serve(sockets=[sock])
    finally:
        watching.cancel()
