"""`ostinato jobs dead` lists dead letters, `jobs redrive` retries them."""

import shlex
from typing import Annotated, Any

from psycopg import AsyncConnection

from ostinato._core.base.errors import InvalidInput
from ostinato._core.db.call import call
from ostinato._core.engine import inspect
from ostinato._core.engine import jobs as engine_jobs
from ostinato._core.engine.inspect import DeadLetterFilter
from ostinato._faces.cli.frame import attach, options, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.listing import Columns, listed, paged
from ostinato._faces.cli.frame.options import Kind, Most, Queue, Tenant, argument, flag, option
from ostinato._faces.cli.frame.verbs import commands

CHUNK = 500
"""Dead letters that one call redrives: few enough to be done well within the call's time."""

Signature = Annotated[str | None, option("TEXT", "Only with this error, as `jobs dead` shows it.")]
Ids = Annotated[list[int], argument("JOB", "Only these jobs.", min=0, show_default=False)]
NOTHING = "No dead letters."
GROUPS = Columns(  # the signature, which --signature takes; the example has its own words
    "count> | kind | reason | last | error=signature | for example=example_job_id",
    count=lambda line, _: f"{line.count:,}{'+' if line.capped else ''}",
)
EACH = Columns("job=job_id> | kind | queue | attempt | died=died_at | reason | error")


def dead(
    cli: Cli,
    *,
    each: Annotated[bool, flag("One by one instead of by error.", "--each")] = False,
    queue: Queue = None,
    kind: Kind = None,
    tenant: Tenant = None,
    signature: Signature = None,
    before: options.Before = None,
    most: Most = 50,
) -> None:
    """List dead letters, grouped by their error.

    Example: `ostinato jobs dead --each --queue mail`
    """
    filters = DeadLetterFilter(queue=queue, kind=kind, tenant_id=tenant, signature=signature)
    if each or before is not None or any(filters.values()):
        filters |= {"before": before, "most": most}
        one_by_one = attach.ask_at(cli, inspect.list_dead_letters, **filters)
        paged(cli, "dead_letters", one_by_one, EACH, empty=NOTHING, most=most, by="job_id")
        return
    found, now = attach.ask_at(cli, inspect.dead_letter_groups)
    listed(cli, "groups", (found, now), GROUPS, empty=NOTHING)
    if found:
        again = f"ostinato jobs redrive --signature {shlex.quote(found[0].signature)}"
        cli.out.note(f"Run the first group again: {again}")


def redrive(
    cli: Cli,
    *,
    jobs: Ids = [],  # noqa: B006 - Typer copies it
    queue: Queue = None,
    kind: Kind = None,
    tenant: Tenant = None,
    signature: Signature = None,
    every: Annotated[bool, flag("All dead letters.", "--all")] = False,
    most: Annotated[int | None, option("N", "At most N, oldest first: a canary.", min=1)] = None,
    preview: options.Preview = False,
    yes: options.Yes = False,
) -> None:
    """Retry dead letters; says how many, and asks first.

    Example: `ostinato jobs redrive --kind billing.send_invoice --most 5`
    """
    filters = DeadLetterFilter(queue=queue, kind=kind, tenant_id=tenant, signature=signature)
    if not (jobs or every or any(filters.values())):
        raise InvalidInput(
            "no dead letters are chosen", hint="Name jobs, give --queue, --kind, --tenant or --signature, or say --all."
        )

    async def work(conn: AsyncConnection[Any]) -> dict[str, int]:
        ids = list(jobs) or None
        lines = await call(conn, "find_dead_letters", _read=True, ids=ids, **filters)
        found = [line[0] for line in lines]
        chosen = found[:most]
        counts = {"matching": len(found), "chosen": len(chosen), "redriven": 0, "conflicts": 0}
        if preview or not chosen:
            return counts
        if not yes and not await _agreed(cli, len(chosen), len(found)):
            return counts | {"chosen": 0}
        return counts | await _redriven(cli, conn, chosen, filters)

    counts = attach.ask(cli, work)
    cli.out.show(counts, *_outcome(counts, preview=preview))


async def _agreed(cli: Cli, count: int, matching: int) -> bool:
    of = "" if count == matching else f" of {matching:,}"
    return await cli.out.confirm(f"Run {words.counted(count, 'dead letter')}{of} again?")


async def _redriven(cli: Cli, conn: AsyncConnection[Any], ids: list[int], filters: DeadLetterFilter) -> dict[str, int]:
    """Redrive exactly what was counted, in chunks: what died meanwhile is not touched.

    The filter is given again for the audit: each chunk is a transaction and leaves an entry.
    """
    redriven = conflicts = 0
    with cli.out.steps("Redriving", len(ids)) as steps:
        for start in range(0, len(ids), CHUNK):
            chunk = ids[start : start + CHUNK]
            done = await engine_jobs.redrive(
                conn,
                ids=chunk,
                queue=filters["queue"],
                kind=filters["kind"],
                tenant_id=filters["tenant_id"],
                signature=filters["signature"],
            )
            redriven += done.redriven
            conflicts += done.conflicts
            steps.advance(len(chunk))
    return {"redriven": redriven, "conflicts": conflicts}


def _outcome(counts: dict[str, int], *, preview: bool) -> list[str]:
    if counts["matching"] == 0:
        return ["No dead letter matches."]
    if counts["chosen"] == 0:
        return ["Nothing was changed."]
    if preview:
        of = "" if counts["chosen"] == counts["matching"] else f" of {counts['matching']:,} that match"
        return [f"{words.counted(counts['chosen'], 'dead letter')}{of} would run again."]
    runs = "runs" if counts["redriven"] == 1 else "run"
    lines = [f"{words.counted(counts['redriven'], 'job')} {runs} again."]
    if counts["conflicts"]:
        lines.append(
            f"{words.counted(counts['conflicts'], 'dead letter')} stayed: another job holds the unique key by now."
        )
    return lines


register = commands(dead, redrive)
