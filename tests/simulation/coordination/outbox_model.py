"""The model of the outbox: what was committed, in which order it was told, and to whom."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.simulation.coordination.scene import MICROSECOND, Scene, same
from tests.simulation.steps import Answer, Broken, Row

REPLAY_ATTEMPTS = 1_000_000  # by so many attempts grow with a replay

Lane = tuple[str, str] | None  # tenant, key
Fate = tuple[str, float | None]  # outcome, delay


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
class Delivery:
    """What became of an event for a subscription."""

    state: str = "new"
    """new, waiting, held, finished (by the handler, and not cleared yet), buried, done."""
    attempt: int = 0
    failures: int = 0
    crashes: int = 0
    worker: str = ""
    serial: int = 0
    """Which hand-out it is, of all: no engine's number, so that it cannot repeat."""
    held_at: float = 0.0
    due: float = float("-inf")
    effects: int = 0
    again: bool = False
    """A replay came while it was held: then it is delivered once more, in its turn."""
    skipped: bool = False
    """It was buried, and others of its lane went on: for them it is not in order any more."""
    highest: int = 0
    """The highest attempt that anybody ever got."""

    def renew(self) -> None:
        """As if it had never been delivered."""
        self.state, self.due = "new", float("-inf")
        self.again = self.skipped = False
        self.attempt = self.failures = self.crashes = self.effects = 0


@dataclass(slots=True, eq=False)
class Subscription:
    """A subscription, from the position on at which it was made."""

    name: str
    types: tuple[str, ...] | None
    tenant: str | None
    on_poison: str
    start: int = 0
    paused: bool = False
    deliveries: dict[int, Delivery] = field(default_factory=lambda: defaultdict(Delivery))

    def wants(self, event: Event) -> bool:
        if event.position <= self.start:
            return False
        typed = self.types is None or event.type in self.types
        return typed and self.tenant in (None, event.tenant)


@dataclass(slots=True, eq=False)
class Ticket:
    """A hand-out: its number is known when it is committed."""

    worker: str
    serial: int = 0


class Held(NamedTuple):
    """A delivery in somebody's hands."""

    sub: Subscription
    position: int
    attempt: int
    ticket: Ticket

    @property
    def delivery(self) -> Delivery:
        return self.sub.deliveries[self.position]

    def is_valid(self) -> bool:
        held = self.delivery.state in ("held", "finished")
        return held and self.delivery.serial == self.ticket.serial

    def __str__(self) -> str:
        return f"{self.sub.name} {self.position}, hand-out {self.ticket.serial}"


@dataclass(slots=True)
class OutboxModel:
    """All of it."""

    scene: Scene
    events: dict[int, Event] = field(default_factory=dict)
    log: list[Event] = field(default_factory=list)
    lanes: dict[Lane, list[int]] = field(default_factory=lambda: defaultdict(list))
    """The events of each lane that have no position yet, in the order of their commits."""
    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    effects: list[Row] = field(default_factory=list)
    serials: int = 0
    used: list[Held] = field(default_factory=list)
    """All that was ever handed out."""

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

    # Deliveries.

    def check_taken(self, sub: Subscription, rows: list[Row], at: float) -> None:
        """Somebody is about to get these (position, attempt, failures, crashes, event, …)."""
        batch = {row[0] for row in rows}
        if sub.paused and rows:
            raise Broken("a paused subscription delivers nothing", sub.name)
        for position, attempt, failures, crashes, event_id, *_ in rows:
            event = self.log[position - 1] if position <= len(self.log) else None
            if event is None or event.id != event_id or not sub.wants(event):
                raise Broken("a subscription gets what it asked for", f"{sub.name}: {event}")
            delivery = sub.deliveries[position]
            details = f"{sub.name} got {position} as {(attempt, failures, crashes)}: {delivery}"
            if delivery.state not in ("new", "waiting"):
                raise Broken("an event is in one pair of hands, until it is settled", details)
            again = delivery.state == "new" and attempt % REPLAY_ATTEMPTS == 1
            counted = again or attempt == delivery.attempt + 1
            if not counted or (failures, crashes) != (delivery.failures, delivery.crashes):
                raise Broken("deliveries are counted right", details)
            if attempt <= delivery.highest:
                raise Broken("every hand-out has a new attempt", details)
            if delivery.due > at + MICROSECOND:
                raise Broken("nothing is delivered again before its time", details)
            self._check_lane(sub, event, batch)

    def _check_lane(self, sub: Subscription, event: Event, batch: set[int]) -> None:
        if event.lane is None:
            return
        for other in self.log[: event.position - 1]:
            if other.lane != event.lane or not sub.wants(other) or other.position in batch:
                continue
            delivery = sub.deliveries[other.position]
            state = delivery.state
            skipped = delivery.skipped or (state == "buried" and sub.on_poison == "skip")
            if skipped or (state in ("done", "finished") and not delivery.again):
                continue
            details = f"{sub.name}: {event} was delivered before {other}, which is {state}"
            raise Broken("events of a key are delivered in order", details)

    def taken(self, sub: Subscription, ticket: Ticket, rows: list[Row], at: float) -> None:
        """They are held now."""
        self.serials += 1
        ticket.serial = self.serials
        for position, attempt, *_ in rows:
            delivery = sub.deliveries[position]
            delivery.state, delivery.attempt, delivery.worker = "held", attempt, ticket.worker
            delivery.held_at, delivery.serial = at, self.serials
            delivery.highest = attempt
            self.used.append(Held(sub, position, attempt, ticket))

    def mine(self, held: Held, what: str) -> Delivery:
        if not held.is_valid():
            raise Broken("no stale delivery is settled", f"{what} {held}: {held.delivery}")
        return held.delivery

    def check_refused(self, held: Held) -> None:
        if held.is_valid():
            details = f"{held}: {held.delivery}"
            raise Broken("the holder of a delivery is never refused", details)

    def settled(self, held: Held, fate: Fate, at: float, cursor: int) -> None:
        outcome, delay = fate
        delivery = self.mine(held, outcome)
        if delivery.again:
            # Behind the cursor of the replay it waits for its turn; else it is read once more.
            attempt, waits = delivery.attempt, held.position <= cursor
            delivery.renew()
            if waits:
                delivery.state, delivery.attempt = "waiting", attempt
            return
        if delivery.state == "finished" or outcome == "done":
            delivery.state = "done"
            return
        delivery.failures += outcome == "failed"
        delivery.due = at + (delay or 0.0)
        delivery.state = "buried" if outcome == "failed" and delay is None else "waiting"

    def finished(self, held: Held) -> None:
        delivery = self.mine(held, "finished")
        delivery.effects += 1
        if delivery.state == "finished" or delivery.effects > 1:
            raise Broken("a delivery's own writes take place once", f"{held}: {delivery}")
        delivery.state = "finished"
        self.effects.append((held.sub.name, held.position))

    def given_back(
        self, may: Callable[[Delivery], bool], rows: list[Row], at: float, most: int | None = None
    ) -> None:
        """Deliveries may have been taken back from who `may` lose them; `rows` tell which."""
        found = {(row[0], row[1]): row[2:] for row in rows}
        for sub in self.subscriptions.values():
            blamed: set[Lane] = set()
            for position, delivery in sorted(sub.deliveries.items()):
                if delivery.state not in ("held", "finished") or not may(delivery):
                    continue
                row = found.get((sub.name, position), ("gone", 0, 0, 0))
                details = f"{sub.name} {position} is now {row}: {delivery}"
                state, _, _, crashes = row
                if state in ("held", "done"):
                    continue
                if state == "gone" and (delivery.again or delivery.state == "finished"):
                    blamed |= {self.log[position - 1].lane} if delivery.state == "held" else set()
                    if delivery.again:
                        delivery.renew()
                    else:
                        delivery.state = "done"
                    continue
                if delivery.state == "finished" and not delivery.again:
                    raise Broken("what was finished is not delivered again", details)
                if delivery.state == "finished":
                    _check_blame(delivery, row, None, details)
                    delivery.state, delivery.again, delivery.effects = "waiting", False, 0
                    continue
                delivery.again = False
                lane = self.log[position - 1].lane
                first = lane is None or lane not in blamed
                blamed.add(lane)
                _check_blame(delivery, row, most if first else None, details)
                delivery.state, delivery.crashes = state, crashes
                delivery.due = min(at, delivery.due)

    # Operators.

    def buried(self, sub: Subscription) -> list[int]:
        return sorted(p for p, found in sub.deliveries.items() if found.state == "buried")

    def redelivered(self, sub: Subscription, positions: Iterable[int], answer: Answer) -> None:
        for position in positions:
            delivery = sub.deliveries[position]
            delivery.state, delivery.failures, delivery.crashes = "waiting", 0, 0
            delivery.due, delivery.skipped = answer.done_at, sub.on_poison == "skip"

    def replayed(self, sub: Subscription, start: int) -> None:
        """What was settled from a position on comes again."""
        sub.start = min(sub.start, start - 1)
        for position, delivery in list(sub.deliveries.items()):
            if position >= start and delivery.state in ("held", "finished"):
                delivery.again = True
            elif position >= start:
                delivery.renew()

    # The whole.

    def compare(self, deliveries: list[Row], cursors: list[Row], effects: list[Row]) -> None:
        same("a delivery's own writes take place once", effects, self.effects)
        found = {(row[0], row[1]): row[2:] for row in deliveries}
        for name, cursor in cursors:
            sub = self.subscriptions[name]
            for event in self.log:
                row = found.pop((name, event.position), None)
                delivery = sub.deliveries.get(event.position, Delivery())
                details = f"{name} {event} is {row}, but {delivery}"
                if row is not None and not sub.wants(event):
                    raise Broken("a subscription gets what it asked for", details)
                if sub.wants(event) and not _fits(delivery, row, read=event.position <= cursor):
                    raise Broken("every event waits until it is settled", details)
        if found:
            raise Broken("only what is told is delivered", str(found))

    def check_end(self) -> None:
        """Everything was told and delivered."""
        for event in self.events.values():
            if not event.position:
                raise Broken("no event is lost", f"{event} was never told")
            for sub in self.subscriptions.values():
                state = sub.deliveries[event.position].state
                if sub.wants(event) and state not in ("done", "buried"):
                    raise Broken("no event is lost", f"{sub.name}: {event} is {state}")


def _check_blame(delivery: Delivery, row: Row, most: int | None, details: str) -> None:
    """A crash counts for the first of a lane, and for nobody when nobody died."""
    state, _, _, crashes = row
    if crashes - delivery.crashes != (most is not None):
        raise Broken("a crash is blamed on the event that was begun", details)
    buried = most is not None and crashes >= most
    if state != ("buried" if buried else "waiting"):
        raise Broken("what dead workers held is delivered again, or buried", details)


def _fits(delivery: Delivery, row: Row | None, *, read: bool) -> bool:
    """Whether a row of the table is what it must be."""
    if delivery.state == "done":
        return row is None
    if delivery.state == "new":
        return not read if row is None else row[0] == "waiting"
    state = "done" if delivery.state == "finished" else delivery.state
    return row == (state, delivery.attempt, delivery.failures, delivery.crashes)
