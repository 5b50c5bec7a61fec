"""`ostinato archive …`: what is past retention goes to files before it is dropped."""

import sys
from typing import Annotated, Any

from psycopg import AsyncConnection
from rich.text import Text

from ostinato._core.base.errors import NotConfigured
from ostinato._core.db.backup.shelf import Shelf
from ostinato._core.engine import archive
from ostinato._core.engine.archive import Archived
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.options import argument
from ostinato._faces.cli.frame.output import table
from ostinato._faces.cli.frame.verbs import commands

Conn = AsyncConnection[Any]


def init(cli: Cli, place: Annotated[str | None, argument("PLACE", "Else OSTINATO_ARCHIVE_URL.")] = None) -> None:
    """Let upkeep drop only what is archived: from now on, whatever worker does it.

    The place is a folder, or an object store such as s3://bucket/prefix.

    Example: `ostinato archive init s3://company/ostinato`
    """
    where = place or cli.settings.archive_url
    if where is None:
        raise NotConfigured("no place for the archive is named", hint="Name one, or set OSTINATO_ARCHIVE_URL.")
    Shelf(where)
    attach.ask(cli, archive.require, where)
    cli.out.show({"place": where}, Text(f"Nothing is dropped any more before it is in {where}."))
    cli.out.note("→ ostinato archive run      every night; without it the history only grows")


def stop(cli: Cli) -> None:
    """Let upkeep drop weeks that are not archived, as before.

    Example: `ostinato archive stop`
    """
    attach.ask(cli, archive.require, None)
    cli.out.show({"place": None}, Text("Weeks past retention are dropped without being archived."))


def run(cli: Cli) -> None:
    """Archive what is past retention, each week of a table as a compressed file of JSON lines.

    Repeat it after an interruption, and from a timer.

    Example: `ostinato archive run`
    """
    settings = cli.settings

    async def work(conn: Conn) -> list[Archived]:
        place = settings.archive_url or await archive.rule(conn)
        if place is None:
            raise NotConfigured("no archive is set up", hint="ostinato archive init PLACE")
        with cli.out.working("Archiving"):
            return await archive.run(conn, Shelf(place), settings.retention_days, settings.audit_retention_days)

    _show(cli, attach.ask(cli, work), "Nothing is to be archived.")


def list_(cli: Cli) -> None:
    """List what was archived.

    Example: `ostinato archive list`
    """
    _show(cli, attach.ask(cli, archive.all_archived), "Nothing was archived yet.")


def verify(cli: Cli) -> None:
    """Read every file of the archive, and compare its checksum.

    Example: `ostinato archive verify`
    """

    async def work(conn: Conn) -> list[Archived]:
        found = await archive.all_archived(conn)
        with cli.out.working(f"Reading {words.counted(len(found), 'file')}"):
            for each in found:
                await archive.check(each)
        return found

    found = attach.ask(cli, work)
    cli.out.show({"files": len(found)}, Text(f"Good: {words.counted(len(found), 'file')}."))


def read(cli: Cli, name: Annotated[str, argument("NAME", "As `ostinato archive list` shows it.")]) -> None:
    """Print what was archived as lines of JSON, once its checksum is found to be right.

    Example: `ostinato archive read job_20260108`
    """

    async def work(conn: Conn) -> None:
        async for line in archive.read(conn, name):
            sys.stdout.write(line.decode())

    attach.ask(cli, work)


def _show(cli: Cli, found: list[Archived], empty: str) -> None:
    shown = table("name", "rows", "bytes", "file", right=("rows", "bytes"))
    for each in found:
        shown.add_row(each.name, f"{each.rows:,}", f"{each.bytes:,}", each.file)
    cli.out.show({"archived": found}, shown if found else Text(empty))


register = commands(init, stop, run, list_, verify, read)
