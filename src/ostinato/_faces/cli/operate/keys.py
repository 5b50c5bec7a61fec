"""`ostinato keys …` makes, lists, rotates and revokes the keys of the API."""

from datetime import datetime
from typing import Annotated

from rich.text import Text

from ostinato._core.engine import keys
from ostinato._core.engine.keys import Created, Key
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.document import fields_of
from ostinato._faces.cli.frame.listing import Columns, paged
from ostinato._faces.cli.frame.options import OfTenant, argument, flag, option
from ostinato._faces.cli.frame.verbs import commands

ROLES = (
    "What it may do; several. reader: look, without arguments, results and payloads; ops: see them and act; admin: also"
    " keys and sessions; installation: beside one of these, for all tenants. Applications have their own: docs/keys.md."
)
KeyName = Annotated[str, argument("KEY", "Its id: 7 or ost_7, as `keys list` shows it.")]

COLOURS = {"active": "green", "expired": "yellow", "revoked": "red"}

COLUMNS = Columns(
    "key=prefix | tenant=tenant_id | subject | roles | name | state | created=created_at"
    " | expires | last used=used | revoked=revoked_at | replaces",
    state=lambda key, _: Text(key.state, style=COLOURS[key.state]),
    expires=lambda key, _: key.expires_at or "never",
    used=lambda key, _: key.last_used_at or "never",
    replaces=lambda key, _: None if key.replaces is None else f"ost_{key.replaces}",
)


def list_(
    cli: Cli,
    *,
    tenant: OfTenant = None,
    active: Annotated[bool, flag("Only those that work now.", "--active")] = False,
    before: Annotated[int | None, option("ID", "Only older than this key.", min=1)] = None,
    most: Annotated[int, option("N", "At most N.", min=1, max=1000)] = 100,
) -> None:
    """List keys, newest first: whose they are, until when, and when they were last used.

    No command shows the text of a key again: it is not stored.

    Example: `ostinato keys list --tenant acme --active`
    """
    found = attach.ask_at(cli, keys.list_keys, tenant_id=tenant, usable=active or None, before=before, most=most)
    paged(cli, "keys", found, COLUMNS, empty="No keys.", most=most, document=_document)


def create(
    cli: Cli,
    *,
    tenant: Annotated[str, option("TENANT", "Whose rows it opens.")],
    subject: Annotated[str, option("TEXT", "Who has it: a person or a program.")],
    role: Annotated[list[str], option("ROLE", ROLES)],
    name: Annotated[str | None, option("TEXT", "What it is for.")] = None,
    expires: Annotated[str | None, option("TIME", "How long it works: 90d, 12h. Else until it is revoked.")] = None,
) -> None:
    """Make a key, and print it: this once, because only its hash is stored.

    The key alone goes to stdout, everything else to stderr:
    `(umask 077; ostinato keys create … > acme.key)` keeps it from the terminal.

    Example: `ostinato keys create --tenant acme --subject nightly --role ops --expires 90d`
    """
    made, now = attach.ask_at(
        cli,
        keys.create,
        tenant_id=tenant,
        subject=subject,
        roles=role,
        name=name,
        expires_in=None if expires is None else words.seconds(expires, "--expires"),
    )
    _show_new(cli, made, now)


def rotate(
    cli: Cli,
    key: KeyName,
    *,
    overlap: Annotated[str, option("TIME", "How long the old one works on; 0: not at all.")] = "24h",
    expires: Annotated[str | None, option("TIME", "How long the new one works; else as the old one.")] = None,
) -> None:
    """Make a key with the tenant, subject and roles of another, and print it this once.

    The old one works on for the overlap, so that nothing fails while the new one is put in place.

    Example: `ostinato keys rotate ost_7 --overlap 1h`
    """
    key_id = keys.key_id_of(key)
    seconds = words.seconds(overlap, "--overlap")
    expires_in = None if expires is None else words.seconds(expires, "--expires")
    made, now = attach.ask_at(cli, keys.rotate, key_id, overlap_seconds=seconds, expires_in=expires_in)
    end = f"works for {words.span(seconds)} more" if seconds else "is revoked"
    _show_new(cli, made, now, f" ost_{key_id} {end}.")


def revoke(cli: Cli, key: KeyName) -> None:
    """End a key at once and for good; within a few seconds every API process refuses it.

    Example: `ostinato keys revoke ost_7`
    """
    found = attach.ask(cli, keys.revoke, keys.key_id_of(key))
    cli.out.show(_document(found), f"key {found.prefix} of {found.tenant_id} is revoked")


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
    """Return a key for programs: as it is, with the state that people see."""
    return {str(name): value for name, value in fields_of(key).items()} | {"state": key.state}


register = commands(list_, create, rotate, revoke)
