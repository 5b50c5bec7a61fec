"""What providers tell is applied: once, in any order, to the rows of whose sender it is.

Consents are locked before messages, and messages in the order of their ids: so inbound lines come
first, and no two callbacks wait for each other crosswise.
"""

from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from ostinato.apps.outbound import consents, parsing, rules, service, settling, signatures, store
from ostinato.apps.outbound.consents import Ended
from ostinato.apps.outbound.model import (
    PROVIDER_OF,
    Channel,
    ConsentSource,
    Message,
    Provider,
    Purpose,
    Status,
)
from ostinato.apps.outbound.parsing import InboundLine, Line, PreferenceLine, StatusLine
from ostinato.apps.outbound.providers import Taken
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.settling import Failure
from ostinato.apps.outbound.store import Connection, Row
from ostinato.apps.outbound.words import Asked, asked
from ostinato.base.log import get_logger
from ostinato.engine import clock

__all__ = ["ACTOR", "apply", "read"]

ACTOR = "outbound.callback"
CHANNEL_OF = {provider: channel for channel, provider in PROVIDER_OF.items()}
SOURCE_OF = {
    Provider.WHATSAPP: ConsentSource.WHATSAPP_INBOUND,
    Provider.TWILIO: ConsentSource.SMS_INBOUND,
    Provider.SMTP: ConsentSource.EMAIL_LINK,
}

log = get_logger("outbound")


def read(row: Row, received_at: datetime, settings: OutboundSettings) -> tuple[list[Line], int]:
    """The lines of a stored callback, and how many could not be read."""
    body = bytes(row["body"])
    match Provider(row["provider"]):
        case Provider.WHATSAPP:
            return parsing.of_whatsapp(body)
        case Provider.TWILIO:
            return parsing.of_twilio(row["url"], body, received_at)
        case Provider.SMTP:
            lines, odd, token = parsing.of_mail(body, received_at)
            known = signatures.read_bounce_token(settings.token_secret, token or "")
            if known is not None:
                lines = [
                    replace(line, message_id=known) if isinstance(line, StatusLine) else line
                    for line in lines
                ]
            return lines, odd


async def apply(conn: Connection, lines: list[Line], settings: OutboundSettings) -> tuple[int, int]:
    """Apply lines; how many had an effect, and how many were repeated or nobody's."""
    first = [line for line in lines if not isinstance(line, StatusLine)]
    statuses = [line for line in lines if isinstance(line, StatusLine)]
    done = 0
    for line in first:
        if isinstance(line, InboundLine):
            done += await _came_in(conn, line)
        elif isinstance(line, PreferenceLine):
            done += await _prefers(conn, line)
    placed = [(await _tenant_of(conn, line), line) for line in statuses]
    known = [(tenant, line) for tenant, line in placed if tenant is not None]
    # A batch may tell of one message several times: each keeps its turn.
    known.sort(key=lambda pair: (pair[0], str(pair[1].message_id or pair[1].provider_message_id)))
    for tenant, told in known:
        done += await _status(conn, tenant, told, settings)
    return done, len(lines) - done


async def _tenant_of(conn: Connection, line: StatusLine) -> str | None:
    if line.provider_key:
        row = await store.one(
            conn, "sender_of_provider", provider=line.provider, provider_key=line.provider_key
        )
        if row is not None:
            return str(row["tenant_id"])
    if line.provider is not Provider.WHATSAPP and line.message_id is not None:
        # Their callbacks are signed over the reference, or come from our own mail server.
        row = await store.one(conn, "tenant_of_message", id=line.message_id)
        return None if row is None else str(row["tenant_id"])
    return None


async def _status(
    conn: Connection, tenant_id: str, line: StatusLine, settings: OutboundSettings
) -> int:
    message = await _message_of(conn, tenant_id, line)
    if message is None:
        log.info("callback_of_nobody", tenant_id=tenant_id, provider=line.provider)
        return 0
    is_new = await store.one(
        conn,
        "add_callback_line",
        tenant_id=tenant_id,
        provider=line.provider,
        provider_message_id=line.provider_message_id,
        status=line.told,
        at=line.at if line.timed else parsing.NO_TIME,
        error_code=line.error_code,
    )
    if is_new is None:
        return 0
    event = rules.callback_event(message.status, line.told, message.error_code)
    match event:
        case "accept":
            taken = Taken(line.provider_message_id, {"callback": line.told})
            await settling.taken(conn, message, line.attempt_no, taken, line.at)
        case "deliver":
            if line.attempt_no is not None:
                await _resolve(conn, message, line)
            await settling.delivered(conn, message, line.at)
        case "judge":
            await _failed(conn, message, line, settings)
    if line.told == "read" and message.status is not Status.CANCELLED:
        await store.run(conn, "note_read", tenant_id=tenant_id, id=message.id, at=line.at)
    if event is not None:
        await store.run(
            conn,
            "note_provider_id",
            tenant_id=tenant_id,
            id=message.id,
            provider_message_id=line.provider_message_id,
        )
    return 1


async def _resolve(conn: Connection, message: Message, line: StatusLine) -> None:
    """An attempt whose answer was lost, or is still on its way, has succeeded."""
    await store.run(
        conn,
        "end_attempt",
        tenant_id=message.tenant_id,
        message_id=message.id,
        attempt_no=line.attempt_no,
        status="SUCCESS",
        error_code=None,
        error_class=None,
        error_message=None,
        provider_response={"callback": line.told},
        next_retry_at=None,
        counted=True,
    )


async def _message_of(conn: Connection, tenant_id: str, line: StatusLine) -> Message | None:
    row = None
    if line.message_id is not None:
        row = await store.one(conn, "lock_message", tenant_id=tenant_id, id=line.message_id)
    if row is None:
        row = await store.one(
            conn,
            "message_of_provider",
            tenant_id=tenant_id,
            provider_message_id=line.provider_message_id,
        )
    return None if row is None else store.message_from(row)


async def _failed(
    conn: Connection, message: Message, line: StatusLine, settings: OutboundSettings
) -> None:
    """It failed after it was taken: the same table decides as for an answer."""
    failure = Failure(
        line.provider, line.error_code or "unknown", line.error_message, {"callback": "failed"}
    )
    verdict = await settling.fail(conn, message, line.attempt_no, failure, settings)
    if isinstance(verdict, rules.Fail):
        if verdict.dead:  # the job that raises it into the dead letters
            await service.enqueue_sending(conn, message)
        return
    later = await store.one(conn, "message", tenant_id=message.tenant_id, id=message.id)
    assert later is not None  # noqa: S101 - its row is held
    await service.enqueue_sending(conn, message, run_at=later["next_retry_at"])


async def _came_in(conn: Connection, line: InboundLine) -> int:
    """An inbound message: it opens the window, and may end or restore consent."""
    sender = await store.one(
        conn, "sender_of_provider", provider=line.provider, provider_key=line.provider_key
    )
    if sender is None:
        log.info("inbound_of_nobody", provider=line.provider)
        return 0
    tenant_id = str(sender["tenant_id"])
    wish = asked(line.text or "")
    is_new = await store.one(
        conn,
        "add_inbound",
        tenant_id=tenant_id,
        sender_id=sender["id"],
        provider=line.provider,
        provider_message_id=line.provider_message_id,
        from_address=line.from_address,
        kind=line.kind,
        body=line.text,
        asked=wish,
        received_at=line.at,
    )
    if is_new is None:
        return 0
    ended = Ended(
        SOURCE_OF[line.provider],
        ACTOR,
        {"provider_message_id": line.provider_message_id, "text": (line.text or "")[:200]},
        line.at,
    )
    channel = CHANNEL_OF[line.provider]
    await _grant_wish(conn, tenant_id, channel, line.from_address, wish=wish, ended=ended)
    return 1


async def _grant_wish(
    conn: Connection,
    tenant_id: str,
    channel: Channel,
    address: str,
    *,
    wish: Asked | None,
    ended: Ended,
) -> None:
    found: dict[str, Any] = {}
    match wish:
        case Asked.STOP | Asked.STOP_ALL:
            chosen = await store.organisation(conn, tenant_id)
            everything = wish is Asked.STOP_ALL or chosen.stop_covers_all
            purposes = tuple(Purpose) if everything else (Purpose.MARKETING,)
            revoked, cancelled = await consents.revoke_address(
                conn, tenant_id, channel, address, purposes, ended=ended
            )
            found = {"revoked": revoked, "cancelled": cancelled}
        case Asked.START:
            restored = await consents.restore(conn, tenant_id, channel, address, ended)
            found = {"restored": restored}
        case None:
            return
    await store.note_audit(
        conn,
        tenant_id,
        f"INBOUND_{wish}",
        ACTOR,
        details={"channel": channel, **found, **_proof_id(ended)},
    )


async def _prefers(conn: Connection, line: PreferenceLine) -> int:
    """The provider passes on that somebody wants no marketing, or wants it again."""
    sender = await store.one(
        conn, "sender_of_provider", provider=line.provider, provider_key=line.provider_key
    )
    if sender is None:
        return 0
    tenant_id = str(sender["tenant_id"])
    is_new = await store.one(
        conn,
        "add_callback_line",
        tenant_id=tenant_id,
        provider=line.provider,
        provider_message_id=f"preference:{line.from_address}",
        status="stop" if line.stop else "resume",
        at=line.at,
        error_code="",
    )
    if is_new is None:
        return 0
    told = "stop" if line.stop else "resume"
    ended = Ended(ConsentSource.PROVIDER, ACTOR, {"user_preferences": told}, line.at)
    channel = CHANNEL_OF[line.provider]
    if line.stop:
        await consents.revoke_address(
            conn, tenant_id, channel, line.from_address, (Purpose.MARKETING,), ended=ended
        )
    else:
        await consents.restore(conn, tenant_id, channel, line.from_address, ended)
    return 1


async def opt_out(
    conn: Connection, tenant_id: str, message_id: UUID, code: str, *, transactional: bool
) -> tuple[int, int]:
    """A provider refuses a recipient who opted out: end the consents that it tells of."""
    row = await service.find(conn, tenant_id, message_id)
    message = store.message_from(row)
    purposes = tuple(Purpose) if transactional else (Purpose.MARKETING,)
    now = await clock.now(conn)
    proof = {"message_id": str(message_id), "error_code": code}
    ended = Ended(ConsentSource.PROVIDER, ACTOR, proof, now)
    return await consents.revoke_address(
        conn, tenant_id, message.channel, message.to_address, purposes, ended=ended
    )


def _proof_id(ended: Ended) -> dict[str, Any]:
    return {"provider_message_id": ended.proof.get("provider_message_id")}
