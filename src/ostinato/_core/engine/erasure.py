"""An erasure blanks everything that the engine keeps about a person, by a declared subject.

    await send_invoice.options(subject="customer-7").enqueue(client, invoice_id=7)
    ...
    certificate = await erasure.erase(conn, "customer-7")

What a handler adds has the subject of its job. Only a keyed hash of it is stored. The logic is in
`sql/functions/erasure.sql`.
"""

import json
from dataclasses import dataclass
from datetime import datetime

from ostinato._core.base.flow import current_tenant
from ostinato._core.db.call import Connection, call_value

ERASE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was erased where: no word of the person is in it. The audit keeps it."""

    complete: bool
    """Whether nothing is left. False: jobs still run or wait, or there is more; erase again."""
    preview: bool
    """Whether it only counted."""
    tenant_id: str
    at: datetime
    by: str
    """Who asked for it, as the audit names the actor."""
    erased: dict[str, int]
    """The rows that were blanked, by table."""
    cancelled: int
    """Jobs that waited or were dead letters, and were cancelled first."""
    running: int
    """Jobs that run now: they were asked to stop, and are blanked by the next call."""
    waiting: int
    """Jobs that were left alone because they wait."""


async def erase(
    conn: Connection, subject: str, *, tenant_id: str | None = None, preview: bool = False, keep_live: bool = False
) -> Certificate:
    """Blank arguments, results, errors, steps, events, webhooks and stored answers about a subject.

    Jobs that wait are cancelled first and running ones asked to stop, unless `keep_live`. Safe to
    repeat: do so until the certificate is `complete`.
    """
    found = await call_value(
        conn,
        "erase_subject",
        _seconds=ERASE_SECONDS,
        subject=subject,
        tenant_id=tenant_id or current_tenant(),
        preview=preview,
        keep_live=keep_live,
    )
    made = json.loads(found) if isinstance(found, str | bytes) else dict(found)
    return Certificate(**made | {"at": datetime.fromisoformat(made["at"])})
