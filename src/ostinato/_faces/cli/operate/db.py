"""`ostinato db …` migrates the schema, shows how far it is, opens psql, and lets other programs in."""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote, unquote, urlencode

import typer
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import Identifier
from rich.text import Text

from ostinato._core.base.errors import NotConfigured, NotFound
from ostinato._core.db import migrate as migrations
from ostinato._core.db import pool
from ostinato._core.db.roles import grant_role
from ostinato._core.engine.schema import install
from ostinato._core.engine.workers import CONTRACT
from ostinato._core.runtime.database import Database
from ostinato._faces.cli.frame import attach
from ostinato._faces.cli.frame.command import Cli, command
from ostinato._faces.cli.frame.output import table
from ostinato._faces.cli.frame.schema import app_components, components

Role = Literal["worker", "tenant", "api", "owner", "admin"]


def migrate(
    cli: Cli,
    wait_seconds: Annotated[float, typer.Option(metavar="SECONDS", min=0, help="For a lock that others hold.")] = 60,
) -> None:
    """Bring the schema up to date; workers may go on meanwhile.

    Example: `ostinato db migrate --database-url postgresql://admin@db.example.com/app`
    """

    async def work() -> list[str]:
        async with attach.serving(cli, cli.settings, migrated=False) as database:
            with cli.out.working(f"Bringing the schema of {attach.named(database.admin_url)} up to date"):
                return await install(
                    database.admin_url,
                    app_components(cli.apps),
                    retention_days=cli.settings.retention_days,
                    wait_seconds=wait_seconds,
                )

    done = attach.run(work())
    lines = [Text(f"applied {line}") for line in done] or [Text("The schema is up to date.")]
    cli.out.show({"applied": done}, *lines)


def status(cli: Cli) -> None:
    """Show how far the schema is; exit code 1 when `db migrate` has something to do.

    Example: `ostinato db status`
    """

    async def look() -> migrations.Status:
        async with (
            attach.database(cli.settings, cli.out) as database,
            await pool.connect(database.admin_url, role="cli", pooled=True) as conn,
        ):
            return await migrations.status(conn, components(cli.apps))

    found = attach.run(look())
    shown = table("component", "state", "file", "applied")
    for part in found.components:
        for step in part.applied:
            file = f"{step.version:04}_{step.name}.sql"
            shown.add_row(part.name, "applied", file, f"{step.applied_at:%Y-%m-%d %H:%M:%S %Z}")
        for file in part.pending:
            shown.add_row(part.name, Text("pending", style="yellow"), file)
        colour = "" if part.code == "current" else "yellow"
        shown.add_row(part.name, Text(part.code, style=colour), "functions and views")
    troubles = [*found.roles, *(part.trouble for part in found.components if part.trouble)]
    answer = {**_document(found), "code_contract": CONTRACT}
    cli.out.show(answer, shown, *(Text(f"trouble: {line}", style="red") for line in troubles))
    if found.up_to_date:
        cli.out.note(f"The schema is up to date (contract {CONTRACT}).")
        return
    cli.out.note("→ ostinato db migrate")
    raise typer.Exit(1)


def sql(cli: Cli) -> None:
    """Print the whole schema as one script, to review it or to install it with psql.

    Example: `ostinato db sql > ostinato.sql`
    """
    text = migrations.sql(components(cli.apps))
    if cli.out.json:
        cli.out.show({"sql": text})
    else:
        cli.out.plain(text.rstrip("\n"))


def psql(
    cli: Cli,
    *,
    args: Annotated[list[str], typer.Argument(metavar="-- ARGS", help="Handed to psql as they are.")] = [],  # noqa: B006 - Typer copies it
    role: Annotated[Role, typer.Option(help="As whom to connect.")] = "worker",
    superuser: Annotated[bool, typer.Option("--superuser", help="As the superuser of the embedded server.")] = False,
) -> None:
    """Open psql on the database, or run it with arguments after `--`.

    The embedded server lets in its superuser with the password of `superuser.pgpass` only, a file
    of mode 600 in the data folder.

    Example: `ostinato db psql -- --command "select * from ostinato.list_queues()"`
    """

    async def work() -> int:
        async with attach.database(cli.settings, cli.out) as database:
            return _psql(database, _url(database, role, superuser=superuser), args)

    code = attach.run(work())
    if code:
        raise typer.Exit(code)


def url(cli: Cli, *, role: Annotated[Role, typer.Option(help="As whom to connect.")] = "worker") -> None:
    """Print the address of the database, for other programs; a password is left out.

    The embedded server listens on a socket of this machine, and lets in the user who started it.

    Example: `ostinato db url --role owner`
    """

    async def look() -> str:
        async with attach.database(cli.settings, cli.out) as database:
            return _url(database, role, superuser=False)

    found, has_password = _without_password(attach.run(look()))
    if not cli.out.json:
        cli.out.plain(found)
    else:
        cli.out.show({"url": found, "password": has_password})
    if has_password:
        cli.out.note("Its password is left out: it stands in the settings.")


def grant(
    cli: Cli,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="The role that your web application logs in as.")],
) -> None:
    """Let a role of your own add jobs and emit events in its transactions; the one grant that it needs.

    It becomes a member of ostinato_worker: its programs are trusted as workers are, for every tenant.

    Example: `ostinato db grant shop`
    """

    async def work() -> bool:
        async with attach.database(cli.settings, cli.out) as database:
            embedded = database.server is not None  # its superuser is nobody else's
            url = _url(database, "admin", superuser=embedded)
            async with await pool.connect(url, role="cli", pooled=True) as conn:
                try:
                    return await grant_role(conn, role)
                except NotFound as missing:
                    if embedded:
                        made = Identifier(role).as_string(None)
                        missing.hint = f"{cli.try_('db', 'psql', '--superuser')} -- -c 'create role {made} login'"
                    raise

    done = attach.run(work())
    said = f"{role} may add jobs and emit events." if done else f"{role} might do so already."
    cli.out.show({"role": role, "granted": done}, Text(said))


def upgrade(cli: Cli) -> None:
    """Move the embedded database to the PostgreSQL that this release brings; nothing may use it meanwhile.

    It is copied with pg_upgrade, and the old one is kept beside it. Standbys and backups of the embedded
    server begin anew. For a server of your own use its own tools.

    Example: `ostinato db upgrade`
    """
    from ostinato._core.db.upgrade import upgrade as move  # needs the extra `embedded`

    if cli.settings.database_url is not None:
        raise NotConfigured(
            "the database is a server of your own (database_url is set), not the embedded one",
            hint="Upgrade it with pg_upgrade, or as its provider says: PostgreSQL 15 or later is all that we need.",
        )
    done = move(Path(cli.settings.data_dir), cli.out.note)
    answer = {"from": done.found, "to": done.brought, "old": done.old, "seconds": round(done.seconds, 1)}
    if done.old is None:
        cli.out.show(answer, Text(f"The database is of PostgreSQL {done.brought} already."))
        return
    lines = f"PostgreSQL {done.found} → {done.brought} in {done.seconds:.1f} s. When all is well: rm -r {done.old}"
    cli.out.show(answer, Text(lines))
    cli.out.note("→ ostinato up, or ostinato db migrate; if you have backups: ostinato backup init in a new repository")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app)(migrate)
    command(app)(status)
    command(app)(sql)
    command(app)(psql)
    command(app)(url)
    command(app)(grant)
    command(app)(upgrade)


def _document(found: migrations.Status) -> dict[str, Any]:
    current, oldest = found.contract or (None, None)
    return {
        "up_to_date": found.up_to_date,
        "contract": current,
        "oldest_contract": oldest,
        "roles": found.roles,
        "components": found.components,
    }


def _psql(database: Database, url: str, args: list[str]) -> int:
    given = conninfo_to_dict(url)
    password = given.pop("password", None)
    program = shutil.which("psql") if database.server is None else str(database.server.psql)
    if program is None:
        raise NotConfigured("psql is not on the PATH", hint="Install PostgreSQL's client programs (postgresql-client).")
    # Not on the command line, where every user of the machine could read it.
    env = os.environ | ({"PGPASSWORD": str(password)} if password else {})
    # Ctrl-C is for psql. We install an empty handler: SIG_IGN would be inherited by psql.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run(  # noqa: S603 - the user's own psql and arguments
            [program, make_conninfo("", **given), *args], env=env, check=False
        ).returncode
    finally:
        signal.signal(signal.SIGINT, before)


def _without_password(url: str) -> tuple[str, bool]:
    """Return the address as a URL that every driver reads, and whether it had a password."""
    given = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    has_password = bool(given.pop("password", ""))
    user, name, host = (quote(given.pop(part, ""), safe="") for part in ("user", "dbname", "host"))
    if "%2F" in host or "%2C" in host:  # a socket, or several hosts
        given, host = {"host": unquote(host), **given}, ""
    elif "port" in given:
        host += f":{given.pop('port')}"
    query = urlencode(given, quote_via=quote, safe="/,:")
    return f"postgresql://{user}{'@' if user else ''}{host}/{name}{'?' if query else ''}{query}", has_password


def _url(database: Database, role: Role, *, superuser: bool) -> str:
    server = database.server
    if superuser and server is None:
        raise NotConfigured(
            "the superuser of a configured database is not ours",
            hint="Connect with psql and the superuser's own credentials.",
        )
    urls = {"worker": database.url, "admin": database.admin_url}
    if database.api_url is not None:
        urls["api"] = database.api_url
    if server is not None:
        known = server.urls()
        if superuser:
            return known.admin
        urls |= {"owner": known.owner, "tenant": known.tenant}
    if role not in urls:
        raise NotConfigured(
            f"the settings have no URL for the role {role}",
            hint="Use --role worker (database_url) or --role admin (admin_url).",
        )
    return urls[role]
