"""`ostinato api`: the API, in one process or in several that share an address."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn

import typer

from ostinato._core.base import extras
from ostinato._core.base.log import get_logger
from ostinato._core.base.proxies import Proxies
from ostinato._core.base.settings import Settings
from ostinato._core.db import pool
from ostinato._core.db.roles import login
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.handlers.app import App
from ostinato._faces.cli.frame import attach
from ostinato._faces.cli.frame.command import Cli, command, finish
from ostinato._faces.cli.frame.loading import INSTALLED, load_apps

if TYPE_CHECKING:  # imported when the API starts: the help of all commands needs neither
    from ostinato._faces.api.counts import Counts
    from ostinato._faces.api.parts import Parts
    from ostinato._faces.cli.serve import process

log = get_logger("api")

Host = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Where the API listens (127.0.0.1).")]
Port = Annotated[int | None, typer.Option(metavar="N", min=0, max=65_535, help="Its port (8080); 0: any free one.")]

Workers = Annotated[
    int | None,
    typer.Option("--api-workers", metavar="N", min=0, max=64, help="API processes (0: one for each core, at most 8)."),
]

METRICS_DRAIN_SECONDS = 1
"""A scrape that runs may end; with no time at all the server would report every stop as an error."""


def api(
    cli: Cli,
    *,
    app: Annotated[
        list[str], typer.Option("--app", metavar="MODULE:APP", help="An app to serve; may be repeated.")
    ] = [],  # noqa: B006 - Typer copies it
    host: Host = None,
    port: Port = None,
    drain_seconds: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="For running requests, after SIGTERM (30).")
    ] = None,
    wait_seconds: Annotated[float, typer.Option(metavar="SECONDS", min=0, help="For the database, at the start.")] = 30,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A certificate (PEM): the API speaks TLS.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="The key of the certificate (PEM).")] = None,
    api_workers: Workers = None,
    number: Annotated[int, typer.Option(hidden=True)] = 1,
    processes: Annotated[int, typer.Option(hidden=True)] = 1,
    lines: Annotated[Path | None, typer.Option(hidden=True)] = None,
    line_fd: Annotated[int | None, typer.Option(hidden=True)] = None,
    fd: Annotated[int | None, typer.Option(hidden=True)] = None,
    metrics_fd: Annotated[int | None, typer.Option(hidden=True)] = None,
    link: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Serve the API until SIGTERM or Ctrl-C, which let running requests end; a second one does not.

    Without --app it serves the applications that come with Ostinato. Its processes share the address;
    one that dies is replaced. Others may run on other machines, behind a proxy that speaks TLS, or with
    --tls-cert and --tls-key.

    Exit codes: 0 stopped, 2 wrong app or settings or a port that is taken, 69 no database, 78 the
    schema does not fit.

    Example: `ostinato api --port 8080`
    """
    from ostinato._faces.cli.serve import listening, process

    extras.need("api", "the API")
    settings = cli.settings_with(api_host=host, api_port=port, drain_seconds=drain_seconds, api_workers=api_workers)
    line = None if link is None else process.Link(link)
    tls = listening.checked_tls(tls_cert, tls_key)
    named = list(app) or [INSTALLED]
    sockets = None if fd is None else Sockets(fd, metrics_fd)
    if sockets is None:
        from ostinato._faces.cli.serve import shared

        if shared.processes_of(settings) > 1:
            words = [f"--wait-seconds={wait_seconds}", *(f"--app={path}" for path in app)]
            words += [] if tls is None else [f"--tls-cert={tls[0]}", f"--tls-key={tls[1]}"]
            finish(cli, attach.run(_supervise(cli, settings, words, scheme="http" if tls is None else "https")))
            return
    elif lines is not None and line_fd is not None:
        sockets = sockets._replace(beside=Beside(number, processes, lines, line_fd))
    _run(cli, settings, named, sockets, wait_seconds=wait_seconds, link=line, tls=tls)


async def _warn_of_worker(database: Database) -> None:
    """Log it when the API sees every tenant: its requests do not, but `reset role` would."""
    async with await pool.connect(database.for_api().url, role="api", pooled=True) as conn:
        role, is_worker = await login(conn)
    if is_worker:
        hint = "Set OSTINATO_API_DATABASE_URL to a URL of the role ostinato_api; `ostinato doctor` says how."
        log.warning("api_sees_every_tenant", role=role, hint=hint)


async def _supervise(cli: Cli, settings: Settings, words: list[str], *, scheme: str) -> int:
    """Run several processes until a signal; returns the exit code."""
    from ostinato._faces.cli.serve import shared
    from ostinato._faces.cli.serve.supervisor import Supervisor
    from ostinato._faces.cli.serve.up import argv_of, environ

    with shared.opened(settings, scheme=scheme) as sockets:

        async def on_ready(told: dict[str, list[dict[str, Any]]]) -> None:
            pids = [each["pid"] for each in told["api"]]
            cli.out.event(
                {"event": "ready", "url": sockets.url, "metrics": sockets.page, "pid": os.getpid(), "processes": pids}
            )
            if not cli.out.json:
                cli.out.plain(f"ready {sockets.url}")

        # Held by this process too, so that an embedded server outlives a process that is replaced.
        async with attach.serving(cli, settings, watched=True):
            return await Supervisor(
                [shared.part(sockets, argv_of(cli, settings, "api", *words))],
                cli.out,
                env=environ(settings),
                drain_seconds=settings.drain_seconds,
                on_ready=on_ready,
            ).run()


class Beside(NamedTuple):
    """Which of several processes this is, and where they tell each other their counts."""

    number: int
    processes: int
    lines: Path
    line_fd: int


class Sockets(NamedTuple):
    """The sockets that a supervisor listens on, by their numbers."""

    api: int
    metrics: int | None
    beside: Beside | None = None


class Built(NamedTuple):
    """What is served."""

    app: Any
    metrics: Any
    end_streams: Callable[[], None]


@asynccontextmanager
async def _built(
    cli: Cli,
    settings: Settings,
    apps: Sequence[App],
    stop: "process.Stop",
    wait_seconds: float,
    *,
    watched: bool,
    beside: Beside | None = None,
) -> AsyncIterator[Built | None]:
    """Build the application of the database, or of all cells; None: it was stopped before a database answered."""
    from ostinato._faces.api.metrics_page import metrics_app
    from ostinato._faces.api.server import Parts, build, end_streams
    from ostinato._faces.cli.serve import process

    if settings.cells_file is not None:
        from ostinato._core.base.cellmap import read_cells
        from ostinato._faces.api.cells import CellsApi, metrics_of

        found = read_cells(settings)
        api = CellsApi(found, apps, watches=True)
        async with api.running():  # a cell that is away does not keep the others from being served
            yield Built(api, metrics_of(api, found.home), api.end_streams)
        return
    async with attach.serving(cli, settings, watched=watched) as database:
        if not await process.reachable(database, wait_seconds, stop):
            yield None
            return
        parts = Parts(database, settings, apps=apps, watches=True)
        await _warn_of_worker(database)
        built = build(parts)
        async with built.router.lifespan_context(built), _counting(beside, parts) as counts:
            yield Built(built, metrics_app(parts, counts), lambda: end_streams(built))


@asynccontextmanager
async def _counting(beside: Beside | None, parts: "Parts") -> AsyncIterator["Counts | None"]:
    """Tell the processes beside this one what it has counted."""
    if beside is None:
        yield None
        return
    from ostinato._faces.api.counts import Counts

    counts = Counts(beside.number, beside.processes, beside.lines)
    async with counts.telling(socket.socket(fileno=beside.line_fd), parts.recorder):
        yield counts


def _listening(settings: Settings, given: Sockets | None) -> tuple[socket.socket, socket.socket | None]:
    from ostinato._faces.cli.serve import listening

    if given is None:
        api = listening.listen(settings.api_host, settings.api_port)
        return api, listening.listen_for_metrics(settings)
    return listening.adopted(given.api), None if given.metrics is None else listening.adopted(given.metrics)


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app)(api)


def _run(
    cli: Cli,
    settings: Settings,
    apps: list[str],
    given: Sockets | None,
    *,
    wait_seconds: float,
    link: "process.Link | None",
    tls: tuple[Path, Path] | None,
) -> NoReturn:
    from ostinato._faces.cli.serve import listening, process

    async def work(stop: process.Stop) -> None:
        from ostinato._core.runtime.installed import check_settings
        from ostinato._faces.cli.serve.listening_limits import HalfOpen

        loaded = load_apps(apps)
        check_settings(settings, loaded)
        sock, metrics = _listening(settings, given)
        url = listening.url_of(sock, scheme="http" if tls is None else "https")
        page = None if metrics is None else f"{listening.url_of(metrics)}/metrics"

        def started() -> None:
            told = {"url": url, "metrics": page, "pid": os.getpid()}
            cli.out.event({"event": "ready", **told})
            if link is not None:
                link.say({"ready": told})
            elif not cli.out.json:
                cli.out.plain(f"ready {url}")

        limits = HalfOpen(proxies=Proxies.parse(settings.api_trusted_proxies))
        beside = None if given is None else given.beside
        async with _built(cli, settings, loaded, stop, wait_seconds, watched=link is None, beside=beside) as built:
            if built is None:
                return
            async with asyncio.TaskGroup() as servers:
                if metrics is not None:
                    small = listening.config_of(built.metrics, METRICS_DRAIN_SECONDS)
                    servers.create_task(listening.serve(small, metrics, stop, lambda: None))
                config = listening.config_of(built.app, settings.drain_seconds, tls=tls, limits=limits)
                await listening.serve(config, sock, stop, started, built.end_streams)

    process.run(cli, settings, link, work)
