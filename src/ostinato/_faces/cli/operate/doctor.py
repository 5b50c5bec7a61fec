"""`ostinato doctor` checks the installation, and says what to do about each fault."""

import asyncio
import os
import platform
import shutil
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

import psycopg
import typer
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from rich.text import Text

from ostinato._core.base.errors import OstinatoError
from ostinato._core.base.settings import Settings
from ostinato._core.db import migrate, pool
from ostinato._core.db.call import Connection
from ostinato._core.db.roles import login
from ostinato._core.db.sqlfile import statement
from ostinato._core.engine import archive, backups, clock, inspect, machines
from ostinato._core.engine.workers import CONTRACT
from ostinato._core.runtime.brokers.broker import away, place
from ostinato._core.runtime.brokers.kinds import ADDRESSES
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.installed import absent_apps, check_settings
from ostinato._core.runtime.observe import checkup
from ostinato._core.runtime.replica import read_url
from ostinato._core.runtime.sealing import survey
from ostinato._faces.cli.frame import attach
from ostinato._faces.cli.frame.command import Cli, own_version
from ostinato._faces.cli.frame.options import option
from ostinato._faces.cli.frame.output import table
from ostinato._faces.cli.frame.schema import components
from ostinato._faces.cli.frame.verbs import commands
from ostinato._faces.cli.operate import backup_checks, checks, zones
from ostinato._faces.cli.operate import plan as sizing
from ostinato._faces.cli.operate.checks import Finding

BROKER_SECONDS = 8.0
COLOURS = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(
    cli: Cli,
    *,
    plan: Annotated[
        bool, typer.Option("--plan", help="Compute what a load takes instead; no database is asked.")
    ] = False,
    rate: Annotated[float, option("N", "With --plan: jobs a second.", min=0.001)] = 1000,
    run_seconds: Annotated[float, option("N", "With --plan: how long a job runs.", min=0)] = 0.05,
    args_bytes: Annotated[int, option("N", "With --plan: bytes of arguments and result.", min=0)] = 100,
) -> None:
    """Check the database, its settings, roles, clock and schema, and say how to fix each.

    Exit code 1 when something fails; warnings do not count.

    Example: `ostinato doctor`
    """
    if plan:
        _plan(cli, rate, run_seconds, args_bytes)
        return
    found = attach.run(_examine(cli))
    failures = any(finding.level == "fail" for finding in found)
    shown = table("", "check", "finding")
    for finding in found:
        shown.add_row(Text(finding.level, style=COLOURS[finding.level]), finding.check, _sentence(finding))
    counts = {level: sum(f.level == level for f in found) for level in COLOURS}
    cli.out.show({"healthy": not failures, "counts": counts, "findings": found}, shown)
    if failures:
        raise typer.Exit(1)


def _plan(cli: Cli, rate: float, run_seconds: float, args_bytes: int) -> None:
    settings = cli.settings
    load = sizing.Load(
        rate, run_seconds, args_bytes, settings.concurrency, settings.handler_connections, settings.retention_days
    )
    figures = sizing.plan(load)
    shown = table("for", "it takes", "how it is computed")
    for figure in figures:
        shown.add_row(figure.name, sizing.shown(figure), figure.how)
    cli.out.show({"load": load, "figures": figures}, shown)
    cli.out.note(f"For {rate:,g} jobs a second of {run_seconds:g} s, with the settings found here.")
    cli.out.note(f"Measured constants; to print yours, in a clone: {sizing.FOOTPRINT}; {sizing.BENCH}.")


def _sentence(finding: Finding) -> Text:
    text = Text(finding.message)
    if finding.hint:
        text.append("\n→ ", style="green").append(finding.hint)
    return text


async def _examine(cli: Cli) -> list[Finding]:
    found = [checks.program(own_version(), platform.python_version(), psycopg.__version__)]
    try:
        async with attach.database(cli.settings, cli.out) as database:
            async with await pool.connect(database.url, role="doctor", pooled=True) as conn:
                found += [finding async for finding in _server(conn, database, cli.settings)]
            found.append(await _api_login(database))
            found += await _schema(database, cli)
            if found[-1].check == "contract" and found[-1].level != "fail":
                async with await pool.connect(database.url, role="doctor", pooled=True) as conn:
                    found += [finding async for finding in _engine(conn, cli.settings)]
                    found.append(await _secrets(conn, cli))
    except OstinatoError as error:
        found.append(checks.failed("engine" if len(found) > 1 else "database", error))
    if cli.settings.database_url is None and attach.data_folder(cli.settings).is_dir():
        folder = attach.data_folder(cli.settings)
        found.append(checks.disk(shutil.disk_usage(folder).free, str(folder)))
    return [*found, *await _brokers(cli), *await _applications(cli)]


async def _brokers(cli: Cli) -> list[Finding]:
    """Connect to each broker that is configured, or that an application needs."""
    found = []
    try:
        needed = {kind for app in cli.apps for kind in app.brokers}
    except OstinatoError:
        needed = set()  # an application that cannot be imported has a finding of its own
    for kind, address in ADDRESSES.items():
        url: str | None = getattr(cli.settings, f"{kind}_url")
        if url is None and kind not in needed:
            continue
        try:
            async with asyncio.timeout(BROKER_SECONDS):
                await (await address.publisher(cli.settings)).close()
        except OstinatoError as error:
            found.append(checks.failed(kind, error))
        except TimeoutError:
            found.append(checks.failed(kind, away(kind, url or "", TimeoutError("no answer in time"))))
        else:
            found.append(checks.Finding(kind, "ok", f"answers at {place(url or '')}"))
    return found


async def _applications(cli: Cli) -> list[Finding]:
    found = [checks.absent(each.point.name, each.error) for each in absent_apps()]
    try:
        check_settings(cli.settings, cli.apps)
        for app, troubles in (await checkup.examine(cli.apps, cli.settings)).items():
            found += checks.application(app, troubles)
    except OstinatoError as error:
        found.append(checks.failed("applications", error))
    return found


async def _server(conn: Connection, database: Database, settings: Settings) -> AsyncIterator[Finding]:
    asked = time.time()
    (server,) = await _ask(conn, "server")
    answered = time.time()
    yield checks.version(server)
    yield checks.durability(server)
    for copied in await _ask(conn, "replication"):
        yield checks.replication(copied)
        yield checks.slots(copied["slots"], copied["cap"])
    yield checks.roles(await _ask(conn, "roles"), server["role"])
    yield checks.pooling(
        set_pooled=database.pooled,
        # A pooler hands out process ids of its own.
        seen_pooled=conn.info.backend_pid != server["backend_pid"],
        listens=database.listen_url is not None,
    )
    yield checks.encryption(_links(database, settings))
    (used,) = await _ask(conn, "connections")
    yield checks.connections(**used)
    yield checks.clock(server["clock"] - (asked + answered) / 2)
    (there,) = await _ask(conn, "zones")
    yield checks.zones(zones.release(), missing_there=there["missing"])


def _links(database: Database, settings: Settings) -> list[tuple[str, str, str]]:
    """Return each way to the database and its copies: the setting, the host, and what it asks of TLS."""
    urls = [
        ("OSTINATO_DATABASE_URL", database.url),
        ("OSTINATO_ADMIN_URL", database.admin_url),
        ("OSTINATO_LISTEN_URL", database.listen_url or ""),
        ("OSTINATO_API_DATABASE_URL", database.api_url or ""),
        ("OSTINATO_BACKUP_URL", settings.backup_url or ""),
    ]
    if settings.read_url is not None:  # the URL of the reader gives what it leaves out
        reading = (read_url(url, settings.read_url) for url in (database.url, database.api_url or database.url))
        urls += [("OSTINATO_READ_URL", url) for url in reading]
    found = []
    for name, url in urls:
        given = conninfo_to_dict(url)
        mode = str(given.get("sslmode") or os.environ.get("PGSSLMODE") or "prefer")
        hosts = str(given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST") or "")
        found += [(name, host, mode) for host in hosts.split(",")]
    return found


async def _api_login(database: Database) -> Finding:
    try:
        async with await pool.connect(database.for_api().url, role="doctor", pooled=True) as conn:
            return checks.api_login(*await login(conn))
    except OstinatoError as error:
        return checks.failed("API login", error)


async def _schema(database: Database, cli: Cli) -> list[Finding]:
    try:
        async with await pool.connect(database.admin_url, role="doctor", pooled=True) as conn:
            status = await migrate.status(conn, components(cli.apps))
    except OstinatoError as error:
        return [checks.failed("schema", error)]
    troubles = [*status.roles, *(part.trouble for part in status.components if part.trouble)]
    pending = sum(len(part.pending) for part in status.components)
    return [
        checks.schema(up_to_date=status.up_to_date, pending=pending, troubles=troubles),
        checks.contract(CONTRACT, status.contract),
    ]


async def _secrets(conn: Connection, cli: Cli) -> Finding:
    try:
        return checks.secrets(cli.settings.vault.key_ids, await survey(conn, cli.settings.vault, cli.apps))
    except OstinatoError as error:
        return checks.failed("secrets", error)


async def _engine(conn: Connection, settings: Settings) -> AsyncIterator[Finding]:
    yield checks.row_security([line["name"] for line in await _ask(conn, "open_tables")])
    yield checks.machines(await machines.gaps(conn))
    stats = await inspect.stats(conn)
    (weeks,) = await _ask(conn, "weeks")
    yield checks.partitions(weeks["ahead"], stats.default_bytes, settings.retention_days)
    yield checks.workers(stats.workers, stats.expired_workers)
    yield checks.backlog(stats.ready, stats.oldest_ready)
    yield checks.dead_letters(stats.dead)
    yield checks.quarantine(await _ask(conn, "quarantine"))
    yield checks.faults(await _ask(conn, "faults"))
    yield checks.kinds(await _ask(conn, "unrun_kinds"))
    oldest = await _ask(conn, "oldest_transaction")
    yield checks.transactions(oldest[0] if oldest else None, stats.xmin_age)
    lines = await _ask(conn, "timeline")
    timeline = lines[0]["timeline"] if lines else None
    yield backup_checks.backups(await backups.list_backups(conn), await clock.now(conn), timeline)
    if (shelf := await archive.rule(conn)) is not None:
        grace = backup_checks.ARCHIVE_GRACE_DAYS  # a week that is due since today waits for tonight
        days, audit_days = settings.retention_days + grace, settings.audit_retention_days + grace
        yield backup_checks.archived(shelf, await archive.waiting(conn, days, audit_days))


async def _ask(conn: Connection, name: str) -> list[dict[str, Any]]:
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(statement("ostinato._faces.cli.operate", "sql/doctor.sql", name))
        return await cursor.fetchall()


register = commands(doctor)
