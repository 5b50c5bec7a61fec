"""Defines the values of rounds: what rules decide on, and what services return."""

from dataclasses import dataclass
from datetime import date, datetime, time
from enum import StrEnum


class Status(StrEnum):
    """Where a round is."""

    SCHEDULED = "scheduled"
    OPEN = "open"
    CLOSED = "closed"


class JobName(StrEnum):
    """The three jobs."""

    CREATE = "create"
    OPEN = "open"
    CLOSE = "close"


class PromptType(StrEnum):
    """What a prompt asks for."""

    QUESTION = "question"
    VOTE = "vote"
    CHALLENGE = "challenge"


@dataclass(frozen=True, slots=True)
class Timing:
    """When the rounds of a group change over: a wall-clock time in a zone."""

    drop_time: time
    zone: str


@dataclass(frozen=True, slots=True)
class Choice:
    """What a prompt is chosen from."""

    active: tuple[int, ...]
    """The active prompts of the group."""
    recent: tuple[int, ...]
    """Those of its last rounds, which should not come again: the one of the round before comes first."""


@dataclass(frozen=True, slots=True)
class CreationDay:
    """A local day whose rounds are created now, and for whom."""

    zone: str
    local_date: date
    known_before: datetime
    """Groups that were made before this instant get a round of this day."""
    wall: datetime
    """And only if their drop time on it is after this time of the wall clock."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of a round that is due."""

    missed: bool
    """Its whole time has passed: opened and closed at once, and nobody is notified."""
    prompt_id: int | None


@dataclass(frozen=True, slots=True)
class Opening:
    """An opening to come."""

    local_date: date
    open_at: datetime
    close_at: datetime
    local: datetime
    """The wall clock at `open_at`, with its offset."""
    hours: float
    """How long the round lasts."""
    note: str
    """What is unusual about the day, if something is."""
