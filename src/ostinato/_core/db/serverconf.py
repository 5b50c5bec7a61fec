"""The settings that the embedded server runs with, derived from the machine.

Durability is never traded: fsync, full_page_writes and synchronous_commit keep their defaults.
Set another value with ALTER SYSTEM, which takes precedence over this file.
"""

import os
from pathlib import Path

from ostinato._core.db.osuser import myself

FILE = "ostinato.conf"
INCLUDE = f"include_if_exists '{FILE}'"
ROLES = ("ostinato_owner", "ostinato_worker", "ostinato_tenant", "ostinato_api")
HBA = """\
# Written by Ostinato at every start: over the socket, and as whom pg_ident.conf says. The superuser
# is not in that map: it needs the password of superuser.pgpass.
local all postgres scram-sha-256
local replication postgres scram-sha-256
local all all peer map=ostinato
"""
MB = 2**20


def ident(server_user: str) -> str:
    """Return the map of users that may log in: the one that started the server, and its own.

    They may be our roles, and from PostgreSQL 16 on those of their own programs that `ostinato db grant` made workers.
    """
    users = dict.fromkeys((myself().name, server_user))
    lines = [f'ostinato "{user}" {role}' for user in users for role in (*ROLES, "+ostinato_worker")]
    return "\n".join(["# Written by Ostinato at every start.", *lines, ""])


def settings(major: int, socket_dir: Path, lz4: bool) -> str:  # noqa: FBT001 - a fact, not a mode
    """Return the text of the settings file."""
    memory = _memory_bytes()
    shared = min(max(memory // 8, 128 * MB), 1024 * MB)
    values: dict[str, str] = {
        "listen_addresses": "",
        "unix_socket_directories": _list_item(str(socket_dir)),
        "unix_socket_permissions": "0700",
        "port": "5432",
        "max_connections": "200",
        "shared_buffers": f"{shared // MB}MB",
        "effective_cache_size": f"{max(memory // 2, 256 * MB) // MB}MB",
        "maintenance_work_mem": f"{min(max(memory // 32, 64 * MB), 256 * MB) // MB}MB",
        "random_page_cost": "1.1",
        "jit": "off",
        "max_wal_size": "2GB",
        "min_wal_size": "256MB",
        "checkpoint_timeout": "15min",
        # A slot whose reader is gone would fill the disk, and stop everything.
        "max_slot_wal_keep_size": "16GB",
        "wal_compression": "lz4" if lz4 else "pglz",
        "autovacuum_naptime": "10s",
        "idle_in_transaction_session_timeout": "30s",
        "client_connection_check_interval": "5s",
        "tcp_keepalives_idle": "5",
        "tcp_keepalives_interval": "2",
        "tcp_keepalives_count": "3",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "cluster_name": "ostinato",
        "log_checkpoints": "off",
        # The log holds no statement and no value of a row: those may be personal data.
        "log_error_verbosity": "terse",
        "log_min_error_statement": "panic",
        "log_line_prefix": "%m [%p] %q%u@%d ",
    }
    if os.uname().sysname != "Linux":
        del values["client_connection_check_interval"]
    lines = [f"{name} = '{_quoted(value)}'" for name, value in values.items()]
    head = f"# Written by Ostinato at every start, for PostgreSQL {major}: changes here are lost."
    return "\n".join([head, *lines, ""])


def _memory_bytes() -> int:
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(limit).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            return min(machine, int(text))
    return machine


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")


def _list_item(path: str) -> str:
    doubled = path.replace('"', '""')
    return f'"{doubled}"'
