"""The decisions: may it go, what does an answer mean, when is it tried again. Nothing but values.

Rules of seed 002 by their section: 1.1 consent, 4.2 retry, 4.3 callbacks, 5 window.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Final, Literal

from ostinato.apps.outbound.model import Consent, ConsentStatus, Status
from ostinato.apps.outbound.policy import DEFAULT_DELAYS, Kind, Ruling

__all__ = [
    "Budget",
    "Convert",
    "Fail",
    "Hold",
    "HoldTemplate",
    "Refilled",
    "Retry",
    "Verdict",
    "callback_event",
    "consent_refusal",
    "judge",
    "take_token",
    "window_is_open",
]

WINDOW: Final = timedelta(hours=24)
WINDOW_MARGIN: Final = timedelta(minutes=5)
JITTER: Final = 0.1
PAIR_BURST: Final = 45
PAIR_SECONDS: Final = 6.0
UNKNOWN: Final = "UNKNOWN_OUTCOME"

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

    seconds: float


@dataclass(frozen=True, slots=True)
class HoldTemplate:
    """Nothing more goes out with this template for some seconds; no attempt is used up."""

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
    ruling: Ruling,
    budget: Budget,
    rng: Random,
    *,
    retry_after: float | None = None,
    has_template: bool = False,
) -> Verdict:
    """What follows from an error.

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


def consent_refusal(consent: Consent | None, to: str, now: datetime) -> str | None:
    """Why a message may not go, in one word; None: it may. Deny by default (1.1)."""
    if consent is None or consent.status is ConsentStatus.PENDING:
        return "CONSENT_MISSING"
    if consent.status is not ConsentStatus.GRANTED:
        return f"CONSENT_{consent.status}"
    if consent.expires_at is not None and consent.expires_at <= now:
        return "CONSENT_EXPIRED"
    # It was given for an address: whoever has it now may be somebody else.
    return None if consent.address == to else "CONSENT_OTHER_ADDRESS"


def window_is_open(last_inbound: datetime | None, now: datetime) -> bool:
    """Whether free text may be sent: within 24 h of the last inbound message, less a margin."""
    return last_inbound is not None and now < last_inbound + WINDOW - WINDOW_MARGIN


def callback_event(
    status: Status, told: CallbackStatus, error_code: str | None = None
) -> Literal["accept", "deliver", "judge"] | None:
    """What a callback means for a message in a state; None: nothing new.

    Statuses only go up: SENDING, SENT, DELIVERED. FAILED counts up to SENT, and a later
    `delivered` or `read` overrides it, because a person may have several devices. `read` implies
    delivered, which may never come.
    """
    match told:
        case "delivered" | "read":
            if status in (Status.QUEUED, Status.SENDING, Status.SENT, Status.FAILED):
                return "deliver"
        case "sent":
            doubtful = status is Status.FAILED and error_code == UNKNOWN
            if status in (Status.QUEUED, Status.SENDING) or doubtful:
                return "accept"
        case "failed":
            if status in (Status.SENDING, Status.SENT):
                return "judge"
    return None


@dataclass(frozen=True, slots=True)
class Refilled:
    """The tokens of a pair of sender and recipient, after one was taken, or not."""

    tokens: float
    wait_seconds: float
    """0: it was taken."""


def take_token(tokens: float, seconds_since: float) -> Refilled:
    """Take a token of a pair: one comes back every six seconds, 45 are the most."""
    have = min(float(PAIR_BURST), tokens + max(0.0, seconds_since) / PAIR_SECONDS)
    if have >= 1:
        return Refilled(have - 1, 0.0)
    return Refilled(have, (1 - have) * PAIR_SECONDS)
