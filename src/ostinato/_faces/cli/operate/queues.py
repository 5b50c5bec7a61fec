"""`ostinato queues …`: how long the lines are, and who may come in."""

from dataclasses import replace
from typing import Annotated, Any

import typer
from psycopg import AsyncConnection
from rich.text import Text

from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine import inspect
from ostinato._core.engine import queues as engine_queues
from ostinato._core.engine.inspect import QueueSummary
from ostinato._core.engine.queues import Queue, Rate
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli, command
from ostinato._faces.cli.frame.output import table

__all__ = ["register"]

Name = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue's name.")]


def list_(cli: Cli) -> None:
    """List queues: what waits in them, what runs, their limits.

    Example: `ostinato queues list`
    """
    found = attach.ask(cli, inspect.list_queues)
    counts = ("ready", "scheduled", "running", "dead")
    shown = table("queue", "state", *counts, "oldest", "workers", "limits", right=counts)
    for queue in found:
        wait = queue.oldest_wait
        shown.add_row(
            queue.name,
            Text("paused", style="yellow") if queue.paused else Text("open", style="green"),
            *(f"{getattr(queue, n):,}{'+' if n in queue.capped else ''}" for n in counts),
            "" if wait is None else words.span(wait),
            str(queue.workers),
            words.limits(queue),
        )
    cli.out.show({"queues": found}, shown if found else Text("No queues yet."))


def pause(cli: Cli, queue: Name) -> None:
    """Stop claims from a queue; jobs that run go on.

    Example: `ostinato queues pause mail`
    """

    async def stop(conn: AsyncConnection[Any]) -> None:
        await engine_queues.pause(conn, queue)

    attach.ask(cli, stop)
    cli.out.show({"queue": queue, "paused": True}, f"queue {queue} is paused")


def resume(cli: Cli, queue: Name) -> None:
    """Let claims from a queue go on.

    Example: `ostinato queues resume mail`
    """

    async def go_on(conn: AsyncConnection[Any]) -> None:
        await engine_queues.resume(conn, queue)
        await engine_queues.ring(conn, queue)

    attach.ask(cli, go_on)
    cli.out.show({"queue": queue, "paused": False}, f"queue {queue} is open")


def limit(
    cli: Cli,
    *,
    queue: Name,
    concurrency: Annotated[
        str | None, typer.Option(metavar="N", help="Jobs that run at once, over all workers.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="N/TIME", help="Starts within a time: 100/m, 10/90s.")
    ] = None,
    key_concurrency: Annotated[
        str | None, typer.Option(metavar="N", help="Jobs of one limit key that run at once.")
    ] = None,
    key_rate: Annotated[
        str | None, typer.Option(metavar="N/TIME", help="Starts of one limit key within a time.")
    ] = None,
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
        raise InvalidInput(
            "nothing says which limit to set",
            hint="Give --concurrency, --rate, --key-concurrency or --key-rate.",
        )

    async def change(conn: AsyncConnection[Any]) -> QueueSummary:
        now = [line for line in await inspect.list_queues(conn) if line.name == queue]
        await engine_queues.configure(conn, replace(_limits(queue, now), **given))
        return next(line for line in await inspect.list_queues(conn) if line.name == queue)

    changed = attach.ask(cli, change)
    told = words.limits(changed) or "no limit"
    cli.out.show(changed, f"queue {queue}: {told}")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "list")(list_)
    command(app)(pause)
    command(app)(resume)
    command(app)(limit)


def _limits(name: str, found: list[QueueSummary]) -> Queue:
    if not found:
        return Queue(name)
    (now,) = found
    return Queue(
        name,
        now.concurrency,
        _rate(now.rate_count, now.rate_seconds),
        now.key_concurrency,
        _rate(now.key_rate_count, now.key_rate_seconds),
    )


def _rate(count: int | None, seconds: float | None) -> Rate | None:
    return None if count is None or seconds is None else Rate(count, seconds)
