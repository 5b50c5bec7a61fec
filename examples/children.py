"""A job spawns others, leaves its worker, and goes on when they have ended."""

import asyncio

from ostinato import App, Context, Done, Retry, testing

app = App("press")
TORN = 3


@app.job(retry=Retry(max_attempts=1))
async def convert(_: Context, page: int) -> Done:
    if page == TORN:
        raise ValueError("the page is torn")
    return Done(page * 100)


@app.job()
async def book(ctx: Context, pages: int) -> None:
    children = await ctx.spawn_many(convert, ({"page": n} for n in range(1, pages + 1)))  # once, whatever dies
    joined = await ctx.join(children, on_failure="collect")  # no worker holds the job meanwhile
    async for child in joined:  # in the order of the spawn
        print(child.state, child.result)
    print(joined.done, "done,", joined.failed, "failed")


async def main() -> None:
    async with testing.engine() as engine:
        await book.enqueue(engine.client, pages=3)
        await engine.run_until_idle(app)


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > done 100
# > done 200
# > dead None
# > 2 done, 1 failed
