"""Reads how a job ended, for callers who wait for its result. The logic is in `sql/functions/ends.sql`."""

from dataclasses import dataclass
from typing import Any, Literal

from psycopg import AsyncConnection

from ostinato._core.base.enderrors import JobCancelled, JobFailed
from ostinato._core.base.errors import NotFound
from ostinato._core.db.call import call

CHANNEL = "ostinato_ends"
UNCOMMITTED = (
    "Wait after the commit of the transaction that added it; it may be rolled back, or past the retention time."
)


@dataclass(frozen=True, slots=True)
class End:
    """The end of a job."""

    job_id: int
    state: Literal["done", "dead", "cancelled"]
    result: Any
    """What the handler returned by `Done(result)`."""
    error: Any
    """What the last attempt raised, or why it was cancelled; None for a job that is done."""

    def value(self) -> Any:  # noqa: ANN401 - whatever the handler returned
        """Return the result of a job that is done.

        Raises `JobFailed` or `JobCancelled` for one that is not.
        """
        if self.state == "done":
            return self.result
        told = self.error or {}
        said = told.get("message") or told.get("reason") or self.state
        if self.state == "dead":
            hint = f"`ostinato why {self.job_id}` says what to do; a redrive gives it new attempts."
            raise JobFailed(f"job {self.job_id} failed: {said}", hint=hint, job_id=self.job_id, error=self.error)
        raise JobCancelled(f"job {self.job_id} was cancelled: {said}", job_id=self.job_id, error=self.error)


async def watch(conn: AsyncConnection[Any], job_id: int, seconds: float) -> End | None:
    """Return how a job ended; None while it has not, and then its end rings for some seconds."""
    try:
        rows = await call(conn, "watch_job", job_id=job_id, seconds=seconds)
    except NotFound as error:
        error.hint = UNCOMMITTED
        raise
    return End(job_id, *rows[0]) if rows else None
