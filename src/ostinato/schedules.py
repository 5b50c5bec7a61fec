"""Schedules: jobs that are added at local times, once per slot, on the days when clocks move too.

app.schedule(digest, cron="0 8 * * MON", zone="Europe/Paris")           # part of the code

await schedules.upsert(conn, Schedule("acme.digest", "billing.digest", cron="0 8 * * *"))
await schedules.next_fires(conn, "acme.digest", 3)                      # when, in its zone
"""

from ostinato._core.engine.fires import Fire, NextFire, Slot, list_fires, next_fires, preview
from ostinato._core.engine.schedules import (
    CatchUp,
    Gap,
    Overlap,
    Schedule,
    ScheduleDetails,
    ScheduleSummary,
    Weekday,
    Written,
    delete,
    list_,
    pause,
    resume,
    show,
    upsert,
    upsert_many,
)

__all__ = [
    "CatchUp",
    "Fire",
    "Gap",
    "NextFire",
    "Overlap",
    "Schedule",
    "ScheduleDetails",
    "ScheduleSummary",
    "Slot",
    "Weekday",
    "Written",
    "delete",
    "list_",
    "list_fires",
    "next_fires",
    "pause",
    "preview",
    "resume",
    "show",
    "upsert",
    "upsert_many",
]
