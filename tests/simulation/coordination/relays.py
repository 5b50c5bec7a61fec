"""Relays: workers that give events their positions, take deliveries, run them and settle them."""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tests.simulation.coordination.outbox_model import (
    Delivery,
    Fate,
    Held,
    OutboxModel,
    Subscription,
    Ticket,
)
from tests.simulation.coordination.scene import Steps, transaction, understand
from tests.simulation.stage import Crew, Task
from tests.simulation.steps import Answer, Call, Failed, Plain, Process, Sleep
from tests.simulation.workers import Hands

if TYPE_CHECKING:
    from tests.simulation.coordination.outbox import Outbox

RECONCILE_SECONDS = 10.0
MAX_CRASHES = 3


class Relay(Hands):
    """A worker that delivers."""

    def __init__(self, outbox: "Outbox", crew: Crew) -> None:
        super().__init__(outbox.scene, crew)
        self.outbox = outbox
        self.scene = outbox.scene
        self.mine: dict[tuple[str, int], Held] = {}

    @property
    def events(self) -> OutboxModel:
        return self.outbox.model

    def work(self, task: Task) -> Process:
        self.task = task
        yield from self._register()
        self._start(self._beat, "heart", heart=True)
        self._start(self._poll, "poll")
        while True:
            yield Sleep(round(self.rng.choice((0, 0, self.rng.uniform(0, 1))), 3))
            try:
                yield from self._round()
            except Failed as error:
                understand(error, "OS410")

    def _round(self) -> Steps:
        chance = self.rng.random()
        if self.dead and chance < 0.6:
            self.mine.clear()
            yield from self._be_reborn()
        elif chance < 0.03:
            yield self._release()
            self.mine.clear()
            yield from self._stop()
        elif chance < 0.08 and self.events.used:
            yield from self._come_late(self.rng.choice(self.events.used))
        elif chance < 0.13:
            yield self._reconcile(self.outbox.some_subscription())
        elif chance < 0.25:
            yield from self.outbox.sequence()
        elif chance < 0.35:
            yield self._free()
        elif chance < 0.6 or not self.mine:
            yield from self._take(self.outbox.some_subscription())
        elif self.rng.random() < 0.3:
            yield from self._finish()
        else:
            yield from self._settle()

    # Taking.

    def _take(self, sub: Subscription) -> Steps:
        steps = self._take_some(sub)
        if self.rng.random() < self.config.in_transaction:
            before = dict(self.mine)
            keep = self.rng.random() < 0.8
            try:
                yield from transaction(steps, keep=keep)
            except Failed:
                self.mine = before
                raise
            self.mine = self.mine if keep else before
        else:
            yield from steps

    def _take_some(self, sub: Subscription) -> Steps:
        ticket = Ticket(self.crew.worker_id)
        answer = yield take_call(self.events, sub, ticket, self.config.batch)
        for position, attempt, *_ in answer.rows:
            self.mine[sub.name, position] = Held(sub, position, attempt, ticket)
        yield Sleep(self.outbox.pause())

    # Ending.

    def _lanes(self) -> list[list[Held]]:
        """What is held, by lane: each in order."""
        lanes: dict[object, list[Held]] = defaultdict(list)
        for held in sorted(self.mine.values(), key=lambda held: (held.sub.name, held.position)):
            lane = self.events.log[held.position - 1].lane
            lanes[held.sub.name, lane or held.position].append(held)
        return list(lanes.values())

    def _settle(self) -> Steps:
        """Some lanes of one subscription: done up to a point, perhaps one failed, the rest back."""
        name = self.rng.choice([lane[0].sub.name for lane in self._lanes()])
        lanes = [lane for lane in self._lanes() if lane[0].sub.name == name]
        chosen = self.rng.sample(lanes, self.rng.randint(1, len(lanes)))
        fates: dict[Held, Fate] = {}
        for lane in chosen:
            done = self.rng.randint(0, len(lane))
            failed = self.rng.random() < self.outbox.fails
            for n, held in enumerate(lane):
                if n < done:
                    fates[held] = ("done", None)
                elif n == done and failed:
                    delay = None if self.rng.random() < 0.3 else round(self.rng.uniform(0, 10), 1)
                    fates[held] = ("failed", delay)
                elif failed or self.rng.random() < 0.3:
                    fates |= dict.fromkeys(lane[n:], ("released", None))
                    break
                else:
                    break
        if fates:
            yield settle_call(self.outbox, fates)
            for held in fates:
                self.mine.pop((name, held.position), None)

    def _finish(self) -> Steps:
        """The handler's own transaction: its effect and the end of the delivery."""
        held = self.rng.choice(self._lanes())[0]
        try:
            yield from transaction(self._finish_one(held))
        except Failed as error:
            if error.sqlstate == "OS410":
                if held.delivery.state != "finished":  # by itself, a moment ago
                    self.events.check_refused(held)
                self.mine.pop((held.sub.name, held.position), None)
            raise

    def _finish_one(self, held: Held) -> Steps:
        sub, position = held.sub, held.position
        yield Plain("coordination.delivery_effect", (sub.name, position))
        yield Sleep(self.outbox.pause())
        params: dict[str, object] = {"subscription": sub.name, "position": position}
        finished = self.events.finished
        yield Call(
            "finish_delivery",
            params | {"attempt": held.attempt},
            commit=lambda _: finished(held),
        )
        yield Sleep(self.outbox.pause(self.rng.choice((0, 10))))

    def _come_late(self, held: Held) -> Steps:
        """Somebody goes on with what was in its hands long ago."""
        if held.is_valid():
            return
        if self.rng.random() < 0.5:
            yield settle_call(self.outbox, {held: ("done", None)})
        else:
            yield from transaction(self._finish_one(held))

    # Giving back.

    def _free(self) -> Call:
        def is_lost(delivery: Delivery) -> bool:
            return not self.model.workers[delivery.worker].registered

        params: dict[str, object] = {"max_crashes": MAX_CRASHES}
        commit = partial(self._given_back, is_lost, MAX_CRASHES)
        return Call("free_deliveries", params, commit=commit)

    def _reconcile(self, sub: Subscription) -> Call:
        worker_id = self.crew.worker_id
        known = [held.position for held in self.mine.values() if held.sub is sub]
        mine = {id(delivery) for p, delivery in sub.deliveries.items() if p not in known}
        before = self.scene.clock - RECONCILE_SECONDS

        def is_unheard(delivery: Delivery) -> bool:
            old = delivery.held_at < before
            return id(delivery) in mine and delivery.worker == worker_id and old

        params: dict[str, object] = {
            "worker_id": worker_id,
            "subscription": sub.name,
            "held": known,
            "seconds": RECONCILE_SECONDS,
        }
        commit = partial(self._given_back, is_unheard, None)
        return Call("reconcile_deliveries", params, commit=commit, may_wait=False)

    def _release(self) -> Call:
        worker_id = self.crew.worker_id
        commit = partial(self._given_back, lambda delivery: delivery.worker == worker_id, None)
        return Call("release_deliveries", {"worker_id": worker_id}, commit=commit)

    def _given_back(
        self, may: Callable[[Delivery], bool], most: int | None, answer: Answer
    ) -> None:
        rows = self.scene.arena.look("coordination.deliveries")
        self.events.given_back(may, rows, answer.done_at, most)


def take_call(model: OutboxModel, sub: Subscription, ticket: Ticket, most: int) -> Call:
    """A take, with what must be true of its answer."""

    def check(answer: Answer) -> None:
        model.check_taken(sub, answer.rows, answer.done_at)

    def commit(answer: Answer) -> None:
        model.taken(sub, ticket, answer.rows, answer.done_at)

    params: dict[str, object] = {
        "subscription": sub.name,
        "worker_id": ticket.worker,
        "most": most,
    }
    return Call("take_deliveries", params, check=check, commit=commit)


def settle_call(outbox: "Outbox", fates: dict[Held, Fate]) -> Call:
    """Settles deliveries of one subscription. What is not refused must have been held."""
    name = next(iter(fates)).sub.name

    def check(answer: Answer) -> None:
        refused = {row[0] for row in answer.rows}
        for held in fates:
            if held.position in refused:
                outbox.model.check_refused(held)

    def commit(answer: Answer) -> None:
        refused = {row[0] for row in answer.rows}
        at = min(answer.sent_at, answer.done_at)
        cursors = {row[0]: row[1] for row in outbox.scene.arena.look("coordination.cursors")}
        for held, fate in fates.items():
            if held.position not in refused:
                outbox.model.settled(held, fate, at, cursors[name])

    params: dict[str, object] = {
        "subscription": name,
        "positions": [held.position for held in fates],
        "attempts": [held.attempt for held in fates],
        "outcomes": [outcome for outcome, _ in fates.values()],
        "delays": [delay for _, delay in fates.values()],
    }
    return Call("settle_deliveries", params, check=check, commit=commit)
