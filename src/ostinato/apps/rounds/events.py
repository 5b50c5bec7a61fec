"""Declares the events that rounds emits, in the order of each group (key `group-<id>`).

An application that notifies members subscribes to `rounds.opened`: it names the members who want
to be notified, and no others. It is emitted once for each round, when members can take part.
"""

from datetime import date, datetime

from pydantic import BaseModel, Field

from ostinato.apps.rounds import APP


class RoundOpened(BaseModel):
    """A round is open, and has its prompt."""

    round_id: int
    group_id: int
    group: str = Field(description="The group's name.")
    local_date: date
    zone: str
    open_at: datetime
    close_at: datetime
    type: str
    title: str
    body: str
    recipients: list[str] = Field(description="The members who want to be notified; may be empty.")


class RoundClosed(BaseModel):
    """A round is closed: from now on it can only be read."""

    round_id: int
    group_id: int
    local_date: date


OPENED = APP.event("rounds.opened", version=1, payload=RoundOpened)
CLOSED = APP.event("rounds.closed", version=1, payload=RoundClosed)
