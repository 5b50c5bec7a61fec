"""`ostinato workers` and `ostinato why`: who works, and why a job does not run."""

from typing import Any

import typer
from psycopg import AsyncConnection
from rich.markup import escape
from rich.text import Text

from ostinato.cli import attach, words
from ostinato.cli.command import Cli, command
from ostinato.cli.jobs import JobId
from ostinato.cli.look import row, rows
from ostinato.cli.output import table
from ostinato.engine import clock

__all__ = ["register"]


def workers(cli: Cli) -> None:
    """List the workers: who is alive, what they serve, what they hold.

    Example: `ostinato workers`
    """

    async def look(conn: AsyncConnection[Any]) -> tuple[list[dict[str, Any]], Any]:
        return await rows(conn, "list_workers"), await clock.now(conn)

    found, now = attach.ask(cli, look)
    shown = table("worker", "state", "holds", "last beat", "started", "queues", "kinds")
    for line in found:
        shown.add_row(
            escape(line["name"]),
            _state(line),
            f"{line['held']:,}",
            f"{words.span(max(0.0, line['beat_age']))} ago",
            words.age(line["started_at"], now),
            escape(", ".join(line["queues"])),
            escape(", ".join(line["kinds"])),
        )
    nobody = Text("No workers. Start one: ostinato worker --app package.module:app")
    cli.out.show({"workers": found}, shown if found else nobody)


def why(cli: Cli, job: JobId) -> None:
    """Say why a job is not running, or what became of it.

    Example: `ostinato why 31900000000042`
    """

    async def look(conn: AsyncConnection[Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        return await row(conn, "show_job", job_id=job), await rows(conn, "why", job_id=job)

    shown, reasons = attach.ask(cli, look)
    title = Text.assemble(f"job {job}  {shown['kind']}  ", words.state(shown["state"]))
    lines: list[Text] = [title]
    for number, reason in enumerate(reasons):
        lines.append(Text(reason["message"], style="" if number else "bold"))
        if reason["hint"]:
            lines.append(Text.assemble(("  → ", "green"), reason["hint"]))
    answer = {"job_id": job, "kind": shown["kind"], "state": shown["state"], "reasons": reasons}
    cli.out.show(answer, *lines)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app)(workers)
    command(app)(why)


def _state(worker: dict[str, Any]) -> Text:
    if worker["expired"]:
        return Text("silent", style="red")
    return Text("draining", style="yellow") if worker["draining"] else Text("alive", style="green")
