"""The clients: they enqueue one, many, later, with keys, in transactions that may roll back."""

from datetime import UTC, datetime, timedelta

from tests.simulation.model import Spec
from tests.simulation.steps import BEGIN, COMMIT, ROLLBACK, Answer, Broken, Call, Failed, Process, Sleep
from tests.simulation.world import Task, World

START = datetime(2026, 6, 1, 12, tzinfo=UTC)


def random_spec(world: World) -> Spec:
    rng, config = world.rng, world.config
    unique = bool(config.unique_keys) and rng.random() < 0.5
    return Spec(
        kind=rng.choice(config.kinds),
        queue=rng.choice(config.queues),
        tenant=rng.choice(config.tenants),
        priority=rng.choice(config.priorities),
        limit_key=rng.choice(config.limit_keys),
        run_at=round(world.clock + rng.uniform(-2, 15), 1) if rng.random() < 0.25 else None,
        unique_key=rng.choice(config.unique_keys) if unique else None,
        policy=rng.choice(("return", "refuse", "replace")) if unique else "return",
        states=rng.choice(config.unique_states),
    )


def timestamp(seconds: float | None) -> str | None:
    return None if seconds is None else (START + timedelta(seconds=seconds)).isoformat()


def enqueue_one(world: World, spec: Spec) -> Call:
    params: dict[str, object] = {
        "kind": spec.kind,
        "queue": spec.queue,
        "priority": spec.priority,
        "run_at": timestamp(spec.run_at),
        "tenant_id": spec.tenant,
        "limit_key": spec.limit_key,
        "unique_key": spec.unique_key,
        "unique_policy": spec.policy,
        "unique_states": list(spec.states),
    }
    return Call(
        "enqueue_job",
        params,
        check=lambda answer: world.model.check_returned(spec, answer.value),
        commit=lambda answer: world.model.enqueued(spec, answer.value, answer),
    )


def enqueue_many(world: World, specs: list[Spec]) -> Call:
    def commit(answer: Answer) -> None:
        if len(answer.rows) != len(specs):
            raise Broken("every job asked for is enqueued", f"{len(answer.rows)} of {len(specs)}")
        for spec, (job_id,) in zip(specs, answer.rows, strict=True):
            world.model.enqueued(spec, job_id, answer)

    params: dict[str, object] = {
        "kinds": [spec.kind for spec in specs],
        "args": ["{}" for _ in specs],
        "queues": [spec.queue for spec in specs],
        "priorities": [spec.priority for spec in specs],
        "run_ats": [timestamp(spec.run_at) for spec in specs],
        "tenant_ids": [spec.tenant for spec in specs],
        "limit_keys": [spec.limit_key for spec in specs],
    }
    if any(spec.unique_key for spec in specs):
        params["unique_keys"] = [spec.unique_key for spec in specs]
    return Call("enqueue_jobs", params, commit=commit)


class Enqueuer:
    """A client that keeps the queues supplied."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rng = world.rng

    def work(self, _: Task) -> Process:
        config = self.world.config
        while True:
            yield Sleep(round(self.rng.choice((0, self.rng.uniform(0, 1))), 3))
            waiting = sum(job.phase == "waiting" for job in self.world.model.jobs.values())
            if waiting >= config.backlog:
                yield Sleep(0.5)
                continue
            try:
                if self.rng.random() < config.in_transaction:
                    yield from self._transaction()
                else:
                    yield self._some()
            except Failed as error:
                self._understand(error)

    def _some(self) -> Call:
        size = self.world.config.bulk
        if size == 1 or self.rng.random() < 0.5:
            return enqueue_one(self.world, random_spec(self.world))
        specs = [random_spec(self.world) for _ in range(self.rng.randint(1, size))]
        plain = Spec("", "", "", 0)
        return enqueue_many(
            self.world,
            [
                Spec(s.kind, s.queue, s.tenant, s.priority, s.limit_key, s.run_at, s.unique_key)
                if s.policy == plain.policy and s.states == plain.states
                else Spec(s.kind, s.queue, s.tenant, s.priority, s.limit_key, s.run_at)
                for s in specs
            ],
        )

    def _transaction(self) -> Process:
        yield BEGIN
        try:
            for _ in range(self.rng.randint(1, 3)):
                yield self._some()
                yield Sleep(round(self.rng.uniform(0, 1), 3))
        except Failed as error:
            if not error.lost:
                yield ROLLBACK
            raise
        yield COMMIT if self.rng.random() < 0.8 else ROLLBACK

    def _understand(self, error: Failed) -> None:
        if not error.busy and not error.lost and error.sqlstate != "OS411":
            raise Broken("no call fails without a reason", str(error)) from error
