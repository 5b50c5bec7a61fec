"""What a broker is to the engine: somewhere to publish an event, and somewhere to take messages from.

One file for each kind of broker implements these protocols: `rabbitmq`, `nats`, `kafka`. It imports its library
only when it connects. An address (`RabbitMQ(queue="orders")`) is a plain value that an app declares; a connection
is opened with it and the settings.

A connection reports trouble in two ways, and the difference decides what becomes of an event:

    away(…), unrouted(…)   NoAnswer: nothing is wrong with the event. It is held, and no attempt is used up
    InvalidInput           the broker will never take this one: it is a dead letter, and those behind it go on
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol
from urllib.parse import urlsplit

from ostinato._core.base.cloudevents import Outgoing
from ostinato._core.base.errors import InvalidInput, NoAnswer, NotConfigured
from ostinato._core.base.extras import need
from ostinato._core.base.redact import redact
from ostinato._core.base.settings import Settings

CONNECT_SECONDS = 4.0
PUBLISH_SECONDS = 10.0
CLOSE_SECONDS = 3.0
ERROR_LENGTH = 300
UNREADABLE = "an address that cannot be read"


class Publisher(Protocol):
    """An open connection that publishes."""

    async def publish(self, to: Any, message: Outgoing) -> None:  # noqa: ANN401 - the broker's own address
        """Publish, and return when the broker has it for good."""

    async def close(self) -> None:
        """Close it; it never raises."""


@dataclass(slots=True)
class Received:
    """A message as the broker handed it over."""

    body: bytes
    headers: dict[str, str]
    """Its attributes in binary mode, without their prefix."""
    content_type: str | None
    fallback: str
    """What identifies it when it is no CloudEvent."""
    acknowledge: Callable[[], Awaitable[None]] = field(repr=False)
    """Tells the broker that it need not send it again."""
    encoded: bool = False
    """Its headers are percent-encoded."""


class Source(Protocol):
    """An open connection that messages come from."""

    async def fetch(self, most: int, seconds: float) -> list[Received]:
        """Return what is there; waits for the first message, but no longer than `seconds`."""

    async def close(self) -> None:
        """Close it; it never raises."""


class Address(Protocol):
    """Somewhere in a broker, as an app declares it: a plain value."""

    kind: ClassVar[str]
    """The name of the broker, of its extra, and of its setting, <kind>_url."""

    @classmethod
    async def publisher(cls, settings: Settings) -> Publisher:
        """Connect, to publish; the connection serves all addresses of its broker."""


class Sourced(Address, Protocol):
    """An address that messages can be taken from."""

    async def source(self, settings: Settings, consumer: str) -> Source:
        """Connect, to take messages; consumers of one name share them."""


def away(kind: str, url: str, error: BaseException) -> NoAnswer:
    """Return the error for a broker that cannot be reached, or from which no answer came."""
    said = redact(str(error) or type(error).__name__, ERROR_LENGTH)
    return NoAnswer(
        f"{kind} at {place(url)} does not answer: {said}",
        hint=f"Check that it runs, and {kind}_url. Events wait meanwhile, and use up no attempts.",
        outcome="away",
    )


def unrouted(kind: str, where: str, why: object) -> NoAnswer:
    """Return the error for a broker that answers, but has nowhere to put the message, or no room."""
    return NoAnswer(
        f"{kind} did not take a message for {where}: {redact(str(why), ERROR_LENGTH)}",
        hint="Bind a queue, create the stream or the topic, or make room. Events wait meanwhile.",
        outcome="unrouted",
    )


def refused(kind: str, where: str, why: object) -> InvalidInput:
    """Return the error for a message that the broker will never take."""
    return InvalidInput(
        f"{kind} refuses the message for {where}: {redact(str(why), ERROR_LENGTH)}",
        hint="Raise the broker's limit and redrive it, or discard it: `ostinato events buried`.",
    )


def place(url: str) -> str:
    """Return where a broker is, without names and passwords."""
    parts = url.split(",") if url.count("://") > 1 else [url]
    return ",".join(map(_place, parts))


def _place(url: str) -> str:
    try:
        netloc = urlsplit(url).netloc
    except ValueError:
        return UNREADABLE
    # A password with a slash or a hash that is not encoded ends the part before the path, and would stand as the host.
    return netloc.rpartition("@")[2] if netloc.count("@") == url.count("@") else UNREADABLE


def url_of(kind: str, settings: Settings) -> str:
    """Return the address of a broker, or refuse with what is missing."""
    need(kind, f"the part for {kind}")
    found: str | None = getattr(settings, f"{kind}_url")
    if found is None:
        raise NotConfigured(
            f"{kind}_url is not set, and an app uses {kind}",
            hint=f"Set OSTINATO_{kind.upper()}_URL in the environment.",
        )
    return found


async def close_quietly(closing: Awaitable[object]) -> None:
    """Close something within a bounded time, and ignore its errors: the other side may be gone."""
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await closing
    except Exception:  # noqa: BLE001, S110 - it is gone either way
        pass
