"""The operators: cancel, retry, redrive, pause, configure, upkeep; and one who replays tokens."""

from collections.abc import Callable

from tests.simulation.calls import claim_call
from tests.simulation.config import Limits
from tests.simulation.model import Job, Token
from tests.simulation.steps import BEGIN, COMMIT, ROLLBACK, Answer, Broken, Call, Failed, Process, Sleep, shorten
from tests.simulation.verbs import FUNCTIONS, settle_call
from tests.simulation.world import Task, World

DAY = 86400.0
EXPECTED = {"OS404", "OS409", "OS410", "OS411", "OS412"}


class Operator:
    """Somebody with a console, who does one kind of thing again and again."""

    def __init__(self, world: World, choose: Callable[["Operator"], Call | None]) -> None:
        self.world = world
        self.model = world.model
        self.rng = world.rng
        self.choose = choose
        self.task: Task | None = None

    def work(self, task: Task) -> Process:
        self.task = task
        while True:
            yield Sleep(round(self.rng.uniform(0, 1.5), 3))
            try:
                if self.choose is not upkeep and self.rng.random() < self.world.config.in_transaction:
                    yield from self._transaction()
                elif (call := self.choose(self)) is not None:
                    yield call
            except Failed as error:
                if not error.busy and not error.lost and error.sqlstate not in EXPECTED:
                    raise Broken("no call fails without a reason", str(error)) from error

    def _transaction(self) -> Process:
        yield BEGIN
        try:
            for _ in range(self.rng.randint(1, 2)):
                call = self.choose(self)
                if call is not None:
                    yield call
                yield Sleep(round(self.rng.uniform(0, 3), 3))
                if call is None or call.function == "redrive_jobs":
                    break  # what was redriven is seen from outside, so nothing else may be with it
        except Failed as error:
            if not error.lost:
                yield ROLLBACK
            raise
        yield COMMIT if self.rng.random() < 0.8 else ROLLBACK

    def some_job(self, *phases: str) -> int | None:
        """A job, rather one in these phases."""
        jobs = [job.id for job in self.model.jobs.values() if job.phase in phases]
        if not jobs or self.rng.random() < 0.1:
            jobs = list(self.model.jobs)
        return self.rng.choice(jobs) if jobs else None


def cancel(me: Operator) -> Call | None:
    job_id = me.some_job("waiting", "held", "held")
    if job_id is None:
        return None
    stood = False

    def check(_: Answer) -> None:
        nonlocal stood
        stood = bool(me.model.jobs[job_id].cancel)

    def commit(answer: Answer) -> None:
        if not (stood and answer.value == "running"):  # then it was asked for already
            me.model.cancelled(job_id, answer.value, answer.done)

    return Call("cancel_job", {"job_id": job_id}, check=check, commit=commit)


def operate(me: Operator) -> Call | None:
    alone = me.task is not None and not me.task.pending
    return redrive(me) if alone and me.rng.random() < 0.4 else retry(me)


def retry(me: Operator) -> Call | None:
    job_id = me.some_job("dead", "cancelled")
    if job_id is None:
        return None
    return Call("retry_job", {"job_id": job_id}, commit=lambda answer: me.model.retried(job_id, answer.value, answer))


def redrive(me: Operator) -> Call:
    config = me.world.config
    params: dict[str, object] = {
        "queue": me.rng.choice((None, *config.queues)),
        "most": me.rng.choice((None, 1, 2)),
        "preview": me.rng.random() < 0.2,
    }

    def commit(answer: Answer) -> None:
        matching, redriven, _ = answer.rows[0]
        left = {row[0] for row in me.world.arena.look("dead_letters")}
        gone = [job.id for job in me.model.jobs.values() if job.phase == "dead" and job.id not in left]
        most = 0 if params["preview"] else params["most"] or matching
        wrong = [
            job_id
            for job_id in gone
            if params["queue"] is not None and me.model.jobs[job_id].spec.queue != params["queue"]
        ]
        if len(gone) != redriven or redriven > most or wrong:
            details = f"{params}: said {redriven} of {matching}, gone are {shorten(gone)}"
            raise Broken("redrive does what it says", details)
        me.model.redriven(gone, answer)

    return Call("redrive_jobs", params, commit=commit)


def pause(me: Operator) -> Call:
    name = me.rng.choice(me.world.config.queues)
    paused = me.rng.random() < 0.5

    def commit(_: Answer) -> None:
        me.model.queues[name].paused = paused

    return Call("pause_queue" if paused else "resume_queue", {"name": name}, commit=commit)


def configure(me: Operator) -> Call:
    name = me.rng.choice(me.world.config.queues)
    limits = Limits.random(me.rng) if me.rng.random() < 0.6 else Limits()
    return configure_call(me.world, name, limits)


def configure_call(world: World, name: str, limits: Limits) -> Call:
    queue = world.model.queues[name]
    params: dict[str, object] = {"name": name} | limits.params()
    return Call("configure_queue", params, commit=lambda _: queue.configure(limits))


def replay(me: Operator) -> Call | None:
    """A token that is not valid any more, or never was; or a claim by a worker that died."""
    if me.rng.random() < 0.15:
        dead = [worker_id for worker_id, worker in me.model.workers.items() if not worker.up]
        if dead:
            queue = me.rng.choice(me.world.config.queues)
            params = {"wanted": 1, "kinds": None, "cursor": None, "suspects": True}
            return claim_call(me.world, me.task, me.rng.choice(dead), queue, params)
    if not me.world.tokens:
        return None
    held = [job for job in me.model.jobs.values() if job.phase == "held"]
    if len({job.claim_id for job in held}) > 1 and me.rng.random() < 0.3:
        return swapped(me, me.rng.sample(held, 2))
    token = me.rng.choice(me.world.tokens)
    match me.rng.randrange(4):
        case 0:
            token = token._replace(attempt=max(1, token.attempt + me.rng.choice((-1, 1))))
        case 1:
            token = token._replace(claim_id=me.rng.choice(me.world.tokens).claim_id)
    job = me.model.jobs.get(token.job_id)
    if job is None or job.is_held_as(token):
        return None
    verb = me.rng.choice([*FUNCTIONS, "fence"])
    return fence(me, token) if verb == "fence" else settle_call(me.model, verb, [token], [1.0])


def swapped(me: Operator, jobs: list[Job]) -> Call | None:
    """Two tokens that are right, but each with the other's claim."""
    one, other = jobs
    if one.claim_id == other.claim_id:
        return None
    tokens = [Token(one.id, one.attempt, other.claim_id), Token(other.id, other.attempt, one.claim_id)]
    return settle_call(me.model, me.rng.choice(list(FUNCTIONS)), tokens, [1.0, 1.0])


def fence(me: Operator, token: Token) -> Call:
    def check(_: Answer) -> None:
        raise Broken("no stale token passes the fence", str(token))

    params: dict[str, object] = {"job_id": token.job_id, "attempt": token.attempt}
    return Call("fence_job", params | {"claim_id": token.claim_id}, check=check)


def upkeep(me: Operator) -> Call:
    def commit(answer: Answer) -> None:
        me.world.arena.has_weeks = True
        ids = {row[0] for row in me.world.arena.look("jobs")}
        keys = {row[0] for row in me.world.arena.look("unique_keys")}
        me.model.pruned(ids, keys, max(answer.sent_at, answer.done_at) - DAY)

    return Call("upkeep_partitions", {"retention_days": 1}, commit=commit, may_wait=False)


ACTORS: dict[str, Callable[[Operator], Call | None]] = {
    "cancel": cancel,
    "operate": operate,
    "pause": pause,
    "configure": configure,
    "replay": replay,
    "upkeep": upkeep,
}
