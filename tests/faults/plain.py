"""A server of one's own: PostgreSQL as `initdb` makes it, which listens on TCP and asks for a password."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ostinato._core.db.cluster import Cluster, CommandFailed
from tests.ports import free_port

PASSWORD = "sesame"
# What differs between two machines, outside of what is copied: a file beside the parent of the data directory.
HERE = "machine.conf"
DATA = "main"


def machine(folder: Path) -> str:
    """Make the folder of a machine, whose servers listen at a port of its own; returns the URL there."""
    folder.mkdir()
    port = free_port()
    (folder / HERE).write_text(f"port = {port}\nunix_socket_directories = ''\nlisten_addresses = '127.0.0.1'\n")
    (folder / HERE).chmod(0o644)
    return f"postgresql://postgres:{PASSWORD}@127.0.0.1:{port}/postgres"


@contextmanager
def plain_server(programs: Path, at: Path) -> Iterator[Cluster]:
    """A server of one's own on a machine, in `at/own/main`; ended with the block, whatever it is by then."""
    parent = at / "own"
    cluster = Cluster.at(parent / DATA, programs, ".")
    word = at / "word"
    word.write_text(PASSWORD)
    for path in (cluster.pgdata, word):
        os.chown(path, cluster.user.uid, cluster.user.gid)
    cluster.command.run(
        "initdb",
        *("--pgdata", str(cluster.pgdata), "--username=postgres", "--auth=scram-sha-256", f"--pwfile={word}"),
        *("--data-checksums", "--no-sync", "--no-instructions"),
    )
    with (cluster.pgdata / "postgresql.conf").open("a") as conf:
        conf.write(f"include '../../{HERE}'\n")
    cluster.launch()
    try:
        yield cluster
    finally:
        stop(cluster)


def stop(cluster: Cluster) -> None:
    """Crash a server, unless it is gone."""
    if cluster.pid() is not None:
        with suppress(CommandFailed):
            cluster.halt("immediate")
