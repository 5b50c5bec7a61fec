"""Records consents with their proof, and ends them in one transaction with what waits for them.

Deny by default (rule 1.1): nothing here ever makes a message go; it only lets `rules` say yes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from ostinato import database, machines
from ostinato.apps.outbound import rules, store
from ostinato.apps.outbound.consent import suppressions
from ostinato.apps.outbound.consent.suppressions import Place
from ostinato.apps.outbound.errors import ConsentProofRequired
from ostinato.apps.outbound.machine import CONSENT, CONSENT_ENTITY
from ostinato.apps.outbound.model import Channel, Consent, ConsentSource, ConsentStatus, Purpose
from ostinato.apps.outbound.send import moves
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection, Row

EVENT_OF = {ConsentStatus.GRANTED: "grant", ConsentStatus.DENIED: "deny", ConsentStatus.REVOKED: "revoke"}


@dataclass(frozen=True, slots=True)
class Given:
    """A consent as somebody records it."""

    subject_id: str
    channel: Channel
    purpose: Purpose
    status: ConsentStatus
    address: str
    source: ConsentSource
    proof: Mapping[str, Any]
    legal_basis: str | None = None
    expires_at: datetime | None = None
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """Why consents end, and what proves it."""

    source: ConsentSource
    actor: str
    proof: Mapping[str, Any]
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """A consent as it stands now, which need not be what was said of it."""

    id: UUID
    status: ConsentStatus
    reason: str | None = None
    """Why what was said changed nothing: OLDER_THAN_REFUSAL."""


async def record(conn: Connection, tenant_id: str, actor: str, given: Given, settings: OutboundSettings) -> Recorded:
    """Record a consent, or that it was asked for, denied or revoked; with the proof, for good."""
    if given.status is ConsentStatus.GRANTED and not given.proof:
        raise ConsentProofRequired("a consent was to be granted without a proof")
    key = {"tenant_id": tenant_id, "subject_id": given.subject_id}
    place = {**key, "channel": given.channel, "purpose": given.purpose}
    await store.run(conn, "add_consent", **place, id=uuid4(), address=given.address)
    consent = store.made(Consent, await store.one(conn, "lock_consent", **place))
    now = await database.now(conn)
    ended = Ended(given.source, actor, given.proof, given.occurred_at or now)
    reason = None
    match given.status:
        case ConsentStatus.GRANTED:
            kind, reason = await _granted(conn, tenant_id, consent, given, ended, settings)
        case ConsentStatus.PENDING:
            kind = "REQUESTED"
        case _:
            kind = given.status.value
            await _end(conn, tenant_id, consent, given.status, ended, now=now)
            await _suppress(conn, tenant_id, consent, given, ended, settings)
    row = await store.one(conn, "lock_consent", **place)
    after = ConsentStatus(row["status"])
    await _prove(conn, tenant_id, consent, kind, after, ended=ended)
    return Recorded(consent.id, after, reason)


async def _granted(  # noqa: PLR0917 - what was there, what is said, and who says it
    conn: Connection, tenant_id: str, consent: Consent, given: Given, ended: Ended, settings: OutboundSettings
) -> tuple[str, str | None]:
    """Grant a consent, unless a later word refused it; what the proof calls it, and why not."""
    renewed = consent.status is ConsentStatus.GRANTED
    kind = "RENEWED" if renewed else "IMPORTED" if given.source is ConsentSource.IMPORT else "GRANTED"
    at = ended.occurred_at or await database.now(conn)
    where = Place(tenant_id, given.channel, given.address, (given.purpose,))
    told = await store.one(conn, "last_refusal", tenant_id=tenant_id, consent_id=consent.id)
    refusals = [each for each in (told["at"], await suppressions.since(conn, where, settings)) if each is not None]
    if rules.is_stale(at, max(refusals, default=None)):
        return kind, "OLDER_THAN_REFUSAL"
    await _grant(conn, tenant_id, consent, given, at=at, actor=ended.actor)
    if given.source is not ConsentSource.IMPORT:
        # A person's own word lifts what a person refused there before; an old list does not.
        await suppressions.lift(conn, where, settings, at)
    return kind, None


async def _suppress(  # noqa: PLR0917 - as above
    conn: Connection, tenant_id: str, consent: Consent, given: Given, ended: Ended, settings: OutboundSettings
) -> None:
    """Remember a refusal as a STOP is: for the address that is named, and the one that was allowed."""
    since = ended.occurred_at or await database.now(conn)
    for address in sorted({given.address, consent.address} - {""}):
        where = Place(tenant_id, given.channel, address, (given.purpose,))
        await suppressions.add(conn, where, settings, source=ended.source, since=since)


async def revoke(conn: Connection, tenant_id: str, consent: Consent, ended: Ended) -> int:
    """End one consent, whose row is locked, cancel what waits for it, and return how many."""
    now = await database.now(conn)
    if consent.status not in (ConsentStatus.GRANTED, ConsentStatus.PENDING, ConsentStatus.EXPIRED):
        return 0
    cancelled = await _end(conn, tenant_id, consent, ConsentStatus.REVOKED, ended, now=now)
    dated = replace(ended, occurred_at=ended.occurred_at or now)
    await _prove(conn, tenant_id, consent, "REVOKED", ConsentStatus.REVOKED, ended=dated)
    return cancelled


async def unsubscribe(  # noqa: PLR0917 - who, by what, and of whom
    conn: Connection,
    consent_id: UUID,
    source: ConsentSource,
    proof: Mapping[str, Any],
    settings: OutboundSettings,
    only: str | None = None,
) -> bool:
    """End the consent that a link or a mail address names; return whether there is one."""
    row = await store.first(conn, "consent_of_id", id=consent_id)
    if row is None or only not in (None, row["tenant_id"]):
        return False
    names = ("tenant_id", "subject_id", "channel", "purpose")
    consent = store.made(Consent, await store.one(conn, "lock_consent", **{name: row[name] for name in names}))
    place = Place(row["tenant_id"], consent.channel, consent.address, (consent.purpose,))
    await suppressions.add(conn, place, settings, source=source, since=await database.now(conn))
    await revoke(conn, row["tenant_id"], consent, Ended(source, "recipient", proof))
    return True


async def revoke_address(conn: Connection, place: Place, ended: Ended, settings: OutboundSettings) -> tuple[int, int]:
    """End what was allowed for an address: STOP, an opt-out, a complaint. Consents, messages."""
    rows = await _locked(conn, place)
    at = ended.occurred_at or await database.now(conn)
    await suppressions.add(conn, place, settings, source=ended.source, since=at)
    live = [store.made(Consent, row) for row in rows]
    live = [each for each in live if each.status is ConsentStatus.GRANTED]
    counts = [await revoke(conn, place.tenant_id, consent, ended) for consent in live]
    return len(counts), sum(counts)


async def restore(conn: Connection, place: Place, ended: Ended, settings: OutboundSettings) -> int:
    """Grant again what START asks for: only what was granted before, and then revoked.

    One that was given for a time is given for that time, and no longer.
    """
    now, tenant_id = await database.now(conn), place.tenant_id
    restored = 0
    for row in await _locked(conn, place):
        consent = store.made(Consent, row)
        past = await store.first(conn, "was_granted", tenant_id=tenant_id, consent_id=consent.id)
        if consent.status is not ConsentStatus.REVOKED or past is None or not past["granted"]:
            continue
        if consent.expires_at is not None and consent.expires_at <= now:
            continue
        given = Given(
            consent.subject_id,
            place.channel,
            consent.purpose,
            ConsentStatus.GRANTED,
            place.address,
            ended.source,
            ended.proof,
            row["legal_basis"],
            expires_at=consent.expires_at,
            occurred_at=ended.occurred_at,
        )
        await record(conn, tenant_id, ended.actor, given, settings)
        restored += 1
    return restored


async def _locked(conn: Connection, place: Place) -> list[Row]:
    """Lock the consents that were given for an address."""
    return await store.rows(
        conn,
        "lock_consents_of_address",
        tenant_id=place.tenant_id,
        channel=place.channel,
        address=place.address,
        purposes=place.names,
    )


async def expire(conn: Connection) -> int:
    """End the consents whose time is over."""
    rows = await store.rows(conn, "expired_consents")
    for row in rows:
        consent = store.made(Consent, await store.one(conn, "consent_of_id", id=row["id"]))
        tenant_id, proof = row["tenant_id"], {"expires_at": str(consent.expires_at)}
        ended = Ended(ConsentSource.API, "outbound", proof, await database.now(conn))
        await _move(conn, tenant_id, consent, "expire", "outbound")
        await _prove(conn, tenant_id, consent, "EXPIRED", ConsentStatus.EXPIRED, ended=ended)
    return len(rows)


async def _grant(conn: Connection, tenant_id: str, consent: Consent, given: Given, *, at: datetime, actor: str) -> None:
    values = {
        "address": given.address,
        "legal_basis": given.legal_basis or "consent",
        "expires_at": given.expires_at,
        "granted_at": at,
    }
    await store.run(conn, "renew_consent", tenant_id=tenant_id, id=consent.id, **values)
    if consent.status is not ConsentStatus.GRANTED:
        changes = {"granted_at": at, "revoked_at": None}
        await _move(conn, tenant_id, consent, "grant", actor, changes=changes)


async def _end(
    conn: Connection, tenant_id: str, consent: Consent, status: ConsentStatus, ended: Ended, *, now: datetime
) -> int:
    """Change the state and cancel what waits: one transaction, the caller's."""
    event = EVENT_OF[status]
    if event == "deny" and consent.status is ConsentStatus.GRANTED:
        event = "revoke"
    if event in CONSENT.allowed(consent.status):
        changes = {"revoked_at": now, "updated_at": now} if event == "revoke" else None
        await _move(conn, tenant_id, consent, event, ended.actor, changes=changes)
    waiting = await store.rows(
        conn,
        "waiting_messages",
        tenant_id=tenant_id,
        subject_id=consent.subject_id,
        channel=consent.channel,
        purpose=consent.purpose,
    )
    for row in waiting:
        await moves.cancel(conn, tenant_id, row["id"], "CONSENT_REVOKED", ended.actor)
    return len(waiting)


async def _move(
    conn: Connection,
    tenant_id: str,
    consent: Consent,
    event: str,
    actor: str,
    *,
    changes: Mapping[str, object] | None = None,
) -> None:
    """Let the machine move a consent."""
    name = (CONSENT_ENTITY, str(consent.id), event)
    await machines.transition(conn, CONSENT, *name, by=actor, tenant_id=tenant_id, changes=changes)


async def _prove(
    conn: Connection, tenant_id: str, consent: Consent, kind: str, status: ConsentStatus, *, ended: Ended
) -> None:
    await store.run(
        conn,
        "add_consent_event",
        tenant_id=tenant_id,
        consent_id=consent.id,
        event_type=kind,
        old_status=consent.status,
        new_status=status,
        occurred_at=ended.occurred_at,
        source=ended.source,
        actor=ended.actor,
        proof=dict(ended.proof),
    )
    if kind != "EXPIRED":  # nobody did that: time passed
        await store.note_audit(
            conn,
            tenant_id,
            f"CONSENT_{kind}",
            ended.actor,
            consent_id=consent.id,
            subject_id=consent.subject_id,
            details={"channel": consent.channel, "purpose": consent.purpose, "source": ended.source},
        )
