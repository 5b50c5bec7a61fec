"""`ostinato keys …`: who may ask the API, for which tenant, and until when."""

from datetime import datetime
from typing import Annotated, Any

import typer
from psycopg import AsyncConnection
from rich.text import Text

from ostinato._core.engine import clock, keys
from ostinato._core.engine.keys import Created, Key
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli, command
from ostinato._faces.cli.frame.document import fields_of
from ostinato._faces.cli.frame.output import table

__all__ = ["register"]

Connection = AsyncConnection[Any]
KeyName = Annotated[
    str, typer.Argument(metavar="KEY", help="Its id: 7 or ost_7, as `keys list` shows it.")
]

COLOURS = {"active": "green", "expired": "yellow", "revoked": "red"}


def list_(
    cli: Cli,
    *,
    tenant: Annotated[
        str | None, typer.Option(metavar="TENANT", help="Only of this tenant.")
    ] = None,
    active: Annotated[bool, typer.Option("--active", help="Only those that work now.")] = False,
    before: Annotated[
        int | None, typer.Option(metavar="ID", min=1, help="Only older than this key.")
    ] = None,
    most: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="At most N.")] = 100,
) -> None:
    """List keys, newest first: whose they are, until when, and when they were last used.

    No command shows the text of a key again: it is not stored.

    Example: `ostinato keys list --tenant acme --active`
    """

    async def look(conn: Connection) -> tuple[list[Key], datetime]:
        found = await keys.list_keys(
            conn, tenant_id=tenant, usable=active or None, before=before, most=most
        )
        return found, await clock.now(conn)

    found, now = attach.ask(cli, look)
    following = found[-1].id if len(found) == most else None
    shown = table(
        *("key", "tenant", "subject", "roles", "name"),
        *("state", "created", "expires", "last used", "revoked", "replaces"),
    )
    for each in found:
        shown.add_row(
            each.prefix,
            each.tenant_id,
            each.subject,
            ", ".join(each.roles),
            each.name or "",
            Text(each.state, style=COLOURS[each.state]),
            words.age(each.created_at, now),
            words.age(each.expires_at, now) or "never",
            words.age(each.last_used_at, now) or "never",
            words.age(each.revoked_at, now),
            "" if each.replaces is None else f"ost_{each.replaces}",
        )
    answer = {"keys": [_document(each) for each in found], "next": following}
    cli.out.show(answer, shown if found else Text("No keys."))
    if following is not None:
        cli.out.note(f"There may be more: add --before {following}")


def create(
    cli: Cli,
    *,
    tenant: Annotated[str, typer.Option(metavar="TENANT", help="Whose rows it opens.")],
    subject: Annotated[
        str, typer.Option(metavar="TEXT", help="Who has it: a person or a program.")
    ],
    role: Annotated[
        list[str], typer.Option(metavar="ROLE", help="What it may do: ops, admin, …; several.")
    ],
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="What it is for.")] = None,
    expires: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="How long it works: 90d, 12h. Else until it is revoked."),
    ] = None,
) -> None:
    """Make a key, and print it: this once, because only its hash is stored.

    The key alone goes to stdout, everything else to stderr:
    `(umask 077; ostinato keys create … > acme.key)` keeps it from the terminal.

    Example: `ostinato keys create --tenant acme --subject nightly --role ops --expires 90d`
    """
    expires_in = None if expires is None else words.seconds(expires, "--expires")

    async def make(conn: Connection) -> tuple[Created, datetime]:
        made = await keys.create(
            conn, tenant_id=tenant, subject=subject, roles=role, name=name, expires_in=expires_in
        )
        return made, await clock.now(conn)

    _show_new(cli, *attach.ask(cli, make))


def rotate(
    cli: Cli,
    key: KeyName,
    *,
    overlap: Annotated[
        str, typer.Option(metavar="TIME", help="How long the old one works on; 0: not at all.")
    ] = "24h",
    expires: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="How long the new one works; else as the old one."),
    ] = None,
) -> None:
    """Make a key with the tenant, subject and roles of another, and print it this once.

    The old one works on for the overlap, so that nothing fails while the new one is put in place.

    Example: `ostinato keys rotate ost_7 --overlap 1h`
    """
    key_id = keys.key_id_of(key)
    overlap_seconds = words.seconds(overlap, "--overlap")
    expires_in = None if expires is None else words.seconds(expires, "--expires")

    async def make(conn: Connection) -> tuple[Created, datetime]:
        made = await keys.rotate(
            conn, key_id, overlap_seconds=overlap_seconds, expires_in=expires_in
        )
        return made, await clock.now(conn)

    made, now = attach.ask(cli, make)
    end = f"works for {words.span(overlap_seconds)} more" if overlap_seconds else "is revoked"
    _show_new(cli, made, now, f" ost_{key_id} {end}.")


def revoke(cli: Cli, key: KeyName) -> None:
    """End a key at once and for good; within a few seconds every API process refuses it.

    Example: `ostinato keys revoke ost_7`
    """
    key_id = keys.key_id_of(key)

    async def end(conn: Connection) -> Key:
        return await keys.revoke(conn, key_id)

    found = attach.ask(cli, end)
    cli.out.show(_document(found), f"key {found.prefix} of {found.tenant_id} is revoked")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "list")(list_)
    for each in (create, rotate, revoke):
        command(app)(each)


def _show_new(cli: Cli, made: Created, now: datetime, beside: str = "") -> None:
    """Give the new key, alone on stdout; what is to be known about it on stderr."""
    record = made.record
    cli.out.show({"key": made.key} | _document(record))
    if not cli.out.json:
        cli.out.plain(made.key)
    end = "" if record.expires_at is None else f", expires {words.age(record.expires_at, now)}"
    cli.out.note(
        f"key {record.prefix}: {record.subject} of {record.tenant_id},"
        f" {', '.join(record.roles)}{end}. It is shown this once; only its hash is stored.{beside}"
    )


def _document(key: Key) -> dict[str, object]:
    """A key for programs: as it is, with the state that people see."""
    return {str(name): value for name, value in fields_of(key).items()} | {"state": key.state}
