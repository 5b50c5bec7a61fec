"""`ostinato up` and `ostinato worker`: the commands that run until they are stopped."""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer

from ostinato._core.base import extras
from ostinato._core.base.settings import Settings
from ostinato._faces.cli.frame import attach
from ostinato._faces.cli.frame.command import Cli, command, finish
from ostinato._faces.cli.frame.loading import INSTALLED
from ostinato._faces.cli.serve.api import Host, Port, Workers
from ostinato._faces.cli.serve.lab import lab

Apps = Annotated[list[str], typer.Option("--app", metavar="MODULE:APP", help="An app to run; may be repeated.")]
Concurrency = Annotated[int | None, typer.Option(metavar="N", min=1, help="Jobs at once in a process (100).")]
Drain = Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="For what is running, after SIGTERM (30).")]
Wait = Annotated[float, typer.Option(metavar="SECONDS", min=0, help="For the database, at the start.")]


class Service(StrEnum):
    """A background service of a worker, as `runtime.services.SERVICES` lists them."""

    TICKER = "ticker"
    RELAY = "relay"
    JANITOR = "janitor"


class Piece(StrEnum):
    """A part that can be started alone."""

    API = "api"
    WORKER = "worker"
    TICKER = "ticker"
    RELAY = "relay"
    JANITOR = "janitor"


def up(
    cli: Cli,
    *,
    app: Apps = [],  # noqa: B006 - Typer copies it
    only: Annotated[list[Piece], typer.Option(help="Start only this; may be repeated. For several machines.")] = [],  # noqa: B006 - Typer copies it
    host: Host = None,
    port: Port = None,
    workers: Annotated[int, typer.Option(metavar="N", min=1, help="Worker processes.")] = 1,
    api_workers: Workers = None,
    concurrency: Concurrency = None,
    demo: Annotated[
        bool | None,
        typer.Option("--demo/--no-demo", help="With a sandbox, a key and sample data; when no database is configured."),
    ] = None,
    drain_seconds: Drain = None,
    wait_seconds: Wait = 30,
) -> None:
    """Start everything: database, schema, workers and API; Ctrl-C stops, the data stays.

    Prints one line `ready URL` when everything answers. Without --app it runs the applications that
    come with Ostinato, and a small tour with kinds to play with. Workers do what the ticker, the
    relay and the janitor do; by --only each can have a process of its own that runs no jobs.

    Example: `ostinato up --app billing.jobs:app --workers 2 --port 8080`
    """
    from ostinato._faces.cli.serve import up as everything

    settings = cli.settings_with(
        concurrency=concurrency, drain_seconds=drain_seconds, api_host=host, api_port=port, api_workers=api_workers
    )
    toys, is_alone = lab(), settings.database_url is None and not only
    if demo or Piece.API in only or host is not None or port is not None:
        extras.need("lab" if demo else "api", "the demo" if demo else "the API")
    pieces = frozenset(piece.value for piece in only)
    if not pieces and extras.missing("api"):
        cli.out.note("Without the API, which `pip install 'ostinato[api]'` adds")
        pieces = frozenset({Piece.WORKER.value})
    shows = demo or (demo is None and is_alone and not extras.missing("lab"))
    plan = everything.Plan(
        apps=list(app) or [INSTALLED, *([] if toys is None else [toys.TOUR])],
        only=pieces,
        workers=workers,
        demo=toys if shows else None,
        wait_seconds=wait_seconds,
    )
    finish(cli, attach.run(everything.run(cli, settings, plan)))


def worker(
    cli: Cli,
    *,
    app: Apps,
    queues: Annotated[list[str], typer.Option(metavar="NAMES", help="Serve only these: by comma, or repeated.")] = [],  # noqa: B006 - Typer copies it
    concurrency: Concurrency = None,
    processes: Annotated[int, typer.Option(metavar="N", min=1, help="Worker processes.")] = 1,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Shown by `ostinato workers`.")] = None,
    only: Annotated[list[Service], typer.Option(help="Run no jobs, only this service; may be repeated.")] = [],  # noqa: B006 - Typer copies it
    drain_seconds: Drain = None,
    wait_seconds: Wait = 30,
    reload: Annotated[bool, typer.Option("--reload", help="Start anew when a file here is saved; to develop.")] = False,
    link: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Run jobs of one or more apps until SIGTERM or Ctrl-C; a second one ends at once.

    Exit codes: 0 stopped, 2 wrong app or settings, 69 no database, 78 the schema does not fit.

    Example: `ostinato worker --app billing.jobs:app --queues mail,default --processes 2`
    """
    settings = cli.settings_with(concurrency=concurrency, drain_seconds=drain_seconds)
    served = [part for text in queues for part in text.split(",") if part]
    services = [service.value for service in only]
    if processes == 1 and not reload:
        from ostinato._faces.cli.serve import process

        process.run_worker(
            cli,
            settings,
            list(app),
            queues=served,
            name=name,
            wait_seconds=wait_seconds,
            link=None if link is None else process.Link(link),
            only=services,
        )
    words = [
        f"--wait-seconds={wait_seconds}",
        *(f"--app={path}" for path in app),
        *(f"--queues={queue}" for queue in served),
        *(f"--only={service}" for service in services),
    ]
    finish(cli, attach.run(_supervise(cli, settings, words, processes, name, reload=reload)))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app)(up)
    command(app)(worker)


async def _supervise(
    cli: Cli, settings: Settings, words: list[str], processes: int, name: str | None, *, reload: bool
) -> int:
    from ostinato._faces.cli.serve.supervisor import Part, Supervisor
    from ostinato._faces.cli.serve.up import argv_of, environ

    argv = argv_of(cli, settings, "worker", *words)
    named: Callable[[int], list[str]] = lambda n: [*argv, f"--name={name}-{n}"] if name else argv  # noqa: E731

    async def on_ready(told: dict[str, list[dict[str, Any]]]) -> None:
        cli.out.event({"event": "ready", "workers": told["worker"]})

    if reload:
        from ostinato._faces.cli.serve import reload as reloading

        return await reloading.run(cli, settings, named, processes, on_ready)
    # Held by this process too, so that an embedded server outlives a worker that is replaced.
    async with attach.serving(cli, settings, watched=True):
        return await Supervisor(
            [Part("worker", named, processes)],
            cli.out,
            env=environ(settings),
            drain_seconds=settings.drain_seconds,
            on_ready=on_ready,
        ).run()
