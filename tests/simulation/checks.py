"""Checks of the whole database: against the model, and the order of a claim."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from tests.simulation.model import MICROSECOND, SUSPECT, Job, Model
from tests.simulation.steps import Broken, Row, shorten

Fact = tuple[str, int, int, int, int, str | None]


class Place(NamedTuple):
    """A job in its lane, or just taken out of it."""

    taken: bool
    priority: int
    tenant: str
    position: int
    crashes: int
    kind: str
    job_id: int


def compare(model: Model, rows: list[Row]) -> None:
    """What is committed must be exactly what the model has followed."""
    found = Counter(rows)
    expected = Counter(_facts(model, found))
    missing, extra = expected - found, found - expected
    if missing or extra:
        promise = _promise([*missing, *extra])
        shown = f"missing {_shown(missing)}; too much {_shown(extra)}"
        raise Broken(promise, shown)


def _facts(model: Model, found: Counter[Row]) -> Iterable[Fact]:
    for job in model.jobs.values():
        yield from _traces(job, found) if job.phase == "gone" else _state(job, model, found)
    for job in model.jobs.values():
        yield from (("effect", job.id, attempt, 0, 0, None) for attempt in job.effects)
        yield from (("guarded", job.id, attempt, 0, 0, None) for attempt in job.guarded)
    for worker_id, worker in model.workers.items():
        if worker.registered:
            yield ("worker", 0, 0, 0, 0, worker_id)
    for (tenant, key), (job_id, _) in model.keys.items():
        yield ("unique", job_id, 0, 0, 0, f"{tenant}/{key}")


def _traces(job: Job, found: Counter[Row]) -> Iterable[Fact]:
    """What may be left of a job that is gone: a request that came too late, until the next poll or upkeep."""
    request = ("cancel", job.id, 0, 0, 0, None)
    if job.cancel and request in found:
        yield request


def _state(job: Job, model: Model, found: Counter[Row]) -> Iterable[Fact]:
    yield ("job", job.id, 0, 0, 0, None)
    yield from _place(job, model, found)
    for attempt, outcome in job.outcomes.items():
        yield ("outcome", job.id, attempt, 0, 0, outcome)
    if job.cancel:
        yield ("cancel", job.id, 0, 0, 0, None)
    if job.progress:
        yield ("progress", job.id, job.attempt, 0, 0, None)


def _place(job: Job, model: Model, found: Counter[Row]) -> Iterable[Fact]:
    counts = (job.id, job.attempt, job.failures, job.crashes)
    if job.phase == "waiting":
        scheduled = ("scheduled", *counts, None)
        due = job.due <= model.latest + MICROSECOND
        yield scheduled if scheduled in found or not due else ("ready", *counts, None)
    elif job.phase == "held":
        mark = "alone" if job.alone else "begun" if job.begun else "waits"
        yield ("claim", *counts, f"{job.current_claim} {mark}")
    elif job.phase == "dead":
        yield ("dead_letter", job.id, job.attempt, 0, 0, job.dead_of)


def _promise(facts: list[Row]) -> str:
    kinds = {fact[0] for fact in facts}
    if kinds & {"fault", "quarantine"}:
        return "no part of a poll fails, and nothing is taken for damaged"
    if kinds & {"effect", "guarded"}:
        return "effects take place exactly once"
    if kinds <= {"unique"}:
        return "a unique key is held by its job, and freed with it"
    if kinds <= {"worker"}:
        return "nobody is removed without being dead"
    if kinds <= {"cancel", "progress"}:
        return "nothing is left over of a run"
    return "every job is in exactly one place, the right one"


def _shown(facts: Counter[Row]) -> str:
    return (
        ", ".join(
            f"{fact[0]} {shorten(fact[1])} {shorten(fact[2:])}{f' x{n}' if n > 1 else ''}"
            for fact, n in sorted(facts.items(), key=str)[:6]
        )
        or "nothing"
    )


def check_order(
    rows: list[Row], *, wanted: int, kinds: list[str] | None, cursor: str | None, suspects: bool, **_: object
) -> None:
    """A claim without limits, and nobody else at work: what it took, and what it left behind."""
    places = [Place(*row) for row in rows]
    taken = [place for place in places if place.taken]
    left = [p for p in places if not p.taken and (kinds is None or p.kind in kinds)]
    calm = [place for place in left if place.crashes < SUSPECT]
    if len(taken) < wanted and calm:
        raise Broken("a claim leaves nothing behind that it could take", f"{calm[0]}, took {taken}")
    took_suspect = any(place.crashes >= SUSPECT for place in taken)
    if suspects and not took_suspect and len(left) > len(calm):
        raise Broken("a claim takes a suspect when it may", f"{left}, took {taken}")
    if cursor is not None:
        return  # the lanes of a cursor are a moment old
    for place in taken:
        for other in calm:
            lane = (place.priority, place.tenant) == (other.priority, other.tenant)
            ahead = other.priority < place.priority or (lane and other.position < place.position)
            if ahead and place.crashes < SUSPECT:
                raise Broken("priority first, then time", f"took {place} and left {other}")
