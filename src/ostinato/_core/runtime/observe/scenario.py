"""Scenarios show end to end, on a running system, what an application promises.

    async def run(system: System) -> None:
        made = await system.call("POST", "/v1/invoices", status=201, json={"amount": 7})
        system.proved("an invoice is made")

    SCENARIO = Scenario("billing", "An invoice is made, sent and paid.", run)

`App(demo="module:SCENARIO")` adds it to `ostinato demo`. A scenario calls the API over HTTP,
scripts the outside world in the sandbox, and may be run many times on the same system.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

import httpx

from ostinato._core.base.errors import NotConfigured
from ostinato._core.runtime.client import Client

T = TypeVar("T")

LOOK_SECONDS = 0.05
WAIT_SECONDS = 30.0
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class ScenarioFailed(Exception):
    """A promise does not hold."""


@dataclass
class System:
    """A running system, as a scenario sees it."""

    http: httpx.AsyncClient
    """Calls the API, with the key of the demo."""
    tenant_id: str
    sandbox: httpx.AsyncClient | None = None
    database: Client | None = None
    say: Callable[[str], None] = lambda _: None
    """Called with each thing that was proved."""
    proofs: list[str] = field(default_factory=list)
    run: str = field(default_factory=lambda: "".join(secrets.choice(LETTERS) for _ in range(10)))
    """Letters that are new in every run, for names that are used once."""

    async def call(
        self,
        method: str,
        path: str,
        *,
        status: int = 200,
        **options: Any,  # noqa: ANN401 - as httpx
    ) -> httpx.Response:
        """Call the API, which must answer with this status."""
        return await self._ask(self.http, method, path, status, options)

    async def tell_sandbox(
        self,
        method: str,
        path: str,
        *,
        status: int = 200,
        **options: Any,  # noqa: ANN401 - as httpx
    ) -> httpx.Response:
        """Call the sandbox, which must answer with this status."""
        if self.sandbox is None:
            raise NotConfigured("this system has no sandbox", hint="Start it with `ostinato up --demo`.")
        return await self._ask(self.sandbox, method, path, status, options)

    def client(self) -> Client:
        """Return the database, for what has no route."""
        if self.database is None:
            raise NotConfigured(
                "the database of this system is not known here",
                hint="Name its folder with --data-dir, or set OSTINATO_DATABASE_URL.",
            )
        return self.database

    async def until(self, what: str, look: Callable[[], Awaitable[T | None]], seconds: float = WAIT_SECONDS) -> T:
        """Call `look` until it returns something; fail after some seconds."""
        give_up = asyncio.get_running_loop().time() + seconds
        while (found := await look()) is None:
            if asyncio.get_running_loop().time() > give_up:
                self.fail(f"after {seconds:g} s still not: {what}")
            await asyncio.sleep(LOOK_SECONDS)
        return found

    def proved(self, what: str) -> None:
        """Record that a promise holds."""
        self.proofs.append(what)
        self.say(what)

    def check(self, what: str, holds: object, found: object = None) -> None:
        """Record that a promise holds, or fail the scenario."""
        if not holds:
            self.fail(f"not so: {what}" + ("" if found is None else f"; found {found!r:.500}"))
        self.proved(what)

    def fail(self, what: str) -> NoReturn:
        """End the scenario: a promise does not hold."""
        raise ScenarioFailed(what)

    async def _ask(
        self, http: httpx.AsyncClient, method: str, path: str, status: int, options: dict[str, Any]
    ) -> httpx.Response:
        try:
            answer = await http.request(method, path, **options)
        except httpx.HTTPError as error:
            self.fail(f"{method} {path} had no answer: {type(error).__name__} {error}")
        if answer.status_code != status:
            self.fail(f"{method} {path} was answered {answer.status_code}, not {status}: {answer.text[:300]}")
        return answer


@dataclass(frozen=True)
class Scenario:
    """A scenario: its name, what it proves, and the function that runs it."""

    name: str
    about: str
    """What it proves, in a sentence."""
    run: Callable[[System], Awaitable[None]]
