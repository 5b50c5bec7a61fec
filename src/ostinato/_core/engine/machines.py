"""Machines: rows change their state by declared events only, and a log records who and why.

An application's migration installs a machine and attaches it to a table; from then on

    await machines.transition(conn, INVOICE, "billing.invoice", invoice_id, "send", by="ana")

is the only way to change the state. Every function works in the transaction of the connection it
is given. The logic is in `sql/functions/machines.sql`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Required, TypedDict, Unpack

import psycopg
from psycopg.rows import class_row

from ostinato._core.base.flow import current_correlation
from ostinato._core.base.machine import Machine
from ostinato._core.db.call import Connection, call, call_as, call_now, call_value
from ostinato._core.db.sqlstate import translated
from ostinato._core.engine.leases import Lease

Id = str | int
PAGE = 50


Fence = tuple[int, int] | Lease
"""A proof that a worker is not late: the token of its job (`ctx.token`), or a lease."""


Changes = Mapping[str, object]


class How(TypedDict, total=False):
    """The details of a transition."""

    by: Required[str]
    """Who caused it: a person, a service, a kind of job."""
    why: str | None
    correlation_id: str | None
    """The request that it belongs to; by default that of the flow."""
    changes: Changes | None
    """Columns to set together with the state."""
    tenant_id: str | None
    """The tenant of the row, in a table in which several tenants may use the same id."""
    fence: Fence | None
    """Refuses a worker that lost its job or its lease."""


class Moved(NamedTuple):
    """A row that made a transition."""

    id: str
    from_state: str
    to_state: str


class Gap(NamedTuple):
    """A fault by which a table does not enforce its machine."""

    entity: str
    machine: str
    problem: str


class Past(NamedTuple):
    """One row of the log: a transition, by whom and why."""

    id: int
    at: datetime
    machine: str
    entity: str
    entity_id: str
    tenant_id: str
    event: str
    from_state: str
    to_state: str
    actor: str
    why: str | None
    correlation_id: str | None
    job_id: int | None
    attempt: int | None


@dataclass(frozen=True, slots=True)
class Standing:
    """How many rows of a table stand in a state."""

    entity: str
    state: str
    count: int
    capped: bool
    """Whether there may be more."""


async def count_states(conn: Connection, machine: str) -> list[Standing]:
    """Return the rows in each state of a machine, as far as they can be counted at once."""
    return await call_as(conn, class_row(Standing), "count_states", _read=True, machine=machine)


async def install(conn: Connection, machine: Machine) -> bool:
    """Install a machine or its new version; returns whether anything changed. For migrations."""
    return bool(await call_value(conn, "install_machine", definition=machine.definition()))


async def attach(
    conn: Connection,
    machine: Machine,
    entity: str,
    *,
    id_column: str = "id",
    state_column: str = "state",
    tenant_column: str | None = None,
) -> None:
    """Attach a table ("schema.table") to an installed machine. For migrations."""
    await call(
        conn,
        "attach_machine",
        machine=machine.name,
        entity=entity,
        id_column=id_column,
        state_column=state_column,
        tenant_column=tenant_column,
    )


async def transition(
    conn: Connection,
    machine: Machine,
    entity: str,
    id: Id,  # noqa: A002 - as in SQL
    event: str,
    **how: Unpack[How],
) -> str:
    """Apply an event to a row and return its new state.

    Raises `IllegalTransition` when the machine does not list the event in the row's state,
    `InvariantBroken` when the row would break an invariant of the new state, `NotFound` when there
    is no such row, and `LeaseLost` when the fence is lost.
    """
    named = _named(machine, entity, event, how)
    return str(await call_value(conn, "transition", id=str(id), **named))


def transition_now(
    conn: psycopg.Connection[Any],
    machine: Machine,
    entity: str,
    id: Id,  # noqa: A002 - as in SQL
    event: str,
    **how: Unpack[How],
) -> str:
    """Apply an event to a row, on a synchronous connection."""
    named = _named(machine, entity, event, how)
    with translated():
        ((state,),) = call_now(conn, "transition", id=str(id), **named)
    return str(state)


async def transition_all(
    conn: Connection,
    machine: Machine,
    entity: str,
    ids: Sequence[Id],
    event: str,
    *,
    skip: bool = False,
    correlation_ids: Sequence[str | None] | None = None,
    each: Sequence[Changes] | None = None,
    **how: Unpack[How],
) -> list[Moved]:
    """Apply an event to many rows at once, all or none.

    With `skip`, rows that do not exist, or whose state does not allow the event, are skipped. Rows that are parts of
    several requests have `correlation_ids`, one for each; what changes differently in each row is in `each`, with the
    row's id.
    """
    named = _named(machine, entity, event, how)
    if each is not None:
        named["changes"] = json.dumps([dict(changes) for changes in each], default=str)
    if correlation_ids is not None:
        named["correlation_ids"] = list(correlation_ids)
    rows = await call(conn, "transition_all", ids=[str(one) for one in ids], skip=skip, **named)
    return [Moved(*row) for row in rows]


async def history(
    conn: Connection,
    entity: str,
    id: Id | None = None,  # noqa: A002 - as in SQL
    *,
    tenant_id: str | None = None,
    before: int | None = None,
    most: int = PAGE,
) -> list[Past]:
    """Return a page of the log of a row, or of all rows of a table, newest first."""
    rows = await call(
        conn,
        "list_transitions",
        _read=True,
        entity=entity,
        entity_id=None if id is None else str(id),
        tenant_id=tenant_id,
        before=before,
        most=most,
    )
    return [Past(*row) for row in rows]


async def gaps(conn: Connection) -> list[Gap]:
    """Return the tables that do not enforce their machine: a trigger is missing or disabled."""
    return [Gap(*row) for row in await call(conn, "machine_gaps", _read=True)]


def _named(machine: Machine, entity: str, event: str, how: How) -> dict[str, Any]:
    """Return the parameters of a call, without those that are not given."""
    changes, fence = how.get("changes"), how.get("fence")
    correlation_id = how.get("correlation_id")
    named: dict[str, Any] = {
        "machine": machine.name,
        "entity": entity,
        "event": event,
        "by": how["by"],
        "why": how.get("why"),
        "correlation_id": current_correlation() if correlation_id is None else correlation_id,
        "changes": None if changes is None else json.dumps(dict(changes), default=str),
        "tenant_id": how.get("tenant_id"),
    }
    if isinstance(fence, Lease):
        named |= {"lease": fence.name, "token": fence.token, "lease_tenant": fence.tenant_id}
    elif fence is not None:
        named |= {"job_id": fence[0], "attempt": fence[1]}
    return {name: value for name, value in named.items() if value is not None}
