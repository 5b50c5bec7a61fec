"""The outbox: writers that sleep before they commit, or roll back; sequencers.

Keys are few, transactions overlap, and whoever stamps may freeze with the stamps in its hands. What
becomes of the events is in `tests/sql/test_lanes_at_random.py`.
"""

import json

from tests.simulation.coordination.outbox_model import Event, OutboxModel
from tests.simulation.coordination.scene import Concept, Scene, Steps, transaction, understand
from tests.simulation.stage import Crew
from tests.simulation.steps import Answer, Broken, Call, Failed, Process, Sleep

OCCURRED = "2026-06-01T12:00:00Z"
ROUNDS = 100


class Outbox(Concept):
    """Who plays with events."""

    name = "outbox"
    never_wait = ("sequence_events",)

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        rng = self.rng
        self.model = OutboxModel(scene)
        self.writers = rng.randint(2, 5)
        self.sequencers = rng.randint(1, 3)
        self.types = ("a", "b")[: rng.randint(1, 2)]
        self.keys: tuple[str | None, ...] = rng.choice((("x",), ("x", "y"), ("x", None), (None,)))
        self.slow = rng.choice((0.0, 2.0, 30.0))
        """How long a writer sleeps before it commits, in seconds."""
        self.most = rng.choice((1, 3, 1000))
        self.backlog = rng.choice((5, 20))

    def start(self) -> None:
        for _ in range(self.writers):
            self.scene.crew("e", self._write)
        for _ in range(self.sequencers):
            self.scene.crew("r", self._sequence)

    def look(self) -> None:
        arena = self.scene.arena
        self.saw_log()
        count = arena.look("coordination.log_size")[0]
        if count != (len(self.model.log), len(self.model.log)):
            raise Broken("positions are unique and have no gaps", str(count))

    def saw_log(self) -> None:
        self.model.sequenced(self.scene.arena.look("coordination.log", len(self.model.log)))

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

    def _sequence(self, _: Crew) -> Process:
        while True:
            yield Sleep(self.pause(1))
            try:
                if self.rng.random() < 0.4:
                    keep = self.rng.random() < 0.8
                    yield from transaction(self._sequence_slowly(), keep=keep)
                else:
                    yield self._sequence_call()
            except Failed as error:
                understand(error)

    def _sequence_slowly(self) -> Steps:
        if self.rng.random() < 0.2:
            yield self._emit()  # it has a number of its own before it looks
        yield self._sequence_call()
        yield Sleep(self.pause(self.rng.choice((1, 10))))

    def _sequence_call(self) -> Call:
        def commit(_: Answer) -> None:
            self.saw_log()

        return Call("sequence_events", {"most": self.most}, commit=commit)

    # The end.

    def drain(self) -> Process:
        self.most = 1000
        for _ in range(ROUNDS):
            yield self._sequence_call()
            if all(event.position for event in self.model.events.values()):
                break
            yield Sleep(1)
        self.model.check_end()
