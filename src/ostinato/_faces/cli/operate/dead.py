"""`ostinato jobs dead` and `jobs redrive`: what gave up, and giving it another chance."""

import shlex
from datetime import datetime
from typing import Annotated, Any

import typer
from psycopg import AsyncConnection
from rich.text import Text

from ostinato._core.base.errors import InvalidInput
from ostinato._core.db.call import call
from ostinato._core.engine import clock, inspect
from ostinato._core.engine import jobs as engine_jobs
from ostinato._core.engine.inspect import DeadLetter, DeadLetterFilter, DeadLetterGroup
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli, command
from ostinato._faces.cli.frame.output import table
from ostinato._faces.cli.operate.jobs import Before, Kind, Most, Queue, Tenant

__all__ = ["register"]

CHUNK = 500
"""Dead letters that one call redrives: few enough to be done well within the call's time."""


Signature = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Only with this error, as `jobs dead` shows it.")
]
Ids = Annotated[
    list[int],
    typer.Argument(metavar="JOB", min=0, help="Only these jobs.", show_default=False),
]


def dead(
    cli: Cli,
    *,
    each: Annotated[bool, typer.Option("--each", help="One by one instead of by error.")] = False,
    queue: Queue = None,
    kind: Kind = None,
    tenant: Tenant = None,
    signature: Signature = None,
    before: Before = None,
    most: Most = 50,
) -> None:
    """Dead letters: jobs that gave up, grouped by what killed them.

    Example: `ostinato jobs dead --each --queue mail`
    """
    filters = DeadLetterFilter(queue=queue, kind=kind, tenant_id=tenant, signature=signature)
    if each or before is not None or any(filters.values()):
        _one_by_one(cli, most, before, filters)
    else:
        _by_error(cli)


def redrive(
    cli: Cli,
    *,
    jobs: Ids = [],  # noqa: B006 - Typer copies it
    queue: Queue = None,
    kind: Kind = None,
    tenant: Tenant = None,
    signature: Signature = None,
    every: Annotated[bool, typer.Option("--all", help="All dead letters.")] = False,
    most: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="At most N, oldest first: a canary.")
    ] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Only count.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Run dead letters again; says how many, and asks, before it does.

    Example: `ostinato jobs redrive --kind billing.send_invoice --most 5`
    """
    filters = DeadLetterFilter(queue=queue, kind=kind, tenant_id=tenant, signature=signature)
    if not (jobs or every or any(filters.values())):
        raise InvalidInput(
            "nothing says which dead letters to redrive",
            hint="Name jobs, give --queue, --kind, --tenant or --signature, or say --all.",
        )

    async def work() -> dict[str, int]:
        async with attach.connection(cli) as conn:
            found = await _matching(conn, list(jobs) or None, filters)
            chosen = found[:most]
            told = {"matching": len(found), "chosen": len(chosen), "redriven": 0, "conflicts": 0}
            if preview or not chosen:
                return told
            if not yes and not await _agreed(cli, len(chosen), len(found)):
                return told | {"chosen": 0}
            return told | await _redriven(cli, conn, chosen)

    told = attach.run(work())
    cli.out.show(told, *_outcome(told, preview=preview))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app)(dead)
    command(app)(redrive)


async def _agreed(cli: Cli, count: int, matching: int) -> bool:
    of = "" if count == matching else f" of {matching:,}"
    return await cli.out.confirm(f"Run {words.counted(count, 'dead letter')}{of} again?")


async def _matching(
    conn: AsyncConnection[Any], ids: list[int] | None, filters: DeadLetterFilter
) -> list[int]:
    found = await call(conn, "find_dead_letters", _read=True, ids=ids, **filters)
    return [line[0] for line in found]


async def _redriven(cli: Cli, conn: AsyncConnection[Any], ids: list[int]) -> dict[str, int]:
    """Redrive exactly what was counted, in chunks: what died meanwhile is not touched."""
    redriven = conflicts = 0
    with cli.out.steps("Redriving", len(ids)) as steps:
        for start in range(0, len(ids), CHUNK):
            chunk = ids[start : start + CHUNK]
            done = await engine_jobs.redrive(conn, ids=chunk)
            redriven += done.redriven
            conflicts += done.conflicts
            steps.advance(len(chunk))
    return {"redriven": redriven, "conflicts": conflicts}


def _outcome(told: dict[str, int], *, preview: bool) -> list[str]:
    if told["matching"] == 0:
        return ["No dead letter matches."]
    if told["chosen"] == 0:
        return ["Nothing was changed."]
    if preview:
        of = "" if told["chosen"] == told["matching"] else f" of {told['matching']:,} that match"
        return [f"{words.counted(told['chosen'], 'dead letter')}{of} would run again."]
    runs = "runs" if told["redriven"] == 1 else "run"
    lines = [f"{words.counted(told['redriven'], 'job')} {runs} again."]
    if told["conflicts"]:
        lines.append(
            f"{words.counted(told['conflicts'], 'dead letter')} stayed:"
            " another job holds the unique key by now."
        )
    return lines


def _by_error(cli: Cli) -> None:
    async def look(conn: AsyncConnection[Any]) -> tuple[list[DeadLetterGroup], datetime]:
        return await inspect.dead_letter_groups(conn), await clock.now(conn)

    found, now = attach.ask(cli, look)
    shown = table("count", "kind", "reason", "last", "error", "for example", right=("count",))
    for line in found:
        shown.add_row(
            f"{line.count:,}",
            line.kind,
            line.reason,
            words.age(line.last, now),
            line.signature,  # what --signature takes; the example has its own words
            str(line.example_job_id),
        )
    cli.out.show({"groups": found}, shown if found else Text("No dead letters."))
    if found:
        cli.out.note(
            "Run the first group again: ostinato jobs redrive --signature "
            + shlex.quote(found[0].signature)
        )


def _one_by_one(cli: Cli, most: int, before: int | None, filters: DeadLetterFilter) -> None:
    which: DeadLetterFilter = {**filters, "before": before, "most": most}

    async def look(conn: AsyncConnection[Any]) -> tuple[list[DeadLetter], datetime]:
        return await inspect.list_dead_letters(conn, **which), await clock.now(conn)

    found, now = attach.ask(cli, look)
    following = found[-1].job_id if len(found) == most else None
    shown = table("job", "kind", "queue", "attempt", "died", "reason", "error", right=("job",))
    for line in found:
        shown.add_row(
            str(line.job_id),
            line.kind,
            line.queue,
            str(line.attempt),
            words.age(line.died_at, now),
            line.reason,
            line.error or "",
        )
    answer = {"dead_letters": found, "next": following}
    cli.out.show(answer, shown if found else Text("No dead letters."))
    if following is not None:
        cli.out.note(f"There may be more: add --before {following}")
