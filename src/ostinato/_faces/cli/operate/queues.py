"""`ostinato queues …` lists queues, and pauses, resumes or limits one."""

import difflib
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

from psycopg import AsyncConnection
from rich.text import Text

from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine import inspect
from ostinato._core.engine import queues as engine_queues
from ostinato._core.engine.inspect import QueueSummary
from ostinato._core.engine.queues import Queue, Rate
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.listing import Cell, Columns, listed
from ostinato._faces.cli.frame.options import argument, option
from ostinato._faces.cli.frame.verbs import Noun, commands

Name = Annotated[str, argument("QUEUE", "The queue's name.")]
QUEUE = Noun("queue", Name)


def list_(cli: Cli) -> None:
    """List queues: what waits in them, what runs, their limits.

    Example: `ostinato queues list`
    """
    answer = attach.ask_at(cli, inspect.list_queues)
    listed(cli, "queues", answer, COLUMNS, empty="No queues yet.")


def limit(
    cli: Cli,
    *,
    queue: Name,
    concurrency: Annotated[str | None, option("N", "Jobs that run at once, over all workers.")] = None,
    rate: Annotated[str | None, option("N/TIME", "Starts within a time: 100/m, 10/90s.")] = None,
    key_concurrency: Annotated[str | None, option("N", "Jobs of one limit key that run at once.")] = None,
    key_rate: Annotated[str | None, option("N/TIME", "Starts of one limit key within a time.")] = None,
) -> None:
    """Set limits of a queue; `none` takes one away, those not named stay.

    A worker whose app declares the queue sets its limits again when it starts.

    Example: `ostinato queues limit mail --concurrency 5 --rate 100/m`
    """
    given: dict[str, Any] = {}
    for name, text, read in (
        ("concurrency", concurrency, words.limit),
        ("rate", rate, words.rate),
        ("key_concurrency", key_concurrency, words.limit),
        ("key_rate", key_rate, words.rate),
    ):
        if text is not None:
            given[name] = read(text, f"--{name.replace('_', '-')}")
    if not given:
        raise InvalidInput("no limit is given", hint="Give --concurrency, --rate, --key-concurrency or --key-rate.")
    changed = attach.ask(cli, _limited, queue, given)
    cli.out.show(changed, f"queue {queue}: {words.limits(changed) or 'no limit'}")


async def _limited(conn: AsyncConnection[Any], name: str, given: dict[str, Any]) -> QueueSummary:
    now = {line.name: line for line in await inspect.list_queues(conn)}.get(name)
    queue = Queue(name) if now is None else _limits(now)
    await engine_queues.configure(conn, replace(queue, **given))
    return next(line for line in await inspect.list_queues(conn) if line.name == name)


async def _unknown(conn: AsyncConnection[Any], name: str) -> str | None:
    """Return what to say of a queue that no job, worker or limit has ever named."""
    known = sorted(line.name for line in await inspect.list_queues(conn))
    if name in known:
        return None
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else "`ostinato queues list` shows those that are known"
    return f"nobody knows a queue {name}: no job, worker or limit names it; {hint}"


def _limits(now: QueueSummary) -> Queue:
    return Queue(
        now.name,
        now.concurrency,
        _rate(now.rate_count, now.rate_seconds),
        now.key_concurrency,
        _rate(now.key_rate_count, now.key_rate_seconds),
    )


def _rate(count: int | None, seconds: float | None) -> Rate | None:
    return None if count is None or seconds is None else Rate(count, seconds)


def _state(queue: QueueSummary, _: datetime) -> Text:
    return Text("paused", style="yellow") if queue.paused else Text("open", style="green")


def _oldest(queue: QueueSummary, _: datetime) -> str:
    return "" if queue.oldest_wait is None else words.span(queue.oldest_wait)


def _count(name: str) -> Cell:
    return lambda queue, _: f"{getattr(queue, name):,}{'+' if name in queue.capped else ''}"


COLUMNS = Columns(
    "queue=name | state | ready> | scheduled> | running> | dead> | oldest? | workers? | limits?",
    state=_state,
    **{name: _count(name) for name in ("ready", "scheduled", "running", "dead")},
    oldest=_oldest,
    limits=lambda queue, _: words.limits(queue),
)
register = commands(
    list_,
    QUEUE.verb(
        "pause",
        engine_queues.pause,
        "Stop claims from a queue; jobs that run go on.",
        example="ostinato queues pause mail",
        said="queue {name} is paused",
        answer={"paused": True},
        doubt=_unknown,
    ),
    QUEUE.verb(
        "resume",
        engine_queues.resume,
        "Resume claims from a queue.",
        example="ostinato queues resume mail",
        said="queue {name} is open",
        answer={"paused": False},
        rings="{name}",
        doubt=_unknown,
    ),
    limit,
)
