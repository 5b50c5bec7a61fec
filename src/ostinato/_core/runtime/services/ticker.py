"""The ticker fires the schedules whose time has come.

Every worker has one, and any number of them may run at once: one ticker locks each due schedule,
and a slot fires once (`sql/functions/schedules.sql`). It is woken by the poll that finds a schedule
due, by its own timer for the next one, and by a ring of "@ticker" when a schedule was written.
Before its first round it writes the schedules that the worker's apps declare.

What may go wrong, and then: the process dies in the middle (nothing was committed; another ticker
fires the set); the answer is lost (the next round finds what is still due); a declared schedule is
refused (it is logged, and the others are written).
"""

from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection

from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.log import get_logger
from ostinato._core.base.metrics import SCHEDULE_BROKEN, SCHEDULE_LATENESS_SECONDS, SCHEDULE_MISSED, Recorder
from ostinato._core.engine import fires, queues, schedules
from ostinato._core.engine.fires import Fired
from ostinato._core.engine.schedules import Schedule
from ostinato._core.runtime.worker.loop import FOREVER

SET = 5000
MOST_LISTED = 1000

log = get_logger("ticker")


class Ticker:
    """Fires due schedules, in sets."""

    name = "ticker"

    def __init__(self, declared: Sequence[Schedule], recorder: Recorder) -> None:
        self._declared = list(declared)
        self._recorder = recorder
        self._written = False

    async def tick(self, conn: AsyncConnection[Any]) -> float:
        """Fire all due schedules that no other has locked; returns the seconds until the next."""
        if not self._written:
            await self._write(conn)
            self._written = True
        while True:
            fired = await fires.fire(conn, SET)
            self._note(fired)
            for queue in fired.queues:
                await queues.ring(conn, queue)
            if fired.looked < SET and not fired.undone:
                return FOREVER if fired.next_due is None else max(0.001, fired.next_due)

    def _note(self, fired: Fired) -> None:
        for seconds in fired.lateness:
            self._recorder.observe(SCHEDULE_LATENESS_SECONDS, seconds)
        if fired.missed:
            self._recorder.add(SCHEDULE_MISSED, by=fired.missed)
            log.warning("slots_missed", slots=fired.missed)
        if fired.broken:
            self._recorder.add(SCHEDULE_BROKEN, by=fired.broken)
            log.error("schedules_broken", schedules=fired.broken)

    async def _write(self, conn: AsyncConnection[Any]) -> None:
        """Write the declared schedules, and log those that are not declared any more."""
        try:
            await schedules.upsert_many(conn, self._declared)
        except InvalidInput:
            for schedule in self._declared:
                try:
                    await schedules.upsert(conn, schedule)
                except InvalidInput as error:
                    log.warning("schedule_refused", schedule=schedule.name, error=error.message)
        names = {schedule.name for schedule in self._declared}
        for owner in {schedule.owner for schedule in self._declared}:
            for found in await schedules.list_(conn, owner=owner, most=MOST_LISTED):
                if found.name not in names:
                    log.warning(
                        "schedule_not_declared", schedule=found.name, hint=f"ostinato schedules delete {found.name}"
                    )
