"""Claim, poll and reconcile as calls, with what must be true of their answers."""

from collections.abc import Iterable
from typing import Any

from tests.simulation.checks import check_order
from tests.simulation.limits import Start
from tests.simulation.model import SUSPECT, Token
from tests.simulation.steps import Answer, Broken, Call, shorten
from tests.simulation.world import Task, World

RECONCILE_SECONDS = 10.0


def claim_call(world: World, task: Task | None, worker_id: str, queue: str, params: dict[str, Any]) -> Call:
    """A claim; `params` are those of claim_jobs beyond worker and queue."""

    def check(answer: Answer) -> None:
        rows = answer.rows
        suspects = sum(row[3] >= SUSPECT for row in rows)
        if len(rows) > params["wanted"] or suspects > params["suspects"]:
            raise Broken("a claim takes no more than it may", shorten([row[0] for row in rows]))
        is_known = worker_id in {row[0] for row in world.arena.look("workers")}
        if rows and not is_known and not any(other.session.in_transaction for other in world.tasks):
            raise Broken("who was declared dead gets nothing", f"{worker_id} took {shorten([row[0] for row in rows])}")
        _check_starts(world, queue, answer, task.session.pid if task is not None else 0)
        limited = world.model.queues[queue].limits.any or world.model.queues[queue].paused
        if is_known and not limited and not any(other.session.in_transaction for other in world.tasks):
            seen = world.arena.look("ready_rows", queue, [row[4] for row in rows])
            check_order(seen, **params)

    return Call(
        "claim_jobs",
        {"worker_id": worker_id, "queue": queue} | params,
        check=check,
        commit=lambda answer: world.claimed(worker_id, queue, answer, params),
    )


def _check_starts(world: World, name: str, answer: Answer, session: int) -> None:
    """What was claimed must have been waiting, and must fit into the limits."""
    model, queue = world.model, world.model.queues[name]
    being_claimed = {start.job_id for start in queue.starts if start.session}
    starts = []
    for job_id, attempt, failures, crashes, *_ in answer.rows:
        job = model.jobs.get(job_id)
        if job is None:
            continue  # of the same transaction, or a bug that the commit will show
        model.check_claimable(job, name, attempt, failures, crashes)
        if job_id in being_claimed:
            raise Broken("a job is held by one worker at most", f"{job} was claimed twice")
        key, limits = job.spec.slot, queue.limits
        times = (answer.done_at, world.time)
        starts.append(Start(*times, job_id, key, session, limits.any, limits.by_key))
    held = (job.spec.slot for job in model.jobs.values() if job.phase == "held" and job.spec.queue == name)
    queue.check_claim(starts, held)
    queue.note(starts)


def poll_call(world: World, worker_id: str) -> Call:
    """A poll, with what must be true of its answer."""

    def commit(answer: Answer) -> None:
        rescued, _, _, _, cancels, _ = answer.rows[0]
        found = _follow_rescue(world) if rescued else 0
        if found != rescued:
            raise Broken("a poll tells what it rescued", f"{rescued}, but {found} runs were lost")
        _follow_cancels(world)
        if world.model.may_lose_workers():
            world.model.saw_workers({row[0] for row in world.arena.look("workers")})
        held = [job for job in world.model.jobs.values() if job.phase == "held"]
        expected = [job.id for job in held if job.cancel and job.worker == worker_id]
        if sorted(cancels) != sorted(expected):
            raise Broken("a worker hears of cancel requests", f"{cancels}, expected {expected}")

    params: dict[str, object] = {
        "worker_id": worker_id,
        "queues": list(world.config.queues),
        "max_crashes": world.config.max_crashes,
    }
    return Call("poll_jobs", params, commit=commit)


def _follow_rescue(world: World) -> int:
    held = {(row[0], row[1]) for row in world.arena.look("held")}
    lost = world.model.rescued(world.arena.look("lost_runs"), held)
    return lost + world.model.given_back(held)


def begin_call(world: World, tokens: list[Token], *, alone: bool) -> Call:
    """Says that jobs are about to start."""
    ids, attempts, claims = (list(column) for column in zip(*tokens, strict=True))

    def check(answer: Answer) -> None:
        for row in answer.rows:
            (token,) = (token for token in tokens if token.job_id == row[0])
            world.model.check_refused("begin_jobs", token)

    return Call(
        "begin_jobs",
        {"claim_ids": claims, "job_ids": ids, "attempts": attempts, "alone": alone},
        check=check,
        commit=lambda answer: world.model.began(tokens, {row[0] for row in answer.rows}, alone=alone),
    )


def split_call(world: World, tokens: list[Token]) -> Call:
    """Gives jobs a claim each."""
    ids, attempts, claims = (list(column) for column in zip(*tokens, strict=True))
    return Call(
        "split_claims",
        {"claim_ids": claims, "job_ids": ids, "attempts": attempts},
        commit=lambda _: world.model.split(world.arena.look("own_claims")),
    )


def _follow_cancels(world: World) -> None:
    """A poll fulfils late requests to cancel, unless somebody else is moving the job right now."""
    late = world.model.late_cancels()
    if late and any(task.session.in_transaction for task in world.tasks):
        left = {row[0] for row in world.arena.look("cancel_requests")}
        late = [job for job in late if job.id not in left]
    world.model.fulfilled(late)


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
