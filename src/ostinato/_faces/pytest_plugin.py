"""The plugin of pytest: a fresh engine for each test, on a real PostgreSQL of the test run.

    async def test_an_invoice_is_sent(ostinato_engine):
        await send_invoice.enqueue(ostinato_engine.client, invoice_id=7)
        await ostinato_engine.assert_enqueued(send_invoice, invoice_id=7)
        report = await ostinato_engine.run_until_idle(app)

    def test_the_same_without_asyncio(ostinato_sync):
        with ostinato_sync.transaction() as conn:
            send_invoice.enqueue_sync(conn, invoice_id=7)
        ostinato_sync.run_until_idle(app)

It comes by the entry point `pytest11`, and imports the engine only when a fixture is asked for: a
run without our fixtures pays nothing. `--ostinato-figures` prints what the fixtures cost.
"""

import asyncio
import os
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pytest

if TYPE_CHECKING:
    import psycopg

    from ostinato._core.db.embedded import Server
    from ostinato._core.engine.inspect import JobDetails
    from ostinato._core.runtime.handlers.app import App
    from ostinato._core.runtime.handlers.kinds import JobKind
    from ostinato._core.runtime.spares import Spares
    from ostinato._core.runtime.testing import Engine, Report

T = TypeVar("T")

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
ENOUGH = 2 * 2**30
"""Bytes that must be free in memory for the server of a run; else it lives in pytest's own folder."""

_costs: pytest.StashKey[list[float]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--ostinato-figures`."""
    group = parser.getgroup("ostinato")
    group.addoption("--ostinato-figures", action="store_true", help="print what the engines of the tests cost")


def pytest_configure(config: pytest.Config) -> None:
    """Make the asynchronous fixture, as the plugin that runs asynchronous tests wants it."""
    config.stash[_costs] = []
    config.pluginmanager.register(_asynchronous(_is_strict(config)), "ostinato-async")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what the engines cost, if that was asked for."""
    costs = [1000 * each for each in config.stash[_costs]]
    if config.getoption("--ostinato-figures") and costs:
        middle, most = statistics.median(costs), max(costs)
        terminalreporter.write_line(f"ostinato: {len(costs)} engines, median {middle:.0f} ms, slowest {most:.0f} ms")


@pytest.fixture(scope="session")
def ostinato_server(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Server]":
    """Start a PostgreSQL for this run, in memory where there is room; it is never durable."""
    from ostinato._core.db import embedded

    with _folder(tmp_path_factory) as folder:
        server = embedded.start(folder)
        try:
            server.forget_durability()
            yield server
        finally:
            server.stop(force=True)


@pytest.fixture(scope="session")
def ostinato_databases(ostinato_server: "Server") -> "Iterator[Spares]":
    """Make databases that are copied before they are asked for."""
    from ostinato._core.runtime.spares import Spares

    spares = Spares(ostinato_server)
    yield spares
    spares.close()


@pytest.fixture
def ostinato_sync(
    ostinato_server: "Server", ostinato_databases: "Spares", request: pytest.FixtureRequest
) -> "Iterator[SyncEngine]":
    """Make a fresh engine for a test without asyncio."""
    from ostinato._core.runtime.testing import engine_in

    began = time.perf_counter()
    name, urls = ostinato_databases.take()
    with _loop() as do:
        opening = engine_in(ostinato_server, urls)
        engine = do(opening.__aenter__())
        request.config.stash[_costs].append(time.perf_counter() - began)
        try:
            yield SyncEngine(engine, do)
        finally:
            do(opening.__aexit__(None, None, None))
            ostinato_databases.give_back(name)


class Do(Protocol):
    """Runs a coroutine in the loop of a fixture."""

    def __call__(self, work: Coroutine[Any, Any, T], /) -> T:
        """Return what came of it."""


class SyncClock:
    """The engine's time, to be stopped and moved."""

    def __init__(self, engine: "Engine", do: Do) -> None:
        self._clock, self._do = engine.clock, do

    def now(self) -> datetime:
        """Return what the engine takes for the present."""
        return self._do(self._clock.now())

    def freeze(self, at: datetime | None = None) -> datetime:
        """Stop the clock, at a time or where it stands."""
        return self._do(self._clock.freeze(at))

    def move(self, by: timedelta | float) -> datetime:
        """Move the clock, forward or back, by a time or by seconds."""
        return self._do(self._clock.move(by))


class SyncEngine:
    """A fresh engine for tests without asyncio: as `ostinato.testing.Engine`, without `await`."""

    def __init__(self, engine: "Engine", do: Do) -> None:
        self.engine = engine
        """The engine itself; its coroutines run in the loop of this fixture only."""
        self.database = engine.database
        self.clock = SyncClock(engine, do)
        self._do = do

    @contextmanager
    def transaction(self) -> "Iterator[psycopg.Connection[Any]]":
        """Open a transaction to add jobs in, with `enqueue_sync`; it commits at the end of the block."""
        import psycopg

        with psycopg.connect(self.database.url) as conn:
            yield conn

    def run_until_idle(self, *apps: "App", **options: Any) -> "Report":  # noqa: ANN401 - as of Engine
        """Run jobs, here and now, until none is left that could run; see `Engine.run_until_idle`."""
        return self._do(self.engine.run_until_idle(*apps, **options))

    def enqueued(self, kind: "JobKind[Any] | str | None" = None) -> "list[JobDetails]":
        """Return the jobs that were added, of one kind or of all, the first one first."""
        return self._do(self.engine.enqueued(kind))

    def assert_enqueued(self, kind: "JobKind[Any] | str", /, times: int | None = None, **args: object) -> None:
        """Fail unless a job of this kind was added with these arguments among its own."""
        self._do(self.engine.assert_enqueued(kind, times, **args))


@contextmanager
def _loop() -> Iterator[Do]:
    """Start an event loop in a thread, and yield what runs a coroutine in it."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="ostinato-sync", daemon=True)
    thread.start()

    def do(work: Coroutine[Any, Any, T], /) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    try:
        yield do
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _is_strict(config: pytest.Config) -> bool:
    """Return whether pytest-asyncio is there, and takes only fixtures of its own."""
    if not config.pluginmanager.hasplugin("asyncio"):
        return False
    mode = config.getoption("asyncio_mode", default=None) or config.getini("asyncio_mode")
    return str(getattr(mode, "value", mode)) == "strict"


def _asynchronous(strict: bool) -> object:  # noqa: FBT001 - one flag
    """Return a plugin with the asynchronous fixture."""
    make: Callable[..., Any] = pytest.fixture
    if strict:
        from pytest_asyncio import fixture as make

    class Asynchronous:
        @make
        async def ostinato_engine(
            self, ostinato_server: "Server", ostinato_databases: "Spares", request: pytest.FixtureRequest
        ) -> "AsyncIterator[Engine]":
            """Make a fresh engine for an asynchronous test: `client`, `clock`, `run_until_idle`, `assert_enqueued`."""
            from ostinato._core.runtime.testing import engine_in

            began = time.perf_counter()
            name, urls = ostinato_databases.take()
            async with engine_in(ostinato_server, urls) as engine:
                request.config.stash[_costs].append(time.perf_counter() - began)
                yield engine
            ostinato_databases.give_back(name)

    return Asynchronous()


@contextmanager
def _folder(factory: pytest.TempPathFactory) -> Iterator[Path]:
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < ENOUGH:
        yield factory.mktemp("ostinato")
        return
    with tempfile.TemporaryDirectory(prefix="ostinato-pytest-", dir=MEMORY) as folder:
        yield Path(folder)
