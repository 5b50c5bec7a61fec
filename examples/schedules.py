"""Schedules: rows, daily at a local time, each slot once, also on days when the clock is moved."""

import asyncio
from datetime import UTC, datetime, time

from ostinato import App, Context, schedules, testing
from ostinato.schedules import Schedule, Slot

app = App("rounds")


@app.job()
async def opens(_: Context, group: int, scheduled_for: Slot) -> None:
    print(f"group {group}: the round of {scheduled_for.date} opens")


nightly = Schedule("g7", opens.name, {"group": 7}, at_time=time(2, 30), zone="Europe/Paris")


async def main() -> None:
    async with testing.engine() as engine:
        await engine.clock.freeze(datetime(2026, 3, 28, 12, tzinfo=UTC))
        async with engine.client.transaction() as conn:
            await schedules.upsert(conn, nightly)
            for fire in await schedules.next_fires(conn, "g7", 2):
                print(f"{fire.slot_local:%d %b %H:%M}, {fire.slot_at:%H:%M}Z, {fire.note}")
        await engine.clock.move(24 * 3600)
        await engine.run_until_idle(app)


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > 29 Mar 02:30, 01:30Z, gap: 02:30 does not exist, 03:30 instead
# > 30 Mar 02:30, 00:30Z, None
# > group 7: the round of 2026-03-29 opens
