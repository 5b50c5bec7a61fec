"""What providers report, as lines of plain values: nothing is decided here.

Callbacks are batched, repeated and unordered. What cannot be read is left out and counted, because
a provider that gets an error for one line sends the whole batch again.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal
from uuid import UUID

from ostinato.errors import BodyTooLarge

Reported = Literal["sent", "delivered", "read", "failed"]
NO_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Where a provider gives no time: what it says is the same however often it says it."""
LONGEST_TEXT: Final = 4096
LONGEST_ID: Final = 400
LONGEST_CODE: Final = 60
MOST_LINES: Final = 20_000
"""The lines of one callback. Meta posts up to 3 MB, and a line of its own has more than 160 bytes."""

_OPAQUE: Final = re.compile(r"ob:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}):a(\d{1,6})")


@dataclass(frozen=True, slots=True)
class StatusLine:
    """Where a message stands, as its provider says."""

    provider: str
    provider_key: str | None
    """Whose: the phone_number_id or the number; None: only the message says it."""
    provider_message_id: str
    reported: Reported
    at: datetime
    message_id: UUID | None = None
    attempt_no: int | None = None
    error_code: str = ""
    error_message: str = ""
    timed: bool = True
    """Whether the provider gave the time."""
    wa_id: str | None = None
    """The number by which WhatsApp knows the recipient; it may be another than ours."""
    account: str | None = None
    """The account that the number belongs to, as WhatsApp says."""


@dataclass(frozen=True, slots=True)
class InboundLine:
    """A message that came in."""

    provider: str
    provider_keys: tuple[str, ...]
    """Which of our senders it was for: the first that is one. A pool of numbers has its own."""
    provider_message_id: str
    from_address: str
    at: datetime
    kind: str
    text: str | None


@dataclass(frozen=True, slots=True)
class PreferenceLine:
    """Somebody wants no more marketing, or wants it again, and said so to the provider."""

    provider: str
    provider_key: str
    from_address: str
    at: datetime
    stop: bool


@dataclass(frozen=True, slots=True)
class UnsubscribeLine:
    """Somebody wrote to the address in List-Unsubscribe: one consent ends."""

    provider: str
    consent_id: UUID
    at: datetime


@dataclass(frozen=True, slots=True)
class ComplaintLine:
    """Somebody calls a message spam. It arrived, so this says nothing of how the message stands."""

    provider: str
    message_id: UUID | None
    at: datetime


@dataclass(frozen=True, slots=True)
class TemplateLine:
    """What WhatsApp says about a template of an account."""

    provider: str
    account: str
    name: str
    language: str
    event: str
    at: datetime


Word = InboundLine | PreferenceLine | UnsubscribeLine
"""What a person said."""
Line = StatusLine | InboundLine | PreferenceLine | UnsubscribeLine | ComplaintLine | TemplateLine


def check_count(provider: str, count: int) -> None:
    """Refuse a callback as a whole that has more lines than a provider sends at once, before any is read."""
    if count > MOST_LINES:
        raise BodyTooLarge(
            f"a callback of {provider} has at least {count:,} lines, more than the limit of {MOST_LINES:,}",
            hint="Post them in several callbacks.",
            lines=count,
            limit=MOST_LINES,
        )


def read_opaque(text: str | None) -> tuple[UUID | None, int | None]:
    """Read the message and the attempt that we sent along."""
    found = _OPAQUE.fullmatch(text or "")
    return (UUID(found[1]), int(found[2])) if found else (None, None)


def storable(value: object) -> str:
    """Make a text one that PostgreSQL takes: no zero bytes, and no halves of a letter."""
    return str(value).replace("\0", "").encode("utf-8", "replace").decode()


def number_of(digits: object) -> str:
    """Make a telephone number of what a provider writes for one."""
    return "+" + re.sub(r"\D", "", str(digits))[:15]
