"""Children: workers that spawn jobs and join them, die in between, and dead children that come back.

The promises: a group has exactly the children of its committed spawn; its counts are those of its children at every
moment; a join ends when all of them have ended, and never while nobody is left to end it.
"""

from dataclasses import replace

from tests.simulation.clients import Enqueuer
from tests.simulation.coordination.scene import Concept, Scene, Steps, transaction, understand
from tests.simulation.coordination.step_model import FAR
from tests.simulation.model import Spec, Token
from tests.simulation.stage import Crew
from tests.simulation.steps import Answer, Broken, Call, Failed, Process, Sleep

SPAWN, JOIN = 1, 2
ENDED = ("done", "dead", "cancelled", "gone")


class Children(Concept):
    """Who plays with children."""

    name = "children"
    needs_workers = True

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        verbs = scene.config.verbs | {"bury": 1}
        scene.config = replace(scene.config, runs=0, batch=3, verbs=verbs)
        self.groups: dict[int, list[int]] = {}
        """The children of each parent, once they are committed."""
        self.back: set[int] = set()
        """Children that were brought back from the dead."""
        self.most = self.rng.randint(1, 4)

    def start(self) -> None:
        self.scene.extras.append(self._advance)
        self.scene.spawn("client", Enqueuer(self.scene).work)
        self.scene.spawn("redrive", lambda _: self._redrive())

    def look(self) -> None:
        for promise in ("counts_of_children", "joins_that_nobody_ends", "groups_without_a_step"):
            found = self.scene.arena.look(f"coordination.{promise}")
            if found:
                raise Broken(promise.replace("_", " "), str(found))

    def _advance(self, held: dict[int, Token], _: Crew) -> Steps:
        token = self.rng.choice(list(held.values()))
        loaded = yield Call("load_steps", {"job_ids": [token.job_id]})
        match len(loaded.rows):
            case 0:
                yield from transaction(self._spawn(token), keep=self.rng.random() < 0.85)
            case 1:
                yield self._join(token)
                held.pop(token.job_id, None)
            case _:
                self._check_joined(token.job_id)

    def _spawn(self, token: Token) -> Steps:
        spec = self.scene.model.jobs[token.job_id].spec
        opened = yield Call("open_group", {"job_id": token.job_id, "position": SPAWN})
        count = self.rng.randint(1, self.most)
        child = Spec(spec.kind, spec.queue, spec.tenant, spec.priority)
        params: dict[str, object] = {
            "kinds": [child.kind],
            "args": ["{}"] * count,
            "queues": [child.queue],
            "priorities": [child.priority],
            "tenant_ids": [child.tenant],
            "parent_id": token.job_id,
            "group_id": opened.value,
        }

        def commit(answer: Answer) -> None:
            if token.job_id in self.groups:
                raise Broken("a group is spawned once", str(token))
            self.groups[token.job_id] = [row[0] for row in answer.rows]
            for row in answer.rows:
                self.scene.model.enqueued(child, row[0], answer)

        yield Call("enqueue_jobs", params, commit=commit)
        yield Sleep(self.pause(2))
        yield Call("seal_group", {"job_id": token.job_id, "group_id": opened.value, "total": count})
        saved = {"job_id": token.job_id, "attempt": token.attempt, "position": SPAWN, "name": "spawn"}
        yield Call("save_step", saved)

    def _join(self, token: Token) -> Call:
        def check(answer: Answer) -> None:
            if answer.rows:
                self.scene.model.check_refused("join_jobs", token)

        def commit(answer: Answer) -> None:
            if not answer.rows:
                self.scene.model.settled("snooze", token, answer, 0.0)
                # It may run as soon as its children have ended, whatever the clock says then.
                self.scene.model.jobs[token.job_id].due = -FAR

        params: dict[str, object] = {
            "claim_ids": [token.claim_id],
            "job_ids": [token.job_id],
            "attempts": [token.attempt],
            "positions": [JOIN],
            "spawns": [str(SPAWN)],
            "policies": ["collect"],
            "timeouts": [None],
        }
        return Call("join_jobs", params, check=check, commit=commit)

    def _check_joined(self, parent: int) -> None:
        jobs = self.scene.model.jobs
        left = [child for child in self.groups.get(parent, ()) if child not in self.back]
        if any(jobs[child].phase not in ENDED for child in left):
            raise Broken("a join ends when all children have ended", str([str(jobs[child]) for child in left]))

    def _redrive(self) -> Process:
        """Somebody brings dead children back."""
        while True:
            yield Sleep(self.pause(6))
            dead = [job.id for job in self.scene.model.jobs.values() if job.phase == "dead"]
            if dead:
                try:
                    yield self._retry(self.rng.choice(dead))
                except Failed as error:
                    understand(error, "OS409", "OS412")

    def _retry(self, job_id: int) -> Call:
        def commit(answer: Answer) -> None:
            self.back.add(job_id)
            self.scene.model.retried(job_id, answer.value, answer)

        return Call("retry_job", {"job_id": job_id}, commit=commit)

    def drain(self) -> Process:
        yield from ()
