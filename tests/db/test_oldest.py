"""The proofs in SQL of what the engine promises, on the oldest PostgreSQL that it runs on.

They are those that docs/guarantees.md names for coordination: machines, idempotency, leases,
schedules, webhooks, steps and the outbox. All of tests/sql: `pytest -p tests.db.oldest tests/sql`.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import lacking

ROOT = Path(__file__).parents[2]
BINARIES = Path("/usr/lib/postgresql/15/bin")

COORDINATION = range(13, 21)
PROMISE = re.compile(r"^## (\d+)\. ", re.MULTILINE)
PROOF = re.compile(r"`(tests/sql/\w+\.py::\w+)`")


def proofs() -> list[str]:
    """The tests that the promises on coordination name; zones are the same on every server."""
    parts = PROMISE.split((ROOT / "docs" / "guarantees.md").read_text())
    found = [
        proof
        for number, text in zip(parts[1::2], parts[2::2], strict=True)
        if int(number) in COORDINATION
        for proof in PROOF.findall(text)
    ]
    return [proof for proof in dict.fromkeys(found) if "test_zones" not in proof]


@pytest.mark.proof
def test_the_proofs_of_coordination_hold_on_the_oldest_server(tmp_path: Path) -> None:
    if not (BINARIES / "postgres").exists():
        lacking("postgresql-15", "PostgreSQL 15 is not installed")
    chosen = proofs()
    options = ["-p", "tests.db.oldest", "-p", "no:cacheprovider", "-m", "not slow"]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", f"--basetemp={tmp_path / 'b'}", *options, *chosen],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stdout[-5000:] + ended.stderr
    (passed,) = re.findall(r"^(\d+) passed", ended.stdout, re.MULTILINE)
    assert int(passed) >= len(chosen) - 5
    assert len(chosen) > 50
