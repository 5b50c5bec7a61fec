"""NATS JetStream: acknowledged by the stream, which drops what it has had already by its id.

    Nats(stream="BILLING", subject="billing.{type}")        to publish; the stream is made if it is not there
    Nats(stream="ORDERS", subject="orders.>")               to take messages, by a durable pull consumer

The attributes in binary mode are headers with the prefix `ce-`, percent-encoded, as the NATS binding has them.
"""

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ostinato._core.base.cloudevents import Mode, Outgoing, header_value
from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.settings import Settings
from ostinato._core.runtime.brokers.broker import (
    CONNECT_SECONDS,
    PUBLISH_SECONDS,
    Publisher,
    Received,
    Source,
    away,
    close_quietly,
    refused,
    unrouted,
    url_of,
)

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

KIND = "nats"
PREFIX = "ce-"
MESSAGE_ID = "Nats-Msg-Id"
CONTENT_TYPE = "content-type"

_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, kw_only=True)
class Nats:
    """A subject of a stream of NATS JetStream."""

    stream: str
    subject: str
    """{type} and {tenant} are filled in."""
    declare: bool = True
    """Whether the stream is made if it is not there, for this subject."""
    mode: Mode = "structured"
    kind: ClassVar[str] = KIND

    @property
    def bound(self) -> str:
        """The subjects that the stream is made for: any word where one is filled in."""
        return self.subject.replace("{tenant}", "*").replace("{type}", ">")

    def __post_init__(self) -> None:
        if "{type}" in self.subject.removesuffix("{type}"):
            raise InvalidInput(
                f"{{type}} is not the end of the subject {self.subject!r}",
                hint="A type may have several words, so it comes last: billing.{tenant}.{type}.",
            )

    @classmethod
    async def publisher(cls, settings: Settings) -> Publisher:
        """Connect, to publish."""
        url = url_of(KIND, settings)
        return NatsPublisher(url, await _connected(url, settings))

    async def source(self, settings: Settings, consumer: str) -> Source:
        """Connect, to take messages; consumers of one name share them, whatever process they are in."""
        url = url_of(KIND, settings)
        connection = await _connected(url, settings)
        stream = connection.jetstream()
        try:
            if self.declare:
                await _declare(stream, self)
            durable = _NOT_A_NAME.sub("_", consumer)
            found = await stream.pull_subscribe(self.bound, durable=durable, stream=self.stream)
        except BaseException as error:
            await close_quietly(connection.close())
            if isinstance(error, Exception):
                raise away(KIND, url, error) from None
            raise
        return NatsSource(url, connection, found)


class NatsPublisher:
    """Publishes into streams, and waits for the acknowledgement of each message."""

    def __init__(self, url: str, connection: "Client") -> None:
        self._url = url
        self._connection = connection
        self._stream = connection.jetstream(timeout=PUBLISH_SECONDS)
        self._declared: set[Nats] = set()
        self._making = asyncio.Lock()

    async def publish(self, to: Nats, message: Outgoing) -> None:
        """Publish, and return when the stream has it: on the disks of its majority, if it has replicas."""
        from nats.errors import Error, MaxPayloadError  # noqa: PLC0415 - see the package
        from nats.js.errors import APIError, NoStreamResponseError  # noqa: PLC0415

        subject = message.filled(to.subject)
        attributes = message.headers(to.mode, PREFIX)
        headers = {name: header_value(value) for name, value in attributes.items()}
        headers |= {MESSAGE_ID: header_value(message.id), CONTENT_TYPE: message.content_type(to.mode)}
        try:
            if to.declare and to not in self._declared:
                await self._declare(to)
            await self._stream.publish(subject, message.body(to.mode), stream=to.stream, headers=headers)
        except MaxPayloadError as error:
            raise refused(KIND, subject, error) from None
        except (APIError, NoStreamResponseError) as error:
            self._declared.discard(to)
            too_large = isinstance(error, APIError) and error.err_code == 10054  # noqa: PLR2004 - of the stream
            raise (refused if too_large else unrouted)(KIND, subject, error) from None
        except (Error, OSError) as error:
            raise away(KIND, self._url, error) from None

    async def close(self) -> None:
        """Close the connection."""
        await close_quietly(self._connection.close())

    async def _declare(self, to: Nats) -> None:
        async with self._making:
            if to not in self._declared:
                await _declare(self._stream, to)
                self._declared.add(to)


class NatsSource:
    """Takes messages from a durable consumer; what is not acknowledged comes again after its `ack_wait`."""

    def __init__(self, url: str, connection: "Client", found: "JetStreamContext.PullSubscription") -> None:
        self._url = url
        self._connection = connection
        self._found = found

    async def fetch(self, most: int, seconds: float) -> list[Received]:
        """Return what is there; waits for the first."""
        from nats.errors import Error  # noqa: PLC0415 - see the package
        from nats.errors import TimeoutError as NoMessage  # noqa: PLC0415

        try:
            found = await self._found.fetch(most, timeout=seconds)
        except NoMessage:
            if self._connection.is_closed:
                raise away(KIND, self._url, ConnectionError("the connection is closed")) from None
            return []
        except (Error, OSError) as error:
            raise away(KIND, self._url, error) from None
        return [_received(each) for each in found]

    async def close(self) -> None:
        """Close the connection."""
        await close_quietly(self._connection.close())


async def _connected(url: str, settings: Settings) -> "Client":
    import nats  # noqa: PLC0415 - see the package

    met: list[Exception] = []

    async def note(error: Exception) -> None:
        # Errors reach the code that publishes or fetches; the library would write them to its own log.
        met[:] = [error]

    given: dict[str, Any] = {}
    if settings.nats_credentials_file is not None:
        given["user_credentials"] = settings.nats_credentials_file
    try:
        return await nats.connect(
            [each.strip() for each in url.split(",")],
            connect_timeout=int(CONNECT_SECONDS),
            allow_reconnect=False,
            max_reconnect_attempts=1,  # otherwise the first connection, too, is tried for two minutes
            reconnect_time_wait=0,
            error_cb=note,
            **given,
        )
    except Exception as error:  # noqa: BLE001 - the library has many
        raise away(KIND, url, met[0] if met else error) from None


async def _declare(stream: "JetStreamContext", to: Nats) -> None:
    from nats.js.errors import NotFoundError  # noqa: PLC0415 - see the package

    try:
        await stream.stream_info(to.stream)
    except NotFoundError:
        await stream.add_stream(name=to.stream, subjects=[to.bound])


def _received(message: "Msg") -> Received:
    headers = {name.lower(): value for name, value in (message.headers or {}).items()}
    attributes = {
        name.removeprefix(PREFIX): value
        for name, value in headers.items()
        if name.startswith(PREFIX) and isinstance(value, str)
    }
    told = message.metadata
    return Received(
        message.data,
        attributes,
        headers.get(CONTENT_TYPE),
        f"{told.stream}#{told.sequence.stream}",
        acknowledge=message.ack,
        encoded=True,
    )
