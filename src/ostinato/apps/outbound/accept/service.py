"""Accepts messages, once for each key: planned here, judged and written by one SQL function (`accepting.sql`)."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from psycopg.types.json import Jsonb

from ostinato import idempotency, jobs, tenants
from ostinato.apps.outbound import rules, store
from ostinato.apps.outbound.accept import plans
from ostinato.apps.outbound.accept.memory import Memory
from ostinato.apps.outbound.accept.plans import Plan
from ostinato.apps.outbound.consent import suppressions
from ostinato.apps.outbound.errors import SenderUnproven, WindowClosed
from ostinato.apps.outbound.model import RATES, Channel, NewMessage, Organisation, Purpose, Status
from ostinato.apps.outbound.send import moves
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection
from ostinato.errors import IdempotencyConflict, InvalidInput, OstinatoError

if TYPE_CHECKING:
    from ostinato.web import Caller, Together

    Accepting = Together["NewMessage", "Accepted | Blocked | OstinatoError"]

LATEST: Final = timedelta(days=366)
KEPT: Final = (
    *("idempotency_key", "dossier_id", "subject_id", "channel", "template_code", "subject"),
    *("urgent", "sender_id", "entity_type", "entity_id", "logical_event_id", "recipient_ref", "fallback_of"),
    *("inbound_id", "not_after", "send_at", "correlation_id"),
)
"""What is stored of a request as it was asked."""
LIMITS: Final = {
    "latest_seconds": LATEST.total_seconds(),
    "window_seconds": (rules.WINDOW - rules.WINDOW_MARGIN).total_seconds(),
    "rates": {str(channel): rate for channel, rate in RATES.items()},
    "language": Organisation().language,
}
"""The numbers of the rules that the database judges by."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """It is queued, or was before."""

    id: UUID
    status: Status
    is_new: bool
    cancel_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Blocked:
    """Policy refuses it; the audit says so, if the transaction is committed."""

    reason: str
    channel: Channel
    purpose: Purpose


Item = dict[str, Any]
Ask = Callable[[list[Item], Mapping[str, Any] | None], Awaitable[tuple[list[Item], Mapping[str, Any] | None]]]
"""Asks the database to accept: what came of each, or what is there instead of what was seen."""


async def accept(
    conn: Connection, tenant_id: str, actor: str, new: NewMessage, settings: OutboundSettings, *, lenient: bool = False
) -> Accepted | Blocked:
    """Queue a message, once for each key, in the transaction of a connection.

    The key is looked up before anything is judged: what was accepted once is the same message, even
    if it could not be accepted now. `lenient` is for timers of our own: the same key with another
    payload is the message of before.
    """
    (made,) = await _accepted(_on(conn, tenant_id, actor), tenant_id, [new], settings, Memory(), lenient=lenient)
    if isinstance(made, OstinatoError):
        raise made
    return made


async def accept_for(
    caller: "Caller", news: Sequence[NewMessage], memory: Memory
) -> list[Accepted | Blocked | OstinatoError]:
    """Queue messages for a caller of the API, each by itself, in one round trip and one commit."""

    async def ask(asked: list[Item], seen: Mapping[str, Any] | None) -> tuple[list[Item], Mapping[str, Any] | None]:
        ((results, facts, _),) = await caller.call(
            "outbound.accept_messages_as",
            actor=caller.subject,
            asked=Jsonb(asked),
            seen=None if seen is None else Jsonb(seen),
            limits=Jsonb(LIMITS),
        )
        return results or [], facts

    return await _accepted(ask, caller.tenant_id, news, caller.settings(OutboundSettings), memory)


async def accept_beside(
    caller: "Caller", new: NewMessage, memory: Memory, together: "Accepting"
) -> Accepted | Blocked | OstinatoError:
    """Queue one message for a caller of the API, in one statement with others that it asks for at the same moment."""

    async def accepted(news: list[NewMessage]) -> list[Accepted | Blocked | OstinatoError]:
        return await accept_for(caller, news, memory)

    own = replace(new, correlation_id=tenants.current_correlation())
    return await together.add((caller.tenant_id, caller.subject, caller.key_id), own, accepted)


async def answer(conn: Connection, tenant_id: str, actor: str, new: NewMessage, plan: Plan) -> None:
    """Queue what answers a word that somebody wrote, once for each; it needs no consent."""
    await _on(conn, tenant_id, actor)([_item(0, new, {}, plan, [])], None)


async def withdraw(conn: Connection, tenant_id: str, entity: tuple[str, str], *, reason: str, actor: str) -> None:
    """Cancel the messages about an entity that were not sent yet."""
    waiting = await store.rows(
        conn, "waiting_of_entity", tenant_id=tenant_id, entity_type=entity[0], entity_id=entity[1]
    )
    for row in waiting:
        await moves.cancel(conn, tenant_id, row["id"], reason, actor)


def _on(conn: Connection, tenant_id: str, actor: str) -> Ask:
    """Ask in the transaction of a connection."""

    async def ask(asked: list[Item], seen: Mapping[str, Any] | None) -> tuple[list[Item], Mapping[str, Any] | None]:
        found = await store.one(
            conn,
            "accept_messages",
            tenant_id=tenant_id,
            actor=actor,
            asked=Jsonb(asked),
            seen=None if seen is None else Jsonb(seen),
            limits=Jsonb(LIMITS),
            correlation_id=tenants.current_correlation(),
        )
        jobs.wake_after_commit(*(found["queues"] or ()))
        return found["results"] or [], found["facts"]

    return ask


async def _accepted(
    ask: Ask,
    tenant_id: str,
    news: Sequence[NewMessage],
    settings: OutboundSettings,
    memory: Memory,
    *,
    lenient: bool = False,
) -> list[Accepted | Blocked | OstinatoError]:
    """Accept by what is remembered, or else by what the database says is there."""
    seen, is_known = memory.seen(tenant_id, news)
    tried = _tried(tenant_id, news, memory, settings) if is_known else []
    results, facts = await ask([each.item for each in tried], seen)
    if facts is not None:
        memory.note(tenant_id, facts)
        tried = _tried(tenant_id, news, memory, settings)
        results, _ = await ask([each.item for each in tried], None)
    first: dict[str, Accepted | Blocked | OstinatoError] = {}
    made = []
    for new, each, found in zip(news, tried, results, strict=True):
        if found["outcome"] == "known" and found["sealed"] is None:
            outcome = first[new.idempotency_key]  # the first of this key was refused just now: so is this one
        else:
            outcome = _outcome(new, each, found, lenient=lenient)
        first.setdefault(new.idempotency_key, outcome)
        made.append(outcome)
    return made


@dataclass(frozen=True, slots=True)
class _Tried:
    """A message for the database to accept, and the error to raise if its key is new."""

    item: Item
    plan: Plan | None
    error: OstinatoError | None


def _tried(tenant_id: str, news: Sequence[NewMessage], memory: Memory, settings: OutboundSettings) -> list[_Tried]:
    chosen = memory.organisation(tenant_id)
    assert chosen is not None  # noqa: S101 - it is known, or was noted just now
    return [_try(n, new, tenant_id, chosen, memory, settings) for n, new in enumerate(news)]


def _try(  # noqa: PLR0917 - which message, and all that it is planned by
    n: int, new: NewMessage, tenant_id: str, chosen: Organisation, memory: Memory, settings: OutboundSettings
) -> _Tried:
    plan, error, macs = None, None, []
    try:
        plan = plans.planned(new, tenant_id, chosen, memory, settings)
        macs = suppressions.macs(settings, tenant_id, new.channel, plan.to)
    except OstinatoError as found:
        error = found
    return _Tried(_item(n, new, plans.fingerprint(new, chosen, plan), plan, macs), plan, error)


def _item(n: int, new: NewMessage, fields: Mapping[str, str], plan: Plan | None, macs: Sequence[bytes]) -> Item:
    """Make what the database is asked of a message."""
    made: Item = {"n": n, "idempotency_key": new.idempotency_key, "fields": fields, "planned": plan is not None}
    if plan is None:
        return made
    for name in KEPT:
        value = getattr(new, name)
        made[name] = str(value) if isinstance(value, datetime | UUID) else value
    free = new.channel is Channel.WHATSAPP and new.text is not None and new.inbound_id is None
    return made | {
        "purpose": plan.purpose,
        "to_address": plan.to,
        "language": plan.language,
        "payload": plan.payload,
        "address_macs": [code.hex() for code in macs],
        "needs_window": free and new.fallback_template is None,
    }


def _outcome(new: NewMessage, tried: _Tried, found: Item, *, lenient: bool) -> Accepted | Blocked | OstinatoError:
    """Say what came of a message."""
    match found["outcome"]:
        case "known":
            return _same(found, lenient=lenient)
        case "new":
            return Accepted(UUID(found["id"]), Status.QUEUED, is_new=True)
        case "refused" if tried.plan is not None:
            return Blocked(found["reason"], new.channel, tried.plan.purpose)
        case "unread" if tried.error is not None:
            return tried.error
        case outcome:
            return _unsendable(new, outcome, found["sender_id"])


def _unsendable(new: NewMessage, outcome: str, sender_id: int | None) -> OstinatoError:
    """Say why a message cannot be sent, which is no matter of consent."""
    match outcome:
        case "late":
            return InvalidInput("sendAt is more than a year away", hint="Ask for it later.", field="sendAt")
        case "no_sender":
            return InvalidInput(
                f"there is no sender for {new.channel}",
                hint="Add one: PUT /api/v1/outbound/senders.",
                channel=new.channel.value,
            )
        case "unproven":
            return SenderUnproven(
                f"nothing is sent by sender {sender_id}: it is not proven to be yours, or has no account",
                sender_id=sender_id,
            )
        case _:
            return WindowClosed("nobody wrote from this number within the last 24 hours")


def _same(found: Item, *, lenient: bool) -> Accepted | IdempotencyConflict:
    """Return the message of a key that was used before, or the conflict."""
    same = Accepted(UUID(found["id"]), Status(found["status"]), is_new=False, cancel_reason=found["cancel_reason"])
    if found["erased"]:  # its person was erased: nothing is left to compare, and nothing is sent again
        return same
    before, now = json.loads(found["fingerprint"]), dict(found["sealed"])
    if "sender_id" not in before:  # of an earlier release, which compared what came of them
        for name in ("language", "purpose", "sender_id"):
            before.pop(name, None)
            now.pop(name)
    if "send_at" not in before:  # of a release before there were times to ask for
        now.pop("send_at", None)
    fields = idempotency.differing(before, now)
    if fields and not lenient:
        return IdempotencyConflict(
            f"the key was used for another message: {', '.join(fields)} differ", fields=fields, message_id=found["id"]
        )
    return same
