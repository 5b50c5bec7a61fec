"""Steps: workers that do jobs step by step, sleep, wait for events, and die in between."""

import json
from dataclasses import replace

from tests.simulation.clients import Enqueuer
from tests.simulation.coordination.scene import Concept, Scene, Steps, seconds_of, transaction, understand
from tests.simulation.coordination.step_model import FAR, StepModel, Wait
from tests.simulation.model import Token
from tests.simulation.stage import Crew
from tests.simulation.steps import Answer, Broken, Call, Failed, Plain, Process, Row, Sleep
from tests.simulation.verbs import settle_call

OCCURRED = "2026-06-01T12:00:00Z"
MOST_STEPS = 8


class DurableSteps(Concept):
    """Who plays with steps."""

    name = "steps"
    needs_workers = True

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        # An attempt runs once, in one place; and workers may be dead before their transactions.
        expiries = self.rng.choice(((6.0,), scene.config.expiries))
        scene.config = replace(scene.config, runs=0, expiries=expiries, batch=3)
        self.model = StepModel(scene)
        self.waits = "outbox" not in scene.names and self.rng.random() < 0.7
        self.keys = ("p", "q")[: self.rng.randint(1, 2)]
        self.hurries = self.rng.random() < 0.5
        self.sequencers = self.rng.randint(1, 2)

    def start(self) -> None:
        self.scene.extras.append(self._advance)
        self.scene.spawn("client", Enqueuer(self.scene).work)
        self.scene.spawn("thief", lambda _: self._steal())
        if self.hurries:
            self.scene.spawn("hurry", lambda _: self._hurry())
        if self.waits:
            self.scene.crew("e", self._tell)
            for _ in range(self.sequencers):
                self.scene.crew("s", self._sequence)
            self.scene.spawn("signal", lambda _: self._signal())

    def look(self) -> None:
        arena = self.scene.arena
        self.model.compare(arena.look("coordination.steps"), arena.look("coordination.step_effects"))
        missed = arena.look("coordination.missed_waits")
        if missed:
            raise Broken("no wake-up is lost", str(missed))

    # Workers.

    def _advance(self, held: dict[int, Token], _: Crew) -> Steps:
        """One step of a job: load what there is, then do what comes next."""
        token = self.rng.choice(list(held.values()))
        late = self.rng.choice(self.scene.tokens)  # of anybody, from any time
        if self.rng.random() < 0.1 and not self.scene.model.jobs[late.job_id].is_held_as(late):
            token = late
        loaded = yield self._load(token)
        position = len(loaded.rows) + 1
        if loaded.rows and (loaded.rows[-1][5] or 0.0) > 0:
            position -= 1  # the sleep is not over
            yield self._sleep(token, position)
            held.pop(token.job_id, None)
            return
        if loaded.rows and self.rng.random() < 0.15:
            yield self._save_again(token, self.rng.randint(1, len(loaded.rows)))
        if position > MOST_STEPS:
            return
        wait = self.model.waits.get(token.job_id)
        verbs = ["save", "effect", "effect", "sleep", *(["wait"] * 2 if self.waits else [])]
        match "wait" if wait is not None else self.rng.choice(verbs):
            case "save":
                yield self._save(token, position)
            case "effect":
                yield from transaction(self._effect(token, position))
            case "sleep":
                yield self._sleep(token, position)
                held.pop(token.job_id, None)
            case _:
                yield self._wait(token, position, wait)
                held.pop(token.job_id, None)

    def _load(self, token: Token) -> Call:
        ended: list[tuple[int, Row]] = []

        def check(answer: Answer) -> None:
            known = self.model.steps[token.job_id]
            found = [(row[1], row[2], row[3]) for row in answer.rows]
            expected = [(p, known[p].type, known[p].name) for p in sorted(known)]
            if found[: len(expected)] != expected or len(found) > len(expected) + 1:
                details = f"{token}: {found}, not {expected}"
                raise Broken("a committed step is never lost", details)
            wait = self.model.waits.get(token.job_id)
            attempt = wait.attempt if wait is not None else 0
            rows = [(*row[:4], attempt, None) for row in answer.rows]
            ended.extend(self.model.ended(rows))

        def commit(answer: Answer) -> None:
            if any(row[2] != "timeout" for _, row in ended):
                raise Broken("loading ends a wait by time only", str(ended))
            self.model.end(ended, answer.done_at)

        return Call("load_steps", {"job_ids": [token.job_id]}, check=check, commit=commit)

    def _params(self, token: Token, position: int) -> dict[str, object]:
        return {
            "claim_ids": [token.claim_id],
            "job_ids": [token.job_id],
            "attempts": [token.attempt],
            "positions": [position],
        }

    def _save(self, token: Token, position: int) -> Call:
        name = f"s{position}"

        def check(answer: Answer) -> None:
            if answer.rows:
                self.scene.model.check_refused("save_steps", token)

        def commit(answer: Answer) -> None:
            if not answer.rows:
                self.model.saved(token, position, name)

        more: dict[str, object] = {"names": [name], "results": [json.dumps(position)]}
        return Call("save_steps", self._params(token, position) | more, check=check, commit=commit)

    def _save_again(self, token: Token, position: int) -> Call:
        """What is stored stays: accepted is only what the same attempt has saved before."""
        name, rows = f"s{position}", self.model.steps[token.job_id]

        def check(answer: Answer) -> None:
            step = rows.get(position)
            known = step is not None and (step.type, step.attempt) == ("call", token.attempt)
            if answer.rows and known:
                self.scene.model.check_refused("save_steps", token)

        def commit(answer: Answer) -> None:
            if not answer.rows:
                self.model.saved(token, position, name)

        more: dict[str, object] = {"names": [name], "results": ["null"]}
        return Call("save_steps", self._params(token, position) | more, check=check, commit=commit)

    def _effect(self, token: Token, position: int) -> Steps:
        """A step whose own writes commit with it."""
        took = self.model.took_effect
        yield Plain("coordination.step_effect", (token.job_id, position), commit=lambda _: took(token, position))
        yield Sleep(self.pause(2))
        params: dict[str, object] = {
            "job_id": token.job_id,
            "attempt": token.attempt,
            "position": position,
            "name": f"s{position}",
            "claim_id": token.claim_id if self.rng.random() < 0.7 else None,
        }
        saved = self.model.saved
        yield Call("save_step", params, commit=lambda _: saved(token, position, f"s{position}"))
        yield Sleep(self.pause(self.rng.choice((0, 3, 20))))

    def _sleep(self, token: Token, position: int) -> Call:
        seconds = round(self.rng.uniform(0.5, 15), 1)

        def check(answer: Answer) -> None:
            if answer.rows:
                self.scene.model.check_refused("sleep_jobs", token)

        def commit(answer: Answer) -> None:
            if answer.rows:
                return
            self.model.slept(token, position, seconds, answer)
            wakes = seconds_of(self.scene.arena.look("coordination.run_at", token.job_id)[0][0])
            if abs(wakes - self.scene.model.jobs[token.job_id].due) > 0.01:
                raise Broken("a sleep ends when it was to end", f"{token} at {wakes}")

        params = self._params(token, position) | {"seconds": [seconds]}
        return Call("sleep_jobs", params, check=check, commit=commit)

    def _wait(self, token: Token, position: int, before: Wait | None) -> Call:
        timeout = None if self.rng.random() < 0.5 else round(self.rng.uniform(1, 20), 1)
        key = self.rng.choice(self.keys)
        if before is not None:  # it waits for this already, and runs early
            position, key = before.position, before.key

        def check(answer: Answer) -> None:
            if answer.rows:
                self.scene.model.check_refused("wait_jobs", token)

        def commit(answer: Answer) -> None:
            if not answer.rows:
                deadline = FAR if timeout is None else answer.sent_at + timeout
                wait = Wait(position, "e", key, token.attempt, deadline)
                self.model.waited(token, wait, answer)
            ended = self.model.ended(self.scene.arena.look("coordination.steps"))
            self.model.end(ended, answer.done_at)

        params = self._params(token, position) | {"events": ["e"], "keys": [key], "timeouts": [timeout]}
        return Call("wait_jobs", params, check=check, commit=commit)

    def _steal(self) -> Process:
        """A worker that drains gives jobs back whose runs are not over."""
        while True:
            yield Sleep(self.pause(10))
            jobs = [job for job in self.scene.model.jobs.values() if job.phase == "held"]
            if jobs:
                job = self.rng.choice(jobs)
                token = Token(job.id, job.attempt, job.claim_id)
                try:
                    yield settle_call(self.scene.model, "release", [token], [])
                except Failed as error:
                    understand(error)

    def _hurry(self) -> Process:
        """Somebody lets jobs run that sleep or wait."""
        while True:
            yield Sleep(self.pause(8))
            jobs = [job.id for job in self.scene.model.jobs.values() if job.phase == "waiting"]
            if jobs:
                job_id = self.rng.choice(jobs)
                try:
                    yield self._retry(job_id)
                except Failed as error:
                    understand(error, "OS409", "OS412")

    def _retry(self, job_id: int) -> Call:
        retried = self.scene.model.retried
        return Call("retry_job", {"job_id": job_id}, commit=lambda answer: retried(job_id, answer.value, answer))

    # Events.

    def _tell(self, _: Crew) -> Process:
        while True:
            yield Sleep(self.pause(self.rng.choice((2, 12))))
            try:
                if self.rng.random() < 0.5:
                    yield self._emit(self.rng.choice(self.scene.config.tenants))
                else:
                    yield from transaction(self._tell_slowly(), keep=self.rng.random() < 0.8)
            except Failed as error:
                understand(error)

    def _tell_slowly(self) -> Steps:
        yield self._emit(self.rng.choice(self.scene.config.tenants))
        yield Sleep(self.pause(4))

    def _emit(self, tenant: str, key: str | None = None) -> Call:
        params: dict[str, object] = {
            "type": "e",
            "ordering_key": key or self.rng.choice(self.keys),
            "tenant_id": tenant,
            "correlation_id": "c",
            "occurred_at": OCCURRED,
            "producer": "p",
        }
        return Call("emit_event", params)

    def _sequence(self, _: Crew) -> Process:
        while True:
            yield Sleep(self.pause(3))
            try:
                yield from transaction(self._sequence_once(), keep=self.rng.random() < 0.85)
            except Failed as error:
                understand(error)

    def _sequence_once(self) -> Steps:
        told = yield Call("sequence_events", {"most": 1000})
        ended: list[tuple[int, Row]] = []

        def check(answer: Answer) -> None:
            ended.extend(self.model.ended(answer.rows))

        def commit(_: Answer) -> None:
            self.model.end(ended, told.done_at)

        yield Plain("coordination.steps", check=check, commit=commit)
        yield Sleep(self.pause(self.rng.choice((0, 3))))

    def _signal(self) -> Process:
        while True:
            yield Sleep(self.pause(20))
            waits = list(self.model.waits)
            if waits:
                try:
                    yield self._signal_one(self.rng.choice(waits))
                except Failed as error:
                    understand(error, "OS412")

    def _signal_one(self, job_id: int) -> Call:
        def commit(answer: Answer) -> None:
            ended = self.model.ended(self.scene.arena.look("coordination.steps"))
            if [each for each, _ in ended] != [job_id]:
                raise Broken("a signal ends the wait", f"{job_id}, {ended}")
            self.model.end(ended, answer.done_at)

        return Call("signal_job", {"job_id": job_id, "payload": "{}"}, commit=commit)

    # The end.

    def settle(self) -> Process:
        """Nobody waits for ever: the events that are still missing come."""
        while True:
            yield from transaction(self._sequence_once())
            jobs = self.scene.model.jobs
            waits = [w for w in self.model.waits.items() if jobs[w[0]].due > FAR / 2]
            if not waits:
                return
            for job_id, wait in waits:
                if self.rng.random() < 0.5:
                    yield self._signal_one(job_id)
                else:
                    yield self._emit(jobs[job_id].spec.tenant, wait.key)

    def drain(self) -> Process:
        yield from ()
