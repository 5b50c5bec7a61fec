"""RabbitMQ: quorum queues, publisher confirms, messages that cannot be routed are returned.

    RabbitMQ(queue="orders")                                a queue, made as a quorum queue if it is not there
    RabbitMQ(exchange="events", routing_key="{type}")       an exchange that you have declared and bound

The attributes in binary mode are headers with the prefix `cloudEvents:`, as the AMQP binding has them.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar

from ostinato._core.base.cloudevents import Mode, Outgoing
from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.settings import Settings
from ostinato._core.runtime.brokers.broker import (
    CONNECT_SECONDS,
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
    import aio_pika
    from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractExchange, AbstractIncomingMessage

KIND = "rabbitmq"
PREFIX = "cloudEvents:"
PREFIXES = (PREFIX, "cloudEvents_", "ce-")
"""As other libraries write them, too."""
PREFETCH = 100


@dataclass(frozen=True, kw_only=True)
class RabbitMQ:
    """A queue, or an exchange, of RabbitMQ."""

    queue: str | None = None
    """Published to by the default exchange; made as a durable quorum queue if it is not there."""
    exchange: str | None = None
    """Or: published to with `routing_key`. It must be there, with a queue that is bound to it."""
    routing_key: str = "{type}"
    """{type} and {tenant} are filled in."""
    declare: bool = True
    """Whether the queue is made if it is not there."""
    mode: Mode = "structured"
    kind: ClassVar[str] = KIND

    def __post_init__(self) -> None:
        if (self.queue is None) is (self.exchange is None):
            raise InvalidInput("RabbitMQ needs a queue or an exchange, one of them", hint='RabbitMQ(queue="orders")')

    @classmethod
    async def publisher(cls, settings: Settings) -> Publisher:
        """Connect, to publish."""
        url = url_of(KIND, settings)
        return RabbitPublisher(url, await _connected(url))

    async def source(self, settings: Settings, consumer: str) -> Source:
        """Connect, to take messages from the queue; all consumers of a queue share them."""
        del consumer
        if self.queue is None:
            raise InvalidInput("messages are taken from a queue, not from an exchange", hint='RabbitMQ(queue="orders")')
        url = url_of(KIND, settings)
        connection = await _connected(url)
        source = RabbitSource(url, connection)
        try:
            await source.begin(self.queue, declare=self.declare)
        except BaseException as error:
            await close_quietly(connection.close())
            if isinstance(error, Exception):
                raise _away(url, error) from None
            raise
        return source


class RabbitPublisher:
    """Publishes on channels with confirms, one for each address."""

    def __init__(self, url: str, connection: "AbstractConnection") -> None:
        self._url = url
        self._connection = connection
        self._exchanges: dict[RabbitMQ, AbstractExchange] = {}
        self._making = asyncio.Lock()

    async def publish(self, to: RabbitMQ, message: Outgoing) -> None:
        """Publish, and return when the queue has confirmed it: a quorum queue after its majority has it on disk."""
        from aio_pika import DeliveryMode, Message  # noqa: PLC0415 - see the package
        from aio_pika.exceptions import DeliveryError  # noqa: PLC0415

        where = to.queue or message.filled(to.routing_key)
        if len(where.encode()) > 255:  # noqa: PLR2004 - a short string of AMQP
            raise refused(KIND, where[:40], "the routing key has more than 255 bytes")
        made = Message(
            message.body(to.mode),
            content_type=message.content_type(to.mode),
            headers=dict(message.headers(to.mode, PREFIX)),
            delivery_mode=DeliveryMode.PERSISTENT,
            message_id=message.id,
        )
        try:
            exchange = self._exchanges.get(to) or await self._exchange(to)
            await exchange.publish(made, where, mandatory=True)
        except DeliveryError as error:
            raise unrouted(KIND, where, getattr(error.frame, "reply_text", None) or "it was refused (nack)") from None
        except Exception as error:  # noqa: BLE001 - the library has many
            self._exchanges.pop(to, None)
            raise self._judged(to, where, error) from None

    async def close(self) -> None:
        """Close the connection."""
        await close_quietly(self._connection.close())

    async def _exchange(self, to: RabbitMQ) -> "AbstractExchange":
        async with self._making:
            if to not in self._exchanges:
                channel = await self._connection.channel(publisher_confirms=True, on_return_raises=True)
                if to.exchange is not None:
                    self._exchanges[to] = await channel.get_exchange(to.exchange, ensure=True)
                else:
                    await _declare(channel, str(to.queue), declare=to.declare)
                    self._exchanges[to] = channel.default_exchange
            return self._exchanges[to]

    def _judged(self, to: RabbitMQ, where: str, error: Exception) -> Exception:
        from aio_pika.exceptions import ChannelClosed, ChannelPreconditionFailed  # noqa: PLC0415

        if isinstance(error, ChannelPreconditionFailed) and "larger than" in str(error):
            return refused(KIND, where, error)
        if isinstance(error, ChannelClosed) and not self._connection.is_closed:
            return unrouted(KIND, to.exchange or where, error)
        return _away(self._url, error)


class RabbitSource:
    """Takes messages from a queue; what is not acknowledged comes again when the connection ends."""

    def __init__(self, url: str, connection: "AbstractConnection") -> None:
        self._url = url
        self._connection = connection
        self._arrived: asyncio.Queue[AbstractIncomingMessage | None] = asyncio.Queue()

    async def begin(self, name: str, *, declare: bool) -> None:
        """Start to consume."""
        channel = await self._connection.channel()
        await channel.set_qos(prefetch_count=PREFETCH)
        queue = await _declare(channel, name, declare=declare)
        channel.close_callbacks.add(lambda *_: self._arrived.put_nowait(None))
        await queue.consume(self._arrived.put)

    async def fetch(self, most: int, seconds: float) -> list[Received]:
        """Return what has arrived; waits for the first."""
        try:
            first = await asyncio.wait_for(self._arrived.get(), seconds)
        except TimeoutError:
            if self._connection.is_closed:
                raise away(KIND, self._url, ConnectionError("the connection is closed")) from None
            return []
        found = [first]
        while len(found) < most and not self._arrived.empty():
            found.append(self._arrived.get_nowait())
        if None in found:
            raise away(KIND, self._url, ConnectionError("the channel was closed"))
        return [_received(each) for each in found if each is not None]

    async def close(self) -> None:
        """Close the connection."""
        await close_quietly(self._connection.close())


async def _connected(url: str) -> "AbstractConnection":
    import aio_pika  # noqa: PLC0415 - see the package

    try:
        return await aio_pika.connect(url, timeout=CONNECT_SECONDS)
    except Exception as error:  # noqa: BLE001 - the library has many
        raise _away(url, error) from None


async def _declare(channel: "AbstractChannel", name: str, *, declare: bool) -> "aio_pika.abc.AbstractQueue":
    from aio_pika.exceptions import ChannelNotFoundEntity  # noqa: PLC0415 - see the package

    if not declare:
        return await channel.declare_queue(name, passive=True)
    # One that is there already is used as it is: asking for other arguments would close the channel.
    try:
        return await channel.declare_queue(name, passive=True)
    except ChannelNotFoundEntity:
        await channel.reopen()
        return await channel.declare_queue(name, durable=True, arguments={"x-queue-type": "quorum"})


def _received(message: "AbstractIncomingMessage") -> Received:
    found = message.message_id or f"sha256:{sha256(message.body).hexdigest()}"
    return Received(
        message.body, _attributes(message.headers), message.content_type, str(found), acknowledge=message.ack
    )


def _attributes(headers: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for name, value in headers.items():
        prefix = next((each for each in PREFIXES if name.startswith(each)), None)
        if prefix is not None and isinstance(value, str):
            found[name.removeprefix(prefix)] = value
    return found


def _away(url: str, error: BaseException) -> Exception:
    return away(KIND, url, error)
