"""The options of one job say when, where and for whom it runs; they are checked where they are given.

`kind.options(delay=60)` and `client.enqueue("billing.send", {}, delay=60)` take the same. A name that
is none would be a job that runs at once, or for another tenant, so it is refused and corrected.
"""

import difflib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from numbers import Integral, Real
from typing import Any, TypedDict

from psycopg import AsyncConnection

from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine import clock
from ostinato._core.engine.jobs import LimitScope, NewJob, Unique

__all__ = ["TEXT", "TIME", "Options", "chosen", "new_job", "refuse_other", "refuse_unknown"]


class Options(TypedDict, total=False):
    """The options of one job that differ from those of its kind."""

    queue: str
    priority: int
    run_at: datetime
    delay: float
    """Seconds from now; instead of `run_at`."""
    tenant: str
    correlation_id: str
    limit_key: str
    limit_scope: LimitScope
    """Who shares the slots of the limit key: the job's tenant, or the whole installation."""
    unique: Unique
    max_attempts: int
    subject: str
    """Whom the job is about: `ostinato erase` blanks it by this name, of which a hash is stored."""


TEXT = (str, "text")
TIME = (datetime, "a datetime with a zone")
_TAKES: Mapping[str, tuple[type, str]] = {
    "priority": (Integral, "a whole number"),
    "run_at": TIME,
    "delay": (Real, "seconds"),
    "unique": (Unique, "a Unique, such as Unique('order-7')"),
    "max_attempts": (Integral, "a whole number"),
}


def refuse_unknown(kind: str, options: Options) -> None:
    """Refuse a name that is no option, and a value that the option cannot have; None means not given."""
    for name, value in options.items():
        if name not in Options.__annotations__:
            near = difflib.get_close_matches(name, Options.__annotations__, n=1)
            raise InvalidInput(
                f"{kind} got an option {name!r}, which there is not",
                hint=f"Did you mean {near[0]}?" if near else f"There are: {', '.join(Options.__annotations__)}.",
                kind=kind,
                option=name,
            )
        wanted, said = _TAKES.get(name, TEXT)
        refuse_other(f"the option {name} of {kind}", value, wanted, said)
    if options.get("run_at") is not None and options.get("delay") is not None:
        raise InvalidInput(f"{kind} got both run_at and delay", hint="Give one of them.")


def refuse_other(what: str, value: object, wanted: type, said: str) -> None:
    """Refuse a value of another type, unless it is None."""
    if value is not None and not isinstance(value, wanted):
        raise InvalidInput(f"{what} is of type {type(value).__name__}, not {said}", hint=f"Give {said}.")


async def new_job(conn: AsyncConnection[Any], job: NewJob, options: Options) -> NewJob:
    """Make a job with some options. A delay counts from the database's time, not from ours."""
    return chosen(job, options, await clock.now(conn) if options.get("delay") is not None else None)


def chosen(job: NewJob, options: Options, now: datetime | None) -> NewJob:
    """Return the job with its options; `now` is the database's time, where there is a delay."""
    run_at = options.get("run_at")
    if now is not None:
        run_at = now + timedelta(seconds=float(options["delay"]))
    return replace(
        job,
        queue=options.get("queue", job.queue),
        priority=options.get("priority", job.priority),
        run_at=run_at,
        tenant_id=options.get("tenant"),
        correlation_id=options.get("correlation_id"),
        limit_key=options.get("limit_key"),
        limit_scope=options.get("limit_scope", "tenant"),
        unique=options.get("unique"),
        max_attempts=options.get("max_attempts"),
        subject=options.get("subject"),
    )
