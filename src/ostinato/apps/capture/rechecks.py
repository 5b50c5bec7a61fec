"""Checks the object of a sealed capture again: the version that was sealed, byte by byte.

What is found is noted with the capture, once: an entry of the audit log, an event and a mark that
the alert `capture.changed` counts. A capture whose object is right again loses the mark.
"""

from typing import Protocol

from ostinato import Context
from ostinato.apps.capture import audit, service
from ostinato.apps.capture.events import emit_changed
from ostinato.apps.capture.keyring import KeyringUnavailable
from ostinato.apps.capture.model import AuditEvent, Material, Reason, Verdict
from ostinato.apps.capture.objects import ObjectMissing
from ostinato.apps.capture.queries import QUERIES, Connection


class Examines(Protocol):
    """What a recheck needs of the world."""

    async def examine(self, material: Material) -> Verdict:
        """Check whether the object of a capture is what was declared."""


async def recheck(ctx: Context, here: Examines, tenant_id: str, capture_event_id: str) -> str:
    """Check one: same, changed, restored, or unreadable. Raises `StoreUnavailable`."""
    async with ctx.fenced() as conn:
        material = await service.load_material(conn, tenant_id, capture_event_id)
    noted = {"capture_id": material.fields.capture_id, "capture_tenant_id": tenant_id}
    try:
        reason = (await here.examine(material)).reason
    except ObjectMissing:
        reason = Reason.OBJECT_MISSING
    except KeyringUnavailable as error:
        # A key that is away says nothing about the object, and must not keep others from their turn.
        ctx.log.warning("capture_not_rechecked", **noted, reason=error.reason)
        async with ctx.fenced() as conn:
            await QUERIES.run(conn, "put_off_recheck", tenant_id=tenant_id, id=capture_event_id)
        return "unreadable"
    async with ctx.fenced() as conn:
        found = await _note(conn, material, reason)
    if found == "changed":
        ctx.log.error("capture_changed", **noted, reason=reason)
    elif found == "restored":
        ctx.log.info("capture_restored", **noted)
    return found


async def _note(conn: Connection, material: Material, reason: Reason | None) -> str:
    named = {"tenant_id": material.tenant_id, "id": material.capture_event_id}
    is_known = (material.changed_at is not None) == (reason is not None)
    # Lock order of all transactions: the row, then its events, then the chain.
    await QUERIES.run(conn, "note_recheck", **named, reason=reason)
    if is_known:
        return "same"
    if reason is not None:
        await emit_changed(
            conn, material.capture_event_id, material.fields.capture_id, tenant_id=material.tenant_id, reason=reason
        )
    await audit.append(
        conn,
        material.user_id,
        AuditEvent.RESTORED if reason is None else AuditEvent.CHANGED,
        material.fields.capture_id,
        tenant_id=material.tenant_id,
        capture_event_id=material.capture_event_id,
        reason=reason,
        object_version=material.object_version,
    )
    return "restored" if reason is None else "changed"
