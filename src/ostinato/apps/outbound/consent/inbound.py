"""Takes what people write: it opens the window of 24 hours, and may end or restore consent."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from ostinato.apps.outbound import events, store
from ostinato.apps.outbound.consent import consents, replies, suppressions
from ostinato.apps.outbound.consent.consents import Ended
from ostinato.apps.outbound.consent.suppressions import Place
from ostinato.apps.outbound.consent.words import Asked, asked
from ostinato.apps.outbound.model import ConsentSource, Purpose
from ostinato.apps.outbound.providers import PROVIDERS
from ostinato.apps.outbound.providers.lines import NO_TIME, InboundLine, PreferenceLine, UnsubscribeLine, Word
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection, Row
from ostinato.observe import get_logger

ACTOR = "outbound.callback"

log = get_logger("outbound")


async def came_in(conn: Connection, line: InboundLine, settings: OutboundSettings, only: str | None = None) -> int:
    """Take an inbound message: it opens the window, and may end or restore consent."""
    sender = await _sender_of(conn, line.provider, line.provider_keys, only)
    if sender is None:
        log.info("inbound_of_nobody", provider=line.provider)
        return 0
    tenant_id = str(sender["tenant_id"])
    address = await _address_of(conn, sender, line.from_address)
    wish = asked(line.text or "")
    row = await store.first(
        conn,
        "add_inbound",
        tenant_id=tenant_id,
        sender_id=sender["id"],
        provider=line.provider,
        provider_message_id=line.provider_message_id,
        from_address=address,
        kind=line.kind,
        body=line.text,
        asked=wish,
        received_at=line.at,
    )
    if row is None:
        return 0
    channel = PROVIDERS[line.provider].channel
    told = events.MessageReceived(row["id"], channel.value, sender["id"], line.kind, wish)
    await events.emit_received(conn, tenant_id, told)
    proof = {"provider_message_id": line.provider_message_id, "text": (line.text or "")[:200]}
    ended = Ended(PROVIDERS[line.provider].source, ACTOR, proof, line.at)
    if wish is not None:
        done = await _grant_wish(conn, tenant_id, address, wish, ended, provider=line.provider, settings=settings)
        if done:
            question = replies.Question(row["id"], sender["id"], address, line.provider, line.at)
            await replies.answer(conn, tenant_id, question, wish, settings)
    return 1


async def _grant_wish(
    conn: Connection,
    tenant_id: str,
    address: str,
    wish: Asked,
    ended: Ended,
    *,
    provider: str,
    settings: OutboundSettings,
) -> bool:
    """Apply the word of an inbound message; return whether it had an effect, which may be answered."""
    channel = PROVIDERS[provider].channel
    found: dict[str, Any] = {}
    action, done = f"INBOUND_{wish}", True
    match wish:
        case Asked.STOP | Asked.STOP_ALL:
            chosen = await store.organisation(conn, tenant_id)
            everything = wish is Asked.STOP_ALL or chosen.stop_covers_all
            purposes = tuple(Purpose) if everything else (Purpose.MARKETING,)
            place = Place(tenant_id, channel, address, purposes)
            revoked, cancelled = await consents.revoke_address(conn, place, ended, settings)
            found, done = {"revoked": revoked, "cancelled": cancelled}, revoked > 0
        case Asked.START:
            place = Place(tenant_id, channel, address, tuple(Purpose))
            restored = await _restore(conn, place, ended, settings)
            if restored is None:
                action = "INBOUND_START_STALE"
            found, done = {"restored": restored or 0}, bool(restored)
        case Asked.HELP:
            pass
    await store.note_audit(conn, tenant_id, action, ACTOR, details={"channel": channel, **found})
    return done


async def _restore(conn: Connection, place: Place, ended: Ended, settings: OutboundSettings) -> int | None:
    """Grant again what was granted before; None: a later word, heard before this one, was STOP."""
    stopped = await suppressions.since(conn, place, settings)
    if stopped is not None and ended.occurred_at is not None and stopped >= ended.occurred_at:
        return None
    return await consents.restore(conn, place, ended, settings)


async def prefers(conn: Connection, line: PreferenceLine, settings: OutboundSettings, only: str | None = None) -> int:
    """Note that somebody wants no marketing, or wants it again, as the provider passes it on."""
    sender = await _sender_of(conn, line.provider, (line.provider_key,), only)
    if sender is None:
        return 0
    tenant_id = str(sender["tenant_id"])
    told = "stop" if line.stop else "resume"
    channel = PROVIDERS[line.provider].channel
    # What stands for the number, not the number: lines are kept for a month, also of a person who is erased.
    name = f"preference:{suppressions.mac(settings, tenant_id, channel, line.from_address).hex()}"
    if not await is_new(conn, tenant_id, line.provider, name, told, at=line.at):
        return 0
    address = await _address_of(conn, sender, line.from_address)
    ended = Ended(ConsentSource.PROVIDER, ACTOR, {"user_preferences": told}, line.at)
    place = Place(tenant_id, channel, address, (Purpose.MARKETING,))
    end = consents.revoke_address if line.stop else _restore
    await end(conn, place, ended, settings)
    return 1


async def unsubscribed(
    conn: Connection, line: UnsubscribeLine, settings: OutboundSettings, only: str | None = None
) -> int:
    """End the consent of somebody who wrote to the address in List-Unsubscribe."""
    proof = {"list_unsubscribe": "mailto"}
    source = ConsentSource.EMAIL_LINK
    return int(await consents.unsubscribe(conn, line.consent_id, source, proof, settings, only))


async def tenants_of(conn: Connection, words: Sequence[Word], only: str | None) -> list[str | None]:
    """Find whom each word of a callback is for, all by one query; with `only`, no other tenant."""
    if not words:
        return []
    named = [_named(word) for word in words]
    rows = await store.rows(
        conn,
        "tenants_told_of",
        provider=words[0].provider,
        keys=list({name for names in named for name in names if isinstance(name, str)}),
        consents=list({name for names in named for name in names if isinstance(name, UUID)}),
        only=only,
    )
    known = {row["consent_id"] or row["key"]: str(row["tenant_id"]) for row in rows}
    return [next((known[name] for name in names if name in known), None) for names in named]


def _named(word: Word) -> Sequence[str | UUID]:
    """Return what a word names its tenant by: the first that is somebody's."""
    match word:
        case InboundLine():
            return word.provider_keys
        case PreferenceLine():
            return (word.provider_key,)
        case UnsubscribeLine():
            return (word.consent_id,)


async def is_new(
    conn: Connection, tenant_id: str, provider: str, name: str, told: str, *, at: datetime = NO_TIME, code: str = ""
) -> bool:
    """Note a line of a callback; returns whether it is new."""
    key = {"tenant_id": tenant_id, "provider": provider, "provider_message_id": name}
    line = {"status": told, "at": at, "error_code": code}
    return bool(await store.rows(conn, "add_callback_line", **key, **line))


async def _sender_of(conn: Connection, provider: str, keys: tuple[str, ...], only: str | None) -> Row | None:
    """Return which of our senders it was for; with `only`, of that tenant's, whose account signed it."""
    for key in keys:
        row = await store.first(conn, "sender_of_provider", provider=provider, provider_key=key, only=only)
        if row is not None:
            return row
    return None


async def _address_of(conn: Connection, sender: Row, from_address: str) -> str:
    """Return the number that we write to, of somebody whom WhatsApp knows by another."""
    row = await store.first(
        conn, "address_of_wa_id", tenant_id=sender["tenant_id"], sender_id=sender["id"], wa_id=from_address
    )
    return from_address if row is None else str(row["address"])
