"""Idempotency: clients that ask the same, or something else, under few keys, again and again.

Some do it all in one transaction, others begin, work outside and finish later; they die in between,
freeze, lose the answer, give up, and come back late.
"""

import hashlib
import json
from collections.abc import Generator
from functools import partial
from typing import Any

from tests.simulation.coordination.idempotency_model import Begun, Key, KeyModel
from tests.simulation.coordination.scene import Concept, Keeper, Scene, Steps, transaction, understand
from tests.simulation.stage import Crew, Task
from tests.simulation.steps import Answer, Broken, Call, Failed, Plain, Process, Sleep, Statement, Step

SCOPE = "s"
PATIENCE = 5  # leases that a drain waits for those who are gone


class Idempotency(Concept):
    """Who plays with keys."""

    name = "idempotency"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.model = KeyModel(scene)
        self.clients = self.rng.randint(2, 5)
        self.keys = ("k", "l", "m")[: self.rng.randint(1, 3)]
        self.requests = ("one", "other")[: self.rng.choice((1, 1, 2))]
        self.ttls = self.rng.choice(((86400.0,), (20.0,), (20.0, 86400.0)))
        self.ticks = self.rng.random() < 0.3
        self.leases: tuple[float, ...] = self.rng.choice(((6.0,), (6.0, 15.0), (30.0,)))
        if self.ticks or scene.has_workers:  # as for leases: the tick does not see a short outage
            self.leases = (30.0,)
        self.at_once = self.rng.choice((0.0, 0.3, 0.8))
        self.prunes = self.rng.random() < 0.4
        self.longest = max(self.leases)

    def start(self) -> None:
        for _ in range(self.clients):
            self.scene.crew("i", self._ask)
        if self.ticks:
            self.scene.spawn("itick", lambda _: self._tick(), heart=True)
        if self.prunes:
            self.scene.spawn("iprune", lambda _: self._prune())

    def look(self) -> None:
        self.model.compare(
            self.scene.arena.look("coordination.keys"), self.scene.arena.look("coordination.key_effects")
        )

    def check_may_wait(self, task: Task, statement: Statement) -> None:
        if isinstance(statement, Call) and statement.params.get("wait") is False:
            entry = self.model.entries.get(_key_of(statement))
            if entry is None or entry.state == "done":  # else its row is being renewed or finished
                raise Broken("who must not wait does not", f"{task.name}: {statement}")

    # Calls.

    def begin(self, asked: Begun, holder: str) -> Call:
        params = _named(asked.key) | {
            "holder": holder,
            "lease_seconds": asked.lease,
            "ttl_seconds": asked.ttl,
            "wait": asked.wait,
            "fingerprint": _hash(asked.request),
            "fields": json.dumps({"amount": _hash(asked.request), "to": _hash("")}),
        }
        check, begun = partial(self.model.check, asked), partial(self.model.begun, asked)
        return Call("begin_idempotent", params, check=check, commit=begun)

    def finish(self, key: Key, token: int) -> Steps:
        """The effect and the answer, which commit together."""
        took_effect = self.model.took_effect
        yield Plain("coordination.key_effect", (*key, token), commit=lambda _: took_effect(key, token))
        yield Sleep(self.pause(self.rng.choice((1, 20))))
        text = json.dumps({"by": token})
        finished = partial(self.model.finished, key, token, text)
        yield Call("finish_idempotent", _named(key) | {"token": token, "answer": text}, commit=finished)
        yield Sleep(self.pause(self.rng.choice((0, 0, 20))))

    def renew(self, key: Key, token: int, keeper: Keeper) -> Call:
        renewed = partial(self.model.renewed, key, token, keeper)
        return Call("renew_idempotent", _named(key) | {"token": token}, commit=renewed, may_wait=False)

    def abandon(self, key: Key, token: int) -> Call:
        forget = self.rng.random() < 0.5

        def commit(answer: Answer) -> None:
            self.model.abandoned(key, token, forget=forget, done=answer.value)

        return Call("abandon_idempotent", _named(key) | {"token": token, "forget": forget}, commit=commit)

    # Clients.

    def some_request(self) -> Begun:
        rng = self.rng
        key = (rng.choice(self.scene.config.tenants), rng.choice(self.keys))
        lease, ttl = rng.choice(self.leases), rng.choice(self.ttls)
        return Begun(key, rng.choice(self.requests), lease, ttl, rng.random() < 0.8)

    def _ask(self, crew: Crew) -> Process:
        while True:
            yield Sleep(self.pause(2))
            try:
                if self.model.used and self.rng.random() < 0.15:
                    yield from self._come_late()
                elif self.rng.random() < self.at_once:
                    keep = self.rng.random() < 0.85
                    yield from transaction(self._all_at_once(crew), keep=keep)
                else:
                    yield from self._one_after_the_other(crew)
            except Failed as error:
                understand(error, "OS410")

    def _all_at_once(self, crew: Crew) -> Steps:
        asked = self.some_request()
        answer = yield self.begin(asked, crew.label)
        if answer.value == "new":
            yield Sleep(self.pause(3))
            yield from self.finish(asked.key, answer.rows[0][1])

    def _one_after_the_other(self, crew: Crew) -> Steps:
        asked = self.some_request()
        answer = yield self.begin(asked, crew.label)
        if answer.value != "new":
            return
        token, keeper = answer.rows[0][1], Keeper(crew, crew.freezes)
        if self.rng.random() < 0.7:
            heart = partial(self._beat, asked, token, keeper)
            self.scene.spawn(f"{crew.label}.heart", lambda _: heart(), crew=crew, heart=True)
        try:
            yield Sleep(self.pause(self.rng.choice((1, 10, 60))))
            if self.rng.random() < 0.15:
                yield self.abandon(asked.key, token)
            else:
                yield from self._end(asked, token, crew)
        finally:
            keeper.over = True

    def _end(self, asked: Begun, token: int, crew: Crew) -> Steps:
        """Finish; when the answer gets lost, ask what became of it."""
        while True:
            lost = False
            try:
                yield from transaction(self.finish(asked.key, token))
            except Failed as error:
                understand(error, "OS410")
                lost = error.lost
                if error.sqlstate == "OS410":
                    self.model.check_stale(asked.key, token, "finish")
            if not lost or not (yield from self._is_still_mine(asked, token, crew)):
                return

    def _is_still_mine(self, asked: Begun, token: int, crew: Crew) -> Generator[Step, Any, bool]:
        answer = yield self.begin(asked, crew.label)
        entry = self.model.entries.get(asked.key)
        in_flight = answer.value == "in_flight" and entry is not None and entry.token == token
        if answer.value == "replay" and self.rng.random() < 0.5:
            params = _named(asked.key) | {"token": token, "answer": '{"by": "somebody else"}'}
            finished = partial(self.model.finished, asked.key, token, "")
            yield Call("finish_idempotent", params, commit=finished)
        return in_flight

    def _beat(self, asked: Begun, token: int, keeper: Keeper) -> Process:
        while not keeper.over:
            try:
                yield self.renew(asked.key, token, keeper)
            except Failed as error:
                understand(error, "OS410")
                if error.sqlstate == "OS410":
                    self.model.check_stale(asked.key, token, "renewal")
                    return
                keeper.disturbed = keeper.disturbed or error.busy
                yield Sleep(0.2)
                continue
            yield Sleep(round(asked.lease / 3, 3))

    def _come_late(self) -> Steps:
        """Somebody with a token from long ago. Its own effect is rolled back with the refusal."""
        key, token = self.rng.choice(self.model.used)
        entry = self.model.entries.get(key)
        if entry is not None and entry.token == token:
            return  # not late: that would be the effect twice, by the client's own fault
        match self.rng.choice(("finish", "renew", "abandon")):
            case "finish":
                yield from transaction(self.finish(key, token))
            case "renew":
                params = _named(key) | {"token": token}
                renewed = partial(self.model.renewed, key, token, Keeper(Crew("late"), 0))
                yield Call("renew_idempotent", params, commit=renewed)
            case _:
                yield self.abandon(key, token)

    def _tick(self) -> Process:
        while True:
            yield Sleep(1.0)
            yield Call("tick")

    def _prune(self) -> Process:
        def commit(answer: Answer) -> None:
            rows = self.scene.arena.look("coordination.keys")
            self.model.pruned({(row[0], row[1]) for row in rows}, answer.done_at)

        while True:
            yield Sleep(self.pause(15))
            try:
                yield Call("prune_idempotency", commit=commit)
            except Failed as error:
                understand(error)

    # The end.

    def drain(self) -> Process:
        """What somebody began and did not finish is taken over by the next who asks the same."""
        for key, entry in list(self.model.entries.items()):
            waited = 0.0
            while True:
                asked = Begun(key, entry.request, min(self.leases), max(self.ttls), wait=True)
                answer = yield self.begin(asked, "drain")
                if answer.value == "new":
                    yield from transaction(self.finish(key, answer.rows[0][1]))
                if answer.value != "in_flight":
                    break
                if waited > PATIENCE * max(self.leases):
                    raise Broken("a key whose holder is gone is taken over", str(key))
                waited += min(self.leases) / 2
                yield Sleep(min(self.leases) / 2)
        for key, entry in self.model.entries.items():
            if (entry.state, entry.effects) != ("done", 1):
                raise Broken("one effect per key", f"{key}: {entry}")


def _named(key: Key) -> dict[str, object]:
    return {"scope": SCOPE, "key": key[1], "tenant_id": key[0]}


def _key_of(call: Call) -> Key:
    return (str(call.params["tenant_id"]), str(call.params["key"]))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
