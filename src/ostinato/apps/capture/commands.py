"""`ostinato capture …` verifies and signs the audit log of captures, and makes keys."""

import base64
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ostinato import commands
from ostinato.apps.capture.queries import Connection
from ostinato.commands import Cli, command, group
from ostinato.database import transaction
from ostinato.errors import InvalidInput, NotConfigured

if TYPE_CHECKING:
    from ostinato.apps.capture.audit import Report
    from ostinato.apps.capture.heads import Head

# What belongs to captures is imported where it is used: every command starts by reading this file.


def verify_audit(
    cli: Cli,
    *,
    tenant: Annotated[str | None, typer.Option(metavar="TENANT", help="Only of this tenant.")] = None,
    user: Annotated[str | None, typer.Option(metavar="USER", help="Only of this user.")] = None,
    head: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="Signed heads that were kept elsewhere, a file or a folder; repeatable."),
    ] = None,
    public_key: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="Only heads that this key signed are valid (base64); repeatable."),
    ] = None,
) -> None:
    """Recompute the hash chains of the audit log, and name the first break of each.

    Exits with 1 when a chain is broken, or when a tenant or user was named who has none. Signed
    heads that the database has are compared too; only heads that were kept elsewhere (`--head`)
    can show that all of a chain was written anew. After a change of keys, name the old one too.

    Example: `ostinato capture verify-audit --tenant acme --head head.json`
    """
    from ostinato.apps.capture import audit, heads

    kept = [each for path in head or [] for each in heads.read_heads(path)]

    async def look(conn: Connection) -> "Report":
        return await audit.verify(conn, tenant_id=tenant, user_id=user, kept=kept, public_keys=public_key or None)

    report = commands.ask(cli, look)
    breaks = [
        {"tenant": each.tenant_id, "chain": each.chain_id, "seq": each.seq, "problem": each.problem}
        for each in report.breaks
    ]
    counted = {"chains": report.chains, "entries": report.entries, "heads": report.heads}
    shown = [
        f"BROKEN at entry {each['seq']} of {each['chain']} (tenant {each['tenant']}): {each['problem']}"
        for each in breaks
    ] or [f"All holds: {', '.join(f'{number:,} {what}' for what, number in counted.items())}."]
    answer = {"holds": not breaks, **counted, "breaks": breaks}
    cli.out.show(answer, *(Text(line) for line in shown))
    if report.breaks:
        raise typer.Exit(1)


def sign_head(
    cli: Cli,
    *,
    key: Annotated[Path, typer.Option(metavar="FILE", help="Ed25519 private key, PEM, mode 600.")],
    tenant: Annotated[str | None, typer.Option(metavar="TENANT", help="Only chains of this tenant.")] = None,
    user: Annotated[str | None, typer.Option(metavar="USER", help="Only the chain of this user of the tenant.")] = None,
) -> None:
    """Sign the heads of chains (Ed25519), and anchor the sealed captures that they cover.

    Without a user: those of all chains that went on since this key signed them last. The signed
    head, or the list of them, goes to stdout: keep it where the owner of this database cannot
    change it.

    Example: `ostinato capture sign-head --tenant acme --user ana --key audit.pem > head.json`
    """
    from ostinato.apps.capture import heads, signing

    if user is not None and tenant is None:
        raise InvalidInput("--user without --tenant", hint="Say whose user it is: --tenant NAME.")
    private = heads.read_key(key)

    async def sign(conn: Connection) -> "list[tuple[Head, int]]":
        named = [(tenant, user)] if tenant is not None and user is not None else None
        return [
            await signing.sign_head(lambda: transaction(conn), *each, private)
            for each in named or await signing.chains_to_sign(conn, private, tenant)
        ]

    signed = commands.ask(cli, sign)
    documents = [head.document() for head, _ in signed]
    anchored = sum(number for _, number in signed)
    if user is not None:
        cli.out.note(f"Signed entry {documents[0]['seq']}; {anchored} captures are anchored")
        cli.out.plain(json.dumps(documents[0], indent=2))
    else:
        cli.out.note(f"Signed {len(signed):,} heads; {anchored:,} captures are anchored")
        cli.out.plain(json.dumps(documents, indent=2))


def new_signing_key(cli: Cli, file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to put it.")]) -> None:
    """Make an Ed25519 key for `sign-head`; its public half goes to stdout.

    Example: `ostinato capture new-signing-key audit.pem`
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

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
        out.flush()
        os.fsync(out.fileno())
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    cli.out.note(f"The private key is in {file}, for you only")
    if cli.out.json:
        cli.out.show({"file": str(file), "public_key": public})
    else:
        cli.out.plain(public)


def new_kek(
    cli: Cli, name: Annotated[str, typer.Argument(metavar="NAME", help="How clients name it: kek_id.")]
) -> None:
    """Make a key that wraps the keys of captures, and put it into the keyring.

    Workers see it at once; keys that are there stay as they are.

    Example: `ostinato capture new-kek kek-2026-04-01`
    """
    from ostinato.apps.capture import keyring
    from ostinato.apps.capture.settings import CaptureSettings

    path = Path(cli.settings.section(CaptureSettings).keyring_file).expanduser()
    try:
        keyring.add_key(path, name)
    except keyring.KeyringUnavailable as error:
        raise NotConfigured(
            f"{path}: {error}", hint="Fix the file, or name another with capture.keyring_file."
        ) from None
    cli.out.note(f"{path} has the key {name}")


def register(root: typer.Typer) -> None:
    """Add the commands."""
    app = group(root, "capture", "Verify and sign the audit log of captures, and make keys.")
    command(app, "verify-audit")(verify_audit)
    command(app, "sign-head")(sign_head)
    command(app, "new-signing-key")(new_signing_key)
    command(app, "new-kek")(new_kek)
