"""Kafka: an idempotent producer, acknowledged by all replicas that are in step, ordered by key.

    Kafka(topic="billing")

The key of a record is that of the event with its tenant, so the events of a key are in one partition. The
attributes in binary mode are headers with the prefix `ce_`, as the Kafka binding has them.

The address is kafka://user:password@host:9092,other:9092, or kafkas:// for TLS; with ?sasl=SCRAM-SHA-256 for another
mechanism than PLAIN, and ?cafile=… for another authority than the system's.
"""

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from ostinato._core.base.cloudevents import Mode, Outgoing
from ostinato._core.base.errors import SettingsError
from ostinato._core.base.settings import Settings
from ostinato._core.runtime.brokers.broker import Publisher, away, close_quietly, refused, unrouted, url_of

if TYPE_CHECKING:
    from aiokafka import AIOKafkaProducer

KIND = "kafka"
PREFIX = "ce_"
REQUEST_MILLISECONDS = 5000
"""Shorter than PUBLISH_SECONDS: a record that was given up may not be sent later, behind its successors."""


@dataclass(frozen=True, kw_only=True)
class Kafka:
    """A topic of Kafka."""

    topic: str
    mode: Mode = "structured"
    kind: ClassVar[str] = KIND

    @classmethod
    async def publisher(cls, settings: Settings) -> Publisher:
        """Connect, to publish."""
        from aiokafka import AIOKafkaProducer  # noqa: PLC0415 - see the package

        url = url_of(KIND, settings)
        producer = AIOKafkaProducer(
            **options(url), enable_idempotence=True, acks="all", request_timeout_ms=REQUEST_MILLISECONDS
        )
        try:
            await producer.start()
        except BaseException as error:
            await close_quietly(producer.stop())
            if isinstance(error, Exception):
                raise away(KIND, url, error) from None
            raise
        return KafkaPublisher(url, producer)


class KafkaPublisher:
    """Publishes records, and waits for the acknowledgement of each."""

    def __init__(self, url: str, producer: "AIOKafkaProducer") -> None:
        self._url = url
        self._producer = producer

    async def publish(self, to: Kafka, message: Outgoing) -> None:
        """Publish, and return when all replicas that are in step have it."""
        from aiokafka.errors import (  # noqa: PLC0415 - see the package
            InvalidTopicError,
            KafkaError,
            MessageSizeTooLargeError,
            RecordListTooLargeError,
            TopicAuthorizationFailedError,
            UnknownTopicOrPartitionError,
        )

        attributes = {**message.headers(to.mode, PREFIX), "content-type": message.content_type(to.mode)}
        headers = [(name, value.encode()) for name, value in attributes.items()]
        key = None if message.partition is None else message.partition.encode()
        try:
            await self._producer.send_and_wait(to.topic, message.body(to.mode), key=key, headers=headers)
        except (MessageSizeTooLargeError, RecordListTooLargeError) as error:
            raise refused(KIND, to.topic, error) from None
        except (UnknownTopicOrPartitionError, InvalidTopicError, TopicAuthorizationFailedError) as error:
            raise unrouted(KIND, to.topic, error) from None
        except (KafkaError, OSError) as error:
            raise away(KIND, self._url, error) from None

    async def close(self) -> None:
        """Close the connection."""
        await close_quietly(self._producer.stop())


def options(url: str) -> dict[str, Any]:
    """Return what the producer is made with, of an address."""
    parts = urlsplit(url)
    if parts.scheme not in ("kafka", "kafkas") or not parts.netloc:
        raise SettingsError("kafka_url must be kafka://host:9092 or kafkas://host:9092, several hosts by commas")
    login, _, hosts = parts.netloc.rpartition("@")
    asked = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    secure = parts.scheme == "kafkas"
    found: dict[str, Any] = {"bootstrap_servers": hosts.split(",")}
    if secure:
        found["ssl_context"] = ssl.create_default_context(cafile=asked.get("cafile"))
    if login:
        user, _, password = login.partition(":")
        found |= {"sasl_mechanism": asked.get("sasl", "PLAIN")}
        found |= {"sasl_plain_username": unquote(user), "sasl_plain_password": unquote(password)}
    protocol = f"{'SASL_' if login else ''}{'SSL' if secure else 'PLAINTEXT'}"
    return {**found, "security_protocol": protocol}
