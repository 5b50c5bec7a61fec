"""Tenants: run the rest of a transaction as a tenant, and protect tables by row-level security.

Entering lasts until the end of the transaction of the connection it is given. The logic is in
`sql/functions/tenants.sql`.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.pq import TransactionStatus
from psycopg.rows import class_row

from ostinato._core.base import flow
from ostinato._core.base.errors import InvalidInput
from ostinato._core.db.call import Connection, call, call_as


async def enter(
    conn: Connection,
    tenant_id: str,
    correlation_id: str | None = None,
    *,
    user_id: str | None = None,
    key_id: int | None = None,
) -> None:
    """Act as a tenant for the rest of the transaction: row-level security shows only its rows.

    Policies of applications can read `user_id` as `app.current_user_id`; the audit has both ids.
    """
    _in_transaction(conn, "enter")
    part_of = flow.current_correlation() if correlation_id is None else correlation_id
    given: dict[str, Any] = {} if key_id is None else {"key_id": key_id}
    await call(conn, "enter_tenant", tenant_id=tenant_id, correlation_id=part_of, user_id=user_id, **given)


async def enter_flow(
    conn: Connection, tenant_id: str | None = None, correlation_id: str | None = None, subject: str | None = None
) -> None:
    """Set the flow of this code for calls in plain SQL, until the end of the transaction.

    Calls through Python pass it by themselves.
    """
    _in_transaction(conn, "enter_flow")
    tenant, part_of, about = flow.current()
    await call(
        conn,
        "enter_flow",
        tenant_id=tenant if tenant_id is None else tenant_id,
        correlation_id=part_of if correlation_id is None else correlation_id,
        subject=about if subject is None else subject,
    )


async def protect(conn: Connection, entity: str, tenant_column: str = "tenant_id") -> None:
    """Protect a table ("schema.table") of an application by row-level security. For migrations."""
    await call(conn, "protect_table", entity=entity, tenant_column=tenant_column)


async def refuse_filtered_reads(conn: Connection) -> None:
    """Make a read that row-level security would filter an error, for the rest of the transaction."""
    _in_transaction(conn, "refuse_filtered_reads")
    await call(conn, "refuse_filtered_reads")


@dataclass(frozen=True, slots=True)
class TenantLine:
    """A tenant, as the operators of the installation see it."""

    tenant_id: str
    keys: int
    """API keys that work."""
    last_used_at: datetime | None
    """When one of them was used last."""
    endpoints: int
    """Endpoints of webhooks."""


async def list_tenants(conn: Connection, *, after: str = "", most: int = 50) -> list[TenantLine]:
    """Return the tenants by name; `after` is the last of the page before. Use a worker's connection."""
    return await call_as(conn, class_row(TenantLine), "list_tenants", _read=True, after=after, most=most)


def _in_transaction(conn: Connection, verb: str) -> None:
    if conn.autocommit and conn.pgconn.transaction_status == TransactionStatus.IDLE:
        raise InvalidInput(
            f"tenants.{verb} outside of a transaction would be over at once.",
            hint="Use it inside `async with client.transaction() as conn:`.",
        )
