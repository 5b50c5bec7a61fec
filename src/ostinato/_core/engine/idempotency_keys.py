"""The keys of requests that are kept, as people look at them.

The requests themselves are in `engine.idempotency`, the logic is in `sql/functions/idempotency.sql`.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from psycopg.rows import class_row

from ostinato._core.db.call import Connection, call_as


@dataclass(frozen=True, slots=True)
class KeyLine:
    """A key that is kept, and how far its request is."""

    tenant: str
    scope: str
    key: str
    state: Literal["in_flight", "abandoned", "done"]
    """Somebody works on it; somebody gave up half-way; it is answered."""
    fingerprint: str
    """A hash of what makes the request the same, sealed with tenant, scope and key: nothing of it can be read."""
    attempt: int
    """More than 1 means that an earlier holder did not finish."""
    holder: str
    """The program that has it, or had it last."""
    started_at: datetime
    until: datetime | None
    """When another caller may take over, while somebody works on it."""
    finished_at: datetime | None
    expires_at: datetime
    """When it is forgotten."""
    resource: str | None
    """What the answer is about, if the caller said so."""


async def list_keys(
    conn: Connection,
    *,
    scope: str | None = None,
    prefix: str = "",
    tenant_id: str | None = None,
    after: tuple[str, str, str] = ("", "", ""),
    most: int = 50,
) -> list[KeyLine]:
    """Return the keys that are kept, by tenant, scope and key; `after` is the last one of the page before."""
    after_tenant, after_scope, after_key = after
    return await call_as(
        conn,
        class_row(KeyLine),
        "list_idempotency",
        _read=True,
        of_scope=scope,
        prefix=prefix,
        tenant_id=tenant_id,
        after_tenant=after_tenant,
        after_scope=after_scope,
        after_key=after_key,
        most=most,
    )
