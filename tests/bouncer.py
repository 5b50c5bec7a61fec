"""PgBouncer in transaction mode, in front of a server of the tests."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from ostinato._core.db.embedded import Server
from tests.ports import free_port
from tests.waiting import until

ROLES = ("postgres", "ostinato_owner", "ostinato_worker", "ostinato_tenant", "ostinato_api")


def program() -> str | None:
    """Where it is installed, if it is."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder that the pooler's user can reach, which those of pytest are not."""
    with tempfile.TemporaryDirectory(prefix="ostinato-bouncer-") as folder:
        yield Path(folder)


@contextmanager
def in_front_of(server: Server, folder: Path, port: int | None = None, connections: int = 4) -> Iterator[int]:
    """Runs it on a port of the loopback, a free one unless it is named; yields the port."""
    path = program()
    assert path is not None
    port = port or free_port()
    user = server.cluster.user
    (host,) = parse_qs(urlsplit(server.admin_url).query)["host"]
    users = folder / "users.txt"
    users.write_text("".join(f'"{role}" ""\n' for role in ROLES))
    config = folder / "pgbouncer.ini"
    config.write_text(
        "[databases]\n"
        f"* = host={host} port=5432\n"
        "[pgbouncer]\n"
        "pool_mode = transaction\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = trust\nauth_file = {users}\n"
        f"logfile = {folder / 'pgbouncer.log'}\npidfile = {folder / 'pgbouncer.pid'}\n"
        # Fewer connections than clients, so that they are really shared.
        f"default_pool_size = {connections}\nmax_client_conn = 200\nserver_round_robin = 1\n"
    )
    for item in (folder, users, config):
        os.chown(item, user.uid, user.gid)
    (folder / "pgbouncer.pid").unlink(missing_ok=True)  # of one that was killed
    # It refuses to run as root, and the server lets in only whom it knows.
    other = {"user": user.uid, "group": user.gid, "extra_groups": []} if os.geteuid() == 0 else {}
    process = subprocess.Popen(  # type: ignore[call-overload]  # the keywords vary
        [path, "--quiet", str(config)], stdin=subprocess.DEVNULL, cwd="/", **other
    )
    try:
        until(lambda: process.poll() is not None or _answers(port))
        assert process.poll() is None, (folder / "pgbouncer.log").read_text()
        yield port
    finally:
        process.terminate()
        process.wait()


def through(url: str, port: int) -> str:
    """The same database and role, by way of the pooler."""
    parts = urlsplit(url)
    return f"postgresql://{parts.username}@127.0.0.1:{port}{parts.path}"


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
