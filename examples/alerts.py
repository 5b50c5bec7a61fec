"""Alerts: a value that is bad for a while is told of once, and again when it is good."""

import asyncio

from ostinato import App, Context, alerts, testing
from ostinato.alerts import FIRED, RESOLVED, Alert
from ostinato.observe import QUEUE_READY

TEXT, REMEDY = "{value} jobs wait in queue {label}", "Start a worker."
full = Alert("shop.full", figure=QUEUE_READY, above=2, for_seconds=30, message=TEXT, remedy=REMEDY)
app = App("shop", alerts=[full])


@app.job(queue="parcels")
async def ship(_: Context, order: int) -> None: ...


@app.on(FIRED, RESOLVED)  # webhooks may be told of them too
async def tell(_: Context, event) -> None:  # noqa: ANN001
    print(f"{event.type}: {event.payload['message']}")


async def main() -> None:
    async with testing.engine() as engine, engine.client.connection() as conn:
        await engine.run_until_idle(app)  # who starts declares what is to be watched
        await ship.enqueue_many(conn, [{"order": number} for number in range(3)])
        for _ in range(4):
            await alerts.evaluate(conn)  # as every worker does now and then
            await engine.clock.move(10)
        await engine.run_until_idle(app)  # ships, and tells
        await alerts.evaluate(conn)
        await engine.run_until_idle(app)


if __name__ == "__main__":
    asyncio.run(main())
# prints:
# > alert.fired: 3 jobs wait in queue parcels
# > alert.resolved: 3 jobs wait in queue parcels
