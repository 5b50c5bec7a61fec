"""Runs `ostinato demo`: finds or starts a system, and runs scenarios on it one by one."""

import asyncio
import contextlib
import dataclasses
import json
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import httpx

from ostinato._core.base.errors import NotConfigured, NotFound, OstinatoError
from ostinato._core.base.settings import Settings
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.named import named
from ostinato._core.runtime.observe.scenario import Scenario, ScenarioFailed, System
from ostinato._faces.cli.frame import attach
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.loading import INSTALLED
from ostinato._faces.cli.serve.up import argv_of, environ
from ostinato.lab.demo import data as demo_data
from ostinato.lab.demo.data import Place
from ostinato.lab.demo.engine import ENGINE
from ostinato.lab.demo.webhook import WEBHOOK
from ostinato.lab.door import TOUR

HTTP_SECONDS = 30.0
START_SECONDS = 120.0
STOP_SECONDS = 60.0
LOG_SHOWN = 2000


@dataclass(frozen=True)
class Wanted:
    """Where to run."""

    url: str | None = None
    key_file: str | None = None
    sandbox: str | None = None
    fresh: bool = False


@dataclass(frozen=True)
class Found:
    """A system to run on."""

    settings: Settings
    """The settings of its database."""
    place: Place
    key: str = field(repr=False)


@dataclass(frozen=True)
class Result:
    """The result of one scenario."""

    name: str
    about: str
    proved: list[str]
    seconds: float
    error: str | None = None

    @property
    def holds(self) -> bool:
        """Whether everything was as promised."""
        return self.error is None


def scenarios(apps: Iterable[App]) -> tuple[Scenario, ...]:
    """Return the engine's own, and one for each application that has one."""
    return (ENGINE, WEBHOOK, *(named(app.demo, Scenario) for app in apps if app.demo is not None))


def choose(names: Sequence[str], apps: Iterable[App]) -> list[Scenario]:
    """Return those of these names; all, if none is named."""
    known = {scenario.name: scenario for scenario in scenarios(apps)}
    for name in names:
        if name not in known:
            raise NotFound(f"there is no scenario {name!r}", hint=f"There are: {', '.join(known)}.")
    return [known[name] for name in dict.fromkeys(names)] or list(known.values())


async def run(cli: Cli, chosen: Sequence[Scenario], wanted: Wanted) -> list[Result]:
    """Run scenarios on a system; a failure does not keep the others from running."""
    results = []
    async with _found(cli, wanted) as found, _database(cli, found) as client:
        cli.out.note(f"On {found.place.url}")
        for scenario in chosen:
            cli.out.note(f"{scenario.name}: {scenario.about}")
            result = await _played(cli, scenario, found, client)
            results.append(result)
            if result.error is not None:
                cli.out.warn(f"{scenario.name} failed: {result.error}")
    return results


async def _played(cli: Cli, scenario: Scenario, found: Found, client: Client | None) -> Result:
    bearer = {"Authorization": f"Bearer {found.key}"}
    started = time.monotonic()
    error = None
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(_http(found.place.url, bearer))
        sandbox = None
        if found.place.sandbox is not None:
            sandbox = await stack.enter_async_context(_http(found.place.sandbox))
        system = System(
            http, demo_data.TENANT, sandbox=sandbox, database=client, say=lambda proof: cli.out.note(f"  ✓ {proof}")
        )
        try:
            await scenario.run(system)
        except (ScenarioFailed, OstinatoError) as failed:
            error = str(failed)
        except Exception as failed:  # noqa: BLE001 - an application's scenario may do anything
            error = f"{type(failed).__name__}: {failed}"
    seconds = time.monotonic() - started
    return Result(scenario.name, scenario.about, system.proofs, seconds, error)


def _http(url: str, headers: dict[str, str] | None = None) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=HTTP_SECONDS, trust_env=False)


@asynccontextmanager
async def _found(cli: Cli, wanted: Wanted) -> AsyncIterator[Found]:
    """Find a running system, or start one for the block."""
    settings = cli.settings
    folder = attach.data_folder(settings)
    noted = demo_data.recall(folder)
    if wanted.url is not None:
        sandbox = wanted.sandbox
        if sandbox is None and noted is not None and noted.url == wanted.url.rstrip("/"):
            sandbox = noted.sandbox
        place = Place(wanted.url.rstrip("/"), sandbox, 0)
        yield Found(settings, place, _key(wanted, folder))
    elif noted is not None and not wanted.fresh and await _lives(noted.url):
        yield Found(settings, noted, _key(wanted, folder))
    else:
        with tempfile.TemporaryDirectory(prefix="ostinato-demo-") as temporary:
            async with _fresh(cli, Path(temporary)) as found:
                yield found


def _key(wanted: Wanted, folder: Path) -> str:
    path = Path(wanted.key_file) if wanted.key_file else demo_data.key_path(folder)
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeError) as error:
        raise NotConfigured(
            f"there is no key in {path}: {error}",
            hint="Name the file of a key of tenant demo with --key-file; `ostinato up --demo` makes one.",
        ) from None


async def _lives(url: str) -> bool:
    try:
        async with _http(url) as http:
            return (await http.get("/health/live")).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


@asynccontextmanager
async def _database(cli: Cli, found: Found) -> AsyncIterator[Client | None]:
    """Connect to the database of the system, where it can be reached from here."""
    async with AsyncExitStack() as stack:
        try:
            found_here = await stack.enter_async_context(attach.database(found.settings, cli.out))
        except NotConfigured:
            yield None
            return
        yield await stack.enter_async_context(Client(found_here, found.settings, max_size=4))


@asynccontextmanager
async def _fresh(cli: Cli, folder: Path) -> AsyncIterator[Found]:
    """Start a system in a folder of its own, until the end of the block."""
    settings = dataclasses.replace(
        cli.settings,
        data_dir=str(folder / "data"),
        database_url=None,
        admin_url=None,
        listen_url=None,
        pooled=False,
        api_host="127.0.0.1",
        api_port=0,
        log_level="warning",
    )
    apps = [INSTALLED, TOUR, *cli.app] if cli.app else []
    argv = argv_of(cli, settings, "up", "--demo", "--json", *(f"--app={path}" for path in apps))
    log = folder / "log"
    with cli.out.working("Starting a fresh system in a temporary folder"), log.open("w") as file:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=DEVNULL, stdout=PIPE, stderr=file, env=environ(settings), process_group=0
        )
        ready = await _ready(process)
    try:
        if ready is None:
            raise NotConfigured(
                f"a fresh system did not start: {log.read_text()[-LOG_SHOWN:].strip()}",
                hint="Try `ostinato up --demo` by itself.",
            )
        key = _key(Wanted(), attach.data_folder(settings))
        place = Place(str(ready["url"]), cast("str | None", ready["sandbox"]), process.pid)
        yield Found(settings, place, key)
    finally:
        await _stopped(process)


async def _ready(process: Process) -> dict[str, object] | None:
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            while line := await process.stdout.readline():
                news: dict[str, object] = json.loads(line)
                if news.get("event") == "ready":
                    return news
    return None


async def _stopped(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
