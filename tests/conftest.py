"""What all tests share: a real server per test process, an engine on it, and a count of calls.

Every server here runs with track_functions = all. When a process is done it writes down which
functions of the schema `ostinato` were called; when everything is done the lists are joined, and a
run of the whole suite, with or without the proofs, fails if a PL/pgSQL function was never called: no
untested function.
"""

import asyncio
import gc
import itertools
import logging
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator

import psycopg
import pytest
import structlog
from hypothesis import HealthCheck, settings
from structlog.testing import capture_logs
from structlog.typing import EventDict

import ostinato.testing
from ostinato._core.base import log
from ostinato._core.db import embedded
from ostinato._core.db.embedded import Server, Urls
from tests import reaper, tempfolder
from tests.memory import folder_in_memory
from tests.spread import Spread, longest_first
from tests.watch import Watch

# A busy machine stalls an example now and then; which examples are tried is the same every time.
settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

_names = itertools.count(1)
_called: set[str] = set()
_known: set[str] = set()
_lasting: dict[str, psycopg.Connection[tuple[object, ...]]] = {}
_watch = pytest.StashKey[Watch]()

WITHOUT_PROOFS = "not proof"  # as `make test` asks for it

CALLED = "select distinct funcname from pg_stat_user_functions where schemaname in ('ostinato', 'ostinato_internal')"
KNOWN = """
    select distinct p.proname from pg_proc p join pg_language l on l.oid = p.prolang
    join pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ('ostinato', 'ostinato_internal') and l.lanname = 'plpgsql'
"""


@pytest.hookimpl(tryfirst=True)  # before pytest has chosen its folder
def pytest_configure(config: pytest.Config) -> None:
    """However this run ends, what its tests have started ends with it."""
    tempfile.gettempdir()  # kept from now on: a test that sets TMPDIR must not choose it for the whole process
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # So does a shell start what it runs in the background, and all that the tests start would inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.stash[_watch] = Watch(config)
    if not hasattr(config, "workerinput"):  # the processes of xdist end with the one that they help
        tempfolder.choose(config)
        config.add_cleanup(reaper.start())


def pytest_unconfigure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        config.stash[_watch].off()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with item.config.stash[_watch].over_test(item):
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    item.config.stash[_watch].over_end()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Spread:
    """Spread the tests as `tests.spread` says."""
    return Spread(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what is collected to no collector: all of it lives to the end, and each pass would walk over it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("proof") is not None:
            item.add_marker("slow")
    items[:] = longest_first(items)


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that this test process keeps; nothing in a test may stop or restart it."""
    with folder_in_memory(otherwise=tmp_path_factory.mktemp("shared")) as folder, embedded.start(folder) as server:
        with psycopg.connect(server.admin_url, autocommit=True) as conn:
            conn.execute("alter system set track_functions = 'all'")
            conn.execute("alter system set fsync = off")  # it is never killed, and ends with us
            conn.execute("alter system set full_page_writes = off")
            # Vacuum at the wrong moment has a lock, or a snapshot, that a test is in the way of.
            conn.execute("alter system set autovacuum = off")
            conn.execute("select pg_reload_conf()")
        yield server
        for lasting in _lasting.values():
            _called.update(str(row[0]) for row in lasting.execute(CALLED))
            _known.update(str(row[0]) for row in lasting.execute(KNOWN))
            lasting.close()
        _lasting.clear()


def empty(url: str, *statements: str | bytes) -> None:
    """Empty a database of the shared server that many tests use; what they called there is noted at the end.

    The connection lasts: a new one reads the catalogue of a hundred tables before it deletes the first row.
    """
    if url not in _lasting:
        _lasting[url] = psycopg.connect(url, autocommit=True, prepare_threshold=None)  # some are several statements
    for statement in statements:
        _lasting[url].execute(statement if isinstance(statement, bytes) else statement.encode())


def copy_of_engine(server: Server, name: str) -> Urls:
    """A new database with the schema of the engine: a copy takes a tenth of a migration."""
    template = asyncio.run(ostinato.testing.template_on(server))
    return server.create_database(name, template=template)


@pytest.fixture
async def engine(shared_server: Server) -> AsyncIterator[ostinato.testing.Engine]:
    """A fresh engine with a clock to move."""
    name = f"engine_{next(_names)}"
    async with ostinato.testing.engine(shared_server.cluster.data_dir, name=name) as fresh:
        yield fresh
        await note_called_functions(fresh.admin)


@pytest.fixture
def logs() -> Iterator[list[EventDict]]:
    """The lines that the engine logs during the test, of all levels."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG))
    with capture_logs() as lines:
        yield lines
    log.be_quiet()


async def note_called_functions(conn: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
    """Remember which functions this database saw; its statistics go with it."""
    called = await conn.execute(CALLED)
    _called.update(str(row[0]) for row in await called.fetchall())
    if _known:  # the same in every database
        return
    known = await conn.execute(KNOWN)
    _known.update(str(row[0]) for row in await known.fetchall())


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Join the lists of called functions, and fail a full run that left one out."""
    session.config.stash[_watch].over_end()
    folder = tempfolder.of_run() / "calls"
    folder.mkdir(exist_ok=True)
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is not None:
        (folder / worker).write_text("\n".join([*(f"called {n}" for n in _called), *(f"known {n}" for n in _known)]))
        return
    lines = [line.split() for file in sorted(folder.glob("gw*")) for line in file.read_text().splitlines()]
    called = _called | {name for what, name in lines if what == "called"}
    known = _known | {name for what, name in lines if what == "known"}
    option = session.config.option
    whole = session.config.args == ["tests"] and not option.keyword and option.markexpr in ("", WITHOUT_PROOFS)
    missing = sorted(known - called)
    if whole and missing and exitstatus == 0:
        print(  # noqa: T201  # what pytest shows at its end
            f"\nPL/pgSQL functions that no test calls: {', '.join(missing)}"
        )
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
