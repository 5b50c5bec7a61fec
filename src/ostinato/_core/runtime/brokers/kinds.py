"""The kinds of brokers that there are, each in a file of its own."""

from ostinato._core.runtime.brokers.broker import Address
from ostinato._core.runtime.brokers.kafka import Kafka
from ostinato._core.runtime.brokers.nats import Nats
from ostinato._core.runtime.brokers.rabbitmq import RabbitMQ

ADDRESSES: dict[str, type[Address]] = {each.kind: each for each in (RabbitMQ, Nats, Kafka)}
"""The addresses, by the name of their broker."""
