"""The providers as a stand-in: real HTTP and SMTP, magic recipients, signed callbacks.

    POST /whatsapp/{phone_number_id}/messages                      as the WhatsApp Cloud API
    POST /twilio/2010-04-01/Accounts/{sid}/Messages.json           as Twilio
    GET  /whatsapp/{phone_number_id}                               as Meta shows a number to its token
    GET  /dns/resolve?name=…&type=TXT                              as a resolver
    SMTP on a port of its own                                      as a mail server
    PUT  /_sandbox/outbound             {"api": "http://…"}        where callbacks go
    GET  /_sandbox/outbound                                        what was taken, in order
    PUT  /_sandbox/outbound/script      {"to": "+336…", "answers": ["131016", "lost", "ok"]}
    POST /_sandbox/outbound/inbound     {"from_": "+336…", "text": "STOP"}

How each is played is in its file of `providers`; what they share, and what the last four digits of
+33 6 39 98 xx xx do, in `providers/standin.py`.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from ostinato.apps.outbound.providers import PROVIDERS
from ostinato.apps.outbound.providers.standin import Asked, Handler, Inbound, Telling, World

CONTROL: Final = "/_sandbox/outbound"
SHOWN: Final = 200


class Where(BaseModel):
    """Where callbacks go."""

    api: str


class Script(BaseModel):
    """What the next messages to a recipient meet, one after the other."""

    to: str
    answers: list[str]
    statuses: list[str] | None = None


class Providers(World):
    """All of them, and the routes that control them."""

    name = "outbound"

    def __init__(self, *, serves: bool = False, wall: Callable[[], float] = time.time) -> None:
        super().__init__(wall, serves=serves)
        self.stand_ins = {each.name: each.stand_in(self) for each in PROVIDERS.values()}
        self.router = APIRouter(tags=["outbound"])
        self.router.put(CONTROL, status_code=204)(self._where)
        self.router.get(CONTROL)(self._show)
        self.router.put(f"{CONTROL}/script", status_code=204)(self._set_script)
        self.router.post(f"{CONTROL}/inbound")(self._write)
        for each in self.stand_ins.values():
            for path, handler in each.routes.items():
                self.router.post(path)(_endpoint(handler))
            for path, handler in each.shown.items():
                self.router.get(path)(_endpoint(handler))

    def settings(self, url: str) -> dict[str, str]:
        """Name the environment that leads the application here."""
        values = {
            "token_secret": "sandbox-token-secret",
            "timeout_seconds": "2",
            "unknown_hold_seconds": "5",
            "phone_validation": "possible",
            "trusted_tenants": "*",
        }
        for each in self.stand_ins.values():
            values |= each.settings(url)
        return {f"OSTINATO_OUTBOUND_{name.upper()}": value for name, value in values.items()}

    def close(self) -> None:
        """Stop the servers of the stand-ins."""
        for each in self.stand_ins.values():
            each.close()

    def inbound(self, given: Inbound) -> Telling:
        """Make the callback of a message that somebody wrote to one of our senders."""
        number = given.id or f"in-{len(self.told)}-{int(self.wall() * 1000)}"
        return self.stand_ins[given.provider].inbound(given.model_copy(update={"id": number}))

    async def _where(self, given: Where) -> None:
        self.api = given.api.rstrip("/")

    async def _show(self, to: str | None = None) -> dict[str, Any]:
        found = [asdict(each) for each in self.sent if to in (None, each.to)]
        told = self.told[-SHOWN:]
        return {"api": self.api, "sent": found[-SHOWN:], "asked": self.asked, "told": told}

    async def _set_script(self, given: Script) -> None:
        self.script(given.to, *given.answers, statuses=given.statuses)

    async def _write(self, given: Inbound) -> dict[str, Any]:
        await self.make(self.inbound(given))
        return {"status": self.told[-1][1]}


def _endpoint(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Serve a stand-in over HTTP."""

    async def answer(request: Request) -> Response:
        reply = await handler(Asked(request.path_params, request.headers, await request.body(), request.query_params))
        if reply is not None:
            return JSONResponse(reply.document, reply.status, dict(reply.headers))
        while (await request.receive())["type"] != "http.disconnect":
            pass
        return Response(status_code=499)

    return answer
