"""`ostinato erase` blanks everything that the engine keeps about a person."""

import asyncio
import sys
import time
from dataclasses import asdict
from typing import Annotated, Any

import typer
from psycopg import AsyncConnection
from rich.text import Text

from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine import erasure
from ostinato._core.engine.erasure import Certificate
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.options import Preview, Yes, argument, flag, option
from ostinato._faces.cli.frame.output import grid
from ostinato._faces.cli.frame.verbs import commands

AGAIN_SECONDS = 0.5


def erase(
    cli: Cli,
    subject: Annotated[str, argument("SUBJECT", "As the application named it; - reads it from stdin.")],
    *,
    tenant: Annotated[str | None, option("ID", "Whose subject; else the tenant `default`.")] = None,
    preview: Preview = False,
    keep_live: Annotated[bool, flag("Leave jobs alone that wait or run.", "--keep-live")] = False,
    wait: Annotated[str, option("TIME", "How long running jobs get to stop: 90, 5m.")] = "60",
    yes: Yes = False,
) -> None:
    """Blank arguments, results, errors, steps, events and webhooks about a person.

    Jobs that wait are cancelled first, running ones are asked to stop and waited for. Shows a
    certificate, which the audit keeps. Ends with 1 when something is left: run it again.

    Example: `ostinato erase customer-7 --tenant acme --reason "request 4711"`
    """
    name = sys.stdin.readline().strip() if subject == "-" else subject
    if not name:
        raise InvalidInput("no subject is given", hint="Write the subject, or send it on stdin.")
    seconds = words.seconds(wait, "--wait")

    async def work(conn: AsyncConnection[Any]) -> Certificate | None:
        found = await erasure.erase(conn, name, tenant_id=tenant, preview=True)
        if preview:
            return found
        if not yes and not await cli.out.confirm(f"Erase {_counted(found)}? Nobody can undo it."):
            return None
        return await _erased(conn, name, tenant, keep_live=keep_live, seconds=seconds)

    certificate = attach.ask(cli, work)
    if certificate is None:
        cli.out.show({"erased": None}, "Nothing was changed.")
        return
    _show(cli, certificate)


async def _erased(
    conn: AsyncConnection[Any], name: str, tenant: str | None, *, keep_live: bool, seconds: float
) -> Certificate:
    """Erase until nothing is left, or the time is up; the certificate has the sums."""
    until = time.monotonic() + seconds
    found = await erasure.erase(conn, name, tenant_id=tenant, keep_live=keep_live)
    while not found.complete and not keep_live and time.monotonic() < until:
        if found.running:
            await asyncio.sleep(AGAIN_SECONDS)
        after = await erasure.erase(conn, name, tenant_id=tenant)
        sums = {table: count + after.erased.get(table, 0) for table, count in found.erased.items()}
        found = Certificate(**asdict(after) | {"erased": sums, "cancelled": found.cancelled + after.cancelled})
    return found


def _counted(found: Certificate) -> str:
    counts = (("job", found.erased["job"]), ("event", found.erased["event"]))
    return " and ".join(words.counted(count, noun) for noun, count in counts)


def _show(cli: Cli, certificate: Certificate) -> None:
    shown = grid()
    for table, count in certificate.erased.items():
        shown.add_row(table, Text(f"{count:,}"))
    lines = [("cancelled", certificate.cancelled), ("still running", certificate.running)]
    for label, count in [*lines, ("left waiting", certificate.waiting)]:
        if count:
            shown.add_row(label, Text(f"{count:,}"))
    verb = "Would be erased" if certificate.preview else "Erased"
    head = f"{verb} for tenant {certificate.tenant_id}, by {certificate.by}, {certificate.at:%Y-%m-%d %H:%M:%S %Z}:"
    cli.out.show(asdict(certificate), head, shown)
    if not certificate.complete and not certificate.preview:
        cli.out.warn("Something is left: run it again when those jobs have ended.")
        raise typer.Exit(1)


register = commands(erase)
