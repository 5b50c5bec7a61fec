"""An application with two panels, over the jobs of whoever looks."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from psycopg import AsyncConnection

from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.observe.blocks import Block, Counts, Table
from ostinato._core.runtime.observe.panels import Panel

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


async def counted(conn: AsyncConnection[Any]) -> Sequence[Block]:
    found = await conn.execute("select kind, count(*) from ostinato_data.job group by kind")
    return [Counts("Jobs", dict(await found.fetchall()))]


async def shown(_: AsyncConnection[Any]) -> Sequence[Block]:
    return [Table("Tills", ("name", "open", "since", "sold"), [("a", True, NOON, 2.5)])]


COUNTED = Panel("Orders", counted)
SHOWN = Panel("Tills", shown)
APP = App("till", panels=("tests.api.panels:COUNTED", "tests.api.panels:SHOWN"))
