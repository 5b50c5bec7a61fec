"""`ostinato standby …`: a second server that has every commit, for who runs no Patroni."""

from pathlib import Path
from typing import Annotated

from rich.text import Text

from ostinato._core.db.backup import standby
from ostinato._core.db.backup.standby import Standby
from ostinato._faces.cli.frame import attach
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.options import argument, flag, option
from ostinato._faces.cli.frame.verbs import commands
from ostinato._faces.cli.operate.backup import percents, source_of

Folder = Annotated[str, argument("FOLDER", "The folder of the standby.")]
Name = Annotated[str, option("NAME", "How the server calls it; each standby has its own.", "--name")]
Loose = Annotated[bool, flag("Commits do not wait for it.", "--asynchronous")]


def create(cli: Cli, folder: Folder, *, name: Name = "standby", asynchronous: Loose = False) -> None:
    """Copy the running server into an empty folder, and let the copy follow it.

    Commits wait for it, so that a failover loses nothing, and wait too while it is away. Choose
    another disk, or run this on another machine with OSTINATO_BACKUP_URL naming the server.

    Example: `ostinato standby create /mnt/second/ostinato`
    """

    async def work() -> Standby:
        async with source_of(cli) as (source, _):
            with percents(cli, f"Copying to {folder}") as told:
                return await standby.create(source, Path(folder), name, synchronous=not asynchronous, told=told)

    _show(cli, attach.run(work()))


def promote(
    cli: Cli, folder: Folder, *, force: Annotated[bool, flag("Do not ask the old one.", "--force")] = False
) -> None:
    """Make a standby the server. Stop the old one first: this is refused while it answers.

    Workers follow by themselves if their URL names both hosts.

    Example: `ostinato standby promote /mnt/second/ostinato`
    """
    cluster = attach.run(standby.promote(Path(folder), force=force))
    document = {"folder": cluster.data_dir, "promoted": True, "socket": cluster.socket_dir()}
    cli.out.show(document, Text(f"{cluster.data_dir} is the server now. Commits wait for nobody."))
    if cluster.ours:
        cli.out.note(f"→ ostinato up --data-dir {cluster.data_dir}")
    else:
        cli.out.note("→ OSTINATO_DATABASE_URL and OSTINATO_BACKUP_URL name it from now on")
    cli.out.note("→ ostinato standby rejoin OLD_FOLDER      makes the old one the standby")


def rejoin(cli: Cli, folder: Folder, *, name: Name = "standby", asynchronous: Loose = False) -> None:
    """Make the old server a standby of the new one, with pg_rewind.

    FOLDER is that of the old one, which must be stopped: its data folder, or the data directory of a
    server of your own. --data-dir or OSTINATO_BACKUP_URL names the new one. What only the old one
    had was never acknowledged, and is gone then.

    Example: `ostinato standby rejoin .ostinato --data-dir /mnt/second/ostinato`
    """

    async def work() -> Standby:
        async with source_of(cli) as (source, _):
            with cli.out.working(f"Rewinding {folder}"):
                return await standby.rejoin(source, Path(folder), name, synchronous=not asynchronous)

    _show(cli, attach.run(work()))


def _show(cli: Cli, made: Standby) -> None:
    document = {"folder": made.folder, "name": made.name, "synchronous": made.synchronous, "started": made.started}
    if not made.started:
        cli.out.show(document, Text(f"The standby {made.name} is laid out in {made.folder / 'postgres'}."))
        cli.out.note("Its settings lie elsewhere (Debian: /etc/postgresql): put them there, and start it. Then:")
        cli.out.note(f"→ alter system set synchronous_standby_names = '{made.name}'; select pg_reload_conf()")
        return
    waits = "commits wait for it" if made.synchronous else "commits do not wait for it"
    cli.out.show(document, Text(f"The standby {made.name} in {made.folder} follows the server; {waits}."))
    cli.out.note("It runs until it is stopped, and is not started again by itself after a reboot.")


register = commands(create, promote, rejoin)
