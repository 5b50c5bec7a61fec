"""A retry policy is data; a test moves the clock, so a day of retries takes milliseconds."""

import asyncio

from ostinato import App, Context, Retry, testing

app = App("shop")
policy = Retry(delays=(60, 3600, 86_400), jitter=0, permanent=(PermissionError,))


@app.job(retry=policy)
async def charge(ctx: Context, card: str) -> None:
    print(f"{card}: attempt {ctx.job.attempt}")
    if card == "stolen":
        raise PermissionError("a permanent error is not tried again")
    if ctx.job.failures < len(policy.delays):
        raise ConnectionError("the bank does not answer")


async def main() -> None:
    async with testing.engine() as engine:
        began = await engine.clock.now()
        await charge.enqueue(engine.client, card="good")
        await charge.enqueue(engine.client, card="stolen")
        report = await engine.run_until_idle(app)
        hours = (await engine.clock.now() - began).total_seconds() / 3600
        print(f"{report.done} done, {report.failed} failed attempts, {hours:.0f} hours went by")


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > good: attempt 1
# > stolen: attempt 1
# > good: attempt 2
# > good: attempt 3
# > good: attempt 4
# > 1 done, 4 failed attempts, 25 hours went by
