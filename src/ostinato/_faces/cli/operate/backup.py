"""`ostinato backup …` and `ostinato restore`: copies of the whole server, and the way back from them."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from rich.text import Text

from ostinato._core.base.enderrors import BackupFailed
from ostinato._core.base.errors import InvalidInput, NotConfigured, OstinatoError
from ostinato._core.base.vault import key_path
from ostinato._core.db import embedded, pool
from ostinato._core.db.backup import objects, server, take
from ostinato._core.db.backup import restore as restores
from ostinato._core.db.backup import stream as streaming
from ostinato._core.db.backup import verify as verifying
from ostinato._core.db.backup.programs import Source, Told
from ostinato._core.db.backup.repository import Base, Repository
from ostinato._core.db.backup.restore import Restored
from ostinato._core.db.binaries import embedded as programs_of_wheel
from ostinato._core.engine import backups
from ostinato._core.runtime.database import Database
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.options import Preview, Yes, argument, flag, option
from ostinato._faces.cli.frame.output import grid, table
from ostinato._faces.cli.frame.verbs import commands

Where = Annotated[str | None, option("FOLDER", "The repository; else OSTINATO_BACKUP_DIR.", "--repository", "-r")]
Label = Annotated[str | None, option("LABEL", "Which base backup; else the newest.", "--label")]
Url = Annotated[str, argument("URL", "Such as s3://bucket/prefix.")]
KEPT = 7


def init(cli: Cli, folder: Annotated[str | None, argument("FOLDER", "Else OSTINATO_BACKUP_DIR.")] = None) -> None:
    """Make a repository for the backups of this server, and check that it can be copied.

    Choose another disk or machine than the database's. The server itself is not changed.

    Example: `ostinato backup init /mnt/backup/ostinato`
    """
    where = _where(cli, folder)

    async def work() -> Repository:
        async with source_of(cli) as (source, _):
            return await take.init(source, where)

    made = attach.run(work())
    document = {"repository": made.folder, **asdict(made.about)}
    cli.out.show(document, Text(f"Backups of this server (PostgreSQL {made.about.major}) go to {made.folder}."))
    if _same_disk(cli, made.folder):
        cli.out.warn("This is the disk of the database too: its loss would take both.")
    cli.out.note(f"→ export OSTINATO_BACKUP_DIR={made.folder}")
    cli.out.note("→ ostinato backup stream      keeps the log; let a supervisor run it")
    cli.out.note("→ ostinato backup run         takes a base backup; every night")


def run(
    cli: Cli,
    *,
    repository: Where = None,
    verify: Annotated[bool, flag("Do not verify it.", "--verify/--no-verify")] = True,
) -> None:
    """Take a base backup, and verify it.

    It can be restored alone, to the moment of its end; with the log of `backup stream`, to any later one.

    Example: `ostinato backup run`
    """
    found = Repository.open(_where(cli, repository))

    async def work() -> Base:
        async with source_of(cli) as (source, database):
            await _check_not_waiting(source, found)
            with percents(cli, f"Copying to {found.folder}") as told:
                base = await take.take(source, found, told)
            await _record(cli, database, found, base, verified=False)
            if not verify:
                return base
            return (await _verify(cli, database, found, base)).base

    base = attach.run(work())
    checked = ", verified" if base.verified else ""
    cli.out.show(_document(base), f"Base backup {base.label}: {_size(base.bytes)}{checked}.")


def stream(
    cli: Cli,
    *,
    repository: Where = None,
    synchronous: Annotated[bool, flag("Commits wait until the log is here.", "--synchronous")] = False,
) -> None:
    """Receive the log of this server until stopped; let a supervisor run it.

    With --synchronous the loss of the database's disk loses nothing that was acknowledged, and
    commits wait while this command is away, unless it was stopped in order (SIGTERM, Ctrl-C).

    Example: `ostinato backup stream --synchronous`
    """
    found = Repository.open(_where(cli, repository))

    def ready(timeline: int) -> None:
        folder = found.log_folder(timeline)
        cli.out.event({"event": "receiving", "folder": folder, "timeline": timeline, "synchronous": synchronous})
        waits = "; commits wait for it" if synchronous else ""
        cli.out.note(f"Receiving the log into {folder}{waits}. Ctrl-C stops it.")

    async def work() -> None:
        async with source_of(cli) as (source, _):
            await streaming.receive(source, found, synchronous=synchronous, ready=ready, warn=cli.out.warn)

    attach.run(work())


def verify(cli: Cli, *, repository: Where = None, label: Label = None) -> None:
    """Verify a base backup and the log after it: each file and each record by its checksum.

    Example: `ostinato backup verify`
    """
    found = Repository.open(_where(cli, repository))
    base = found.base(label)

    async def work() -> verifying.Verified:
        try:
            async with attach.database(cli.settings, cli.out) as database:
                return await _verify(cli, database, found, base)
        except (NotConfigured, OSError):
            return await _verify(cli, None, found, base)

    checked = attach.run(work())
    shown = grid()
    shown.add_row("files", f"as they were written ({checked.files_by})")
    log = f"{words.counted(checked.segments, 'segment')}, {_size(checked.log_bytes)}, no gap ({checked.log_by})"
    shown.add_row("log after it", log if checked.segments else "none: it can be restored to its end only")
    cli.out.show(asdict(checked), f"{base.label} is good:", shown)


def prune(
    cli: Cli,
    *,
    repository: Where = None,
    keep: Annotated[int, option("N", "Base backups to keep.", min=1)] = KEPT,
    preview: Preview = False,
    yes: Yes = False,
) -> None:
    """Delete old base backups, and the log that none of the others needs.

    The newest one that was verified is kept in any case.

    Example: `ostinato backup prune --keep 7 --yes`
    """
    found = Repository.open(_where(cli, repository))
    gone, log = take.prune(found, keep, preview=True)

    async def work() -> bool:
        question = (
            f"Delete {words.counted(len(gone), 'base backup')} and {words.counted(len(log), 'segment')} of the log?"
        )
        if not yes and not await cli.out.confirm(question):
            return False
        take.prune(found, keep)
        try:
            async with attach.connection(cli) as conn:
                for base in gone:
                    await backups.forget(conn, base.label)
        except OstinatoError as error:
            cli.out.warn(f"`ostinato doctor` still counts them: {error.message}")
        return True

    done = not preview and bool(gone or log) and attach.run(work())
    document = {"pruned": done, "bases": [base.label for base in gone], "segments": len(log)}
    verb = "Deleted" if done else "Would be deleted" if preview else "Nothing was deleted"
    counts = f": {words.counted(len(gone), 'base backup')}, {words.counted(len(log), 'segment')} of the log"
    cli.out.show(document, f"{verb}{counts if done or preview else ''}.")


def list_(cli: Cli, *, repository: Where = None) -> None:
    """List the base backups of a repository, and how far the log after each goes.

    Example: `ostinato backup list`
    """
    found = Repository.open(_where(cli, repository))
    shown = table("backup", "ended (UTC)", "size", "log after it", "verified", right=("size",))
    lines = []
    for base in found.bases():
        log = found.log_after(base)
        lines.append(_document(base) | {"segments": len(log.segments), "log_bytes": log.bytes, "gap": log.gap})
        after = f"{_size(log.bytes)}{', a gap' if log.gap else ''}" if log.segments else "none"
        times = f"{base.finished_at:%Y-%m-%d %H:%M:%S}"
        shown.add_row(base.label, times, _size(base.bytes), after, "yes" if base.verified else "no")
    none = "No base backup is there yet: ostinato backup run"
    cli.out.show({"repository": found.folder, "backups": lines}, shown if lines else none)


def copy(cli: Cli, url: Url, *, repository: Where = None) -> None:
    """Send the repository to an object store: only what it does not have. Run it as often as you like.

    The keys are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, as other programs read them.

    Example: `ostinato backup copy s3://company-backups/ostinato`
    """
    found = Repository.open(_where(cli, repository))
    with cli.out.working(f"Sending {found.folder} to {url}"):
        sent = attach.run(objects.push(found, url, cli.out.detail))
    gone = f"; {words.counted(sent.deleted, 'old one')} deleted" if sent.deleted else ""
    cli.out.show(asdict(sent), f"Sent {words.counted(sent.files, 'file')}, {_size(sent.bytes)}{gone}.")


def fetch(cli: Cli, url: Url, *, repository: Where = None) -> None:
    """Bring a repository back from an object store into an empty folder, each file checked.

    Example: `ostinato backup fetch s3://company-backups/ostinato --repository /mnt/fetched`
    """
    folder = _where(cli, repository)
    with cli.out.working(f"Fetching {url} to {folder}"):
        got = attach.run(objects.fetch(url, folder, cli.out.detail))
    cli.out.show(asdict(got), f"Fetched {words.counted(got.files, 'file')}, {_size(got.bytes)}, to {folder}.")
    cli.out.note(f"→ {cli.try_('restore', '--repository', str(folder))}")


def restore(
    cli: Cli,
    *,
    repository: Where = None,
    to: Annotated[str | None, option("TIME", "To the state at a time, such as 2026-11-18T09:30:00Z.", "--to")] = None,
    label: Label = None,
    into: Annotated[
        str | None, option("FOLDER", "Lay out the data folder of a server of your own there, and start nothing.")
    ] = None,
) -> None:
    """Restore the server from a base backup and the log after it, into an empty folder.

    Without --to everything that was received comes back. Stop all workers before.

    Example: `ostinato restore --data-dir .ostinato --to 2026-11-18T09:30:00Z`
    """
    began = time.monotonic()
    found = Repository.open(_where(cli, repository))
    at = words.moment(to, "--to") if to else None
    base = found.base(label, at)
    if into is None and not found.about.embedded:
        raise InvalidInput(
            "these backups are of a server of your own", hint="Name its new data folder: --into /var/lib/…/main"
        )
    if into is not None:
        with cli.out.working(f"Copying {_size(base.bytes)} of {base.label}"):
            done = restores.restore_folder(found, base, Path(into).expanduser().resolve(), at)
    else:
        done = restores.restore_embedded(found, base, attach.data_folder(cli.settings), at, cli.out.note)
        embedded.start(done.folder).stop()  # it gets its password, and shows that it comes up
    _show_restored(cli, done, time.monotonic() - began)


def _show_restored(cli: Cli, done: Restored, seconds: float) -> None:
    document = {
        "folder": done.folder,
        "base": done.base.label,
        "segments": done.segments,
        "recovered": done.recovered,
        "last_commit": done.last_commit,
        "missing": done.missing,
        "seconds": round(seconds, 3),
    }
    if done.missing is not None:
        cli.out.warn(done.missing)
    if not done.recovered:
        owner = "Give it to the server's user (chown -R postgres:), and start the server: it replays the log, and is"
        cli.out.show(document, Text(f"Laid out in {done.folder} in {seconds:.1f} s."))
        cli.out.note(f"{owner} open then. A file of settings that lies elsewhere (Debian: /etc) is not in it.")
        return
    until = f", all commits until {done.last_commit}" if done.last_commit else ""
    cli.out.show(document, Text(f"Restored to {done.folder} in {seconds:.1f} s{until}."))
    if not key_path(cli.settings).exists() and cli.settings.secret_key is None:
        cli.out.warn(f"The key of secrets is not in a backup: put yours back as {key_path(cli.settings)}.")
    cli.out.note(f"→ {cli.try_('up')}")
    cli.out.note("→ ostinato backup run         a new timeline needs a base backup of its own")


@asynccontextmanager
async def source_of(cli: Cli) -> AsyncIterator[tuple[Source, Database]]:
    """Return the server that is copied."""
    async with attach.database(cli.settings, cli.out) as database:
        url = cli.settings.backup_url or database.admin_url
        yield await server.source(url, database.server), database


async def _check_not_waiting(source: Source, found: Repository) -> None:
    """Refuse what would wait for ever: commits wait for the log to be received, and nobody receives it."""
    async with await server.connect(source.url) as conn:
        waits = found.about.slot in (await server.identity(conn)).waits_for
        if waits and not await server.reads(conn, found.about.slot):
            raise NotConfigured(
                "commits wait for the log to be received, and nobody receives it",
                hint="Start `ostinato backup stream --synchronous` first.",
            )


async def _verify(cli: Cli, database: Database | None, found: Repository, base: Base) -> verifying.Verified:
    folder = programs_of_wheel() if found.about.embedded else verifying.programs_of(found.about.major)
    try:
        with percents(cli, f"Verifying {base.label}") as told:
            checked = await verifying.verify(found, base, folder, told)
    except BackupFailed:
        await _record(cli, database, found, base, verified=False)
        raise
    await _record(cli, database, found, checked.base, verified=True)
    return checked


async def _record(cli: Cli, database: Database | None, found: Repository, base: Base, *, verified: bool) -> None:
    """Tell the database, for `doctor`; a backup is none the worse when it cannot be told."""
    try:
        if database is None:
            raise NotConfigured("there is no database here")
        async with await pool.connect(database.url, role="cli", pooled=database.pooled) as conn:
            await backups.record(conn, str(found.folder), base, verified=verified)
    except OstinatoError as error:
        cli.out.warn(f"`ostinato doctor` will not know of it: {error.message}")


@contextmanager
def percents(cli: Cli, text: str) -> Iterator[Told]:
    """Draw a bar of percents for people, one line for pipes."""
    if not cli.out.for_people:
        cli.out.note(text)
    with cli.out.steps(text, 100) as steps:
        before = 0

        def told(percent: int) -> None:
            nonlocal before
            steps.advance(max(0, min(percent, 100) - before))
            before = max(before, min(percent, 100))

        yield told


def _where(cli: Cli, folder: str | None) -> Path:
    named = folder or cli.settings.backup_dir
    if named is None:
        raise NotConfigured(
            "no repository of backups is named", hint="Name its folder with --repository, or set OSTINATO_BACKUP_DIR."
        )
    return Path(named).expanduser().resolve()


def _same_disk(cli: Cli, folder: Path) -> bool:
    data = attach.data_folder(cli.settings)
    return cli.settings.database_url is None and data.is_dir() and data.stat().st_dev == folder.stat().st_dev


def _document(base: Base) -> dict[str, object]:
    return asdict(base)


def _size(count: int) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1024:  # noqa: PLR2004 - bytes of the next unit
            return f"{count:.0f} {unit}"
        count //= 1024
    return f"{count:,} TB"


register = commands(init, run, stream, verify, prune, list_, copy, fetch)
