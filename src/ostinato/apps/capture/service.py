"""Takes captures and settles their checks, one transaction each.

take      the intake: decide, write down, audit, have it checked
take_at_once   the same in one statement, for what is not refused
receive   the same with a transaction of its own, and a refusal audited in another one
advance, settle   the check behind the intake, as it goes on
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any, NamedTuple

from ostinato import database, machines, tenants
from ostinato.apps.capture import audit, rules
from ostinato.apps.capture.events import emit, emit_uploaded
from ostinato.apps.capture.machine import CAPTURE, ENTITY
from ostinato.apps.capture.model import (
    AuditEvent,
    CanonicalPayloadFields,
    Create,
    Decision,
    Device,
    Existing,
    Idempotent,
    Material,
    Ocr,
    Reason,
    State,
)
from ostinato.apps.capture.queries import QUERIES, Connection, Row
from ostinato.errors import Conflict, DatabaseUnavailable, IdempotencyConflict, InvalidInput, NotFound
from ostinato.jobs import wake_after_commit
from ostinato.observe import get_logger
from ostinato.web import Caller

log = get_logger("capture")

VERIFY = "capture.verify"
QUEUE = "capture"

Opening = Callable[[], AbstractAsyncContextManager[Connection]]
"""Opens a transaction as the tenant and the user."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A capture that came in."""

    fields: CanonicalPayloadFields
    device: Device
    ocr: Ocr = field(default_factory=Ocr)
    source_ip: str | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of it."""

    capture_event_id: str
    capture_id: str
    state: str
    replayed: bool


class _Decided(NamedTuple):
    """A decision, whose transaction it is, and when."""

    tenant_id: str
    now: datetime
    decision: Decision


_SETTLED = {
    "seal": (State.SEALED, AuditEvent.SEALED),
    "reject": (State.REJECTED, AuditEvent.REJECTED),
    "fail": (State.FAILED, AuditEvent.FAILED),
}


async def acquire_lock_and_check_idempotence(
    conn: Connection, user_id: str, fields: CanonicalPayloadFields
) -> Decision:
    """Decide about a capture, in the caller's transaction (docs/specs/capture.md, "The decision").

    Waits for other transactions with the same capture of the same user, until they commit. Returns
    `Create` with the fingerprint to store, or `Idempotent` with the id and state of what is there;
    raises `IdempotencyConflict` for a different payload. The tenant is that of the transaction.

    Meant for READ COMMITTED. In other isolation levels a caller who waited does not see what was
    committed meanwhile and gets `Create`; the unique constraint then refuses the second row.
    """
    return (await _decided(conn, user_id, fields)).decision


async def take(
    conn: Connection, user_id: str, wanted: Wanted, *, skew_seconds: float = 300.0, max_object_bytes: int | None = None
) -> Taken:
    """Take a capture in, in the caller's transaction: decide, write, have it checked, audit.

    One capture in a transaction: the chain of the audit log, which is held from here to its end,
    is the last lock. A replay is answered whatever the device's clock says and whatever the limits
    are now, and its OCR is dropped: the first counts.
    """
    given = rules.normalised(wanted.fields)
    tenant_id, now, decision = await _decided(conn, user_id, given)
    if isinstance(decision, Create):
        skew_ms = rules.skew_ms_of(wanted.device.timestamp, now)
        rules.check_new(given, skew_ms, skew_seconds=skew_seconds, max_object_bytes=max_object_bytes)
        taken = await _create(conn, user_id, wanted, decision, tenant_id=tenant_id, skew_ms=skew_ms)
        if taken is not None:
            return taken
        # A writer without the lock was faster: decide by the row that is there now.
        decision = (await _decided(conn, user_id, given)).decision
    if not isinstance(decision, Idempotent):
        raise DatabaseUnavailable(
            "the capture was made by another transaction that this one cannot see",
            hint="Run the whole transaction again, in READ COMMITTED.",
        )
    await _audit(
        conn,
        user_id,
        wanted,
        AuditEvent.REPLAYED,
        tenant_id=tenant_id,
        http_status=200,
        capture_event_id=decision.existing_capture_event_id,
    )
    log.info("capture_replayed", capture_id=given.capture_id, state=decision.existing_state)
    return Taken(decision.existing_capture_event_id, given.capture_id, decision.existing_state, replayed=True)


async def take_at_once(
    caller: Caller, wanted: Wanted, *, skew_seconds: float = 300.0, max_object_bytes: int | None = None
) -> Taken | None:
    """Take a capture as `take` does, in one statement; None: it is to be refused, and nothing was done."""
    sent = rules.normalised(wanted.fields)
    rows = await caller.call(
        "vault_secure.take_capture_as",
        **asdict(sent),
        payload_canonical_sha256=rules.compute_canonical_fingerprint(sent),
        device_id=wanted.device.id,
        timestamp_device=wanted.device.timestamp,
        ocr_text=wanted.ocr.text,
        ocr_confidence=wanted.ocr.confidence,
        ocr_language=wanted.ocr.language,
        source_ip=wanted.source_ip,
        skew_seconds=skew_seconds,
        max_object_bytes=max_object_bytes,
    )
    if not rows:
        return None
    ((taken, state, replayed, _),) = rows
    if replayed:
        log.info("capture_replayed", capture_id=sent.capture_id, state=state)
    return Taken(str(taken), sent.capture_id, state, replayed=replayed)


async def receive(
    opening: Opening, user_id: str, wanted: Wanted, *, skew_seconds: float = 300.0, max_object_bytes: int | None = None
) -> Taken:
    """Take in a capture as `take` does, in a transaction of its own.

    A refusal takes that transaction back, so it is audited in one of its own before it is raised.
    """
    try:
        async with opening() as conn:
            return await take(conn, user_id, wanted, skew_seconds=skew_seconds, max_object_bytes=max_object_bytes)
    except IdempotencyConflict as conflict:
        noted = {name: str(conflict.values[name]) for name in ("stored", "received")}
        capture_id = wanted.fields.capture_id.lower()
        log.warning("capture_conflict", capture_id=capture_id, http_status=409, **noted)
        await _refused(opening, user_id, wanted, AuditEvent.CONFLICT, http_status=409, **noted)
        raise
    except InvalidInput as error:
        why = {name: each for name, each in error.values.items() if isinstance(each, str | int)}
        if "refusal" in why:
            await _refused(opening, user_id, wanted, AuditEvent.REFUSED, http_status=422, **why)
        raise


async def show(conn: Connection, user_id: str, capture_id: str) -> Row:
    """Return the row of a user's capture, without what opens it; raises `NotFound`."""
    row = await QUERIES.first(
        conn, "show_capture", user_id=user_id, capture_id=capture_id.lower(), tenant_id=tenants.current_tenant()
    )
    if row is None:
        raise NotFound("there is no such capture", hint="Check the id, and whose it is.")
    return row


async def awaited_upload(conn: Connection, user_id: str, capture_id: str) -> tuple[str, int]:
    """Return the key and the size of the object that a capture waits for; raises `NotFound` or `Conflict`."""
    about = {"user_id": user_id, "capture_id": capture_id.lower(), "tenant_id": tenants.current_tenant()}
    row = await QUERIES.first(conn, "upload_of", **about)
    if row is None:
        raise NotFound("there is no such capture", hint="Check the id, and whose it is.")
    if row["state"] not in (State.RECEIVED, State.UPLOADING):
        raise Conflict(
            f"the capture is {row['state']}: its object has come, or is no longer waited for",
            hint="A new object is a new capture, with a capture_id of its own.",
            state=row["state"],
        )
    return row["upload_object_key"], row["size_bytes"]


async def announce(
    conn: Connection, *, capture_id: str | None = None, object_keys: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """Wake the checks that wait for objects which have come: of the user's capture, or by their keys.

    Returns these captures, each by its two ids.
    """
    tenant_id = tenants.current_tenant()
    keys = list(object_keys)
    rows = await QUERIES.rows(
        conn, "announce_uploads", tenant_id=tenant_id, capture_id=capture_id and capture_id.lower(), object_keys=keys
    )
    found = [(row["capture_event_id"], row["capture_id"]) for row in rows]
    if found:
        await emit_uploaded(conn, found, tenant_id=await QUERIES.value(conn, "here", tenant_id=tenant_id))
    return found


async def load_material(conn: Connection, tenant_id: str, capture_event_id: str) -> Material:
    """Load what the check of a capture needs; raises `NotFound`."""
    row = await QUERIES.first(conn, "material", tenant_id=tenant_id, id=capture_event_id)
    if row is None:
        raise NotFound(f"there is no capture {capture_event_id}", capture=capture_event_id)
    named = {each.name: row.pop(each.name) for each in fields(CanonicalPayloadFields)}
    state = State(row.pop("state"))
    return Material(**row, state=state, fields=CanonicalPayloadFields(**named))


async def advance(conn: Connection, material: Material, event: str) -> None:
    """Let a capture go on; nothing happens to one that is past it already."""
    await machines.transition_all(
        conn, CAPTURE, ENTITY, [material.capture_event_id], event, skip=True, by=VERIFY, tenant_id=material.tenant_id
    )


async def settle(
    conn: Connection,
    material: Material,
    event: str,
    reason: Reason | None,
    *,
    object_version: str | None = None,
    by: str = VERIFY,
) -> State:
    """End the check of a capture: seal, reject or fail it, with its audit entry and its event.

    A seal is one of a version of the object, where the store has versions.
    """
    state, entry = _SETTLED[event]
    # Lock order of all transactions: the row, then its events, then the chain.
    await QUERIES.run(conn, "hold", tenant_id=material.tenant_id, id=material.capture_event_id)
    await emit(
        conn, state, material.capture_event_id, material.fields.capture_id, tenant_id=material.tenant_id, reason=reason
    )
    appended = await audit.append(
        conn,
        material.user_id,
        entry,
        material.fields.capture_id,
        tenant_id=material.tenant_id,
        capture_event_id=material.capture_event_id,
        reason=reason,
        object_version=object_version,
    )
    changes: dict[str, Any] = {"reason": reason}
    if state is State.SEALED:
        now = await database.now(conn)
        changes = {"verified_at": now.isoformat(), "sealed_seq": appended.seq, "object_version": object_version}
    await machines.transition(
        conn,
        CAPTURE,
        ENTITY,
        material.capture_event_id,
        event,
        by=by,
        why=reason,
        tenant_id=material.tenant_id,
        changes=changes,
    )
    return state


async def start_check(conn: Connection, tenant_id: str, capture_event_id: str) -> None:
    """Add the job that checks a capture; raises `UniqueConflict` while there is one."""
    about = {"tenant_id": tenant_id, "id": capture_event_id, "correlation_id": tenants.current_correlation()}
    await QUERIES.run(conn, "start_check", **about)
    wake_after_commit(QUEUE)


async def _decided(conn: Connection, user_id: str, fields: CanonicalPayloadFields) -> _Decided:
    fingerprint = rules.compute_canonical_fingerprint(fields)
    row = await QUERIES.one(
        conn, "find_capture", user_id=user_id, capture_id=fields.capture_id.lower(), tenant_id=tenants.current_tenant()
    )
    tenant_id, now = row.pop("tenant_id"), row.pop("now")
    existing = None if row["id"] is None else Existing(**row)
    return _Decided(tenant_id, now, rules.decide(fingerprint, existing))


async def _create(
    conn: Connection, user_id: str, wanted: Wanted, decision: Create, *, tenant_id: str, skew_ms: int
) -> Taken | None:
    """Insert a capture, enqueue its check, emit its event, audit it; None: it is there already."""
    created = await _insert(conn, user_id, wanted, decision, tenant_id=tenant_id, skew_ms=skew_ms)
    if created is None:
        return None
    capture_id = wanted.fields.capture_id.lower()
    await start_check(conn, tenant_id, created)
    await emit(conn, State.RECEIVED, created, capture_id, tenant_id=tenant_id)
    await _audit(
        conn,
        user_id,
        wanted,
        AuditEvent.ACCEPTED,
        tenant_id=tenant_id,
        http_status=202,
        capture_event_id=created,
        payload_canonical_sha256=decision.payload_canonical_sha256,
    )
    return Taken(created, capture_id, State.RECEIVED, replayed=False)


async def _insert(
    conn: Connection, user_id: str, wanted: Wanted, decision: Create, *, tenant_id: str, skew_ms: int
) -> str | None:
    """Insert the row of a capture and return its id; None if it is there already."""
    created: str | None = await QUERIES.value(
        conn,
        "insert_capture",
        tenant_id=tenant_id,
        user_id=user_id,
        **asdict(rules.normalised(wanted.fields)),
        payload_canonical_sha256=decision.payload_canonical_sha256,
        device_id=wanted.device.id,
        timestamp_device=wanted.device.timestamp,
        skew_ms=skew_ms,
        ocr_text=wanted.ocr.text,
        ocr_confidence=wanted.ocr.confidence,
        ocr_language=wanted.ocr.language,
    )
    return created


async def _refused(opening: Opening, user_id: str, wanted: Wanted, event: AuditEvent, **noted: str | int) -> None:
    async with opening() as conn:
        tenant_id = await QUERIES.value(conn, "here", tenant_id=tenants.current_tenant())
        await _audit(conn, user_id, wanted, event, tenant_id=tenant_id, **noted)


async def _audit(
    conn: Connection, user_id: str, wanted: Wanted, event: AuditEvent, *, tenant_id: str, **noted: str | int
) -> None:
    await audit.append(
        conn, user_id, event, wanted.fields.capture_id.lower(), tenant_id=tenant_id, source_ip=wanted.source_ip, **noted
    )
