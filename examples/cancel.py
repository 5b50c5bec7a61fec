"""Cancel a job from outside, or let its handler decide that it is not needed any more."""

import asyncio

from ostinato import App, Cancel, Context, testing

app = App("mail")
unsubscribed = {"bob@example.com"}


@app.job()
async def newsletter(_: Context, address: str) -> Cancel | None:
    if address in unsubscribed:
        return Cancel("unsubscribed meanwhile")
    print(f"sent to {address}")
    return None  # a long job looks at ctx.cancelled now and then, and stops when it is set


async def main() -> None:
    async with testing.engine() as engine:
        ids = {}
        for name in ("ada", "bob", "eve"):
            ids[name] = await newsletter.enqueue(engine.client, address=f"{name}@example.com")

        async with engine.client.connection() as conn:  # or, by hand: ostinato jobs cancel JOB
            await conn.execute("select ostinato.cancel_job(%s, 'bounced')", [ids["eve"]])

        report = await engine.run_until_idle(app)
        print(f"{report.done} done, {report.cancelled} cancelled by its handler")


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > sent to ada@example.com
# > 1 done, 1 cancelled by its handler
