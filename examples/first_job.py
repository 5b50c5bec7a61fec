"""A job: a function, a call, a result."""

import asyncio

from ostinato import App, Context, testing

app = App("hello")


@app.job()
async def greet(ctx: Context, name: str) -> None:
    print(f"Hello, {name}! ({ctx.job.kind}, attempt {ctx.job.attempt})")


async def main() -> None:
    async with testing.engine() as engine:  # in production: ostinato.connect(), `ostinato worker`
        await greet.enqueue(engine.client, name="Ada")
        report = await engine.run_until_idle(app)
        print(f"{report.done} job done")


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > Hello, Ada! (hello.greet, attempt 1)
# > 1 job done
