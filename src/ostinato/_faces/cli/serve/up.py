"""Runs `ostinato up`: starts the parts in order, reports when everything answers, stops them.

    database → migrations → key and data of the demo → sandbox → workers → api

The sockets of the API and the sandbox are opened first and stay here: a port that is taken is
reported before anything else starts, and while a process is replaced, callers wait instead of
failing.
"""

import asyncio
import contextlib
import dataclasses
import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ostinato._core.base import extras
from ostinato._core.base.settings import ENV_PREFIX, Settings, declared
from ostinato._core.base.vault import ensure_key
from ostinato._core.db.pool import connect
from ostinato._core.engine import sessions
from ostinato._core.engine.schema import install
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.services.services import SERVICES
from ostinato._faces.cli.frame import attach
from ostinato._faces.cli.frame.command import Cli, os_user
from ostinato._faces.cli.frame.loading import load_apps
from ostinato._faces.cli.frame.schema import app_components
from ostinato._faces.cli.serve import listening, shared
from ostinato._faces.cli.serve.lab import DemoKey, Lab
from ostinato._faces.cli.serve.supervisor import Part, Supervisor
from ostinato._faces.cli.serve.upview import Standing, show, watched

LOOPBACK = "127.0.0.1"
LOOK_SECONDS = 0.05
SAY_AFTER_SECONDS = 5.0
LINK_SECONDS = 600.0
STAFF_ROLES = ("admin", "installation")


@dataclass(frozen=True)
class Plan:
    """The parts to start."""

    apps: list[str]
    only: frozenset[str]
    """Names of parts and services; empty means all."""
    workers: int
    demo: Lab | None
    """With the sandbox and the data of this lab; None: without."""
    wait_seconds: float

    def has(self, name: str) -> bool:
        """Return whether a part is to run here."""
        return not self.only or name in self.only

    @property
    def services(self) -> list[str]:
        """The services that run in a process of their own, beside those in workers."""
        return [] if self.has("worker") else [name for name in SERVICES if name in self.only]


async def run(cli: Cli, settings: Settings, plan: Plan) -> int:
    """Run everything until it is stopped; returns the exit code."""
    with contextlib.ExitStack() as sockets:
        api = sandbox = None
        if plan.has("api"):
            api = sockets.enter_context(shared.opened(settings))
            _warn_if_open(cli, api.api)
        if plan.demo is not None:
            sandbox = sockets.enter_context(listening.listen(LOOPBACK, 0, what="the sandbox"))
            settings = _letting_webhooks_in(settings, sandbox)
        async with attach.serving(cli, settings, watched=True) as database:
            if database.server is None:
                await _migrate(cli, settings, database, plan.wait_seconds)
            key = None
            if plan.demo is not None:
                ensure_key(settings)
                key = await plan.demo.prepare(database, settings, attach.data_folder(settings))
            opened = Sockets(api, sandbox)
            return await _Up(cli, settings, plan, database, key=key, sockets=opened).run()


class Sockets(NamedTuple):
    """What is listened on."""

    api: shared.Shared | None
    sandbox: socket.socket | None


class _Up:
    """Everything, from the first process to the last."""

    def __init__(
        self, cli: Cli, settings: Settings, plan: Plan, database: Database, *, key: DemoKey | None, sockets: Sockets
    ) -> None:
        self._cli = cli
        self._settings = settings
        self._plan = plan
        self._database = database
        self._key = key
        self._sockets = sockets
        self._url = None if sockets.api is None else sockets.api.url
        self._metrics_url = None if sockets.api is None else sockets.api.page
        self._sandbox_url = None if sockets.sandbox is None else listening.url_of(sockets.sandbox)
        self._folder = attach.data_folder(settings)

    async def run(self) -> int:
        parts = self._parts()
        self._cli.out.note(f"Starting {', '.join(_counted(part) for part in parts)}")
        supervisor = Supervisor(
            parts,
            self._cli.out,
            env=environ(self._settings) | self._outside_world(),
            drain_seconds=self._settings.drain_seconds,
            on_ready=self._ready,
        )
        try:
            return await supervisor.run()
        finally:
            if self._plan.demo is not None:
                self._plan.demo.forget(self._folder)

    def _outside_world(self) -> dict[str, str]:
        """Return what leads applications to their stand-ins, unless somebody said where to go."""
        if self._sandbox_url is None or self._plan.demo is None:
            return {}
        told = self._plan.demo.outside_world(self._sandbox_url, load_apps(self._plan.apps))
        return {name: value for name, value in told.items() if name not in os.environ}

    def _parts(self) -> list[Part]:
        plan, parts = self._plan, []
        waits = f"--wait-seconds={plan.wait_seconds}"
        api, sandbox = self._sockets
        if sandbox is not None:
            standing_in = self._argv("sandbox", f"--fd={sandbox.fileno()}")
            parts.append(Part("sandbox", lambda _: standing_in, sockets=(sandbox,)))
        working = self._argv("worker", waits)
        if plan.has("worker"):
            parts.append(Part("worker", lambda _: working, plan.workers))
        elif plan.services:
            serving = [*working, *(f"--only={name}" for name in plan.services)]
            parts.append(Part("+".join(plan.services), lambda _: serving))
        if api is not None:
            parts.append(shared.part(api, self._argv("api", waits)))
        return parts

    def _argv(self, *words: str) -> list[str]:
        apps = [f"--app={path}" for path in self._plan.apps]
        return argv_of(self._cli, self._settings, *words, *apps)

    async def _ready(self, told: Mapping[str, list[dict[str, Any]]]) -> None:
        if self._url is not None:
            await _answers(self._cli, f"{self._url}/health/ready")
            if self._plan.demo is not None:
                self._plan.demo.remember(self._folder, self._url, self._sandbox_url)
        workers = [each for name, all_ in told.items() if name not in ("api", "sandbox") for each in all_]
        show(
            self._cli,
            Standing(
                self._database,
                self._plan.apps,
                workers,
                url=self._url,
                metrics=self._metrics_url,
                sandbox=self._sandbox_url,
                key=self._key,
                console=await self._console(),
            ),
        )

    async def _console(self) -> str | None:
        """Return the address of the console: a link that signs in once, where a person watches."""
        if self._url is None or extras.missing("console"):
            return None
        if not watched(self._cli):  # not into a file, or somebody's log
            return f"{self._url}/"
        async with await connect(self._database.url, role="cli", pooled=self._database.pooled) as conn:
            opened = await sessions.open_session(
                conn, tenant_id=None, subject=os_user(), roles=STAFF_ROLES, ticket_seconds=LINK_SECONDS
            )
        return f"{self._url}/console/enter?ticket={opened.text}"


def argv_of(cli: Cli, settings: Settings, *words: str) -> list[str]:
    """Return the command of one process, with the database and the options of this call."""
    argv = [sys.executable, "-m", "ostinato", *words]
    if settings.database_url is None:
        argv.append(f"--data-dir={attach.data_folder(settings)}")
    if cli.config is not None:
        argv.append(f"--config={cli.config}")
    return argv + (["--debug"] if cli.debug else [])


def environ(settings: Settings) -> dict[str, str]:
    """Return the settings as an environment: a password on a command line could be read."""
    values = {name: getattr(settings, name) for name in declared()}
    ours = {f"{ENV_PREFIX}{name.upper()}": "" if v is None else str(v) for name, v in values.items()}
    return os.environ | ours


async def _migrate(cli: Cli, settings: Settings, database: Database, wait_seconds: float) -> None:
    with cli.out.working(f"Bringing the schema of {attach.named(database.admin_url)} up to date"):
        await (await attach.answering(database.admin_url, wait_seconds)).close()
        await install(database.admin_url, app_components(cli.apps), retention_days=settings.retention_days)


def _letting_webhooks_in(settings: Settings, sandbox: socket.socket) -> Settings:
    """Let webhooks of the demo reach the sandbox, which is at an inner address."""
    host, port = sandbox.getsockname()[:2]
    allowed = [settings.webhooks_allow_private, f"{host}:{port}"]
    return dataclasses.replace(settings, webhooks_allow_private=", ".join(filter(None, allowed)))


def _warn_if_open(cli: Cli, api: socket.socket) -> None:
    host = str(api.getsockname()[0])
    if not (host.startswith("127.") or host == "::1"):
        cli.out.warn(
            f"the API listens on {host}, beyond this machine, and keys travel in the clear: put a"
            " proxy with TLS in front of it"
        )


async def _answers(cli: Cli, url: str) -> None:
    """Wait until the API is ready to serve requests."""
    import httpx

    started = asyncio.get_running_loop().time()
    said = False
    async with httpx.AsyncClient(trust_env=False, timeout=10) as http:
        while True:
            try:
                answer = await http.get(url)
                found = answer.text[:200]
                if answer.status_code == httpx.codes.OK:
                    return
            except httpx.HTTPError as error:
                found = str(error) or type(error).__name__
            if not said and asyncio.get_running_loop().time() - started > SAY_AFTER_SECONDS:
                said = True
                cli.out.warn(f"not ready yet: {url} says {found}")
            await asyncio.sleep(LOOK_SECONDS)


def _counted(part: Part) -> str:
    return part.name if part.count == 1 else f"{part.name} ({part.count} processes)"
