"""Relay events to a broker, and make jobs of the messages that come from one.

It runs with a broker: OSTINATO_NATS_URL=nats://127.0.0.1:4222 ostinato worker --app examples.brokers:shop
"""

from typing import Any

from ostinato import App, Context
from ostinato.brokers import Message, Nats, RabbitMQ

shop = App("shop")
placed = shop.event("order.placed")
shop.relay("order.placed", name="to_nats", to=Nats(stream="SHOP", subject="shop.{type}"))


@shop.on_message(RabbitMQ(queue="payments"))
async def take_payment(ctx: Context, message: Message[Any]) -> None:
    ctx.log.info("paid", order=message.data["order"], source=message.source)


if __name__ == "__main__":
    print("events go out as", ", ".join(shop.subscribers))
    print("messages come in to", ", ".join(intake.name for intake in shop.intakes))
    print("needs", " and ".join(sorted(shop.brokers)))

# prints:
# > events go out as shop.to_nats
# > messages come in to shop.take_payment
# > needs nats and rabbitmq
