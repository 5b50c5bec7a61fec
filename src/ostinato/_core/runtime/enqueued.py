"""What tests ask of the jobs that their code added."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import AsyncConnection

from ostinato._core.engine import inspect
from ostinato._core.engine.inspect import JobDetails

MOST = 1000


async def list_enqueued(conn: AsyncConnection[Any]) -> list[JobDetails]:
    """Return all jobs, the oldest first."""
    found = await inspect.list_jobs(conn, most=MOST)
    return [await inspect.show_job(conn, job.id) for job in reversed(found)]


def check_enqueued(found: Sequence[JobDetails], kind: str, times: int | None, args: Mapping[str, object]) -> None:
    """Raise an AssertionError that lists what was added instead."""
    like = [job for job in found if all(name in job.args and job.args[name] == args[name] for name in args)]
    if len(like) == times or (times is None and like):
        return
    wanted = f"{kind} with {json.dumps(args, default=str)}" if args else kind
    there = "".join(f"\n  {job.id}  {json.dumps(job.args)}  {job.state}" for job in found) or " none"
    often = "" if times is None else f" {times} times"
    raise AssertionError(f"expected {wanted}{often}, found {len(like)} of {len(found)} jobs of that kind:{there}")
