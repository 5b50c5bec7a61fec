"""Begins attempts: may this message go, now, by this sender, to this recipient?

Everything that may have changed since it was accepted is asked again here, in this order: is it
still relevant, is consent still granted, is its template in use, is it time, is the sender held, is
the recipient paused. Then the attempt is noted and committed, and only then is the provider called.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from ostinato import Job, jobs
from ostinato.apps.outbound import rules, store
from ostinato.apps.outbound.accept import texts
from ostinato.apps.outbound.consent import suppressions
from ostinato.apps.outbound.errors import TemplateRefused
from ostinato.apps.outbound.model import Channel, Consent, Content, Message, Sender, Status, Template
from ostinato.apps.outbound.providers import PROVIDERS
from ostinato.apps.outbound.send import compose, failures, moves, outages, quiet, settle
from ostinato.apps.outbound.send.moves import ACTOR, Failure
from ostinato.apps.outbound.send.retries import reopen
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.store import Connection, Row, moment

LEAST_WAIT = 0.1
MISSED = timedelta(seconds=10)

Guard = Callable[[Message, Row], str | None]
"""Says why a message is not to be sent any more, from what `for_sending` found; None: it is."""


@dataclass(frozen=True, slots=True)
class Go:
    """The attempt is noted: call the provider."""

    message: Message
    content: Content
    now: datetime


@dataclass(frozen=True, slots=True)
class Wait:
    """Not now; no attempt is used up."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Over:
    """Nothing is left to do."""

    what: str


@dataclass(frozen=True, slots=True)
class Dead:
    """It failed, and its job is to be a dead letter."""

    reason: str


Step = Go | Wait | Over | Dead


@dataclass(frozen=True, slots=True)
class Case:
    """All that decides."""

    message: Message
    consent: Consent | None
    sender: Sender
    template: Template | None
    row: Row
    now: datetime
    settings: OutboundSettings
    job: Job
    guards: Sequence[Guard]

    @property
    def attempt_no(self) -> int:
        """The number of the last attempt; 0: there was none."""
        last = self.row["last_attempt"]
        return 0 if last is None else int(last["attempt_no"])


async def begin(
    conn: Connection, job: Job, message_id: UUID, settings: OutboundSettings, guards: Sequence[Guard] = ()
) -> Step:
    """Decide about a message, and note the attempt if it may go."""
    key = {"tenant_id": job.tenant_id, "id": message_id}
    # First: a transaction that ends a consent locks it before the messages that wait for it.
    granted = await store.first(conn, "consent_for_sending", **key)
    consent = None if granted is None else store.made(Consent, granted)
    macs: list[bytes] = []
    if consent is not None:  # a message to another address than this one does not go anyway
        macs = suppressions.macs(settings, job.tenant_id, consent.channel, consent.address)
    row = await store.first(conn, "for_sending", **key, address_macs=macs)
    if row is None:
        return Over("there is no such message")
    case = Case(
        message=store.made(Message, row),
        consent=consent,
        sender=store.made(Sender, row["sender"]),
        template=None if row["template"] is None else store.template_from(row["template"]),
        row=row,
        now=row["now"],
        settings=settings,
        job=job,
        guards=guards,
    )
    message = case.message
    if message.job_id is not None and message.job_id != job.id:
        return Over("another job sends it")
    match message.status:
        case Status.SENT | Status.DELIVERED | Status.CANCELLED:
            return Over(message.status)
        case Status.FAILED:
            return await _failed(conn, case)
        case Status.SENDING:
            return await _doubtful(conn, case)
        case Status.QUEUED:
            return await _queued(conn, case)


async def _failed(conn: Connection, case: Case) -> Step:
    """A dead letter that somebody redrives is a retry; one that is not dead yet becomes one."""
    message = case.message
    if message.dead_lettered_at is None:
        return Over(Status.FAILED)
    since = message.failed_attempt or 0
    past = await jobs.attempts(conn, case.job.id)
    if not any(each.outcome == "dead" and each.attempt >= since for each in past):
        return Dead(message.error_code or "FAILED")
    await reopen(conn, message, "operator")
    budget = replace(message, status=Status.QUEUED, attempts_used=0, code_attempts={})
    return await _queued(conn, replace(case, message=budget))


async def _doubtful(conn: Connection, case: Case) -> Step:
    """An attempt was begun and nobody knows how it ended: wait for a callback, then try again."""
    message, last = case.message, case.row["last_attempt"]
    if last is None or last["status"] != "TRYING":
        return await _again(conn, case)
    if last["unknown_since"] is None:  # the worker that made the attempt died
        wait = await settle.doubt(conn, message, case.attempt_no, "worker lost", case.settings)
        return Wait(wait)
    until = message.unknown_until or case.now
    if case.now < until:
        return Wait((until - case.now).total_seconds())
    failure = Failure(case.sender.provider, rules.UNKNOWN, "no callback came")
    holds_back = (case.sender.on_unknown or PROVIDERS[case.sender.provider].on_unknown) == "hold"
    verdict = await failures.fail(
        conn,
        message,
        case.attempt_no,
        failure,
        case.settings,
        job_attempt=case.job.attempt,
        give_up="nobody knows whether it was sent: retry it, if it was not" if holds_back else None,
    )
    if isinstance(verdict, rules.Fail):
        return Dead(rules.UNKNOWN)
    used = replace(message, status=Status.QUEUED, attempts_used=message.attempts_used + 1)
    return await _queued(conn, replace(case, message=used))


async def _again(conn: Connection, case: Case) -> Step:
    """SENDING without an attempt that goes on: as if it were queued."""
    await failures.requeue(conn, case.message, {})
    return await _queued(conn, replace(case, message=replace(case.message, status=Status.QUEUED)))


async def _queued(conn: Connection, case: Case) -> Step:
    later: datetime | None = case.row["next_retry_at"]
    if case.job.crashes and case.row["waits_for"] == "RETRY" and later and later > case.now:
        # A worker died after it wrote when to try again, and before it said so of its job.
        return Wait((later - case.now).total_seconds())
    reasons = (guard(case.message, case.row) for guard in case.guards)
    refusal = next((why for why in reasons if why is not None), None)
    if refusal is None:
        refusal = _not_allowed(case)
    if refusal is None and _too_late(case, case.now):
        refusal = "TOO_LATE"
    if refusal is not None:
        message = case.message
        await moves.cancel(conn, message.tenant_id, message.id, refusal, ACTOR)
        return Over(f"{Status.CANCELLED} {refusal}")
    return await _content(conn, case)


def _not_allowed(case: Case) -> str | None:
    """Why nobody allows it: no consent does, or nobody asked for the answer that it is."""
    message = case.message
    if message.inbound_id is None:
        suppressed = case.row["suppressed"]
        return rules.consent_refusal(case.consent, message.to_address, case.now, suppressed=suppressed)
    row = case.row["asked"] or {}
    received = moment(row.get("received_at"))
    allowed = received is not None and rules.reply_allowed(
        row["asked"], row["from_address"], message.to_address, received, case.now
    )
    return None if allowed else "NOT_ASKED_FOR"


async def _content(conn: Connection, case: Case) -> Step:
    """Is what it says fit to be sent?"""
    message, template = case.message, case.template
    if not case.row["usable"]:
        return await _refuse(conn, case, "NO_SENDER", "the sender is not proven to be the organisation's any more")
    free = message.template_code is None and message.channel is Channel.WHATSAPP
    if free and not rules.window_is_open(case.row["last_inbound"], case.now):
        other = case.row["other_template"]
        if other is None:
            return await _refuse(conn, case, "WINDOW_CLOSED", "the window has closed")
        message = await failures.convert(conn, message)
        template = store.template_from(other)
        case = replace(case, message=message, template=template)
    if message.template_code is not None and (step := await _template(conn, case, template)) is not None:
        return step
    return await _time(conn, case)


async def _template(conn: Connection, case: Case, template: Template | None) -> Step | None:
    """Is its template in use, for what the message is for, and are its variables fit? None: it is."""
    message = case.message
    if template is None or not template.is_usable:
        return await _refuse(conn, case, "TEMPLATE_INACTIVE", "the template is not in use")
    if rules.purpose_of([template.category], message.purpose) is None:
        # Its category was changed since, or it was accepted before the category decided.
        await moves.cancel(conn, message.tenant_id, message.id, "CONSENT_OTHER_PURPOSE", ACTOR)
        return Over(f"{Status.CANCELLED} CONSENT_OTHER_PURPOSE")
    if template.held_until is not None and template.held_until > case.now:
        return await _wait(conn, case, template.held_until, "TEMPLATE_HELD")
    try:
        texts.parameters(template, message.payload.get("variables") or {})
    except TemplateRefused as error:
        return await _refuse(conn, case, "TEMPLATE_VARIABLES", error.message)
    return None


async def _time(conn: Connection, case: Case) -> Step:
    """Is it time, and are sender and recipient free?"""
    message = case.message
    for until, reason in _waits(case):
        if until is not None and until > case.now:
            return await _wait(conn, case, until, reason)
    if rules.takes_turns(message.channel, case.sender.rate):
        turn = await _take_turn(conn, case)
        if turn > case.now:
            return await _wait(conn, case, turn, "SENDER_RATE")
    if message.channel is Channel.WHATSAPP and (wait := await _take_token(conn, message)):
        return await _wait(conn, case, case.now + timedelta(seconds=wait), "PAIR_RATE")
    return await _go(conn, case)


def _waits(case: Case) -> Iterator[tuple[datetime | None, str]]:
    """Until when a message waits, and for what; the first that is to come counts."""
    message = case.message
    yield case.row["send_at"], "SEND_AT"  # whoever woke its job
    if case.settings.quiet_hours:
        chosen = store.organisation_from(case.row["organisation"])
        yield quiet.next_opening(case.now, message.purpose, chosen, urgent=message.urgent), "QUIET_HOURS"
    away = case.sender.outage_since is not None
    held = outages.waits_until(message, case.sender, case.now) if away else case.sender.held_until
    yield held, "SENDER_HELD"
    yield moment((case.row["pair"] or {}).get("paused_until")), "RECIPIENT_PAUSED"


async def _take_turn(conn: Connection, case: Case) -> datetime:
    """The turn of a message at a sender with a rate of its own: its own one, unless it missed it.

    Each message waits for its turn once; what was held up until after it takes another one, so that
    an end of a hold sends no burst.
    """
    given: datetime | None = case.row["turn_at"]
    if given is not None and given > case.now - MISSED:
        return given
    row = await store.one(conn, "take_turn", tenant_id=case.message.tenant_id, id=case.sender.id)
    await store.run(conn, "set_turn", **case.message.key, at=row["at"])
    at: datetime = row["at"]
    return at


async def _take_token(conn: Connection, message: Message) -> float:
    """Take a token of the pair of sender and recipient; else how long until there is one."""
    limit = {"burst": float(rules.PAIR_BURST), "seconds": rules.PAIR_SECONDS}
    pair = {**message.pair, **limit}
    if await store.first(conn, "take_token", **pair) is not None:
        return 0.0
    left = await store.first(conn, "tokens_left", **pair)
    return max(LEAST_WAIT, rules.pair_wait(0.0 if left is None else left["tokens"]))


async def _go(conn: Connection, case: Case) -> Go:
    message = case.message
    number = case.attempt_no + 1
    await store.run(
        conn,
        "add_attempt",
        tenant_id=message.tenant_id,
        message_id=message.id,
        attempt_no=number,
        mode=message.mode,
        job_id=case.job.id,
    )
    changes = {"next_retry_at": None, "waits_for": None, "updated_at": case.now}
    await moves.move(conn, message, "send", changes)
    await store.note_message(conn, message, "NOTIFICATION_SENDING", ACTOR, details={"attempt_no": number})
    sending = replace(message, status=Status.SENDING)
    return Go(
        sending,
        compose.content(
            message, case.template, case.sender, case.consent, case.row["last_inbound_id"], number, case.settings
        ),
        case.now,
    )


async def _wait(conn: Connection, case: Case, until: datetime, reason: str) -> Step:
    """Put off; if it would come too late then, it is cancelled now."""
    message = case.message
    if _too_late(case, until):
        await moves.cancel(conn, message.tenant_id, message.id, "TOO_LATE", ACTOR)
        return Over(f"{Status.CANCELLED} TOO_LATE")
    await store.run(conn, "wait", **message.key, until=until, waits_for=reason)
    return Wait((until - case.now).total_seconds())


async def _refuse(conn: Connection, case: Case, code: str, message: str) -> Step:
    """It cannot go as it is: it failed, or goes as the template that is there for the case."""
    failure = Failure(case.sender.provider, code, message)
    verdict = await failures.fail(conn, case.message, None, failure, case.settings, job_attempt=case.job.attempt)
    if isinstance(verdict, rules.Fail):
        return Dead(code) if verdict.dead else Over(f"{Status.FAILED} {code}")
    return Wait(getattr(verdict, "seconds", 0.0))


def _too_late(case: Case, at: datetime) -> bool:
    last: Any = case.message.not_after
    return last is not None and at >= last
