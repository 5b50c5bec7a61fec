"""Lets a run of tests use the PostgreSQL 15 of the system instead of the newest one.

pytest -p tests.db.oldest tests/sql
"""

import functools
from pathlib import Path

from ostinato._core.db import embedded

BINARIES = Path("/usr/lib/postgresql/15/bin")

embedded.start = functools.partial(embedded.start, binaries=BINARIES)
