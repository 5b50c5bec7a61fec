"""Begins attempts: may this message go, now, by this sender, to this recipient?

Everything that may have changed since it was accepted is asked again here, in this order: is it
still relevant, is consent still granted, is its template in use, is it time, is the sender held, is
the recipient paused. Then the attempt is noted and committed, and only then is the provider called.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
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
class Wanted:
    """A job that is to send a message."""

    job: Job
    message_id: UUID
    correlation_id: str
    flow: Callable[[], AbstractContextManager[object]]
    """Runs a block as part of the job."""


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
    def is_paced(self) -> bool:
        """Whether the provider counts how often a recipient is written to."""
        return self.message.channel is Channel.WHATSAPP

    @property
    def attempt_no(self) -> int:
        """The number of the last attempt; 0: there was none."""
        last = self.row["last_attempt"]
        return 0 if last is None else int(last["attempt_no"])


async def begin(
    conn: Connection, wanted: Sequence[Wanted], settings: OutboundSettings, guards: Sequence[Guard] = ()
) -> list[Step]:
    """Decide about messages, and note the attempts of those that may go; one step for each, in order."""
    keys = {"tenant_ids": [each.job.tenant_id for each in wanted], "ids": [each.message_id for each in wanted]}
    # First: a transaction that ends a consent locks it before the messages that wait for it.
    granted = await store.rows(conn, "consents_for_sending", **keys)
    consents = {row["message_id"]: store.made(Consent, row) for row in granted}
    macs = [_macs(consents.get(each.message_id), each.job.tenant_id, settings) for each in wanted]
    given = {"macs": [codes[0] for codes in macs], "other_macs": [codes[-1] for codes in macs]}
    rows = {row["id"]: row for row in await store.rows(conn, "for_sending", **keys, **given)}
    steps: list[Step | Case] = []
    for each in wanted:
        row = rows.get(each.message_id)
        if row is None:
            steps.append(Over("there is no such message"))
            continue
        case = Case(
            message=store.made(Message, row),
            consent=consents.get(each.message_id),
            sender=store.made(Sender, row["sender"]),
            template=None if row["template"] is None else store.template_from(row["template"]),
            row=row,
            now=row["now"],
            settings=settings,
            job=each.job,
            guards=guards,
        )
        with each.flow():
            steps.append(await _decide(conn, case))
    return await _gone(conn, wanted, steps)


def _macs(consent: Consent | None, tenant_id: str, settings: OutboundSettings) -> list[bytes]:
    """Return what stands for the address of a consent: a message to another one does not go anyway."""
    if consent is None:
        return [b""]
    return suppressions.macs(settings, tenant_id, consent.channel, consent.address)


async def _decide(conn: Connection, case: Case) -> Step | Case:
    """Decide about a message; the case itself says that it may go."""
    job = case.job
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


async def _failed(conn: Connection, case: Case) -> Step | Case:
    """Retry a dead letter that somebody redrives; end the job as dead if it is not yet."""
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


async def _doubtful(conn: Connection, case: Case) -> Step | Case:
    """Wait for a callback, then try again: an attempt was begun and nobody knows how it ended."""
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


async def _again(conn: Connection, case: Case) -> Step | Case:
    """Queue again what is SENDING without an attempt that goes on."""
    await failures.requeue(conn, case.message, {})
    return await _queued(conn, replace(case, message=replace(case.message, status=Status.QUEUED)))


async def _queued(conn: Connection, case: Case) -> Step | Case:
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
    """Return why nobody allows it: no consent does, or nobody asked for the answer that it is."""
    message = case.message
    if message.inbound_id is None:
        refusal: str | None = case.row["refusal"]
        return "CONSENT_MISSING" if case.consent is None else refusal  # one that came just now is not held
    row = case.row["asked"] or {}
    received = moment(row.get("received_at"))
    allowed = received is not None and rules.reply_allowed(
        row["asked"], row["from_address"], message.to_address, received, case.now
    )
    return None if allowed else "NOT_ASKED_FOR"


async def _content(conn: Connection, case: Case) -> Step | Case:
    """Check that what a message says is fit to be sent."""
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
    """Check that the template is in use and fits the purpose and the variables; None means that it does."""
    message = case.message
    if template is None or not template.is_usable:
        return await _refuse(conn, case, "TEMPLATE_INACTIVE", "the template is not in use")
    if rules.purpose_of([template.category], message.purpose) is None:
        # The template's category was changed since, or the message was accepted before categories decided.
        await moves.cancel(conn, message.tenant_id, message.id, "CONSENT_OTHER_PURPOSE", ACTOR)
        return Over(f"{Status.CANCELLED} CONSENT_OTHER_PURPOSE")
    if template.held_until is not None and template.held_until > case.now:
        return await _wait(conn, case, template.held_until, "TEMPLATE_HELD")
    try:
        texts.parameters(template, message.payload.get("variables") or {})
    except TemplateRefused as error:
        return await _refuse(conn, case, "TEMPLATE_VARIABLES", error.message)
    return None


async def _time(conn: Connection, case: Case) -> Step | Case:
    """Check that it is time, and that sender and recipient are free."""
    message = case.message
    for until, reason in _waits(case):
        if until is not None and until > case.now:
            return await _wait(conn, case, until, reason)
    if rules.takes_turns(message.channel, case.sender.rate):
        turn = await _take_turn(conn, case)
        if turn > case.now:
            return await _wait(conn, case, turn, "SENDER_RATE")
    return case


def _waits(case: Case) -> Iterator[tuple[datetime | None, str]]:
    """Yield until when a message waits, and for what; the first that is to come counts."""
    message = case.message
    yield case.row["send_at"], "SEND_AT"  # also if its job was woken early
    if case.settings.quiet_hours:
        chosen = store.organisation_from(case.row["organisation"])
        yield quiet.next_opening(case.now, message.purpose, chosen, urgent=message.urgent), "QUIET_HOURS"
    away = case.sender.outage_since is not None
    held = outages.waits_until(message, case.sender, case.now) if away else case.sender.held_until
    yield held, "SENDER_HELD"
    yield moment((case.row["pair"] or {}).get("paused_until")), "RECIPIENT_PAUSED"


async def _take_turn(conn: Connection, case: Case) -> datetime:
    """Take the turn of a message at a sender with a rate of its own: its own one, unless it missed it.

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


async def _gone(conn: Connection, wanted: Sequence[Wanted], steps: Sequence[Step | Case]) -> list[Step]:
    """Note the attempts of those that may go, if their recipients may be written to so soon again."""
    going = [(each, step) for each, step in zip(wanted, steps, strict=True) if isinstance(step, Case)]
    left: dict[UUID, float | None] = {}
    if going:
        cases = [case for _, case in going]
        begun = await store.rows(
            conn,
            "begin_attempts",
            tenant_ids=[case.message.tenant_id for case in cases],
            ids=[case.message.id for case in cases],
            numbers=[case.attempt_no + 1 for case in cases],
            modes=[case.message.mode for case in cases],
            job_ids=[case.job.id for case in cases],
            correlations=[each.correlation_id for each, _ in going],
            bursts=[float(rules.PAIR_BURST) if case.is_paced else None for case in cases],
            senders=[case.sender.id for case in cases],
            addresses=[case.message.to_address for case in cases],
            actor=ACTOR,
            seconds=rules.PAIR_SECONDS,
        )
        left = {row["id"]: row["tokens"] for row in begun}
    return [await _go(conn, step, left[step.message.id]) if isinstance(step, Case) else step for step in steps]


async def _go(conn: Connection, case: Case, tokens: float | None) -> Step:
    """Say what is to be sent; or until when it waits, because so many went to the recipient lately."""
    if tokens is not None:
        wait = max(LEAST_WAIT, rules.pair_wait(tokens))
        return await _wait(conn, case, case.now + timedelta(seconds=wait), "PAIR_RATE")
    content = compose.content(
        case.message,
        case.template,
        case.sender,
        case.consent,
        case.row["last_inbound_id"],
        case.attempt_no + 1,
        case.settings,
    )
    return Go(replace(case.message, status=Status.SENDING), content, case.now)


async def _wait(conn: Connection, case: Case, until: datetime, reason: str) -> Step:
    """Put a message off; if it would come too late then, it is cancelled now."""
    message = case.message
    if _too_late(case, until):
        await moves.cancel(conn, message.tenant_id, message.id, "TOO_LATE", ACTOR)
        return Over(f"{Status.CANCELLED} TOO_LATE")
    await store.run(conn, "wait", **message.key, until=until, waits_for=reason)
    return Wait((until - case.now).total_seconds())


async def _refuse(conn: Connection, case: Case, code: str, message: str) -> Step:
    """Refuse a message that cannot go as it is: it fails, or goes as the template that is there for the case."""
    failure = Failure(case.sender.provider, code, message)
    verdict = await failures.fail(conn, case.message, None, failure, case.settings, job_attempt=case.job.attempt)
    if isinstance(verdict, rules.Fail):
        return Dead(code) if verdict.dead else Over(f"{Status.FAILED} {code}")
    return Wait(getattr(verdict, "seconds", 0.0))


def _too_late(case: Case, at: datetime) -> bool:
    last: Any = case.message.not_after
    return last is not None and at >= last
