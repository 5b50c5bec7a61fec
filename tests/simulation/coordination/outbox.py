"""The outbox: writers that sleep before they commit, or roll back; relays; operators.

Every event has a number of the model's own in its payload. Keys are few, transactions overlap, and
whoever stamps may freeze with the stamps in its hands.
"""

import json
from collections.abc import Generator
from typing import Any

from tests.simulation.calls import poll_call
from tests.simulation.coordination.outbox_model import (
    Delivery,
    Event,
    Held,
    OutboxModel,
    Subscription,
    Ticket,
)
from tests.simulation.coordination.relays import MAX_CRASHES, Relay, settle_call, take_call
from tests.simulation.coordination.scene import (
    Concept,
    Scene,
    Steps,
    seconds_of,
    transaction,
    understand,
)
from tests.simulation.model import WorkerModel
from tests.simulation.stage import Crew
from tests.simulation.steps import Answer, Broken, Call, Failed, Process, Sleep, Step

OCCURRED = "2026-06-01T12:00:00Z"
EXPIRY = 30.0
QUIET_SECONDS = 150.0


class Outbox(Concept):
    """Who plays with events."""

    name = "outbox"
    never_wait = ("sequence_events",)

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        rng = self.rng
        self.model = OutboxModel(scene)
        self.writers = rng.randint(2, 5)
        self.relays = rng.randint(1, 3)
        self.types = ("a", "b")[: rng.randint(1, 2)]
        self.keys: tuple[str | None, ...] = rng.choice((("x",), ("x", "y"), ("x", None), (None,)))
        self.slow = rng.choice((0.0, 2.0, 30.0))
        """How long a writer sleeps before it commits, in seconds."""
        self.most = rng.choice((1, 3, 1000))
        self.fails = rng.choice((0.0, 0.2, 0.6))
        self.operators = rng.random() < 0.4
        self.backlog = rng.choice((5, 20))

    def start(self) -> None:
        self._subscribe()
        for _ in range(self.writers):
            self.scene.crew("e", self._write)
        for _ in range(self.relays):
            self._new_relay(self.pause(3))
        if self.operators:
            self.scene.spawn("replay", lambda _: self._operate())

    def _new_relay(self, after: float) -> Crew:
        number = len(self.scene.labels) + len(self.scene.crews) + 1
        crew = Crew(f"r{number}", again=self._new_relay)
        self.scene.crews.append(crew)
        self.scene.spawn(f"{crew.label}.hands", Relay(self, crew).work, crew=crew, after=after)
        return crew

    def _subscribe(self) -> None:
        filters = [(None, None), (("a",), None), (None, "t1")]
        for number in range(self.rng.randint(1, 2)):
            types, tenant = self.rng.choice(filters)
            poison = self.rng.choice(("skip", "skip", "block"))
            sub = Subscription(f"s{number + 1}", types, tenant, poison)
            self.model.subscriptions[sub.name] = sub
            params: dict[str, object] = {
                "name": sub.name,
                "types": None if types is None else list(types),
                "tenant_id": tenant,
                "on_poison": poison,
                "start": "beginning",
            }
            self.scene.perform(Call("subscribe", params))

    def look(self) -> None:
        arena = self.scene.arena
        self.saw_log()
        count = arena.look("coordination.log_size")[0]
        if count != (len(self.model.log), len(self.model.log)):
            raise Broken("positions are unique and have no gaps", str(count))
        self.model.compare(
            arena.look("coordination.deliveries"),
            arena.look("coordination.cursors"),
            arena.look("coordination.delivery_effects"),
        )

    def saw_log(self) -> None:
        self.model.sequenced(self.scene.arena.look("coordination.log", len(self.model.log)))

    def some_subscription(self) -> Subscription:
        return self.rng.choice(list(self.model.subscriptions.values()))

    # Writers.

    def _write(self, _: Crew) -> Process:
        while True:
            yield Sleep(self.pause(2))
            if len(self.model.events) - len(self.model.log) > self.backlog:
                continue
            try:
                if self.rng.random() < 0.25:
                    yield self._emit_many() if self.rng.random() < 0.5 else self._emit()
                else:
                    keep = self.rng.random() < 0.85
                    yield from transaction(self._tell(), keep=keep)
            except Failed as error:
                understand(error)

    def _tell(self) -> Steps:
        for _ in range(self.rng.randint(1, 3)):
            yield self._emit_many() if self.rng.random() < 0.2 else self._emit()
            yield Sleep(self.pause(self.slow))

    def _envelope(self) -> tuple[str, str, str | None]:
        rng = self.rng
        return rng.choice(self.types), rng.choice(self.scene.config.tenants), rng.choice(self.keys)

    def _emit(self) -> Call:
        type_, tenant, key = self._envelope()

        def commit(answer: Answer) -> None:
            self.model.emitted([Event(answer.value, type_, tenant, key)])

        params: dict[str, object] = {
            "type": type_,
            "ordering_key": key,
            "tenant_id": tenant,
            "correlation_id": "c",
            "occurred_at": OCCURRED,
            "producer": "p",
        }
        return Call("emit_event", params, commit=commit)

    def _emit_many(self) -> Call:
        told = [self._envelope() for _ in range(self.rng.randint(1, 4))]

        def commit(answer: Answer) -> None:
            ids = [row[0] for row in answer.rows]
            self.model.emitted(Event(i, *each) for i, each in zip(ids, told, strict=True))

        params: dict[str, object] = {
            "types": [each[0] for each in told],
            "payloads": [json.dumps({}) for _ in told],
            "tenant_ids": [each[1] for each in told],
            "ordering_keys": [each[2] for each in told],
            "correlation_ids": ["c"],
            "occurred_ats": [OCCURRED],
            "producers": ["p"],
        }
        return Call("emit_events", params, commit=commit)

    # The sequencer.

    def sequence(self) -> Steps:
        if self.rng.random() < 0.4:
            keep = self.rng.random() < 0.8
            yield from transaction(self._sequence_slowly(), keep=keep)
        else:
            yield self._sequence_call()

    def _sequence_slowly(self) -> Steps:
        if self.rng.random() < 0.2:
            yield self._emit()  # it has a number of its own before it looks
        yield self._sequence_call()
        yield Sleep(self.pause(self.rng.choice((1, 10))))

    def _sequence_call(self) -> Call:
        def commit(_: Answer) -> None:
            self.saw_log()

        return Call("sequence_events", {"most": self.most}, commit=commit)

    # Operators.

    def _operate(self) -> Process:
        while True:
            yield Sleep(self.pause(6))
            sub = self.some_subscription()
            try:
                match self.rng.choice(("redeliver", "discard", "replay", "pause", "resume")):
                    case "redeliver":
                        yield self._redeliver(sub, self.rng.choice((1, 1000)))
                    case "discard":
                        yield self._discard(sub)
                    case "replay":
                        yield self._replay(sub)
                    case "pause":
                        yield self._pause(sub, paused=True)
                    case _:
                        yield self._pause(sub, paused=False)
            except Failed as error:
                understand(error)

    def _redeliver(self, sub: Subscription, most: int) -> Call:
        def commit(answer: Answer) -> None:
            chosen = self.model.buried(sub)[:most]
            if answer.value != len(chosen):
                details = f"{sub.name}: {answer.value}, not {chosen}"
                raise Broken("what is buried can be delivered again", details)
            self.model.redelivered(sub, chosen, answer)

        params: dict[str, object] = {"subscription": sub.name, "most": most}
        return Call("redeliver", params, commit=commit)

    def _discard(self, sub: Subscription) -> Call:
        chosen = self.model.buried(sub)[:1]

        def commit(answer: Answer) -> None:
            left = [p for p in chosen if sub.deliveries[p].state == "buried"]
            if answer.value != len(left):
                raise Broken("what is buried can be given up", f"{answer.value}, not {left}")
            for position in left:
                sub.deliveries[position].state = "done"

        params: dict[str, object] = {"subscription": sub.name, "positions": chosen}
        return Call("discard", params, commit=commit)

    def _replay(self, sub: Subscription) -> Call:
        start = self.rng.randint(1, max(1, len(self.model.log)))

        def commit(_: Answer) -> None:
            self.model.replayed(sub, start)

        params: dict[str, object] = {"subscription": sub.name, "from_position": start}
        return Call("replay", params, commit=commit)

    def _pause(self, sub: Subscription, *, paused: bool) -> Call:
        def commit(_: Answer) -> None:
            sub.paused = paused

        verb = "pause_subscription" if paused else "resume_subscription"
        return Call(verb, {"name": sub.name}, commit=commit)

    # The end.

    def drain(self) -> Process:
        self.most = 1000
        worker_id = yield from self._register()
        for sub in self.model.subscriptions.values():
            yield self._pause(sub, paused=False)
        pause = round(0.4 * min(*self.scene.config.expiries, 15.0), 3)
        quiet, before = 0.0, ""
        while quiet < QUIET_SECONDS:
            yield Call("heartbeat_worker", {"worker_id": worker_id})
            self.scene.model.workers[worker_id].beat_at = self.scene.clock
            yield poll_call(self.scene, worker_id)
            yield self._sequence_call()
            busy = yield from self._deliver(worker_id)
            if not busy and all(event.position for event in self.model.events.values()):
                break
            now = str([len(self.model.log), list(self.model.subscriptions.values())])
            quiet = quiet if now == before else 0.0
            yield Sleep(pause)
            quiet, before = quiet + pause, now
            due = self.scene.arena.look("coordination.next_delivery")[0][0]
            if due is not None and seconds_of(due) > self.scene.clock:  # perhaps it went back
                yield Sleep(round(seconds_of(due) - self.scene.clock + 1, 3))
        self.model.check_end()

    def _register(self) -> Generator[Step, Any, str]:
        params: dict[str, object] = {
            "name": "relay",
            "queues": [],
            "kinds": [],
            "expiry_seconds": EXPIRY,
        }
        answer = yield Call("register_worker", params)
        worker_id = str(answer.value)
        self.scene.labels[worker_id] = "relay"
        self.scene.model.workers[worker_id] = WorkerModel("relay", EXPIRY, self.scene.clock)
        return worker_id

    def _deliver(self, worker_id: str) -> Generator[Step, Any, bool]:
        """One round of a healthy relay; whether something is left to do."""

        def is_lost(delivery: Delivery) -> bool:
            return not self.scene.model.workers[delivery.worker].registered

        def given_back(answer: Answer) -> None:
            rows = self.scene.arena.look("coordination.deliveries")
            self.model.given_back(is_lost, rows, answer.done_at, MAX_CRASHES)

        yield Call("free_deliveries", {"max_crashes": MAX_CRASHES}, commit=given_back)
        busy = False
        for sub in self.model.subscriptions.values():
            if sub.on_poison == "block":
                yield self._redeliver(sub, 1000)
            ticket = Ticket(worker_id)
            answer = yield take_call(self.model, sub, ticket, 50)
            held = [Held(sub, row[0], row[1], ticket) for row in answer.rows]
            if held:
                yield settle_call(self, dict.fromkeys(held, ("done", None)))
            left = {d.state for d in sub.deliveries.values()} - {"done", "buried", "new"}
            new = any(
                sub.wants(e) and sub.deliveries[e.position].state == "new" for e in self.model.log
            )
            busy = busy or bool(left) or new
        return busy
