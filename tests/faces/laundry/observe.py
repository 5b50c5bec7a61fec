"""What is observed: a figure, and what is missing on this machine."""

from typing import Any

from psycopg import AsyncConnection

from ostinato.observe import Checkup, Figures, Gauge, Recorder, Trouble
from ostinato.settings import Settings
from tests.faces.laundry import database
from tests.faces.laundry.settings import LaundrySettings

WASHED = Gauge("ostinato_laundry_washed", "Baskets that were washed.")


async def record(conn: AsyncConnection[Any]) -> Recorder:
    """What all tenants washed."""
    recorder = Recorder()
    recorder.set(WASHED, await database.washed(conn))
    return recorder


def look(settings: Settings) -> list[Trouble]:
    """Washing slowly is a trouble."""
    slow = settings.section(LaundrySettings).speed < 500
    return [Trouble("the machine is slow", "Raise laundry.speed.")] if slow else []


FIGURES = Figures((WASHED,), record)
CHECKUP = Checkup(look)
