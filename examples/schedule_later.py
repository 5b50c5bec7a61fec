"""Later: after a delay, at a time, or when the handler itself says "not yet"."""

import asyncio
from datetime import UTC, datetime

from ostinato import App, Context, Done, Snooze, testing

app = App("garden")
START = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)


@app.job()
async def water(ctx: Context, plant: str) -> Done | Snooze:
    if plant == "cactus" and ctx.job.attempt == 1:
        return Snooze(6 * 3600)  # runs again later; no attempt is used up
    return Done(f"{plant} watered")


async def main() -> None:
    async with testing.engine() as engine:
        await engine.clock.freeze(START)
        now = water.options()
        in_an_hour = water.options(delay=3600)
        at_noon = water.options(run_at=START.replace(hour=12))
        for kind, plant in ((at_noon, "rose"), (in_an_hour, "fern"), (now, "cactus")):
            await kind.enqueue(engine.client, plant=plant)

        report = await engine.run_until_idle(app)
        print(f"{report.done} done, {report.snoozed} snoozed")
        print(f"it is {await engine.clock.now():%H:%M}")


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > 3 done, 1 snoozed
# > it is 14:00
