"""Accepts messages: each in one transaction, the caller's, and once for each key."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import Any, Final
from uuid import uuid4

from ostinato import database, idempotency, tenants
from ostinato.apps.outbound import events, rules, store
from ostinato.apps.outbound.accept import address, contents, texts
from ostinato.apps.outbound.consent import suppressions
from ostinato.apps.outbound.errors import SenderUnproven, TemplateRefused, WindowClosed
from ostinato.apps.outbound.model import (
    Category,
    Channel,
    Consent,
    Message,
    NewMessage,
    Organisation,
    Purpose,
    Sender,
    Status,
    Template,
)
from ostinato.apps.outbound.send import moves
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection
from ostinato.errors import IdempotencyConflict, InvalidInput
from ostinato.idempotency import Declaration

ASKED: Final = Declaration(
    include=(
        *("channel", "to", "subject_id", "dossier_id", "template_code", "subject", "language"),
        *("purpose", "urgent", "sender_id", "variables", "text", "fallback_template", "fallback"),
        *("meta", "send_at"),
    )
)
"""What two requests with one key are compared by: what was asked, not what came of it."""
HASH_DIGITS: Final = 32
LATEST: Final = timedelta(days=366)
KEPT: Final = (
    *("idempotency_key", "dossier_id", "subject_id", "channel", "template_code", "subject"),
    *("urgent", "entity_type", "entity_id", "logical_event_id", "recipient_ref", "fallback_of"),
    *("inbound_id", "not_after", "send_at"),
)
"""What is stored of a request as it was asked."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """It is queued, or was before."""

    message: Message
    is_new: bool


@dataclass(frozen=True, slots=True)
class Blocked:
    """Policy refuses it; the audit says so, if the transaction is committed."""

    reason: str
    channel: Channel
    purpose: Purpose


@dataclass(frozen=True, slots=True)
class Plan:
    """What a request comes down to."""

    to: str
    language: str
    purpose: Purpose
    sender: Sender
    payload: dict[str, Any]


async def accept(
    conn: Connection, tenant_id: str, actor: str, new: NewMessage, settings: OutboundSettings, *, lenient: bool = False
) -> Accepted | Blocked:
    """Queue a message, once for each key.

    The key is looked up before anything is judged: what was accepted once is the same message, even
    if it could not be accepted now. `lenient` is for timers of our own: the same key with another
    payload is the message of before.
    """
    chosen = await store.organisation(conn, tenant_id)
    key = {"tenant_id": tenant_id, "idempotency_key": new.idempotency_key, "fields": _fingerprint(new, chosen)}
    known = await store.one(conn, "message_by_key", **key)
    fingerprint = known["sealed"]
    if known["id"] is not None:
        return _same(known, fingerprint, lenient=lenient)
    plan = await _plan(conn, tenant_id, new, chosen, settings)
    refusal = await _refusal(conn, tenant_id, new, plan, settings)
    if refusal is not None:
        await _note_refusal(conn, tenant_id, actor, new, refusal=refusal, purpose=plan.purpose)
        return Blocked(refusal, new.channel, plan.purpose)
    made = await queue(conn, tenant_id, actor, new, plan, fingerprint=fingerprint)
    if made is None:  # another transaction had the same key, and has committed
        known = await store.one(conn, "message_by_key", **key)
        return _same(known, fingerprint, lenient=lenient)
    return made


async def queue(
    conn: Connection, tenant_id: str, actor: str, new: NewMessage, plan: Plan, *, fingerprint: Mapping[str, str]
) -> Accepted | None:
    """Write a message, its job, its traces and its event; None: its key is taken."""
    row = await store.first(conn, "add_message", **_columns(tenant_id, new, plan, fingerprint))
    if row is None:
        return None
    message = store.made(Message, row)
    lanes = rules.lanes(plan.sender.channel, plan.sender.rate)
    await moves.enqueue_send(conn, message, run_at=new.send_at, lanes=lanes)
    await store.note_message(conn, message, "NOTIFICATION_CREATED", actor, status=Status.QUEUED, note=new.template_code)
    await events.emit_status(conn, message, Status.QUEUED)
    return Accepted(message, is_new=True)


async def withdraw(conn: Connection, tenant_id: str, entity: tuple[str, str], *, reason: str, actor: str) -> None:
    """Cancel the messages about an entity that were not sent yet."""
    waiting = await store.rows(
        conn, "waiting_of_entity", tenant_id=tenant_id, entity_type=entity[0], entity_id=entity[1]
    )
    for row in waiting:
        await moves.cancel(conn, tenant_id, row["id"], reason, actor)


async def _note_refusal(
    conn: Connection, tenant_id: str, actor: str, new: NewMessage, *, refusal: str, purpose: Purpose
) -> None:
    """Leave the traces of a request that policy refuses."""
    await store.note_audit(
        conn,
        tenant_id,
        "BLOCKED_BY_POLICY",
        actor,
        dossier_id=new.dossier_id,
        subject_id=new.subject_id,
        details={
            "reason": refusal,
            "channel": new.channel,
            "purpose": purpose,
            "template_code": new.template_code,
            "idempotency_key": new.idempotency_key,
        },
        status="BLOCKED",
        channel=new.channel,
        template_code=new.template_code,
        note=refusal,
    )


def _fingerprint(new: NewMessage, chosen: Organisation) -> str:
    """Fingerprint a request, field by field, as the engine does for its own keys.

    What is stored of it is sealed by `outbound.sealed`: all numbers of a country are hashed in minutes.
    """
    asked = {name: getattr(new, name) for name in ASKED.include or ()}
    asked["send_at"] = None if new.send_at is None else new.send_at.astimezone(UTC).isoformat()
    asked["to"] = address.alike(new.channel, new.to, chosen.region)
    found = ASKED.fingerprint(asked).fields
    return json.dumps({name: value[:HASH_DIGITS] for name, value in found.items()})


async def _plan(
    conn: Connection, tenant_id: str, new: NewMessage, chosen: Organisation, settings: OutboundSettings
) -> Plan:
    to = address.normalised(new.channel, new.to, region=chosen.region, validation=settings.validation)
    language = new.language or chosen.language
    place = {"tenant_id": tenant_id, "language": language}
    template, text = await _template(conn, new.channel, new.template_code, new.variables, **place)
    used, other = [template], new.fallback_template
    if other is not None:
        values = other.get("variables") or {}
        used.append((await _template(conn, new.channel, str(other["code"]), values, **place))[0])
    purpose = _purpose([each for each in used if each is not None], new.purpose)
    contents.check(new, template, purpose, settings)
    if new.send_at is not None and new.send_at > await database.now(conn) + LATEST:
        raise InvalidInput("sendAt is more than a year away", hint="Ask for it later.", field="sendAt")
    row = await store.first(conn, "sender_for", tenant_id=tenant_id, channel=new.channel, id=new.sender_id)
    if row is None:
        raise InvalidInput(
            f"there is no sender for {new.channel}",
            hint="Add one: PUT /api/v1/outbound/senders.",
            channel=new.channel.value,
        )
    if not row["usable"]:
        raise SenderUnproven(
            f"nothing is sent by sender {row['id']}: it is not proven to be yours, or has no account",
            sender_id=row["id"],
        )
    payload: dict[str, Any] = {
        "variables": dict(new.variables),
        "text": new.text,
        "fallback_template": None if other is None else dict(other),
        "fallback": None if new.fallback is None else dict(new.fallback),
        "meta": dict(new.meta),
    }
    if new.channel is Channel.SMS:
        payload["segments"] = texts.segments(new.text or text)
    return Plan(to, language, purpose, store.made(Sender, row), payload)


def _purpose(templates: Sequence[Template], asked: Purpose | None) -> Purpose:
    """What a message is for; refuses one whose template is for marketing, and which says less."""
    found = rules.purpose_of([each.category for each in templates], asked)
    if found is None:
        codes = [each.code for each in templates if each.category is Category.MARKETING]
        raise TemplateRefused(
            f"template {codes[0]} is MARKETING, and the message says {asked}",
            hint="Leave purpose out: the category of the template decides, and marketing needs its own consent.",
            template_code=codes[0],
            purpose=str(asked),
        )
    return found


async def _template(
    conn: Connection, channel: Channel, code: str | None, variables: Mapping[str, Any], *, tenant_id: str, language: str
) -> tuple[Template | None, str]:
    """A template that can be used for a message, and its text with the variables in it."""
    if code is None:
        return None, ""
    row = await store.first(conn, "template", tenant_id=tenant_id, template_code=code, language=language)
    template = None if row is None else store.template_from(row)
    if template is None or not template.is_usable:
        raise TemplateRefused(
            f"there is no active template {code} in {language}", template_code=code, language=language
        )
    return template, contents.filled(channel, template, variables)


async def _refusal(
    conn: Connection, tenant_id: str, new: NewMessage, plan: Plan, settings: OutboundSettings
) -> str | None:
    """Why policy refuses it. Raises `WindowClosed`, which is no matter of consent."""
    row = await store.first(
        conn,
        "consent",
        tenant_id=tenant_id,
        subject_id=new.subject_id,
        channel=new.channel,
        purpose=plan.purpose,
        address_macs=suppressions.macs(settings, tenant_id, new.channel, plan.to),
    )
    now = await database.now(conn)
    consent = None if row is None else store.made(Consent, row)
    suppressed = row is not None and row["suppressed"]
    refusal = rules.consent_refusal(consent, plan.to, now, suppressed=suppressed)
    free = new.channel is Channel.WHATSAPP and new.text is not None
    if refusal is None and free and new.fallback_template is None:
        last = await store.first(conn, "last_inbound", tenant_id=tenant_id, sender_id=plan.sender.id, address=plan.to)
        if not rules.window_is_open(None if last is None else last["received_at"], now):
            raise WindowClosed("nobody wrote from this number within the last 24 hours")
    return refusal


def _columns(tenant_id: str, new: NewMessage, plan: Plan, fingerprint: Mapping[str, str]) -> dict[str, Any]:
    asked = {name: getattr(new, name) for name in KEPT}
    planned = {"purpose": plan.purpose, "to_address": plan.to, "language": plan.language}
    return {
        **asked,
        **planned,
        "tenant_id": tenant_id,
        "id": uuid4(),
        "payload": plan.payload,
        "fingerprint": json.dumps(fingerprint),
        "sender_id": plan.sender.id,
        "correlation_id": tenants.current_correlation(),
    }


def _same(row: store.Row, fingerprint: Mapping[str, str], *, lenient: bool) -> Accepted:
    """Return the message of a key that was used before; raises `IdempotencyConflict`."""
    if not row["to_address"]:  # its person was erased: nothing is left to compare, and nothing is sent again
        return Accepted(store.made(Message, row), is_new=False)
    before, now = json.loads(row["fingerprint"]), dict(fingerprint)
    if "sender_id" not in before:  # of an earlier release, which compared what came of them
        for name in ("language", "purpose", "sender_id"):
            before.pop(name, None)
            now.pop(name)
    if "send_at" not in before:  # of a release before there were times to ask for
        now.pop("send_at", None)
    fields = idempotency.differing(before, now)
    if fields and not lenient:
        raise IdempotencyConflict(
            f"the key was used for another message: {', '.join(fields)} differ",
            fields=fields,
            message_id=str(row["id"]),
        )
    return Accepted(store.made(Message, row), is_new=False)
