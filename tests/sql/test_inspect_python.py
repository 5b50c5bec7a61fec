"""The Python face of inspect: each class has exactly the columns of its function."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import FrozenInstanceError
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from ostinato._core.base.errors import InvalidInput, NotFound
from ostinato._core.db.embedded import Urls
from ostinato._core.db.pool import Connection, connect
from ostinato._core.engine import inspect
from tests.sql.engine import START, Session

T = TypeVar("T")
Ask = Callable[[Callable[[Connection], Awaitable[T]]], T]


@pytest.fixture
def ask(urls: Urls) -> Ask[Any]:
    """Runs a question on a connection of a worker."""

    def run(question: Callable[[Connection], Awaitable[Any]]) -> Any:  # noqa: ANN401
        async def go() -> Any:  # noqa: ANN401
            async with await connect(urls.worker) as conn:
                return await question(conn)

        return asyncio.run(go())

    return run


def test_jobs_are_listed_and_shown(db: Session, ask: Ask[Any]) -> None:
    worker = db.worker("host-1")
    done = db.enqueue(args={"x": 1})
    db.complete(db.claim_one(worker), results=['{"y": 2}'])
    later = db.enqueue(run_at=START + timedelta(hours=1), correlation_id="c")

    listed = ask(inspect.list_jobs)
    shown = ask(lambda conn: inspect.show_job(conn, done))
    (run,) = ask(lambda conn: inspect.attempts(conn, done))

    assert [(job.id, job.state) for job in listed] == [(later, "scheduled"), (done, "done")]
    assert (listed[0].correlation_id, listed[0].run_at) == ("c", START + timedelta(hours=1))
    assert (shown.args, shown.result, shown.worker_name) == ({"x": 1}, {"y": 2}, "host-1")
    assert (run.attempt, run.outcome, run.worker_id) == (1, "done", worker)
    (only,) = ask(lambda conn: inspect.list_jobs(conn, state="done", before=later, most=1))
    assert only.id == done
    with pytest.raises(FrozenInstanceError):
        only.id = 7


def test_queues_workers_and_numbers(db: Session, ask: Ask[Any]) -> None:
    db.worker("host-1", queues=["default"])
    db.call("configure_queue", name="default", concurrency=3)
    db.enqueue()

    (queue,) = ask(inspect.list_queues)
    (worker,) = ask(inspect.list_workers)
    stats = ask(inspect.stats)

    assert (queue.name, queue.concurrency, queue.ready, queue.workers) == ("default", 3, 1, 1)
    assert (worker.name, worker.held, worker.expired) == ("host-1", 0, False)
    assert (stats.ready, stats.workers, stats.estimated) == (1, 1, [])


def test_dead_letters_and_their_groups(db: Session, ask: Ask[Any]) -> None:
    job = db.enqueue()
    db.fail(db.claim_one(db.worker()), type_="KeyError")

    (letter,) = ask(lambda conn: inspect.list_dead_letters(conn, signature="KeyError"))
    (group,) = ask(inspect.dead_letter_groups)

    assert (letter.job_id, letter.error) == (job, "KeyError: it broke")
    assert (group.signature, group.count, group.example_job_id) == ("KeyError", 1, job)
    assert ask(lambda conn: inspect.list_dead_letters(conn, signature="other")) == []


def test_why_is_answered_with_reasons(db: Session, ask: Ask[Any]) -> None:
    job = db.enqueue()

    first, second = ask(lambda conn: inspect.why(conn, job))

    assert (first.code, second.code) == ("no_worker_for_queue", "waiting_turn")
    assert first.detail["queue"] == "default"
    assert first.hint


def test_errors_of_the_functions_are_errors_of_ours(db: Session, ask: Ask[Any]) -> None:
    with pytest.raises(NotFound, match="there is no job 7"):
        ask(lambda conn: inspect.show_job(conn, 7))
    with pytest.raises(NotFound, match="there is no job 7"):
        ask(lambda conn: inspect.attempts(conn, 7))
    with pytest.raises(NotFound, match="there is no job 7"):
        ask(lambda conn: inspect.why(conn, 7))
    with pytest.raises(InvalidInput, match="1 to 1000"):
        ask(lambda conn: inspect.list_jobs(conn, most=0))
