"""The pages of the console: what was washed, and a button that has a basket washed."""

from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection

from ostinato.observe import Action, Actions, Block, Counts, Link, Look, Panel, Table, Verb
from tests.faces.laundry import database
from tests.faces.laundry.http import WASH
from tests.faces.laundry.jobs import wash


async def front(conn: AsyncConnection[Any]) -> Sequence[Block]:
    """How much was washed, of what the viewer may see."""
    return [Counts("Baskets", {"washed": await database.count(conn)})]


async def baskets(conn: AsyncConnection[Any], look: Look) -> Sequence[Block]:
    """The same as a page of its own, with the button."""
    table = Table("Baskets", ("washed",), [[await database.count(conn)]], Link("Laundry", ""))
    return [table, Actions((Action("Wash one", "wash", {}, look.tenant_id),))]


async def order(conn: AsyncConnection[Any], _look: Look) -> str:
    """Have a basket washed."""
    return f"job {await wash.enqueue(conn)} washes it"


PANEL = Panel("Laundry", front)
PAGE = Panel("Baskets", baskets, "baskets", needs=WASH, verbs={"wash": Verb(order, WASH)})
