"""`ostinato capture …`: verify and sign the audit log of captures, and make keys."""

import base64
import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from psycopg import AsyncConnection
from rich.text import Text

from ostinato.apps.capture import audit, keyring
from ostinato.apps.capture.audit import Head, Report
from ostinato.apps.capture.settings import CaptureSettings
from ostinato.base.errors import InvalidInput, NotConfigured
from ostinato.cli import attach
from ostinato.cli.command import Cli, command
from ostinato.db.pool import transaction

__all__ = ["register"]

Connection = AsyncConnection[Any]


def verify_audit(
    cli: Cli,
    *,
    tenant: Annotated[
        str | None, typer.Option(metavar="TENANT", help="Only of this tenant.")
    ] = None,
    user: Annotated[str | None, typer.Option(metavar="USER", help="Only of this user.")] = None,
    head: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A signed head that was kept elsewhere; repeatable."),
    ] = None,
    public_key: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Only heads that this key signed are valid (base64)."),
    ] = None,
) -> None:
    """Recompute the hash chains of the audit log, and name the first break of each.

    Exits with 1 when a chain is broken. Signed heads that the database has are compared too; only
    heads that were kept elsewhere (`--head`) can show that all of a chain was written anew.

    Example: `ostinato capture verify-audit --tenant acme --head head.json`
    """
    kept = [_head_of(path) for path in head or []]

    async def look(conn: Connection) -> Report:
        return await audit.verify(
            conn, tenant_id=tenant, user_id=user, kept=kept, public_key=public_key
        )

    report = attach.ask(cli, look)
    breaks = [
        {"tenant": each.tenant_id, "chain": each.chain_id, "seq": each.seq, "problem": each.problem}
        for each in report.breaks
    ]
    counted = {"chains": report.chains, "entries": report.entries, "heads": report.heads}
    shown = [
        f"BROKEN at entry {each['seq']} of {each['chain']} (tenant {each['tenant']}):"
        f" {each['problem']}"
        for each in breaks
    ] or [f"All holds: {', '.join(f'{number:,} {what}' for what, number in counted.items())}."]
    told = {"holds": not breaks, **counted, "breaks": breaks}
    cli.out.show(told, *(Text(line) for line in shown))
    if report.breaks:
        raise typer.Exit(1)


def sign_head(
    cli: Cli,
    tenant: Annotated[str, typer.Option(metavar="TENANT", help="Whose user it is.")],
    user: Annotated[str, typer.Option(metavar="USER", help="Whose chain it is.")],
    key: Annotated[Path, typer.Option(metavar="FILE", help="Ed25519 private key, PEM, mode 600.")],
) -> None:
    """Sign the head of a user's chain (Ed25519), and anchor the sealed captures that it covers.

    The signed head goes to stdout: keep it where the owner of this database cannot change it.

    Example: `ostinato capture sign-head --tenant acme --user ana --key audit.pem > head.json`
    """
    private = _private_key(key)

    async def sign(conn: Connection) -> tuple[Head, int]:
        async with transaction(conn):
            return await audit.sign_head(conn, tenant, user, private)

    head, anchored = attach.ask(cli, sign)
    cli.out.note(f"Signed entry {head.seq}; {anchored} captures are anchored")
    cli.out.plain(json.dumps(head.document(), indent=2))


def new_signing_key(
    cli: Cli, file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to put it.")]
) -> None:
    """Make an Ed25519 key for `sign-head`; its public half goes to stdout.

    Example: `ostinato capture new-signing-key audit.pem`
    """
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be made: {error.strerror}", hint="Name a file that is not there yet."
        ) from None
    with open(opened, "wb") as out:  # noqa: PTH123 - the mode was given when it was made
        out.write(pem)
    cli.out.note(f"The private key is in {file}, for you only")
    cli.out.plain(base64.b64encode(key.public_key().public_bytes_raw()).decode())


def new_kek(
    cli: Cli,
    name: Annotated[str, typer.Argument(metavar="NAME", help="How clients name it: kek_id.")],
) -> None:
    """Make a key that wraps the keys of captures, and put it into the keyring.

    Workers see it at once; keys that are there stay as they are.

    Example: `ostinato capture new-kek kek-2026-04-01`
    """
    path = Path(CaptureSettings.load(file=cli.config).keyring_file).expanduser()
    try:
        keyring.add_key(path, name)
    except keyring.KeyringUnavailable as error:
        raise NotConfigured(
            f"{path}: {error}", hint="Mend the file, or name another with capture.keyring_file."
        ) from None
    cli.out.note(f"{path} has the key {name}")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "verify-audit")(verify_audit)
    command(app, "sign-head")(sign_head)
    command(app, "new-signing-key")(new_signing_key)
    command(app, "new-kek")(new_kek)


def _head_of(path: Path) -> Head:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{path} cannot be read: {type(error).__name__}",
            hint="Pass the file that `ostinato capture sign-head` wrote.",
        ) from None
    return audit.read_head(document if isinstance(document, dict) else {})


def _private_key(path: Path) -> Ed25519PrivateKey:
    try:
        mode = path.stat().st_mode
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidInput(
            f"{path} has no private key: {type(error).__name__}",
            hint="Make one with `ostinato capture new-signing-key`.",
        ) from None
    if mode & 0o077 or not isinstance(key, Ed25519PrivateKey):
        raise InvalidInput(
            f"{path} is open to others, or not an Ed25519 key", hint=f"chmod 600 {path}"
        )
    return key
