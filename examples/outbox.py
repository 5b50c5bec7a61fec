"""Tell what happened with the change itself, and have it handled in order, at least once."""

import asyncio

from pydantic import BaseModel

from ostinato import App, Context, testing
from ostinato.outbox import Event
from ostinato.tenants import flow

billing = App("billing")


class InvoicePaid(BaseModel):
    euros: int


paid = billing.event("invoice.paid", version=1, payload=InvoicePaid)


@billing.on("invoice.paid")
async def send_receipt(_: Context, event: Event[InvoicePaid]) -> None:
    print(f"receipt for {event.ordering_key}: {event.payload.euros} euros")


async def main() -> None:
    async with testing.engine() as engine:
        with flow(tenant="acme", correlation="request-7"):
            async with engine.client.transaction() as conn:  # and your own writes
                await paid.emit(conn, InvoicePaid(euros=70), key="A")
                await paid.emit(conn, {"euros": 30}, key="A")
        await engine.run_until_idle(billing)


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > receipt for A: 70 euros
# > receipt for A: 30 euros
