"""A job in steps: what is done stays done; it sleeps, and waits, outside of any worker."""

import asyncio

from ostinato import App, Context, Retry, testing
from ostinato.tenants import flow

app = App("shop")
order_paid = app.event("order.paid")


def reserve(item: str) -> str:
    print(f"reserve a {item}")
    return f"{item}-17"


@app.job(retry=Retry(delays=(60,)))
async def order(ctx: Context, item: str) -> None:
    place = await ctx.step("reserve", reserve, item)
    if ctx.job.attempt == 1:
        raise ConnectionError("it dies here")
    await ctx.sleep(3 * 86_400)  # three days, and no worker holds the job
    await ctx.step("ship", print, "paid, and shipped:", await ctx.wait_for("order.paid", place))


async def main() -> None:
    async with testing.engine() as engine:
        with flow(tenant="acme", correlation="request-7"):
            await order.enqueue(engine.client, item="cello")
            await engine.run_until_idle(app)
            await order_paid.emit(engine.client, {"euros": 900}, key="cello-17")
            await engine.run_until_idle(app)


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > reserve a cello
# > paid, and shipped: {'euros': 900}
