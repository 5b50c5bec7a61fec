"""A relay and an intake whose worker dies at the worst moment, once each: see test_brokers.py.

The relay dies when the broker has taken event 3 and no verdict is written; the intake when the job of message 3 is
committed and the broker has heard nothing of it.
"""

import os
import signal
from pathlib import Path
from typing import Any

from ostinato import App, Context
from ostinato._core.base.cloudevents import Outgoing
from ostinato._core.runtime.brokers.broker import Sourced
from ostinato._core.runtime.brokers.intakes import Taking
from ostinato._core.runtime.brokers.nats import NatsPublisher
from ostinato._core.runtime.brokers.rabbitmq import RabbitPublisher
from ostinato.brokers import Message, Nats, RabbitMQ
from tests.faults.app import STUBBORN

FATAL = 3
BROKERS: dict[str, tuple[Sourced, Sourced, Any]] = {
    "rabbitmq": (RabbitMQ(queue="out"), RabbitMQ(queue="into"), RabbitPublisher),
    "nats": (Nats(stream="out", subject="out.{type}"), Nats(stream="into", subject="into.{type}"), NatsPublisher),
}

out, into, publisher = BROKERS[os.environ["OSTINATO_TEST_BROKER"]]

app = App("faults")
happened = app.event("thing.happened")
app.relay("thing.happened", to=out, name="relay", start="beginning", retry=STUBBORN)


@app.on_message(into, retry=STUBBORN)
async def take(ctx: Context, message: Message[Any]) -> None:
    async with ctx.transaction() as conn:
        await conn.execute("insert into effect (job_id, attempt) values (%s, %s)", [message.data["n"], ctx.job.attempt])


def die_once(where: str) -> None:
    """End this process as a power cut would, unless one has died here before."""
    try:
        Path(os.environ["OSTINATO_TEST_FOLDER"], where).touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


publish, commit = publisher.publish, Taking._commit


async def publish_and_die(self: Any, to: Any, message: Outgoing) -> None:  # noqa: ANN401
    await publish(self, to, message)
    if message.data["n"] == FATAL:
        die_once("published")


async def commit_and_die(self: Any, read: Any) -> None:  # noqa: ANN401
    await commit(self, read)
    die_once("committed")


publisher.publish = publish_and_die
Taking._commit = commit_and_die  # type: ignore[method-assign]
