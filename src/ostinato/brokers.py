"""Brokers: the outbox relays events to RabbitMQ, NATS JetStream and Kafka, and messages come in from the first two.

    from ostinato import App, Context
    from ostinato.brokers import Message, Nats, RabbitMQ

    app = App("billing")
    app.relay("invoice.paid", name="to_nats", to=Nats(stream="BILLING", subject="billing.{type}"))

    @app.on_message(RabbitMQ(queue="orders"))
    async def take_order(ctx: Context, message: Message[dict]) -> None: ...

Events are published as CloudEvents, at least once, in order for each key, with ids that make it once. A message is
acknowledged after the commit that added its job, and has one job, however often it comes. Needs
`ostinato[rabbitmq]`, `[nats]` or `[kafka]`. The guide is `docs/brokers.md`.
"""

from ostinato._core.base.cloudevents import Message, Mode
from ostinato._core.runtime.brokers.kafka import Kafka
from ostinato._core.runtime.brokers.nats import Nats
from ostinato._core.runtime.brokers.rabbitmq import RabbitMQ

__all__ = ["Kafka", "Message", "Mode", "Nats", "RabbitMQ"]
