"""The model of the outbox: what was committed, and in which order it was told."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.simulation.coordination.scene import Scene
from tests.simulation.steps import Broken, Row

Lane = tuple[str, str] | None  # tenant, key


@dataclass(slots=True)
class Event:
    """An event that was committed."""

    id: int
    type: str
    tenant: str
    key: str | None
    position: int = 0

    @property
    def lane(self) -> Lane:
        return None if self.key is None else (self.tenant, self.key)


@dataclass(slots=True)
class OutboxModel:
    """All of it."""

    scene: Scene
    events: dict[int, Event] = field(default_factory=dict)
    log: list[Event] = field(default_factory=list)
    lanes: dict[Lane, list[int]] = field(default_factory=lambda: defaultdict(list))
    """The events of each lane that have no position yet, in the order of their commits."""

    # The log.

    def emitted(self, events: Iterable[Event]) -> None:
        for event in events:
            self.events[event.id] = event
            if event.lane is not None:
                self.lanes[event.lane].append(event.id)

    def sequenced(self, rows: Iterable[Row]) -> None:
        """The log goes on with these (position, event)."""
        for position, event_id in rows:
            if position != len(self.log) + 1:
                details = f"{position} after {len(self.log)}"
                raise Broken("positions are unique and have no gaps", details)
            event = self.events.get(event_id)
            if event is None or event.position:
                raise Broken("only what is committed is told, and once", f"{event_id}: {event}")
            if event.lane is not None:
                first = self.lanes[event.lane].pop(0)
                if first != event_id:
                    details = f"{event} before {self.events[first]}"
                    raise Broken("events of a key come in the order of their commits", details)
            event.position = position
            self.log.append(event)

    # The whole.

    def check_end(self) -> None:
        """Everything was told."""
        for event in self.events.values():
            if not event.position:
                raise Broken("no event is lost", f"{event} was never told")
