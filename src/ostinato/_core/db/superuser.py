"""The password of the embedded server's superuser, in a file that only our user can read.

The operating-system user logs in as the roles that jobs need, without a password; as `postgres` it
does not. A process that escapes into our user's account, such as a decoder that a document took
over, may reach the socket: `COPY … TO PROGRAM` must stay out of its reach. The file has libpq's
format, so that every client reads it by `passfile`, and no address or command line holds a secret.
"""

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from psycopg import sql

from ostinato._core.db.sqlfile import statement

if TYPE_CHECKING:
    from ostinato._core.db.cluster import Command

SUPERUSER = "postgres"


def password_file(data_dir: Path) -> Path:
    """Return the file with the password."""
    return data_dir / "superuser.pgpass"


def ensure_password(data_dir: Path, command: "Command") -> None:
    """Set a new password unless there is one; the server must not run.

    The file gets its name last: a crash in between leaves none, and the next start sets another.
    """
    path = password_file(data_dir)
    if path.exists():
        return
    password = secrets.token_hex(32)
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"*:*:*:{SUPERUSER}:{password}\n")
        file.flush()
        os.fsync(file.fileno())
    template = statement("ostinato._core.db", "sql/embedded.sql", "set_password")
    change = sql.SQL(template).format(role=sql.Identifier(SUPERUSER), password=sql.Literal(password))
    # Single-user mode is the one way in that asks for no password; it ends at the end of its input.
    single = ("--single", "-D", str(data_dir / "postgres"), SUPERUSER)
    command.run("postgres", *single, given=f"{change.as_string(None).strip()}\n")
    fresh.rename(path)
