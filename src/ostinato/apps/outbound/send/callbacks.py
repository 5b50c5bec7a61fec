"""Applies what providers report: once, in any order, to the rows of the tenant whose sender it is.

Consents are locked before messages, and messages in the order of their ids: so inbound lines come
first, and no two callbacks wait for each other crosswise. Statuses are applied in sets (`told`), of several
callbacks at once; what is not usual is applied by itself, and so is each line of a set of which one cannot be
stored: it does not take the others with it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from ostinato import database
from ostinato.apps.outbound import rules, store
from ostinato.apps.outbound.consent import consents, inbound
from ostinato.apps.outbound.consent.consents import Ended
from ostinato.apps.outbound.consent.inbound import ACTOR
from ostinato.apps.outbound.consent.suppressions import Place
from ostinato.apps.outbound.model import AttemptStatus, ConsentSource, Message, Purpose, Status
from ostinato.apps.outbound.providers import PROVIDERS
from ostinato.apps.outbound.providers.lines import (
    NO_TIME,
    ComplaintLine,
    InboundLine,
    Line,
    PreferenceLine,
    StatusLine,
    TemplateLine,
    UnsubscribeLine,
    Word,
)
from ostinato.apps.outbound.providers.protocol import Posted, Taken
from ostinato.apps.outbound.send import failures, holds, moves, settle
from ostinato.apps.outbound.send.moves import Failure
from ostinato.apps.outbound.send.told import Told
from ostinato.apps.outbound.send.told import apply as apply_told
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection, Row
from ostinato.errors import InvalidInput
from ostinato.jobs import Client
from ostinato.observe import get_logger
from ostinato.tenants import current_correlation

PAUSED = timedelta(hours=6)
"""Meta lifts the first pause of a template after three hours, the second after six."""
APPROVED = ("APPROVED", "REINSTATED")
WITHDRAWN = ("REJECTED", "DISABLED", "PENDING_DELETION", "DELETED", "IN_APPEAL", "PENDING")

BATCH = 100
"""The lines that one transaction applies: it holds the rows of no more."""
SMALL_BYTES = 16_384
"""A callback of no more is read in a millisecond or two: nobody notices that the loop stands still."""

log = get_logger("outbound")


class Report(NamedTuple):
    """Where a message stands, with the tenant whose account has signed it, if one has, and the request it came by."""

    line: StatusLine
    only: str | None
    correlation_id: str | None


class Heard(NamedTuple):
    """The lines of a callback, and how many could not be read."""

    lines: list[Line]
    """In the order in which they are applied."""
    odd: int


async def read(provider: str, posted: Posted, settings: OutboundSettings) -> Heard:
    """Read the lines of a callback, and count those that could not be read.

    A large one is read in a thread: its signer must not hold up others in this process.
    Raises `BodyTooLarge` for one that has too many lines.
    """
    if len(posted.body) <= SMALL_BYTES:
        return _read(provider, posted, settings)
    return await asyncio.to_thread(_read, provider, posted, settings)


def _read(provider: str, posted: Posted, settings: OutboundSettings) -> Heard:
    lines, odd = PROVIDERS[provider].read(posted, settings)
    return Heard(ordered([_not_later(line, posted.received_at) for line in lines]), odd)


def ordered(lines: list[Line]) -> list[Line]:
    """Put lines into the order in which they are applied, the same at every reading.

    What people said comes first, in the order in which they said it: the last word counts. Then come
    statuses by their message; a batch may report one several times, and each keeps its turn.
    """
    statuses = [line for line in lines if isinstance(line, StatusLine)]
    statuses.sort(key=lambda line: str(line.message_id or line.provider_message_id))
    others = [line for line in lines if not isinstance(line, Word | StatusLine)]
    return [*sorted(words_of(lines), key=lambda line: line.at), *statuses, *others]


def stored(row: Row) -> Posted:
    """Return what a provider posted, as it was stored."""
    return Posted(row["url"], bytes(row["body"]), received_at=row["received_at"])


def _not_later(line: Line, received_at: datetime) -> Line:
    """Cut the time of an inbound message to when it came in: a clock that is ahead opens no window for longer."""
    if isinstance(line, InboundLine) and line.at > received_at:
        return replace(line, at=received_at)
    return line


def words_of(lines: list[Line]) -> list[Word]:
    """Return what people said themselves."""
    return [each for each in lines if isinstance(each, Word)]


async def hear(client: Client, callback_id: int, heard: Heard, settings: OutboundSettings, only: str | None) -> None:
    """Apply what people said in a callback that was stored, before anything else of it is.

    In the name of the tenant whom it is for, because the API itself sees no tenant's rows; no more
    than one batch, because the API has few connections for all tenants. The job of the callback comes
    to the same words again, and finds that they were applied. It has nothing to do where there is
    nothing else.
    """
    words = words_of(heard.lines)[:BATCH]
    async with client.connection() as conn:
        tenants = await inbound.tenants_of(conn, words, only)
    placed = list(zip(tenants, words, strict=True))
    done = 0
    for tenant_id in sorted({tenant for tenant in tenants if tenant is not None}):
        async with client.for_tenant(tenant_id).transaction() as conn:
            for word in (word for tenant, word in placed if tenant == tenant_id):
                done += await _alone(conn, _spoken, word, settings, tenant_id)
    if len(words) == len(heard.lines):
        ignored = len(words) - done + heard.odd
        async with client.transaction() as conn:
            await store.run(conn, "end_callback", id=callback_id, lines=done, ignored=ignored)


async def apply(
    conn: Connection, lines: list[Line], settings: OutboundSettings, *, only: str | None = None
) -> tuple[int, int]:
    """Apply lines that are in order; return how many had an effect, and how many were repeated, odd or nobody's.

    With `only`, they are signed with the account of that tenant, and speak of no other.
    """
    done = 0
    for word in words_of(lines):
        done += await _alone(conn, _spoken, word, settings, only)
    correlation_id = current_correlation()
    reports = [Report(line, only, correlation_id) for line in lines if isinstance(line, StatusLine)]
    done += sum(await report(conn, reports, settings))
    for line in lines:
        if isinstance(line, ComplaintLine):
            done += await _alone(conn, _complained, line, only)
        elif isinstance(line, TemplateLine):
            done += await _alone(conn, _template_told, line, only)
    return done, len(lines) - done


async def report(conn: Connection, reports: Sequence[Report], settings: OutboundSettings) -> list[int]:
    """Apply statuses that are in order, of one callback or of several; return whether each had an effect.

    Those that are usual go in a set, then any other one by itself.
    """
    told: dict[int, Told] = {}
    groups = {(each.line.provider, each.only) for each in reports}
    for group in sorted(groups, key=str):
        mine = [n for n, each in enumerate(reports) if (each.line.provider, each.only) == group]
        tenants = await _tenants_of(conn, [reports[n].line for n in mine], group[1])
        named = zip(mine, tenants, strict=True)
        told |= {n: Told(name, reports[n].line, reports[n].correlation_id) for n, name in named if name is not None}
    done = [0] * len(reports)
    for n, effect in zip(sorted(told), await _together(conn, [told[n] for n in sorted(told)]), strict=True):
        tenant_id, line, _ = told[n]
        done[n] = await _alone(conn, _status, tenant_id, line, settings) if effect is None else effect
    senders = {(one.tenant_id, one.line.provider, one.line.provider_key, one.line.account) for one in told.values()}
    for tenant_id, provider, key, account in sorted(senders, key=str):
        if account:
            place = {"tenant_id": tenant_id, "provider": provider, "provider_key": key}
            await store.run(conn, "learn_account", **place, account_key=account)
    return done


async def _together(conn: Connection, told: list[Told]) -> list[int | None]:
    """Apply lines in a savepoint, all by two calls; None: to be applied alone, as all are that do not go together."""
    if not told:
        return []
    try:
        async with conn.transaction():
            return await apply_told(conn, told)
    except (InvalidInput, ValueError) as error:  # one of them: which, is found out one by one
        log.warning("callback_set_odd", lines=len(told), error_code=type(error).__name__)
        return [None] * len(told)


async def _alone(conn: Connection, step: Callable[..., Awaitable[int]], *given: object) -> int:
    """Apply one line in a savepoint: what the database does not take is left out."""
    try:
        async with conn.transaction():
            return await step(conn, *given)
    except (InvalidInput, ValueError) as error:
        log.warning("callback_line_odd", error_code=type(error).__name__)
        return 0


async def _spoken(conn: Connection, line: Word, settings: OutboundSettings, only: str | None) -> int:
    match line:
        case InboundLine():
            return await inbound.came_in(conn, line, settings, only)
        case PreferenceLine():
            return await inbound.prefers(conn, line, settings, only)
        case UnsubscribeLine():
            return await inbound.unsubscribed(conn, line, settings, only)


async def _tenants_of(conn: Connection, lines: list[StatusLine], only: str | None) -> list[str | None]:
    """Find whose message each line of a callback is about, by as many queries as there are ways to name it."""
    if not lines:
        return []
    provider = lines[0].provider
    keys = {line.provider_key for line in lines if line.provider_key}
    rows = await store.rows(conn, "tenants_told_of", provider=provider, keys=list(keys), consents=[], only=only)
    by_key: dict[str | None, str] = {row["key"]: str(row["tenant_id"]) for row in rows}
    by_reference: dict[UUID | None, str] = {}
    if PROVIDERS[provider].trusts_reference:
        unknown = {line.message_id for line in lines if line.message_id and line.provider_key not in by_key}
        by_reference = await _tenants_of_messages(conn, unknown, only)
    return [by_key.get(line.provider_key) or by_reference.get(line.message_id) for line in lines]


async def _tenants_of_messages(conn: Connection, ids: Collection[UUID], only: str | None) -> dict[UUID | None, str]:
    if not ids:
        return {}
    rows = await store.rows(conn, "tenants_of_messages", ids=list(ids), only=only)
    return {row["id"]: str(row["tenant_id"]) for row in rows}


async def _status(conn: Connection, tenant_id: str, line: StatusLine, settings: OutboundSettings) -> int:
    message = await _message_of(conn, tenant_id, line)
    attempt = None if message is None else await _attempt_of(conn, message, line)
    if message is None or attempt is None:
        log.info("callback_of_nobody", tenant_id=tenant_id, provider=line.provider)
        return 0
    when = line.at if line.timed else NO_TIME
    name = (line.provider, line.provider_message_id, line.reported)
    if not await inbound.is_new(conn, tenant_id, *name, at=when, code=line.error_code):
        return 0
    number = int(attempt["attempt_no"])
    event = rules.callback_event(
        message.status,
        line.reported,
        rules.Attempted(AttemptStatus(attempt["status"]), attempt["error_code"], attempt["alone"]),
    )
    match event:
        case "accept":
            taken = Taken(line.provider_message_id, {"callback": line.reported}, line.wa_id)
            await settle.taken(conn, message, number, taken, line.at)
        case "deliver":
            await settle.delivered(conn, message, number, line.at, line.wa_id)
        case "judge":
            await _failed(conn, message, number, line, settings)
        case "note":
            await settle.too_late(conn, message, number, _failure(line))
    key = {"tenant_id": tenant_id, "id": message.id}
    if line.reported == "read" and message.status is not Status.CANCELLED:
        await store.run(conn, "note_read", **key, at=line.at)
    if event is not None:
        told = line.provider_message_id
        await store.run(conn, "note_provider_id", **key, provider_message_id=told)
    return 1


async def _message_of(conn: Connection, tenant_id: str, line: StatusLine) -> Message | None:
    row = None
    if line.message_id is not None:
        row = await store.first(conn, "lock_message", tenant_id=tenant_id, id=line.message_id)
    if row is None:
        row = await store.first(
            conn, "message_of_provider", tenant_id=tenant_id, provider_message_id=line.provider_message_id
        )
    return None if row is None else store.made(Message, row)


async def _attempt_of(conn: Connection, message: Message, line: StatusLine) -> Row | None:
    """Return the attempt that a callback speaks of; the last one, where it names none."""
    return await store.first(
        conn, "attempt_told", tenant_id=message.tenant_id, message_id=message.id, attempt_no=line.attempt_no
    )


def _failure(line: StatusLine) -> Failure:
    code = line.error_code or "unknown"
    return Failure(line.provider, code, line.error_message, {"callback": "failed"})


async def _failed(
    conn: Connection, message: Message, number: int, line: StatusLine, settings: OutboundSettings
) -> None:
    """Fail a message that the provider had taken; the table that judges answers decides here too."""
    verdict = await failures.fail(conn, message, number, _failure(line), settings)
    if isinstance(verdict, rules.Fail):
        if verdict.dead:  # the job that raises it into the dead letters
            await moves.enqueue_send(conn, message)
        return
    later = await store.find_row(conn, message.tenant_id, message.id)
    await moves.enqueue_send(conn, message, run_at=later["next_retry_at"])


async def _complained(conn: Connection, line: ComplaintLine, only: str | None) -> int:
    """Stop sending to somebody who calls a mail spam. How that one stands is unchanged."""
    if line.message_id is None:
        return 0
    tenant_id = (await _tenants_of_messages(conn, [line.message_id], only)).get(line.message_id)
    if tenant_id is None:
        return 0
    name = (line.provider, str(line.message_id), "complaint")
    if not await inbound.is_new(conn, tenant_id, *name, code="complaint"):
        return 0
    message = await store.find_message(conn, tenant_id, line.message_id)
    await store.note_message(conn, message, "COMPLAINT", ACTOR)
    # In a transaction of its own: consents are locked before messages.
    await moves.add_job(conn, message, failures.OPT_OUT, code="complaint", transactional=True)
    return 1


async def _template_told(conn: Connection, line: TemplateLine, only: str | None) -> int:
    """Note what WhatsApp says about a template, for each organisation with a number of that account."""
    if line.event not in (*APPROVED, *WITHDRAWN, "PAUSED"):
        log.warning("template_told", event_told=line.event, template=line.name)
        return 0
    paused = (await database.now(conn)) + PAUSED if line.event == "PAUSED" else None
    rows = await store.rows(
        conn,
        "tell_template",
        provider=line.provider,
        account_key=line.account,
        name=line.name,
        language=line.language,
        # A pause is over by itself: the template stays approved.
        status=line.event if line.event in WITHDRAWN else "APPROVED",
        at=line.at,
        held_until=paused,
        only=only,
    )
    for row in rows:
        details: dict[str, Any] = {"template_code": row["template_code"], "event": line.event}
        details["language"] = row["language"]
        tenant_id = str(row["tenant_id"])
        await store.note_audit(conn, tenant_id, f"TEMPLATE_{line.event}", ACTOR, details=details)
        if line.event in APPROVED:
            await holds.wake_template(conn, tenant_id, row["template_code"], row["language"])
    return 1 if rows else 0


async def opt_out(
    conn: Connection, tenant_id: str, message_id: UUID, code: str, *, transactional: bool, settings: OutboundSettings
) -> tuple[int, int]:
    """End the consents of a recipient whom a provider refuses, because he opted out."""
    message = await store.find_message(conn, tenant_id, message_id)
    purposes = tuple(Purpose) if transactional else (Purpose.MARKETING,)
    now = await database.now(conn)
    proof = {"message_id": str(message_id), "error_code": code}
    ended = Ended(ConsentSource.PROVIDER, ACTOR, proof, now)
    place = Place(tenant_id, message.channel, message.to_address, purposes)
    return await consents.revoke_address(conn, place, ended, settings)
