"""What an error of a provider means: the policy table, as data (domain.md 6.4, 6.7, 6.8).

Decided by code, never by title or text. What the table does not list is retried within the budget,
and told about.
"""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from ostinato.apps.outbound.model import Provider, Purpose

__all__ = ["DEFAULT_DELAYS", "ERROR_CLASSES", "TABLE", "Kind", "Ruling", "ruling_of"]

DEFAULT_DELAYS: Final = (60.0, 300.0, 900.0, 3600.0, 21_600.0)
"""Seed 4.2: 1 m, 5 m, 15 m, 1 h, 6 h. With five attempts the last is never used (6.6)."""
SECONDS: Final = (2.0, 8.0, 30.0, 120.0, 600.0)
PAIR: Final = (6.0, 16.0, 64.0, 256.0, 1024.0)
"""4 to the power of X, from six seconds on."""
QUARTER: Final = 900.0
HOURS: Final = 4 * 3600.0

ERROR_CLASSES: Final = (
    *("auth", "permission", "rate_limit", "timeout", "upstream", "network", "not_found"),
    *("invalid_request", "recipient_invalid", "recipient_unreachable", "recipient_opted_out"),
    *("template_invalid", "window_closed", "account_blocked", "billing", "unknown"),
)
"""Appendix B: the label of metrics."""


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


def _retry(error_class: str, *delays: float, at_most: int | None = None) -> Ruling:
    return Ruling(Kind.RETRY, error_class, delays, at_most)


def _hold(error_class: str, seconds: float = QUARTER) -> Ruling:
    return Ruling(Kind.HOLD, error_class, hold_seconds=seconds, alert=True)


def _never(error_class: str) -> Ruling:
    return Ruling(Kind.PERMANENT, error_class)


def _codes(ruling: Ruling, *codes: int) -> dict[str, Ruling]:
    return {str(code): ruling for code in codes}


_WHATSAPP: Final = {
    **_codes(_hold("auth"), 0, 190),
    **_codes(_hold("permission"), 3, 10, 131005, *range(200, 300)),
    **_codes(_retry("upstream"), 1, 2, 131016, 133004),
    **_codes(_retry("rate_limit"), 4),
    **_codes(_hold("account_blocked"), 33, 131031, 131037, 131045, 133000),
    **_codes(_hold("account_blocked"), 133005, 133006, 133008, 133009, 133010, 133015, 133016),
    **_codes(_never("invalid_request"), 100, 131008, 131009, 131051, 131052, 131053, 132068),
    **_codes(_never("invalid_request"), 135000),
    **_codes(_hold("account_blocked", HOURS), 368, 131048),
    **_codes(_retry("rate_limit", QUARTER, QUARTER, 3600.0), 80007),
    **_codes(_retry("rate_limit", *SECONDS), 130429),
    **_codes(_never("recipient_unreachable"), 130472, 130497, 131030, 131049),
    **_codes(_retry("upstream", at_most=2), 131000),
    **_codes(_never("recipient_invalid"), 131021),
    **_codes(Ruling(Kind.PERMANENT, "recipient_unreachable", fallback=True), 131026),
    **_codes(_hold("billing"), 131042),
    **_codes(Ruling(Kind.CONVERT, "window_closed"), 131047),
    **_codes(Ruling(Kind.PERMANENT, "recipient_opted_out", revokes=Purpose.MARKETING), 131050),
    **_codes(Ruling(Kind.PAIR, "rate_limit", PAIR), 131056),
    **_codes(_retry("upstream", 60.0), 131057),
    **_codes(_never("template_invalid"), 132000, 132001, 132005, 132007, 132012),
    **_codes(
        Ruling(Kind.HOLD_TEMPLATE, "template_invalid", hold_seconds=3600.0, alert=True), 132015
    ),
    **_codes(Ruling(Kind.PERMANENT, "template_invalid", deactivates=True, alert=True), 132016),
    **_codes(_retry("rate_limit"), 132069),
}

_TWILIO: Final = {
    **_codes(_hold("auth"), 20003),
    **_codes(_retry("rate_limit", *SECONDS), 20429),
    **_codes(_never("recipient_invalid"), 21211, 21612, 21614, 30005, 30006),
    **_codes(_never("permission"), 21408),
    # Nobody can be reached by this sender any more, whatever for.
    **_codes(Ruling(Kind.PERMANENT, "recipient_opted_out", revokes=Purpose.TRANSACTIONAL), 21610),
    **_codes(_never("invalid_request"), 21617),
    **_codes(_retry("upstream"), 30001),
    **_codes(_hold("account_blocked"), 30002),
    **_codes(_retry("recipient_unreachable", at_most=3), 30003),
    **_codes(_never("recipient_unreachable"), 30004),
    **_codes(Ruling(Kind.PERMANENT, "recipient_unreachable", alert=True), 30007),
    **_codes(_retry("unknown", at_most=2), 30008),
}

_SMTP: Final = {
    **_codes(_hold("auth"), 530, 534, 535, 538),
    "5.1.1": _never("recipient_invalid"),
    "5.1.2": _never("recipient_invalid"),
    "5.1.3": _never("recipient_invalid"),
    "5.1.10": _never("recipient_invalid"),
    "5.2.1": _never("recipient_unreachable"),
    "5.2.2": _retry("recipient_unreachable", at_most=3),
    "5.7.1": Ruling(Kind.PERMANENT, "permission", alert=True),
}

_OURS: Final = {
    "NETWORK": _retry("network"),
    "TIMEOUT": _retry("timeout"),
    "UNKNOWN_OUTCOME": _retry("timeout", 0.0),
    "BAD_ANSWER": _retry("upstream"),
    "HTTP_401": _hold("auth"),
    "HTTP_403": _hold("permission"),
    "HTTP_404": _never("not_found"),
    "HTTP_408": _retry("timeout"),
    "HTTP_429": _retry("rate_limit", *SECONDS),
    "WINDOW_CLOSED": Ruling(Kind.CONVERT, "window_closed"),
    "TEMPLATE_INACTIVE": _never("template_invalid"),
    "TEMPLATE_VARIABLES": _never("template_invalid"),
    "NO_SENDER": _never("invalid_request"),
}

TABLE: Final = MappingProxyType(
    {Provider.WHATSAPP: _WHATSAPP, Provider.TWILIO: _TWILIO, Provider.SMTP: _SMTP}
)

_UNKNOWN: Final = replace(_retry("unknown"), alert=True)
_HTTP = re.compile(r"HTTP_([45])\d\d")
_REPLY = re.compile(r"([45])(?:\d\d|\.\d{1,3}\.\d{1,3})")


def ruling_of(provider: Provider, code: str) -> Ruling:
    """What the table says of a code; for one that it does not list, by its class."""
    found = TABLE[provider].get(code) or _OURS.get(code)
    if found is not None:
        return found
    if status := _HTTP.fullmatch(code):
        return _never("invalid_request") if status[1] == "4" else _retry("upstream")
    if provider is Provider.SMTP and (reply := _REPLY.fullmatch(code)):
        # 4xx is for now, 5xx for good (RFC 5321).
        return _retry("upstream") if reply[1] == "4" else _never("recipient_unreachable")
    return _UNKNOWN
