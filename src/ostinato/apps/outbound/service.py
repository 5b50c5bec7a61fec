"""Messages: accepted and shown. One transaction each, the caller's."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from ostinato.apps.outbound import address, events, rules, store, texts
from ostinato.apps.outbound.errors import TemplateRefused, WindowClosed
from ostinato.apps.outbound.model import (
    Category,
    Channel,
    Message,
    Purpose,
    Sender,
    Status,
    Template,
)
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection
from ostinato.base import canonical, flow
from ostinato.base.errors import IdempotencyConflict, InvalidInput, NotFound
from ostinato.engine import clock, jobs
from ostinato.engine.jobs import NewJob

__all__ = [
    "QUEUES",
    "SEND",
    "Accepted",
    "Blocked",
    "NewMessage",
    "accept",
    "enqueue_sending",
    "find",
]

SEND = "outbound.send"
QUEUES = {
    Channel.WHATSAPP: "outbound_whatsapp",
    Channel.SMS: "outbound_sms",
    Channel.EMAIL: "outbound_email",
}
DEFAULT_PRIORITY = 0


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message as somebody asks for it."""

    idempotency_key: str
    subject_id: str
    channel: Channel
    to: str
    template_code: str | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None
    subject: str | None = None
    language: str | None = None
    purpose: Purpose | None = None
    """None: MARKETING for templates of that category, else TRANSACTIONAL."""
    dossier_id: str | None = None
    urgent: bool = False
    sender_id: int | None = None
    fallback_template: Mapping[str, Any] | None = None
    """Code and variables of the template to send when free text may not be."""
    fallback: Mapping[str, Any] | None = None
    """Channel and recipient to try when this one cannot be reached."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    entity_type: str | None = None
    entity_id: str | None = None
    logical_event_id: str | None = None
    recipient_ref: str | None = None
    fallback_of: UUID | None = None
    not_after: datetime | None = None
    run_at: datetime | None = None


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
class _Plan:
    """What a request comes down to."""

    to: str
    language: str
    purpose: Purpose
    sender: Sender
    payload: dict[str, Any]
    fingerprint: str


async def accept(
    conn: Connection,
    tenant_id: str,
    actor: str,
    new: NewMessage,
    settings: OutboundSettings,
    *,
    lenient: bool = False,
) -> Accepted | Blocked:
    """Queue a message, once for each key.

    `lenient` is for timers of our own: the same key with another payload is the message of before.
    """
    plan = await _plan(conn, tenant_id, new, settings)
    known = await store.one(
        conn, "message_by_key", tenant_id=tenant_id, idempotency_key=new.idempotency_key
    )
    if known is not None:
        return _same(known, plan, lenient=lenient)
    refusal = await _refusal(conn, tenant_id, new, plan)
    if refusal is not None:
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
                "purpose": plan.purpose,
                "template_code": new.template_code,
                "idempotency_key": new.idempotency_key,
            },
        )
        return Blocked(refusal, new.channel, plan.purpose)
    row = await store.one(conn, "add_message", **_columns(tenant_id, new, plan))
    if row is None:  # somebody else was at it with the same key, and has committed
        known = await store.one(
            conn, "message_by_key", tenant_id=tenant_id, idempotency_key=new.idempotency_key
        )
        assert known is not None  # noqa: S101 - its key was taken
        return _same(known, plan, lenient=lenient)
    message = store.message_from(row)
    await enqueue_sending(conn, message, run_at=new.run_at)
    await store.note_message(
        conn, message, "NOTIFICATION_CREATED", actor, status=Status.QUEUED, note=new.template_code
    )
    await events.tell(conn, message, Status.QUEUED)
    return Accepted(message, is_new=True)


async def enqueue_sending(
    conn: Connection, message: Message, *, run_at: datetime | None = None
) -> int:
    """Add the job that sends a message."""
    job_id = await jobs.enqueue(
        conn,
        NewJob(
            SEND,
            json.dumps({"message_id": str(message.id)}),
            queue=QUEUES[message.channel],
            run_at=run_at,
            tenant_id=message.tenant_id,
            correlation_id=message.correlation_id or f"outbound-{message.id}",
            limit_key=f"sender-{message.sender_id}",
        ),
    )
    await store.run(conn, "set_job", tenant_id=message.tenant_id, id=message.id, job_id=job_id)
    return job_id


async def find(conn: Connection, tenant_id: str, message_id: UUID) -> store.Row:
    """A message; raises `NotFound`, for one of another tenant too."""
    row = await store.one(conn, "message", tenant_id=tenant_id, id=message_id)
    if row is None:
        raise NotFound(f"there is no message {message_id}", message_id=str(message_id))
    return row


async def _plan(
    conn: Connection, tenant_id: str, new: NewMessage, settings: OutboundSettings
) -> _Plan:
    chosen = await store.organisation(conn, tenant_id)
    validation: address.Validation = (
        "possible" if settings.phone_validation == "possible" else "valid"
    )
    to = address.normalised(new.channel, new.to, region=chosen.region, validation=validation)
    language = new.language or chosen.language
    template = await _template(conn, tenant_id, new.template_code, language, new.variables)
    other = new.fallback_template
    if other is not None:
        code = str(other["code"])
        await _template(conn, tenant_id, code, language, other.get("variables") or {})
    purpose = new.purpose
    if purpose is None:
        marketing = template is not None and template.category is Category.MARKETING
        purpose = Purpose.MARKETING if marketing else Purpose.TRANSACTIONAL
    _check_content(new, template)
    row = await store.one(
        conn, "sender_for", tenant_id=tenant_id, channel=new.channel, id=new.sender_id
    )
    if row is None:
        raise InvalidInput(
            f"there is no sender for {new.channel}",
            hint="Add one: PUT /api/v1/outbound/senders.",
            channel=new.channel.value,
        )
    payload: dict[str, Any] = {
        "variables": dict(new.variables),
        "text": new.text,
        "fallback_template": None if other is None else dict(other),
        "fallback": None if new.fallback is None else dict(new.fallback),
        "meta": dict(new.meta),
    }
    same = {
        "channel": new.channel.value,
        "to": to,
        "subject_id": new.subject_id,
        "dossier_id": new.dossier_id,
        "template_code": new.template_code,
        "subject": new.subject,
        "language": language,
        "purpose": purpose.value,
        "urgent": new.urgent,
        **payload,
    }
    hashes = {
        name: canonical.sha256(canonical.canonical(value))[:32] for name, value in same.items()
    }
    sender = store.sender_from(row)
    return _Plan(to, language, purpose, sender, payload, json.dumps(hashes, sort_keys=True))


async def _template(
    conn: Connection,
    tenant_id: str,
    code: str | None,
    language: str,
    variables: Mapping[str, Any],
) -> Template | None:
    if code is None:
        return None
    row = await store.one(
        conn, "template", tenant_id=tenant_id, template_code=code, language=language
    )
    if row is None or not row["is_active"]:
        raise TemplateRefused(
            f"there is no active template {code} in {language}",
            template_code=code,
            language=language,
        )
    template = store.template_from(row)
    texts.parameters(template, variables)
    return template


def _check_content(new: NewMessage, template: Template | None) -> None:
    if (new.text is None) is (template is None):
        raise InvalidInput(
            "a message has either a template or a text",
            hint="Send templateCode with variables, or text.",
        )
    has_subject = new.subject or (template is not None and template.subject)
    if new.channel is Channel.EMAIL and not has_subject:
        raise InvalidInput("a mail needs a subject", hint="Send subject, or a template with one.")
    if new.text is not None and len(new.text) > texts.LONGEST[new.channel]:
        raise InvalidInput(
            f"the text is longer than {texts.LONGEST[new.channel]} characters",
            hint="Send less, or another channel.",
        )


async def _refusal(conn: Connection, tenant_id: str, new: NewMessage, plan: _Plan) -> str | None:
    """Why policy refuses it. Raises `WindowClosed`, which is no matter of consent."""
    row = await store.one(
        conn,
        "consent",
        tenant_id=tenant_id,
        subject_id=new.subject_id,
        channel=new.channel,
        purpose=plan.purpose,
    )
    now = await clock.now(conn)
    consent = None if row is None else store.consent_from(row)
    refusal = rules.consent_refusal(consent, plan.to, now)
    free = new.channel is Channel.WHATSAPP and new.text is not None
    if refusal is None and free and new.fallback_template is None:
        last = await store.one(
            conn,
            "last_inbound",
            tenant_id=tenant_id,
            sender_id=plan.sender.id,
            address=plan.to,
        )
        if not rules.window_is_open(None if last is None else last["received_at"], now):
            raise WindowClosed("nobody wrote from this number within the last 24 hours")
    return refusal


def _columns(tenant_id: str, new: NewMessage, plan: _Plan) -> dict[str, Any]:
    return {
        "tenant_id": tenant_id,
        "id": uuid4(),
        "dossier_id": new.dossier_id,
        "subject_id": new.subject_id,
        "channel": new.channel,
        "purpose": plan.purpose,
        "to_address": plan.to,
        "template_code": new.template_code,
        "language": plan.language,
        "subject": new.subject,
        "payload": plan.payload,
        "fingerprint": plan.fingerprint,
        "urgent": new.urgent,
        "sender_id": plan.sender.id,
        "idempotency_key": new.idempotency_key,
        "entity_type": new.entity_type,
        "entity_id": new.entity_id,
        "logical_event_id": new.logical_event_id,
        "recipient_ref": new.recipient_ref,
        "fallback_of": new.fallback_of,
        "not_after": new.not_after,
        "correlation_id": flow.current_correlation(),
    }


def _same(row: store.Row, plan: _Plan, *, lenient: bool) -> Accepted:
    """The message of a key that was used before; raises `IdempotencyConflict`."""
    before, now = json.loads(row["fingerprint"]), json.loads(plan.fingerprint)
    fields = sorted(name for name in before | now if before.get(name) != now.get(name))
    if fields and not lenient:
        raise IdempotencyConflict(
            f"the key was used for another message: {', '.join(fields)} differ",
            fields=fields,
            message_id=str(row["id"]),
        )
    return Accepted(store.message_from(row), is_new=False)
