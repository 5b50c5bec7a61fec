"""A job in steps: what is done stays done; it sleeps, and waits, outside of any worker."""

import asyncio

from ostinato import App, Context, Retry, testing
from ostinato.engine import steps

app = App("shop")


def reserve(item: str) -> str:
    print(f"reserve a {item}")
    return f"{item}-17"


@app.job(retry=Retry(delays=(60,)))
async def order(ctx: Context, item: str) -> None:
    place = await ctx.step("reserve", reserve, item)
    if ctx.job.attempt == 1:
        raise ConnectionError("the process dies here")
    await ctx.sleep(3 * 86_400)  # three days, and no worker holds the job
    paid = await ctx.wait_for("order.paid", place)
    await ctx.step("ship", print, f"ship {place}, paid {paid['euros']} euros")


async def main() -> None:
    async with testing.engine() as engine:
        job = await order.enqueue(engine.client, item="cello")
        await engine.run_until_idle(app)
        await steps.signal(engine.admin, job, '{"euros": 900}')  # in real life: an event
        await engine.run_until_idle(app)


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > reserve a cello
# > ship cello-17, paid 900 euros
