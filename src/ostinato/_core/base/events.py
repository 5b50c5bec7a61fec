"""Events as values: the type of an event, the event itself, and its form as a CloudEvent.

Nothing here touches a database: emitting events is `_core/engine/outbox.py`, declaring types and
handlers is `App.event` and `App.on`.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

from ostinato._core.base.errors import InvalidInput

P = TypeVar("P")

OnPoison = Literal["skip", "block"]
"""Whether the events behind a buried one with the same key go on ("skip") or wait ("block")."""
Start = Literal["now", "beginning"] | int | datetime
"""Where a new subscription begins: at a word, after a position, or at a time."""

LONGEST_NAME = 200
URI_MARKS = "/:?#[]@!$&'()*+,;=-._~%"


@dataclass(frozen=True, slots=True)
class EventType:
    """The type of an event, such as `invoice.paid`; its payload has one shape for each version."""

    name: str
    version: int = 1
    payload: type[Any] | None = None
    """The type of the payload: a model, a dataclass, a TypedDict. None means any JSON object."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.name) <= LONGEST_NAME:
            raise InvalidInput(
                f"a type of event cannot be named {self.name!r}",
                hint=f"Use 1 to {LONGEST_NAME} characters, such as invoice.paid.",
            )
        if self.version < 1:
            raise InvalidInput(f"event {self.name} cannot have version {self.version}", hint="Start with 1.")


@dataclass(frozen=True, slots=True)
class Event(Generic[P]):
    """One event, as a handler gets it. `id` is the same at every delivery."""

    id: int
    position: int
    """Its place in the order of all events, without gaps."""
    type: str
    version: int
    tenant_id: str
    correlation_id: str
    occurred_at: datetime
    producer: str
    ordering_key: str | None
    payload: P


def to_cloudevent(event: Event[Any]) -> dict[str, Any]:
    """Return the event in the JSON format of CloudEvents 1.0.

    The names of extensions are lower-case letters only, as the specification asks. `sequence`
    orders the events, as text too.
    """
    written: dict[str, Any] = {
        "specversion": "1.0",
        "id": str(event.id),
        "source": quote(event.producer, safe=URI_MARKS),
        "type": event.type,
        "time": event.occurred_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        "dataversion": str(event.version),
        "tenantid": event.tenant_id,
        "correlationid": event.correlation_id,
        "sequence": f"{event.position:020}",
        "data": event.payload,
    }
    if event.ordering_key is not None:
        written["subject"] = event.ordering_key
    return written
