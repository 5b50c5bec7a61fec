"""Finds the database of a command: a configured one, or the embedded one, started if it does not run."""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import typer
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict

from ostinato._core.base.errors import DatabaseUnavailable, EmbeddedError, NotConfigured
from ostinato._core.base.settings import Settings
from ostinato._core.base.vault import ensure_key
from ostinato._core.db import embedded, pool
from ostinato._core.db.pool import conninfo
from ostinato._core.engine import clock
from ostinato._core.runtime.database import Database
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.document import keep_json_raw
from ostinato._faces.cli.frame.output import Output

P = ParamSpec("P")
T = TypeVar("T")

RETRY_SECONDS = 0.25
WATCH_SECONDS = 1.0


def ask(
    cli: Cli, work: Callable[Concatenate[AsyncConnection[Any], P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Do some work on a connection of a worker's role, and return what came of it."""

    async def asked() -> T:
        async with connection(cli) as conn:
            return await work(conn, *args, **kwargs)

    return run(asked())


def ask_at(
    cli: Cli, work: Callable[Concatenate[AsyncConnection[Any], P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
) -> tuple[T, datetime]:
    """Do as `ask` does, and return beside it the database's time, which ages are counted from."""

    async def timed(conn: AsyncConnection[Any]) -> tuple[T, datetime]:
        return await work(conn, *args, **kwargs), await clock.now(conn)

    return ask(cli, timed)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's asynchronous part to its end; a signal cancels it."""

    async def interruptible() -> T:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio.run makes one
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(interruptible())
    except asyncio.CancelledError:
        raise typer.Exit(128 + signal.SIGTERM) from None


async def answering(url: str, seconds: float) -> pool.Connection:
    """Open a connection; waits for a time until the database answers."""
    give_up = time.monotonic() + seconds
    while True:
        try:
            return await pool.connect(url, role="cli", pooled=True)
        except DatabaseUnavailable:
            if time.monotonic() >= give_up:
                raise
        await asyncio.sleep(RETRY_SECONDS)


@asynccontextmanager
async def connection(cli: Cli) -> AsyncIterator[AsyncConnection[Any]]:
    """Open a connection in autocommit that keeps stored JSON as it is."""
    async with (
        database(cli.settings, cli.out) as found,
        await pool.connect(found.url, role="cli", pooled=found.pooled) as conn,
    ):
        keep_json_raw(conn)
        conn.vault = cli.settings.vault
        conn.acting = cli.acting
        yield conn


@asynccontextmanager
async def database(settings: Settings, out: Output) -> AsyncIterator[Database]:
    """Find the database, and leave it unchanged. An embedded one that does not run is started for the block."""
    if settings.database_url is not None:
        yield Database.configured(settings)
        return
    folder = data_folder(settings)
    if not (folder / "postgres").is_dir():
        raise NotConfigured(
            f"there is no database in {folder}",
            hint="Start one with `ostinato up`, name its folder with --data-dir, or set OSTINATO_DATABASE_URL.",
            folder=str(folder),
        )
    server = await _attached(folder)
    if server is None:
        with out.working(f"Nothing runs in {folder}: starting PostgreSQL for this command"):
            server = await asyncio.to_thread(embedded.start, folder)
    try:
        yield Database.embedded(server)
    finally:
        await asyncio.to_thread(server.stop)


@asynccontextmanager
async def serving(
    cli: Cli, settings: Settings, *, migrated: bool = True, watched: bool = False
) -> AsyncIterator[Database]:
    """Find the database to work with. An embedded one is created if it does not exist, and migrated.

    In its folder there is a key for secrets then. With `watched`, a server that dies meanwhile is started again.
    """
    out = cli.out
    if settings.database_url is not None:
        yield Database.configured(settings)
        return
    folder = data_folder(settings)
    server = await _attached(folder)
    if server is None:
        is_new = not (folder / "postgres").is_dir()
        with out.working(f"{'Making' if is_new else 'Starting'} PostgreSQL in {folder}"):
            server = await asyncio.to_thread(embedded.start, folder)
    watching = asyncio.create_task(_watch(server, out)) if watched else None
    try:
        database = Database.embedded(server)
        ensure_key(settings)
        if migrated:
            from ostinato._core.engine.schema import install
            from ostinato._faces.cli.frame.schema import app_components

            days = settings.retention_days
            await install(database.admin_url, app_components(cli.apps), retention_days=days)
        yield database
    finally:
        if watching is not None:
            watching.cancel()
        await asyncio.to_thread(server.stop)


def named(url: str) -> str:
    """Return the name of the database of a URL, without its secrets."""
    given = conninfo_to_dict(conninfo(url))
    return f"{given.get('dbname', 'the default database')} at {given.get('host', 'the local server')}"


def data_folder(settings: Settings) -> Path:
    """Return the folder of the embedded database."""
    return Path(settings.data_dir).expanduser().resolve()


async def _watch(server: embedded.Server, out: Output) -> None:
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        if server.pid is None:
            out.warn(f"PostgreSQL in {server.cluster.data_dir} died; starting it again")
            try:
                await asyncio.to_thread(server.revive)
            except EmbeddedError as error:
                out.error(error)


async def _attached(folder: Path) -> embedded.Server | None:
    with contextlib.suppress(EmbeddedError):
        return await asyncio.to_thread(embedded.attach, folder)
    return None
