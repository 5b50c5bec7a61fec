"""What the tests of the runtime speak: start a worker, wait for a job to end, look into tables."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from ostinato import App, Client, Worker
from ostinato._core.base.metrics import Metric
from ostinato._core.base.settings import Settings
from ostinato._core.runtime.testing import KEY
from ostinato.testing import Engine
from tests.waiting import until_async

QUICK: dict[str, Any] = {
    "beat_seconds": 0.2,
    "expiry_seconds": 30.0,  # a busy machine is no death; a test that wants one says `**MORTAL`
    "poll_seconds": 0.1,
    "cancel_grace_seconds": 0.2,
    "drain_seconds": 5.0,
    "call_timeout_seconds": 5.0,
}
FAST = 1e12  # jobs a second, as a worker measures them: so many that it claims ahead
MORTAL: dict[str, Any] = {"expiry_seconds": 0.7}


@dataclass
class Outcome:
    """How a job ended, or how it stands."""

    state: str
    attempt: int
    result: Any
    error: Any


@dataclass
class Lab:
    """A database of its own, an app to add kinds to, workers on demand."""

    engine: Engine
    app: App

    @property
    def client(self) -> Client:
        return self.engine.client

    def new_worker(self, *apps: App, queues: Sequence[str] | None = None, **settings: object) -> Worker:
        chosen = Settings(**({"secret_key": KEY} | QUICK | settings))
        return Worker(apps or [self.app], self.engine.database, chosen, queues=queues)

    @asynccontextmanager
    async def worker(
        self, *apps: App, queues: Sequence[str] | None = None, **settings: object
    ) -> AsyncIterator[Worker]:
        """A worker that has started; it drains at the end of the block."""
        worker = self.new_worker(*apps, queues=queues, **settings)
        async with running(worker):
            yield worker

    async def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """What the superuser sees; a test may look into the tables."""
        cursor = await self.engine.admin.execute(statement.encode(), values or None)
        return await cursor.fetchall() if cursor.description else []

    async def value(self, statement: str, *values: object) -> Any:  # noqa: ANN401 - whatever SQL says
        ((value,),) = await self.rows(statement, *values)
        return value

    async def state(self, job_id: int) -> str | None:
        found: str | None = await self.value("select ostinato.job_state(%s)", job_id)
        return found

    async def becomes(self, job_id: int, *states: str) -> Outcome:
        """Wait until the job is in one of these states, and say how it stands."""

        async def there() -> bool:
            return await self.state(job_id) in states

        await until_async(there)
        return await self.outcome(job_id)

    async def outcome(self, job_id: int) -> Outcome:
        ((state, attempt, result, error),) = await self.rows(
            "select s.state, s.attempt, s.result, s.error from ostinato.show_job(%s) s", job_id
        )
        return Outcome(state, attempt, result, error)

    async def outcomes(self, job_id: int) -> list[str]:
        """The outcomes of all ended attempts, in order."""
        rows = await self.rows("select outcome from ostinato_data.outcome where job_id = %s order by attempt", job_id)
        return [row[0] for row in rows]

    async def until(self, statement: str, *values: object) -> None:
        """Wait until a statement says true."""

        async def true() -> bool:
            return bool(await self.value(statement, *values))

        await until_async(true)


@asynccontextmanager
async def running(worker: Worker) -> AsyncIterator[asyncio.Task[None]]:
    """Run a worker; it drains at the end of the block."""
    task = asyncio.create_task(worker.run())
    started = asyncio.create_task(worker.started.wait())
    await asyncio.wait({task, started}, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        started.cancel()
        await task
    try:
        yield task
    finally:
        worker.stop()
        await task


def listens(worker: Worker) -> bool:
    """Whether its heart hears rings by now."""
    listener = worker._heart._listener
    return listener is not None and listener.connected.is_set()


async def forever() -> None:
    """Wait for what never comes."""
    await asyncio.Event().wait()


def counted(worker: Worker, metric: Metric, *labels: str) -> float:
    return worker.recorder.value(metric, *labels)
