"""A schedule adds jobs at local times, once per slot, on the days when clocks move too.

    from ostinato import schedules
    from ostinato.schedules import Schedule

    app.schedule(send_digest, cron="0 8 * * MON", zone="Europe/Paris")  # part of the code

    nightly = Schedule("acme.digest", "billing.digest", cron="0 8 * * *", zone="Europe/Paris")
    await schedules.upsert(conn, nightly)                               # a row, for each customer
    for fire in await schedules.next_fires(conn, "acme.digest", 3):
        print(fire.slot_local, fire.slot_at, fire.note)

The guide, with what happens when clocks are moved and after an outage, is `docs/schedules.md`.
"""

from ostinato._core.engine.fires import Fire, NextFire, Slot, list_fires, next_fires, preview, recompute
from ostinato._core.engine.schedules import (
    RING,
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
from ostinato._core.runtime.handlers.declared import Times

__all__ = [
    "RING",
    "CatchUp",
    "Fire",
    "Gap",
    "NextFire",
    "Overlap",
    "Schedule",
    "ScheduleDetails",
    "ScheduleSummary",
    "Slot",
    "Times",
    "Weekday",
    "Written",
    "delete",
    "list_",
    "list_fires",
    "next_fires",
    "pause",
    "preview",
    "recompute",
    "resume",
    "show",
    "upsert",
    "upsert_many",
]
