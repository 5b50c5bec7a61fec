"""What is shown: a figure, a panel, and what is missing on this machine."""

from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection

from ostinato.observe import Block, Checkup, Counts, Figures, Gauge, Panel, Recorder, Trouble
from ostinato.settings import Settings
from tests.faces.laundry import database
from tests.faces.laundry.settings import LaundrySettings

WASHED = Gauge("ostinato_laundry_washed", "Baskets that were washed.")


async def record(conn: AsyncConnection[Any]) -> Recorder:
    """What all tenants washed."""
    recorder = Recorder()
    recorder.set(WASHED, await database.washed(conn))
    return recorder


async def blocks(conn: AsyncConnection[Any]) -> Sequence[Block]:
    """What whoever looks washed."""
    return [Counts("Baskets", {"washed": await database.count(conn)})]


def look(settings: Settings) -> list[Trouble]:
    """Washing slowly is a trouble."""
    slow = settings.section(LaundrySettings).speed < 500
    return [Trouble("the machine is slow", "Raise laundry.speed.")] if slow else []


FIGURES = Figures((WASHED,), record)
PANEL = Panel("Laundry", blocks)
CHECKUP = Checkup(look)
