"""Decides for Coop Habitat which event makes which message, when, and whether it still matters."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ostinato.apps.outbound.surface import Message, Row

CONTRIBUTION: Final = "COOP_CONTRIBUTION"
OPEN: Final = ("PENDING", "LATE")

EVENTS: Final = {
    "EVT_COOP_CONTRIBUTION_DUE_CREATED": "EVT_COOP_CALL_FOR_FUNDS",
    "EVT_COOP_CONTRIBUTION_OVERDUE": "EVT_COOP_PAYMENT_LATE",
    "EVT_COOP_DOCUMENT_PUBLISHED": "EVT_COOP_PV_PUBLISHED",
    "EVT_COOP_ALLOCATION_PROPOSED": "EVT_COOP_ALLOCATION_PROPOSED",
    "EVT_COOP_ALLOCATION_VALIDATED": "EVT_COOP_ALLOCATION_ASSIGNED",
    "EVT_COOP_PROJECT_MILESTONE_UPDATED": "EVT_COOP_PROJECT_MILESTONE",
    "EVT_COOP_STATUS_CHANGED": "EVT_COOP_STATUS_CHANGE",
}
"""The events of the outbox, and the template of the message that each becomes."""


@dataclass(frozen=True, slots=True)
class Step:
    """A message about a contribution, so many days from its due date."""

    name: str
    days: int
    template_code: str

    @property
    def reminds(self) -> bool:
        """Whether it makes no sense any more once the date is past."""
        return self.days < 0


CALL: Final = Step("CALL", 0, "EVT_COOP_CALL_FOR_FUNDS")
LONGEST_VALUE: Final = 200
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BREAKS: Final = re.compile(r"[ \n\r\t\v\f\x85\u2028\u2029]+")
_NAMED: Final = re.compile(r"(?:REMINDER_J-|LATE_J\+)([1-9][0-9]{0,2})")


def step_of(days: int) -> Step:
    """Return the message so many days from the due date: a reminder before it, a follow-up after it."""
    if days < 0:
        return Step(f"REMINDER_J{days}", days, "EVT_COOP_PAYMENT_REMINDER")
    return Step(f"LATE_J+{days}", days, "EVT_COOP_PAYMENT_LATE")


def step_named(name: str) -> Step | None:
    """Return the step of a timer; None: there is none of that name."""
    found = _NAMED.fullmatch(name)
    return None if found is None else step_of(int(found[1]) * (-1 if name.startswith("R") else 1))


def first_late(days: Iterable[int]) -> Step | None:
    """Return the step with which a contribution is overdue; None: the organisation follows up on none."""
    late = sorted(each for each in days if each > 0)
    return step_of(late[0]) if late else None


def local_time(step: Step, due: date, at: time) -> datetime:
    """Return when a step is due, on the wall clock: days of the calendar, then the hour."""
    return datetime.combine(due + timedelta(days=step.days), at)


def logical_id(step: str, due: date, plan_version: int) -> str:
    """Return what a message about a contribution is about: another date or version is another message."""
    return f"{step}:{due.isoformat()}:v{plan_version}"


def irrelevance(message: "Message", found: "Row") -> str | None:
    """Say why a message about Coop Habitat is not to be sent any more; None: it is."""
    if message.entity_type is None or not message.entity_type.startswith("COOP_"):
        return None
    if message.entity_type == CONTRIBUTION and not _is_open(message, found["contribution"]):
        return "NO_LONGER_RELEVANT"
    member = found["member"]
    if message.recipient_ref is not None and (member is None or member["status"] != "ACTIVE"):
        return "MEMBER_NOT_ACTIVE"
    return None


def _is_open(message: "Message", contribution: Mapping[str, Any] | None) -> bool:
    if contribution is None:
        return False
    meta = message.payload.get("meta") or {}
    return (
        contribution["status"] in OPEN
        and contribution["paid_date"] is None
        and contribution["plan_version"] == meta.get("plan_version")
        and str(contribution["due_date"]) == meta.get("due_date")
    )


def fitted(value: str) -> str:
    """Return a value as a template takes it, on one line and cut: a long title keeps nobody from being told."""
    line = _BREAKS.sub(" ", value).strip()
    return line if len(line) <= LONGEST_VALUE else f"{line[: LONGEST_VALUE - 1]}…"


def amount_text(amount: Decimal, currency: str, language: str = "fr") -> str:
    """Format an amount as its readers know it, with spaces that do not break: 1 250,00 EUR, or EUR 1,250.00."""
    whole = f"{amount:,.2f}"
    if _is_english(language):
        return f"{currency}\u00a0{whole}"
    french = whole.replace(",", "\u202f").replace(".", ",")
    return f"{french} {currency}"


def date_text(day: date, language: str = "fr") -> str:
    """Format a date as its readers know it: 15/06/2026, or 15 Jun 2026, which reads the same everywhere."""
    if _is_english(language):
        return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
    return day.strftime("%d/%m/%Y")


def _is_english(language: str) -> bool:
    return language.partition("_")[0] == "en"
