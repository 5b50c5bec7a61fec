"""Applications with figures for Prometheus: one that tells them, and some that cannot."""

from typing import Any

from psycopg import AsyncConnection

from ostinato._core.base.metrics import Gauge, Recorder
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.observe.figures import Figures

OPEN = Gauge("ostinato_till_open", "Tills that are open.", ("floor",))
FOREIGN = Gauge("ostinato_workers_of_mine", "Has the name of another.")


async def tell(conn: AsyncConnection[Any]) -> Recorder:
    found = await (await conn.execute("select 3, current_user::text")).fetchone()
    assert found is not None
    assert found[1] in {"ostinato_api", "ostinato_worker"}  # on the page, and on the command line
    recorder = Recorder()
    recorder.set(OPEN, found[0], "first")
    return recorder


async def fail(conn: AsyncConnection[Any]) -> Recorder:
    await conn.execute("select from nothing_of_this_name")
    return Recorder()


async def forget(conn: AsyncConnection[Any]) -> Recorder:
    await conn.execute("select pg_sleep(600)")
    return Recorder()


FIGURES = Figures((OPEN,), tell)
FAILING = Figures((), fail)
SLOW = Figures((), forget, seconds=0.05)
STRAY = Figures((FOREIGN,), tell)

HERE = "tests.api.figures"
TILL = App("till", metrics=f"{HERE}:FIGURES")
APPS = (
    App("broken", metrics=f"{HERE}:FAILING"),
    App("slow", metrics=f"{HERE}:SLOW"),
    App("stray", metrics=f"{HERE}:STRAY"),
    App("gone", metrics="tests.api.no_such_module:FIGURES"),
    App("unnamed", metrics=f"{HERE}:NOTHING"),
    TILL,
    App("silent"),
)
