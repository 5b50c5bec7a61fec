"""`ostinato up` and `ostinato worker`: the commands that go on until they are stopped."""

import dataclasses
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from ostinato.base.redact import redact
from ostinato.base.settings import ENV_PREFIX, Settings
from ostinato.cli import attach, process
from ostinato.cli.command import Cli, command
from ostinato.cli.output import grid
from ostinato.cli.supervisor import OnReady, Supervisor
from ostinato.cli.words import counted
from ostinato.engine.schema import install
from ostinato.runtime.database import Database

__all__ = ["register"]

TOUR = "ostinato.cli.tour:app"
TOUR_EXAMPLE = "tour.greet name=Ada"

Apps = Annotated[
    list[str], typer.Option("--app", metavar="MODULE:APP", help="An app to run; may be repeated.")
]
Concurrency = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Jobs at once in a process (100).")
]
Drain = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", min=0, help="For running jobs, after SIGTERM (30)."),
]
Wait = Annotated[
    float, typer.Option(metavar="SECONDS", min=0, help="For the database, at the start.")
]


def up(
    cli: Cli,
    *,
    app: Apps = [],  # noqa: B006 - Typer copies it
    workers: Annotated[int, typer.Option(metavar="N", min=1, help="Worker processes.")] = 1,
    concurrency: Concurrency = None,
    drain_seconds: Drain = None,
    wait_seconds: Wait = 30,
) -> None:
    """Start everything: the database, its schema and workers; Ctrl-C stops, the data stays.

    Without --app it runs a small tour with kinds to play with.

    Example: `ostinato up --app billing.jobs:app --workers 2`
    """
    settings = cli.settings_with(concurrency=concurrency, drain_seconds=drain_seconds)
    apps = list(app) or [TOUR]

    async def serve() -> int:
        async with attach.serving(settings, cli.out, watched=True) as database:
            if database.server is None:
                with cli.out.working(
                    f"Bringing the schema of {attach.named(database.admin_url)} up to date"
                ):
                    await (await attach.answering(database.admin_url, wait_seconds)).close()
                    await install(database.admin_url, retention_days=settings.retention_days)

            def on_ready(told: list[dict[str, Any]]) -> None:
                _show_ready(cli, database, apps, told)

            cli.out.note(f"Starting {counted(workers, 'worker')}")
            argv = _worker_argv(cli, settings, apps, [], wait_seconds)
            return await _supervisor(cli, settings, lambda _: argv, workers, on_ready).run()

    _finish(cli, attach.run(serve()))


def worker(
    cli: Cli,
    *,
    app: Apps,
    queues: Annotated[
        list[str],
        typer.Option(metavar="NAMES", help="Serve only these: by comma, or repeated."),
    ] = [],  # noqa: B006 - Typer copies it
    concurrency: Concurrency = None,
    processes: Annotated[int, typer.Option(metavar="N", min=1, help="Worker processes.")] = 1,
    name: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Shown by `ostinato workers`.")
    ] = None,
    drain_seconds: Drain = None,
    wait_seconds: Wait = 30,
    link: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Run jobs of one or more apps until SIGTERM or Ctrl-C; a second one ends at once.

    Exit codes: 0 stopped, 2 wrong app or settings, 69 no database, 78 the schema does not fit.

    Example: `ostinato worker --app billing.jobs:app --queues mail,default --processes 2`
    """
    settings = cli.settings_with(concurrency=concurrency, drain_seconds=drain_seconds)
    served = [part for text in queues for part in text.split(",") if part]
    if processes == 1:
        process.run_worker(
            cli,
            settings,
            list(app),
            queues=served,
            name=name,
            wait_seconds=wait_seconds,
            link=None if link is None else process.Link(link),
        )

    async def supervise() -> int:
        # Held by this process too, so that an embedded server outlives a worker that is replaced.
        async with attach.serving(settings, cli.out, watched=True):
            argv = _worker_argv(cli, settings, list(app), served, wait_seconds)
            return await _supervisor(
                cli,
                settings,
                lambda number: [*argv, f"--name={name}-{number}"] if name else argv,
                processes,
                lambda told: cli.out.event({"event": "ready", "workers": told}),
            ).run()

    _finish(cli, attach.run(supervise()))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app)(up)
    command(app)(worker)


def _finish(cli: Cli, code: int) -> None:
    cli.out.event({"event": "stopped", "exit_code": code})
    if code:
        raise typer.Exit(code)


def _supervisor(
    cli: Cli,
    settings: Settings,
    argv: Callable[[int], list[str]],
    count: int,
    on_ready: OnReady,
) -> Supervisor:
    return Supervisor(
        argv,
        count,
        cli.out,
        env=_environ(settings),
        drain_seconds=settings.drain_seconds,
        on_ready=on_ready,
    )


def _worker_argv(
    cli: Cli, settings: Settings, apps: list[str], queues: list[str], wait_seconds: float
) -> list[str]:
    argv = [sys.executable, "-m", "ostinato", "worker", f"--wait-seconds={wait_seconds}"]
    argv += [f"--app={path}" for path in apps] + [f"--queues={name}" for name in queues]
    if settings.database_url is None:
        argv.append(f"--data-dir={attach.data_folder(settings)}")
    if cli.config is not None:
        argv.append(f"--config={cli.config}")
    return argv + (["--debug"] if cli.debug else [])


def _environ(settings: Settings) -> dict[str, str]:
    """The settings as the environment of a worker: a password on its command line could be read."""
    values = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
    ours = {
        f"{ENV_PREFIX}{name.upper()}": "" if v is None else str(v) for name, v in values.items()
    }
    return os.environ | ours


def _show_ready(cli: Cli, database: Database, apps: list[str], told: list[dict[str, Any]]) -> None:
    kinds = sorted({kind for worker in told for kind in worker["kinds"]})
    places = _places(cli, database)
    if cli.out.json:
        cli.out.event({"event": "ready", "apps": apps, "workers": told, **places})
        return
    counts = f"{counted(len(told), 'worker')}, {counted(len(kinds), 'kind')}"
    ready = Text(f"ready: {counts}. Ctrl-C stops; the data stays.")
    if cli.out.quiet:
        cli.out.show(None, ready)
        return
    example = TOUR_EXAMPLE if apps == [TOUR] else told[0]["example"]
    shown = grid()
    for name, value in {**places, "app": ", ".join(apps), "kinds": ", ".join(kinds)}.items():
        shown.add_row(name, Text(value))
    shown.add_row()
    tries = (("enqueue", example), ("jobs", "list"), ("why", "JOB"))
    for number, words in enumerate(tries):
        shown.add_row("" if number else "try", Text(cli.try_(*words)))
    panel = Panel(shown, title="Ostinato", title_align="left", border_style="green", expand=False)
    cli.out.show(None, Group(panel, ready))  # in one piece: the workers log to the same terminal


def _places(cli: Cli, database: Database) -> dict[str, str]:
    server, url, psql = database.server, redact(database.url), cli.try_("db", "psql")
    if server is None:
        return {"database": url, "psql": psql}
    return {
        "data": str(server.cluster.data_dir),
        "database": f"PostgreSQL {server.version}, embedded",
        "url": url,
        "psql": psql,
        "log": str(server.log_path),
    }
