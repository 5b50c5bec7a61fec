"""Decides: may it go, what does an answer mean, when is it tried again. Nothing but values.

Rules by their numbers in docs/specs/outbound.md: 1.1 consent, 4.2 retry, 4.3 callbacks, 5 window.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import ClassVar, Final, Literal

from ostinato import idempotency
from ostinato.apps.outbound.model import RATES, AttemptStatus, Category, Channel, Purpose, Status
from ostinato.apps.outbound.policy import DEFAULT_DELAYS, Kind, Ruling

WINDOW: Final = timedelta(hours=24)
WINDOW_MARGIN: Final = timedelta(minutes=5)
JITTER: Final = 0.1
PAIR_BURST: Final = 45
PAIR_SECONDS: Final = 6.0
UNKNOWN: Final = "UNKNOWN_OUTCOME"
AWAY_AFTER: Final = 3
PROBE_DELAYS: Final = (5.0, 15.0, 60.0, 300.0, 900.0)
REPLY_WITHIN: Final = timedelta(hours=1)

CallbackStatus = Literal["sent", "delivered", "read", "failed"]


@dataclass(frozen=True, slots=True)
class Budget:
    """How many attempts a message has, and has had."""

    used: int = 0
    same_code: int = 0
    """Attempts that met the same code before."""
    most: int = 5
    delays: Sequence[float] = DEFAULT_DELAYS


@dataclass(frozen=True, slots=True)
class Retry:
    """Another attempt after some seconds; with a pause for all messages to this recipient."""

    seconds: float
    pauses_recipient: bool = False


@dataclass(frozen=True, slots=True)
class Hold:
    """Nothing more goes out by this sender for some seconds; no attempt is used up."""

    waits_for: ClassVar = "HOLD"
    seconds: float


@dataclass(frozen=True, slots=True)
class HoldTemplate:
    """Nothing more goes out with this template for some seconds; no attempt is used up."""

    waits_for: ClassVar = "TEMPLATE_HELD"
    seconds: float


@dataclass(frozen=True, slots=True)
class Convert:
    """The same again as a template, at once."""


@dataclass(frozen=True, slots=True)
class Fail:
    """It failed for good; a dead letter, when trying again was what was left to do."""

    dead: bool
    reason: str


Verdict = Retry | Hold | HoldTemplate | Convert | Fail


def judge(
    ruling: Ruling, budget: Budget, rng: Random, *, retry_after: float | None = None, has_template: bool = False
) -> Verdict:
    """Return what follows from an error.

    `has_template` says that the message could go out as a template instead.
    """
    match ruling.kind:
        case Kind.HOLD:
            return Hold(max(ruling.hold_seconds, retry_after or 0.0))
        case Kind.HOLD_TEMPLATE:
            return HoldTemplate(ruling.hold_seconds)
        case Kind.PERMANENT:
            return Fail(dead=False, reason="not retryable")
        case Kind.CONVERT:
            return Convert() if has_template else Fail(dead=False, reason="window closed")
        case Kind.RETRY | Kind.PAIR:
            return _again(ruling, budget, rng, retry_after)


def _again(ruling: Ruling, budget: Budget, rng: Random, retry_after: float | None) -> Retry | Fail:
    used = budget.used + 1
    if used >= budget.most:
        return Fail(dead=True, reason=f"{used} attempts used up")
    if ruling.at_most is not None and budget.same_code + 1 >= ruling.at_most:
        return Fail(dead=True, reason=f"{ruling.at_most} attempts met the same error")
    delays = ruling.delays or tuple(budget.delays)
    delay = delays[min(used, len(delays)) - 1] * (1 + JITTER * rng.uniform(-1, 1))
    pauses = ruling.kind is Kind.PAIR
    if pauses:
        delay = max(delay, PAIR_SECONDS)
    return Retry(max(delay, retry_after or 0.0), pauses)


def purpose_of(categories: Iterable[Category], asked: Purpose | None) -> Purpose | None:
    """Return what a message is for; None: what was asked is less than one of its templates needs.

    The category of a template decides: a MARKETING template is marketing, whatever a caller says of
    it. A caller may ask for more (the consent and the hours of marketing), never for less.
    """
    needed = Purpose.MARKETING if Category.MARKETING in categories else Purpose.TRANSACTIONAL
    if asked is None:
        return needed
    return None if needed is Purpose.MARKETING and asked is not needed else asked


def is_away(in_a_row: int, *, certain: bool) -> bool:
    """Return whether a provider is away, after so many requests in a row that it did not answer.

    One is enough where nothing could be written: a message that the provider stumbles over cannot
    do that.
    """
    return certain or in_a_row >= AWAY_AFTER


def probe_delay(probes: int) -> float:
    """Return how many seconds a provider that is away is left alone, after so many that were tried."""
    return PROBE_DELAYS[min(probes, len(PROBE_DELAYS) - 1)]


def is_stale(at: datetime, refused_at: datetime | None) -> bool:
    """Return whether a grant is older than the last refusal: it changes nothing, whatever its source."""
    return refused_at is not None and at <= refused_at


def window_is_open(last_inbound: datetime | None, now: datetime) -> bool:
    """Return whether free text may be sent: within 24 h of the last inbound message, less a margin."""
    return last_inbound is not None and now < last_inbound + WINDOW - WINDOW_MARGIN


@dataclass(frozen=True, slots=True)
class Attempted:
    """The attempt that a callback speaks of."""

    status: AttemptStatus
    error_code: str | None = None
    alone: bool = True
    """No other attempt of the message goes on or was taken."""

    @property
    def is_open(self) -> bool:
        """Whether nobody knows yet what came of it, or nobody did."""
        doubtful = self.status is AttemptStatus.FAILED and self.error_code == UNKNOWN
        return self.status is AttemptStatus.TRYING or doubtful


def callback_event(
    status: Status, told: CallbackStatus, attempt: Attempted
) -> Literal["accept", "deliver", "judge", "note"] | None:
    """Return what a callback about an attempt means for its message; None: nothing new.

    Statuses only go up: SENDING, SENT, DELIVERED. `read` implies delivered, which may never come; a
    later `delivered` overrides FAILED, because a person may have several devices. `sent` counts
    for an attempt of which nothing was known: after an error it is only late. `failed` is judged if
    no other attempt stands for the message; else it is noted at its attempt, and no more.
    """
    match told:
        case "delivered" | "read":
            if status in (Status.QUEUED, Status.SENDING, Status.SENT, Status.FAILED):
                return "deliver"
        case "sent":
            waiting = status in (Status.QUEUED, Status.SENDING, Status.FAILED)
            if waiting and attempt.is_open:
                return "accept"
        case "failed":
            if attempt.status is AttemptStatus.FAILED or status is Status.DELIVERED:
                return None
            judged = attempt.alone and status in (Status.SENDING, Status.SENT)
            return "judge" if judged else "note"
    return None


def takes_turns(channel: Channel, rate: float | None) -> bool:
    """Return whether a sender is slower than its channel: the engine's limit is the channel's."""
    return rate is not None and rate < RATES[channel]


def fits_lanes(channel: Channel, rate: float | None) -> bool:
    """Return whether a rate can be held: above its channel's a sender is spread over whole limits of it (`lanes`)."""
    return rate is None or rate <= RATES[channel] or rate % RATES[channel] == 0


def pair_wait(tokens: float) -> float:
    """Return how long until a pair of sender and recipient has a whole token again."""
    return max(0.0, (1 - tokens) * PAIR_SECONDS)


def reply_allowed(asked: str | None, from_address: str, to: str, received_at: datetime, now: datetime) -> bool:
    """Return whether an answer to STOP, HELP or START may go without a consent.

    Somebody asked for it, from there, and just now: nothing else is.
    """
    return asked is not None and from_address == to and now < received_at + REPLY_WITHIN


def composed_key(  # noqa: PLR0917 - the parts of the key, in their order
    org_id: str,
    template_code: str,
    entity_type: str,
    entity_id: str,
    logical_event_id: str,
    channel: Channel | None = None,
    recipient_ref: str | None = None,
) -> str:
    """Compose the key of a message about an event (rule 6.2), with its recipient."""
    parts = [org_id, template_code, entity_type, entity_id, logical_event_id]
    if channel is not None and recipient_ref is not None:
        parts += [channel.value, recipient_ref]
    return idempotency.sha256(idempotency.canonical(parts))
