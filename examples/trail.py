"""One correlation id, from the request to the last job of it: nothing is passed by hand."""

import asyncio

from ostinato import App, Context, tenants, testing

app = App("shop")


@app.job()
async def order(ctx: Context) -> None:
    async with ctx.transaction() as conn:
        await receipt.enqueue(conn)


@app.job()
async def receipt(ctx: Context) -> None:
    print(f"a receipt for {ctx.job.tenant_id}, part of {ctx.correlation_id}")


async def main() -> None:
    async with testing.engine() as engine:
        asked = order.options(tenant="acme", correlation_id="request-42")
        await asked.enqueue(engine.client)
        await engine.run_until_idle(app)
        async with engine.client.for_tenant("acme").transaction() as conn:
            for line in await tenants.trail(conn, "request-42"):
                print(line.source, line.what, line.state)


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > a receipt for acme, part of request-42
# > job shop.order enqueued
# > job shop.receipt enqueued
# > attempt shop.order done
# > attempt shop.receipt done
