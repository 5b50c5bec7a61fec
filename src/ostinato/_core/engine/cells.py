"""Cells: where a tenant is, as one cell knows it. The logic is in `sql/functions/cells.sql`; `moves` moves one."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from ostinato._core.db.call import Connection, call, call_as, call_value

GONE = frozenset({"leaving", "left"})
MOVING = frozenset({"draining", "closed", "leaving", "coming"})
SERVED = frozenset({"here", "draining", "closed"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tenant is."""

    state: str
    """draining, closed or leaving: on its way to `cell`. coming: from `cell`. here: it came from there. left: there."""
    cell: str
    move_id: UUID | None
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class PlaceLine(Place):
    """The same, with its tenant."""

    tenant_id: str


async def number(conn: Connection) -> int | None:
    """Return the number of this cell; None: it has none."""
    found: int | None = await call_value(conn, "show_cell_number", _read=True)
    return found


async def place(conn: Connection, tenant_id: str) -> Place | None:
    """Return where a tenant is; None: it lives here, or was never here."""
    found = await call_as(conn, class_row(Place), "show_place", _read=True, tenant_id=tenant_id)
    return found[0] if found else None


async def list_places(conn: Connection, *, after: str = "", most: int = 1000) -> list[PlaceLine]:
    """Return the tenants that moved or are moving, by name."""
    return await call_as(conn, class_row(PlaceLine), "list_places", _read=True, after=after, most=most)


async def set_place(conn: Connection, tenant_id: str, state: str, cell: str, move_id: UUID | None = None) -> None:
    """Set where a tenant is; refused while another move is under way."""
    await call(conn, "set_place", tenant_id=tenant_id, state=state, cell=cell, move_id=move_id)


async def give_up(conn: Connection, tenant_id: str, move_id: UUID) -> bool:
    """Give up a move on one side; False means that it has gone too far there."""
    return bool(await call_value(conn, "give_up_move", tenant_id=tenant_id, move_id=move_id))


async def older(conn: Connection, of: list[str] | None = None) -> list[str]:
    """Return those of some transactions, or of all, that run now."""
    return [row[0] for row in await call(conn, "older_transactions", _read=True, of=of)]


async def knows(conn: Connection, tenant_id: str) -> bool:
    """Return whether the tenant has jobs, keys or endpoints here."""
    return bool(await call_value(conn, "knows_tenant", _read=True, tenant_id=tenant_id))


async def held(conn: Connection, tenant_id: str) -> int:
    """Return how many jobs of a tenant workers hold."""
    return int(await call_value(conn, "count_held_jobs", _read=True, tenant_id=tenant_id))
