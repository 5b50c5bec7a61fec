"""Lets a run of tests use the PostgreSQL 15 of the system, or another, instead of the newest one.

    pytest -p tests.db.oldest tests/sql
    TEST_POSTGRESQL=17 pytest -p tests.db.oldest tests/sql

The continuous integration does it for every version that is supported.
"""

import functools
import os
from pathlib import Path

from ostinato._core.db import embedded

BINARIES = Path(f"/usr/lib/postgresql/{os.environ.get('TEST_POSTGRESQL', '15')}/bin")

embedded.start = functools.partial(embedded.start, binaries=BINARIES)
