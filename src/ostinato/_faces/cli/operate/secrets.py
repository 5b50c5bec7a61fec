"""`ostinato secrets …` makes the keys that seal secrets at rest, and seals everything anew."""

import fcntl
import os
from typing import Annotated

from rich.text import Text

from ostinato._core.base import vault as vaults
from ostinato._core.base.errors import InvalidInput
from ostinato._core.runtime import sealing
from ostinato._faces.cli.frame import attach, words
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.options import flag
from ostinato._faces.cli.frame.output import table
from ostinato._faces.cli.frame.verbs import commands


def status(cli: Cli) -> None:
    """Show the keys, and how many stored values each of them sealed.

    Example: `ostinato secrets status`
    """
    vault = cli.settings.vault
    keys = vault.key_ids
    found = attach.ask(cli, sealing.survey, vault, cli.apps)
    shown = table(
        "where",
        "newest key",
        "older keys",
        "unknown key",
        "clear",
        right=("newest key", "older keys", "unknown key", "clear"),
    )
    for each in found:
        shown.add_row(
            each.place,
            str(each.newest),
            str(each.older),
            Text(str(each.unknown), style="bold red" if each.unknown else ""),
            Text(str(each.clear), style="yellow" if each.clear else ""),
        )
    said = f"keys, the newest first: {', '.join(keys)}" if keys else "no key is configured: ostinato secrets new-key"
    cli.out.show({"keys": list(keys), "source": source(cli), "places": found}, Text(f"{said}  ({source(cli)})"), shown)
    if any(each.clear or each.older for each in found):
        cli.out.note("→ ostinato secrets rotate")


def new_key(
    cli: Cli,
    *,
    printed: Annotated[bool, flag("Print it for OSTINATO_SECRET_KEY, and store nothing.", "--print")] = False,
) -> None:
    """Make a key and put it in front of the others in the key file, which gets mode 600.

    Copy the file to every host that runs a worker or the API before you go on: the newest key seals.
    Keep a copy elsewhere too; without its key nothing sealed can be opened.

    Example: `ostinato secrets new-key`
    """
    key = vaults.new_key()
    key_id = vaults.parse_keys(key, "the new key")[0].id
    if printed:
        cli.out.show({"key": key, "key_id": key_id})
        if not cli.out.json:
            cli.out.plain(key)
        cli.out.note(f"key {key_id}: put it in front of the others in OSTINATO_SECRET_KEY. It is stored nowhere.")
        return
    if cli.settings.secret_key is not None:
        raise InvalidInput(
            "the keys come from OSTINATO_SECRET_KEY, and a key file would not be read",
            hint="ostinato secrets new-key --print prints one; put it in front of the others there.",
        )
    path = vaults.key_path(cli.settings)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Of two commands at once each keeps the other's key.
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        before = path.read_text(encoding="utf-8") if cli.settings.vault.key_ids else ""
        vaults.write_key_file(path, f"{key}\n{before}")
    finally:
        os.close(folder)
    cli.out.show({"key_id": key_id, "file": str(path)}, f"key {key_id} seals from now on; it is in {path}, mode 600")
    if before:
        cli.out.note("Seal everything with it: ostinato secrets rotate")


def rotate(cli: Cli) -> None:
    """Seal every stored secret with the newest key, and those that are still in the clear.

    It may be stopped and repeated at any time. When it is done, older keys can be removed.

    Example: `ostinato secrets rotate`
    """
    done = attach.ask(cli, sealing.rotate, cli.settings.vault, cli.apps)
    shown = table("where", "sealed anew", "do not open", right=("sealed anew", "do not open"))
    for each in done:
        shown.add_row(each.place, str(each.sealed), Text(str(each.refused), style="bold red" if each.refused else ""))
    cli.out.show({"key_id": cli.settings.vault.key_ids[0], "places": done}, shown)
    for each in done:
        if each.refused:
            cli.out.warn(f"{words.counted(each.refused, 'value')} of {each.place}: {each.why}")
    if not any(each.refused for each in done):
        cli.out.note("Older keys open nothing any more: remove them when every process has the newest.")


def source(cli: Cli) -> str:
    """Return where the keys come from."""
    return "OSTINATO_SECRET_KEY" if cli.settings.secret_key is not None else str(vaults.key_path(cli.settings))


register = commands(status, ("new-key", new_key), rotate)
