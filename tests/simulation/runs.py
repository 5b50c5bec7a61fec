"""Runs: what a worker does with the jobs in its hands, one after the other or several at once.

A run writes its effect and its completion in one transaction, writes under the fence, notes
progress, or ends jobs in sets: done, failed, buried, snoozed, released, cancelled; parts of a
batch, in any order. Nothing keeps two runs of one worker from ending the same job, as a drain and
a slow handler would.
"""

from collections.abc import Generator
from typing import Any

from tests.simulation.clients import enqueue_one, random_spec
from tests.simulation.model import Token
from tests.simulation.steps import BEGIN, COMMIT, ROLLBACK, Broken, Call, Failed, Plain, Process, Sleep, Step
from tests.simulation.verbs import settle_call
from tests.simulation.world import Crew, Task, World

Steps = Generator[Step, Any, None]


def understand(error: Failed) -> None:
    """A worker goes on after a lock, a lost connection and the engine's own errors."""
    if not error.busy and not error.lost and not error.sqlstate.startswith("OS"):
        raise Broken("no call fails without a reason", str(error)) from error


class Runs:
    """The jobs in a worker's hands, and how their runs end."""

    def __init__(self, world: World, crew: Crew) -> None:
        self.world = world
        self.crew = crew
        self.config = world.config
        self.model = world.model
        self.rng = world.rng
        self.held: dict[int, Token] = {}

    def alone(self, _: Task) -> Process:
        """One more run beside the others, over a connection of its own."""
        try:
            yield from self.settle()
        except Failed as error:
            understand(error)

    def settle(self) -> Steps:
        if not self.held:
            return
        if self.world.extras and self.rng.random() < self.config.extras:
            yield from self.rng.choice(self.world.extras)(self.held, self.crew)
            return
        verb = self.rng.choices(*zip(*self.config.verbs.items(), strict=True))[0]
        many = verb not in ("done", "fence")
        count = self.rng.randint(1, len(self.held)) if many else 1
        tokens = self.rng.sample(list(self.held.values()), count)
        if verb == "done":
            yield from self.in_transaction(self._complete(tokens[0]), tokens)
        elif verb == "fence":
            yield from self.in_transaction(self._write_guarded(tokens[0]), [])
        else:
            delays = [round(self.rng.uniform(0, 20), 1) for _ in tokens]
            call = settle_call(self.model, verb, tokens, delays)
            ended = tokens if verb != "progress" else []
            if self.rng.random() < self.config.in_transaction:
                yield from self.in_transaction(only(call), ended)
            else:
                yield call
                self._forget(ended)

    def _complete(self, token: Token) -> Steps:
        """Exactly once: the effect and the completion in one transaction."""
        place = self.model.effect
        yield Plain("note_effect", token[:2], commit=lambda _: place(token))
        if self.rng.random() < 0.5:
            yield Sleep(round(self.rng.uniform(0, 2), 3))
        claim_id = token.claim_id if self.rng.random() < 0.7 else None
        params: dict[str, object] = {"job_id": token.job_id, "attempt": token.attempt}
        yield Call(
            "complete_job",
            params | {"claim_id": claim_id},
            commit=lambda answer: self.model.settled("done", token, answer),
        )

    def _write_guarded(self, token: Token) -> Steps:
        if token.job_id % 2:
            params: dict[str, object] = {"job_id": token.job_id, "attempt": token.attempt}
            yield Call("fence_job", params | {"claim_id": token.claim_id})
        else:  # as a batch does
            sets: dict[str, object] = {
                "claim_ids": [token.claim_id],
                "job_ids": [token.job_id],
                "attempts": [token.attempt],
            }
            stale = yield Call("fence_jobs", sets)
            if stale:
                return
        yield Sleep(round(self.rng.uniform(0, 4), 3))
        write = self.model.guarded_write
        yield Plain("note_guarded", token[:2], commit=lambda _: write(token))

    def in_transaction(self, steps: Steps, tokens: list[Token]) -> Steps:
        """Some steps, then commit; forget the tokens when they are settled or lost."""
        yield BEGIN
        try:
            if self.rng.random() < 0.2:  # a job that enqueues another one
                yield enqueue_one(self.world, random_spec(self.world))
                yield Sleep(round(self.rng.uniform(0, 3), 3))
            yield from steps
            yield Sleep(round(self.rng.uniform(0, 1), 3))
            yield COMMIT
        except Failed as error:
            if error.sqlstate == "OS410":
                for token in tokens:
                    self.model.check_refused("complete_job", token)
                self._forget(tokens)
            if not error.lost:
                yield ROLLBACK
            raise
        self._forget(tokens)

    def _forget(self, tokens: list[Token]) -> None:
        for token in tokens:
            if self.held.get(token.job_id) == token:
                del self.held[token.job_id]


def only(step: Step) -> Steps:
    """One step, as steps."""
    yield step
