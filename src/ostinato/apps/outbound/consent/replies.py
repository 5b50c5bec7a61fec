"""Confirms STOP and answers HELP: messages that need no consent, because they were asked for.

Nothing is answered unless the organisation has written a text for it, at most once for each inbound
message, within the hour, and to nobody but who wrote. A text may be in several languages: the one in
which the person was last written to is taken. No request over HTTP makes an answer.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ostinato.apps.outbound import rules, store
from ostinato.apps.outbound.accept import service
from ostinato.apps.outbound.accept.plans import Plan
from ostinato.apps.outbound.consent.words import Asked
from ostinato.apps.outbound.model import Channel, NewMessage, Organisation, Purpose
from ostinato.apps.outbound.providers import PROVIDERS
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection

ACTOR = "outbound.reply"
WISHES: Final = {Asked.STOP: "stop", Asked.STOP_ALL: "stop", Asked.HELP: "help", Asked.START: "start"}


@dataclass(frozen=True, slots=True)
class Question:
    """An inbound message that asks for something by one word."""

    inbound_id: int
    sender_id: int
    address: str
    provider: str
    at: datetime


async def answer(conn: Connection, tenant_id: str, asked: Question, wish: Asked, settings: OutboundSettings) -> None:
    """Queue the answer, if there is one to give."""
    chosen = await store.organisation(conn, tenant_id)
    provider = PROVIDERS[asked.provider]
    if provider.confirms(settings):
        return
    channel = provider.channel
    subject_id = await _subject_of(conn, tenant_id, channel, asked)
    told = await store.first(
        conn, "language_of_address", tenant_id=tenant_id, channel=channel, subject_id=subject_id, address=asked.address
    )
    language, text = _answer(wish, chosen, chosen.language if told is None else str(told["language"]))
    if text is None:
        return
    new = NewMessage(
        idempotency_key=f"reply:{asked.provider}:{asked.inbound_id}",
        subject_id=subject_id,
        channel=channel,
        to=asked.address,
        text=text,
        urgent=True,
        sender_id=asked.sender_id,
        inbound_id=asked.inbound_id,
        not_after=asked.at + rules.REPLY_WITHIN,
    )
    plan = Plan(asked.address, language, Purpose.TRANSACTIONAL, {"text": text, "variables": {}, "reply_to": wish.value})
    await service.answer(conn, tenant_id, ACTOR, new, plan)


def _answer(wish: Asked, chosen: Organisation, language: str) -> tuple[str, str | None]:
    """Return the text in a language, else in the organisation's, else the one for all; and the language it is in."""
    asked = WISHES[wish]
    for wanted in (language, chosen.language):
        for name in dict.fromkeys((wanted, wanted.partition("_")[0])):
            text = chosen.replies.get(name, {}).get(asked)
            if text is not None:
                return name, text
    return chosen.language, _text(wish, chosen)


def _text(wish: Asked, chosen: Organisation) -> str | None:
    match wish:
        case Asked.STOP | Asked.STOP_ALL:
            return chosen.stop_reply
        case Asked.HELP:
            return chosen.help_reply
        case Asked.START:
            return chosen.start_reply


async def _subject_of(conn: Connection, tenant_id: str, channel: Channel, asked: Question) -> str:
    """Return the subject of an address; for an unknown one, an id made of the question."""
    row = await store.first(conn, "subject_of_address", tenant_id=tenant_id, channel=channel, address=asked.address)
    return f"inbound:{asked.inbound_id}" if row is None else str(row["subject_id"])
