"""The words in which providers say what their errors mean: rulings, as data.

Each provider has a table of its codes in its own file; the codes of our own are here. An error is
decided by its code, never by title or text.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from ostinato.apps.outbound.model import Purpose

DEFAULT_DELAYS: Final = (60.0, 300.0, 900.0, 3600.0, 21_600.0)
"""1 m, 5 m, 15 m, 1 h, 6 h (rule 4.2). With five attempts the last is never used."""
SECONDS: Final = (2.0, 8.0, 30.0, 120.0, 600.0)
QUARTER: Final = 900.0
HOURS: Final = 4 * 3600.0

ERROR_CLASSES: Final = (
    *("auth", "permission", "rate_limit", "timeout", "upstream", "network", "not_found"),
    *("invalid_request", "recipient_invalid", "recipient_unreachable", "recipient_opted_out"),
    *("template_invalid", "window_closed", "account_blocked", "billing", "unknown"),
)
"""The classes of errors, which are a label of metrics."""


class Kind(StrEnum):
    """What is done about an error."""

    RETRY = "retry"
    PAIR = "pause_recipient"
    HOLD = "hold_sender"
    HOLD_TEMPLATE = "hold_template"
    PERMANENT = "permanent"
    CONVERT = "convert_to_template"


@dataclass(frozen=True, slots=True)
class Ruling:
    """What is done about an error, and how."""

    kind: Kind
    error_class: str
    delays: tuple[float, ...] = ()
    """Instead of the usual ones."""
    at_most: int | None = None
    """So many attempts that meet this code, and no more."""
    hold_seconds: float = QUARTER
    revokes: Purpose | None = None
    """The consent that the recipient has ended with it."""
    fallback: bool = False
    """Another channel may be tried."""
    deactivates: bool = False
    """The template is not to be used any more."""
    alert: bool = False
    """Somebody should look."""
    outage: bool = False
    """No answer of the provider: it may be away, for all messages of the sender alike."""


def retry(error_class: str, *delays: float, at_most: int | None = None) -> Ruling:
    """Try again, after the usual delays or others, a number of times or as often as others."""
    return Ruling(Kind.RETRY, error_class, delays, at_most)


def away(error_class: str) -> Ruling:
    """Try again, unless the provider is away: then its sender is held, and no attempt is used."""
    return Ruling(Kind.RETRY, error_class, outage=True)


def hold(error_class: str, seconds: float = QUARTER) -> Ruling:
    """Let nothing more go out by the sender for some seconds; somebody should look."""
    return Ruling(Kind.HOLD, error_class, hold_seconds=seconds, alert=True)


def never(error_class: str) -> Ruling:
    """Give up at once: no retry helps."""
    return Ruling(Kind.PERMANENT, error_class)


def codes(ruling: Ruling, *numbers: int) -> dict[str, Ruling]:
    """Rule the same on several codes: rows of a table."""
    return {str(number): ruling for number in numbers}


OURS: Final = {
    "NETWORK": away("network"),
    "TIMEOUT": away("timeout"),
    "UNKNOWN_OUTCOME": retry("timeout", 0.0),
    "BAD_ANSWER": retry("upstream"),
    "HTTP_401": hold("auth"),
    "HTTP_403": hold("permission"),
    "HTTP_404": never("not_found"),
    "HTTP_408": retry("timeout"),
    "HTTP_429": retry("rate_limit", *SECONDS),
    "WINDOW_CLOSED": Ruling(Kind.CONVERT, "window_closed"),
    "TEMPLATE_INACTIVE": never("template_invalid"),
    "TEMPLATE_VARIABLES": never("template_invalid"),
    "NO_SENDER": never("permission"),
    "CREDENTIALS": hold("auth"),
}
"""What the codes of our own mean, whichever provider was asked."""

UNKNOWN: Final = replace(retry("unknown"), alert=True)
"""What a code means that nobody lists: it is retried within the budget, and raises an alert."""
