"""The schema as `ostinato db migrate` builds it: committed, compared by a test, read in review.

python -m tests.snapshot writes tests/schema.snapshot.sql anew.
"""

import asyncio
import re
import subprocess
import tempfile
from pathlib import Path

from ostinato._core.db import embedded
from ostinato._core.db.embedded import Server
from ostinato._core.db.migrate import migrate
from ostinato._core.engine.schema import ENGINE

FILE = Path(__file__).with_name("schema.snapshot.sql")

# What differs from run to run or from release to release of pg_dump, and says nothing of ours.
NOISE = re.compile(r"^(--.*|SET .*|SELECT pg_catalog\.set_config.*|\\.*|\s*)$")


def taken(server: Server, name: str = "snapshot") -> str:
    """The schema of a freshly migrated database; functions by signature, not by body."""
    urls = server.create_database(name)
    asyncio.run(migrate(urls.admin, [ENGINE]))
    command = [
        str(server.psql.with_name("pg_dump")),
        "--schema-only",
        "--schema=ostinato",
        "--schema=ostinato_internal",
        "--schema=ostinato_data",
        urls.admin,
    ]
    dump = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    server.drop_database(name)
    # The bodies are in sql/functions/, where their changes are reviewed.
    dump = re.sub(r"\n    AS \$(\w*)\$.*?\$\1\$;", "\n    AS …;", dump, flags=re.DOTALL)
    return "\n".join(line for line in dump.splitlines() if not NOISE.match(line)) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, embedded.start(folder) as running:
        FILE.write_text(taken(running), encoding="utf-8")
    print(f"wrote {FILE.name}")  # noqa: T201
