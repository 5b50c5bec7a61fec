"""Claim, poll and reconcile as calls, with what must be true of their answers."""

from collections.abc import Iterable
from typing import Any

from tests.simulation.checks import SUSPECT, check_order
from tests.simulation.limits import Start
from tests.simulation.steps import Answer, Broken, Call, shorten
from tests.simulation.world import Task, World

RECONCILE_SECONDS = 10.0


def claim_call(
    world: World, task: Task | None, worker_id: str, queue: str, params: dict[str, Any]
) -> Call:
    """A claim, with what must be true of its answer."""
    model = world.model

    def check(answer: Answer) -> None:
        rows, limits = answer.rows, model.queues[queue].limits
        pid = task.session.pid if task is not None else 0
        starts = []
        for job_id, attempt, failures, crashes, *_ in rows:
            job = model.jobs.get(job_id)
            if job is None:
                continue  # of the same transaction, or a bug that the commit will show
            model.check_claimable(job, queue, attempt, failures, crashes)
            if any(
                start.session and start.job_id == job_id for start in model.queues[queue].starts
            ):
                raise Broken("a job is held by one worker at most", f"{job} was claimed twice")
            times = (answer.done_at, world.time)
            key = job.spec.limit_key
            starts.append(Start(*times, job_id, key, pid, limits.any, limits.by_key))
        if (
            len(rows) > params["wanted"]
            or sum(row[3] >= SUSPECT for row in rows) > params["suspects"]
        ):
            raise Broken("a claim takes no more than it may", shorten([row[0] for row in rows]))
        held = (
            job.spec.limit_key
            for job in model.jobs.values()
            if job.phase == "held" and job.spec.queue == queue
        )
        model.queues[queue].check_claim(starts, held)
        model.queues[queue].note(starts)
        alone = not any(other.session.in_transaction for other in world.tasks)
        if alone and not limits.any and not model.queues[queue].paused:
            seen = world.arena.look("ready_rows", queue, rows[0][4] if rows else 0)
            first = params["cursor"] is None
            wanted, kinds, suspects = params["wanted"], params["kinds"], params["suspects"]
            check_order(seen, wanted, kinds, suspects=suspects, from_the_start=first)

    return Call(
        "claim_jobs",
        {"worker_id": worker_id, "queue": queue} | params,
        check=check,
        commit=lambda answer: world.claimed(worker_id, queue, answer),
    )


def poll_call(world: World, worker_id: str) -> Call:
    """A poll, with what must be true of its answer."""

    def commit(answer: Answer) -> None:
        rescued, _, _, _, cancels = answer.rows[0]
        found = world.model.rescued(world.arena.look("lost_runs")) if rescued else 0
        if found != rescued:
            raise Broken("a poll tells what it rescued", f"{rescued}, but {found} runs were lost")
        world.model.late_cancels()
        if world.model.may_lose_workers():
            world.model.saw_workers({row[0] for row in world.arena.look("workers")})
        expected = [
            job.id
            for job in world.model.jobs.values()
            if job.cancel and job.phase == "held" and job.worker == worker_id
        ]
        if sorted(cancels) != sorted(expected):
            raise Broken("a worker hears of cancel requests", f"{cancels}, expected {expected}")

    params: dict[str, object] = {
        "worker_id": worker_id,
        "queues": list(world.config.queues),
        "max_crashes": world.config.max_crashes,
    }
    return Call("poll_jobs", params, commit=commit)


def reconcile_call(world: World, worker_id: str, held: Iterable[int]) -> Call:
    """Gives back what a worker was given without hearing of it."""
    known = list(held)

    def commit(answer: Answer) -> None:
        before = answer.done_at - RECONCILE_SECONDS
        tokens = world.model.unheard_of(worker_id, known, before)
        if answer.value != len(tokens):
            raise Broken("what got lost on the way is given back", f"{answer.value}, not {tokens}")
        for token in tokens:
            world.model.settled("release", token, answer)

    params = {"worker_id": worker_id, "held": known, "seconds": RECONCILE_SECONDS}
    return Call("reconcile_worker", params, commit=commit, may_wait=False)
