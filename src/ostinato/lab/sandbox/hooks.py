"""Receives webhooks as a customer would: checks signatures, keeps messages.

    PUT  /_sandbox/hooks/orders   {"secret": "whsec_…"}     make a receiver
    POST /hooks/orders                                      where the webhooks go
    GET  /_sandbox/hooks/orders                             what came, in order

It answers 401 to a message that is not signed with its secret, 200 to the others; a message that
came before is acknowledged and kept once. `POST /_sandbox/faults` makes it fail.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from ostinato._core.base import webhooks
from ostinato._core.base.errors import InvalidInput, SignatureRefused
from ostinato.lab.sandbox.faulty import CONTROL

MOST_RECEIVERS = 100
MOST_MESSAGES = 1000


class Secret(BaseModel):
    """The secret that messages are signed with."""

    secret: str = Field(min_length=1, max_length=200)


class Message(BaseModel):
    """A message with a valid signature."""

    id: str
    timestamp: int
    content_type: str | None
    body: str
    times: int = 1
    """How often it came."""


class Received(BaseModel):
    """What a receiver got."""

    messages: list[Message]
    refused: int
    """Messages without a valid signature."""


@dataclass
class Receiver:
    """One receiver."""

    secret: str
    messages: dict[str, Message] = field(default_factory=dict)
    refused: int = 0

    def take(self, headers: dict[str, str], body: bytes, now: float) -> Message:
        """Check the signature of a message, and keep it."""
        came = webhooks.verify(headers, body, [self.secret], now=now)
        known = self.messages.get(came.id)
        if known is not None:
            known.times += 1
            return known
        if len(self.messages) >= MOST_MESSAGES:
            del self.messages[next(iter(self.messages))]
        message = Message(
            id=came.id,
            timestamp=came.timestamp,
            content_type=headers.get("content-type"),
            body=body.decode("utf-8", "replace"),
        )
        self.messages[came.id] = message
        return message


class Hooks:
    """The stand-in: receivers by name."""

    name = "hooks"

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall  # stands for another machine, which has no database: its own clock
        self._receivers: dict[str, Receiver] = {}
        self.router = APIRouter(tags=["hooks"])
        self.router.put(f"{CONTROL}/hooks/{{name}}", status_code=204)(self._make)
        self.router.get(f"{CONTROL}/hooks/{{name}}")(self._show)
        self.router.post("/hooks/{name}")(self._receive)

    def settings(self, url: str) -> dict[str, str]:  # noqa: ARG002 - as every stand-in
        """Return no settings: an endpoint has the address."""
        return {}

    def reset(self) -> None:
        """Forget all receivers."""
        self._receivers.clear()

    async def _make(self, name: str, given: Secret) -> Response:
        try:
            webhooks.sign(given.secret, "probe", 0, b"")
        except InvalidInput as error:
            return JSONResponse({"error": error.message}, 422)
        if name not in self._receivers and len(self._receivers) >= MOST_RECEIVERS:
            del self._receivers[next(iter(self._receivers))]
        self._receivers[name] = Receiver(given.secret)
        return Response(status_code=204)

    async def _show(self, name: str) -> Received:
        receiver = self._receivers.get(name)
        if receiver is None:
            return Received(messages=[], refused=0)
        return Received(messages=list(receiver.messages.values()), refused=receiver.refused)

    async def _receive(self, name: str, request: Request) -> Response:
        receiver = self._receivers.get(name)
        if receiver is None:
            return JSONResponse({"error": f"there is no receiver {name!r}"}, 404)
        try:
            message = receiver.take(dict(request.headers), await request.body(), self._wall())
        except SignatureRefused as error:
            receiver.refused += 1
            return JSONResponse({"error": error.message}, 401)
        return JSONResponse({"received": message.id, "times": message.times})
