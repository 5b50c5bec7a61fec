"""Serves the stand-ins, and the routes that control them.

    POST /_sandbox/faults   {"path": "/hooks/*", "script": "503,503,200"}     see `faults`
    GET  /_sandbox/faults                                                     what is set
    GET  /_sandbox/calls?path=/hooks/*                                        what came in
    POST /_sandbox/reset                                                      forget everything

An application brings its stand-in by `App(sandbox="module:NAME")`: NAME is called without
arguments and returns a `StandIn`. It is for this machine only: it listens on loopback, and refuses
requests for another host name.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from fastapi import APIRouter, FastAPI, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.middleware.trustedhost import TrustedHostMiddleware

from ostinato._core.base.errors import InvalidInput
from ostinato._core.runtime.handlers.app import App
from ostinato.lab.sandbox.faults import Faults, Limit, Order
from ostinato.lab.sandbox.faulty import CONTROL, Faulty, Lines
from ostinato.lab.sandbox.hooks import Hooks

HOSTS = ["127.0.0.1", "localhost", "*.localhost"]
PAGE = 200


class StandIn(Protocol):
    """A stand-in for a service: the routes of the real one, and a state that can be reset."""

    name: str
    router: APIRouter

    def reset(self) -> None:
        """Reset its state."""

    def settings(self, url: str) -> Mapping[str, str]:
        """Return the environment that leads its application to the sandbox at this address."""


class FaultSet(BaseModel):
    """A script, or a limit, for the calls to some paths."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(min_length=1, max_length=500, examples=["/hooks/*"])
    script: str = Field(default="", max_length=10_000, examples=["503,503,200"])
    method: str | None = Field(default=None, pattern="^[A-Z]+$")
    limit: Limit | None = None
    body: str | None = Field(default=None, max_length=100_000)
    headers: dict[str, str] = {}


class Sandbox:
    """The stand-ins and their scripts."""

    def __init__(self, standing: Sequence[StandIn]) -> None:
        self.standing = tuple(standing)
        self.faults = Faults()
        self.lines = Lines()
        self.app = self._built()

    def reset(self) -> None:
        """Forget everything."""
        self.faults.reset()
        for one in self.standing:
            one.reset()

    def _built(self) -> FastAPI:
        app = FastAPI(title="Ostinato sandbox", docs_url=None, redoc_url=None)
        app.include_router(self._control())
        for one in self.standing:
            app.include_router(one.router)
        app.add_middleware(Faulty, faults=self.faults, lines=self.lines)
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False)
        return app

    def _control(self) -> APIRouter:
        control = APIRouter(prefix=CONTROL, tags=["control"])

        @control.get("")
        async def show() -> dict[str, Any]:
            return {"sandbox": [one.name for one in self.standing]}

        @control.post("/faults", status_code=204)
        async def set_faults(given: FaultSet) -> Response:
            try:
                self.faults.order(Order(**dict(given)))
            except InvalidInput as error:
                return JSONResponse({"error": error.message, "hint": error.hint}, 422)
            return Response(status_code=204)

        @control.get("/faults")
        async def show_faults() -> dict[str, Any]:
            orders = self.faults.orders
            return {"faults": [{"path": o.path, "method": o.method, "script": o.script} for o in orders]}

        @control.get("/calls")
        async def show_calls(path: str = "*", after: int = 0) -> dict[str, Any]:
            fit = Order(path).fits
            calls = [c for c in self.faults.calls if c.number > after and fit(c.method, c.path)]
            return {"calls": calls[:PAGE]}

        @control.post("/reset", status_code=204)
        async def reset() -> None:
            self.reset()

        return control


def stand_ins(apps: Sequence[App]) -> list[StandIn]:
    """Return the stand-ins of some applications, and the receiver of webhooks."""
    return [Hooks(), *(_loaded(app.sandbox) for app in apps if app.sandbox is not None)]


def _loaded(path: str) -> StandIn:
    module, _, name = path.partition(":")
    return cast("StandIn", getattr(import_module(module), name)())
