"""The jobs of outbound: send, take callbacks, end consents, Coop Habitat's timers and events."""

import ssl
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any
from uuid import UUID

import httpx

from ostinato.apps.outbound import (
    APP,
    callbacks,
    consents,
    coop,
    fallbacks,
    round_notices,
    rules,
    sending,
    settling,
    store,
)
from ostinato.apps.outbound.coop_rules import EVENTS, STEPS
from ostinato.apps.outbound.errors import Undeliverable
from ostinato.apps.outbound.events import MESSAGE_STATUS
from ostinato.apps.outbound.mail import Mail
from ostinato.apps.outbound.model import Message, Provider
from ostinato.apps.outbound.policy import DEFAULT_DELAYS
from ostinato.apps.outbound.providers import (
    Carrier,
    Lost,
    NotSent,
    Outcome,
    Refused,
    Taken,
    Twilio,
    WhatsApp,
)
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.apps.outbound.settling import Failure
from ostinato.apps.outbound.store import Connection
from ostinato.base.backoff import Retry
from ostinato.base.errors import RetryAfter
from ostinato.base.events import Event
from ostinato.engine import clock
from ostinato.engine.fires import Slot
from ostinato.runtime.context import Context
from ostinato.runtime.outcomes import Cancel, Done, Snooze

__all__ = ["coop_step", "expire_consents", "fall_back", "opt_out", "prune", "send", "take_callback"]

MOST_RUNS = 200
KEEP_DAYS = 30
ANSWER_SECONDS = 5.0


@dataclass(frozen=True)
class MessageStatus:
    """A message reached a status."""

    message_id: str
    status: str
    channel: str
    dossier_id: str | None = None
    template_code: str | None = None
    reason: str | None = None


APP.event(MESSAGE_STATUS, payload=MessageStatus)


# The budget of attempts is the message's own: a hold or a deferral uses none of it. What is counted
# here are runs, so that a fault of ours ends among the dead letters too.
@APP.job(
    queue="outbound_whatsapp",
    retry=Retry(delays=DEFAULT_DELAYS, max_attempts=MOST_RUNS, permanent=(Undeliverable,)),
)
async def send(ctx: Context, message_id: UUID) -> Done | Snooze | None:
    """Send a message, if policy still allows it: note the attempt, call, write what came of it."""
    settings = OutboundSettings.load()
    async with ctx.fenced() as conn:
        step = await sending.begin(conn, ctx.job, message_id, settings)
    match step:
        case sending.Over(what):
            return Done({"outcome": what})
        case sending.Wait(seconds):
            return Snooze(seconds)
        case sending.Dead(reason):
            raise Undeliverable(reason)
        case sending.Go():
            outcome = await _carrier(step, settings).send(step.content)
            return await _settle(ctx, step, outcome, settings)


async def _settle(
    ctx: Context, step: sending.Go, outcome: Outcome, settings: OutboundSettings
) -> Done | Snooze | None:
    """Write what came of an attempt, unless a callback told it first."""
    number = step.content.attempt_no
    verdict: rules.Verdict | None = None
    if isinstance(outcome, Taken):
        async with ctx.transaction() as conn:
            message, is_open = await _held(conn, step)
            if is_open:
                await settling.taken(conn, message, number, outcome)
            else:
                await _note_id(conn, message, outcome)
        return None
    async with ctx.fenced() as conn:
        message, is_open = await _held(conn, step)
        if not is_open:
            return Snooze(0)
        if isinstance(outcome, Lost):
            return Snooze(await settling.doubt(conn, message, number, outcome.message, settings))
        failure = _failure(step.content.sender.provider, outcome)
        verdict = await settling.fail(
            conn, message, number, failure, settings, job_attempt=ctx.job.attempt
        )
    match verdict:
        case rules.Fail(dead=True):
            raise Undeliverable(failure.code)
        case rules.Fail():
            return Done({"outcome": f"FAILED {failure.code}"})
        case rules.Retry(seconds):
            raise RetryAfter(seconds, f"{failure.provider} {failure.code}")
        case rules.Hold(seconds) | rules.HoldTemplate(seconds):
            return Snooze(seconds)
        case rules.Convert():
            return Snooze(0)


async def _held(conn: Connection, step: sending.Go) -> tuple[Message, bool]:
    """The message as it is now, and whether its attempt is still without an end."""
    key = {"tenant_id": step.message.tenant_id}
    row = await store.one(conn, "lock_message", **key, id=step.message.id)
    assert row is not None  # noqa: S101 - messages are not deleted
    still = await store.one(
        conn,
        "open_attempt",
        **key,
        message_id=step.message.id,
        attempt_no=step.content.attempt_no,
    )
    return store.message_from(row), still is not None


async def _note_id(conn: Connection, message: Message, outcome: Taken) -> None:
    await store.run(
        conn,
        "note_provider_id",
        tenant_id=message.tenant_id,
        id=message.id,
        provider_message_id=outcome.provider_message_id,
    )


def _failure(provider: Provider, outcome: Refused | NotSent) -> Failure:
    if isinstance(outcome, NotSent):
        return Failure(provider, "NETWORK", outcome.message)
    return Failure(provider, outcome.code, outcome.message, outcome.response, outcome.retry_after)


def _carrier(step: sending.Go, settings: OutboundSettings) -> Carrier:
    match step.content.sender.provider:
        case Provider.WHATSAPP:
            return _OverHttp(WhatsApp, settings)
        case Provider.TWILIO:
            return _OverHttp(Twilio, settings)
        case Provider.SMTP:
            return Mail(settings, step.now)


class _OverHttp:
    """A provider over HTTP, on a connection of its own for each message.

    A connection that was kept may be closed by the other side just as we write: an answer that is
    lost for no reason.
    """

    def __init__(self, kind: type[WhatsApp] | type[Twilio], settings: OutboundSettings) -> None:
        self._kind = kind
        self._settings = settings

    async def send(self, content: Any) -> Outcome:  # noqa: ANN401 - as Carrier
        """Send one message."""
        async with httpx.AsyncClient(
            verify=_trusted(),
            timeout=httpx.Timeout(
                self._settings.timeout_seconds,
                connect=min(ANSWER_SECONDS, self._settings.timeout_seconds),
            ),
            trust_env=False,
            follow_redirects=False,
        ) as http:
            return await self._kind(http, self._settings).send(content)


@cache
def _trusted() -> ssl.SSLContext:
    return ssl.create_default_context()


@APP.job(queue="outbound_callbacks", retry=Retry(delays=(1, 5, 30, 300, 3600)))
async def take_callback(ctx: Context, callback_id: int) -> None:
    """Apply a callback that was stored: all of its lines, once."""
    settings = OutboundSettings.load()
    async with ctx.transaction() as conn:
        row = await store.one(conn, "callback", id=callback_id)
        if row is None or row["processed_at"] is not None:
            return
        lines, odd = callbacks.read(row, row["received_at"], settings)
        done, ignored = await callbacks.apply(conn, lines, settings)
        await store.run(conn, "end_callback", id=callback_id, lines=done, ignored=ignored + odd)
        ctx.result = {"applied": done, "ignored": ignored + odd}


@APP.job(queue="outbound_callbacks")
async def opt_out(ctx: Context, message_id: UUID, code: str, *, transactional: bool) -> None:
    """A provider says that a recipient opted out: consents end, what waits is cancelled."""
    async with ctx.transaction() as conn:
        revoked, cancelled = await callbacks.opt_out(
            conn, ctx.job.tenant_id, message_id, code, transactional=transactional
        )
        ctx.result = {"revoked": revoked, "cancelled": cancelled}


@APP.job(queue="outbound_callbacks")
async def fall_back(ctx: Context, message_id: UUID) -> None:
    """Who cannot be reached here is tried on the other channel that the caller named."""
    settings = OutboundSettings.load()
    async with ctx.transaction() as conn:
        ctx.result = await fallbacks.fall_back(conn, ctx.job.tenant_id, message_id, settings)


@APP.job()
async def expire_consents(ctx: Context) -> None:
    """End consents whose time is over."""
    async with ctx.transaction() as conn:
        ctx.result = {"expired": await consents.expire(conn)}


@APP.job()
async def prune(ctx: Context) -> None:
    """Forget callbacks that no provider repeats any more."""
    async with ctx.transaction() as conn:
        row = await store.one(conn, "prune", days=KEEP_DAYS)
        ctx.result = {"forgotten": 0 if row is None else row["forgotten"]}


APP.schedule(expire_consents, cron="*/10 * * * *")
APP.schedule(prune, cron="20 3 * * *")


@dataclass(frozen=True)
class ContributionDue:
    """A contribution is due, or is overdue."""

    contribution_id: str
    due_date: str
    plan_version: int


@dataclass(frozen=True)
class DocumentPublished:
    """A PV, or another document, was published for a group."""

    group_id: str
    document_id: str
    title: str


@dataclass(frozen=True)
class AllocationProposed:
    """A lot was proposed to a member."""

    allocation_id: str
    allocation_version: int
    member_id: str
    rank: int
    lot: str
    contest_until: str


@dataclass(frozen=True)
class AllocationValidated:
    """A lot was attributed to a member."""

    allocation_id: str
    allocation_version: int
    member_id: str
    lot: str


@dataclass(frozen=True)
class MilestoneUpdated:
    """A project reached a milestone: PERMITS, BUILDING, DELIVERY, HANDOVER."""

    project_id: str
    group_id: str
    status_code: str
    transition_id: str


@dataclass(frozen=True)
class StatusChanged:
    """A group or a project is in another status."""

    entity_type: str
    entity_id: str
    group_id: str
    status_code: str
    transition_id: str


SHAPES: dict[str, type[Any]] = {
    "EVT_COOP_CONTRIBUTION_DUE_CREATED": ContributionDue,
    "EVT_COOP_CONTRIBUTION_OVERDUE": ContributionDue,
    "EVT_COOP_DOCUMENT_PUBLISHED": DocumentPublished,
    "EVT_COOP_ALLOCATION_PROPOSED": AllocationProposed,
    "EVT_COOP_ALLOCATION_VALIDATED": AllocationValidated,
    "EVT_COOP_PROJECT_MILESTONE_UPDATED": MilestoneUpdated,
    "EVT_COOP_STATUS_CHANGED": StatusChanged,
}
for _name, _shape in SHAPES.items():
    APP.event(_name, payload=_shape)


@APP.on(*EVENTS, name="outbound.coop_notify", queue="outbound_events", start="beginning")
async def coop_notify(ctx: Context, event: Event[Any]) -> None:
    """An event of Coop Habitat becomes a message for each recipient."""
    settings = OutboundSettings.load()
    async with ctx.transaction() as conn:
        payload = dict(vars(event.payload))
        await coop.notify(conn, event.tenant_id, event.type, payload, settings)


@APP.on(
    round_notices.OPENED, name="outbound.round_opened", queue="outbound_events", start="beginning"
)
async def round_opened(ctx: Context, event: Event[Any]) -> None:
    """A round is open: the members who want it are told."""
    settings = OutboundSettings.load()
    async with ctx.transaction() as conn:
        await round_notices.tell_opened(conn, event.tenant_id, event.payload, settings)


@APP.job(queue="outbound_events")
async def coop_step(
    ctx: Context,
    *,
    contribution_id: str,
    step: str,
    due_date: date,
    plan_version: int,
    scheduled_for: Slot,  # noqa: ARG001 - the slot says which day it serves; the step says it too
) -> Cancel | None:
    """A timer of a contribution fired: J-3, J-1, J+1 or J+7."""
    settings = OutboundSettings.load()
    known = STEPS.get(step)
    if known is None:
        return Cancel(f"there is no step {step}")
    async with ctx.transaction() as conn:
        tenant = ctx.job.tenant_id
        what = await coop.take_step(
            conn,
            tenant,
            contribution_id,
            known,
            due=due_date,
            plan_version=plan_version,
            settings=settings,
        )
        if what == "overdue":
            payload = ContributionDue(contribution_id, due_date.isoformat(), plan_version)
            await APP.emit(
                conn,
                "EVT_COOP_CONTRIBUTION_OVERDUE",
                vars(payload),
                key=f"coop-contribution:{contribution_id}",
                tenant=tenant,
            )
        ctx.result = {"outcome": what, "at": str(await clock.now(conn))}
    return None
