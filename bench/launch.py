"""Runs an action of a system in its own process and reads its JSON answer.

Every process gets its own group, a time limit, and is ended by its id if it outlives the limit.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from bench.catalog import Runner, System
from bench.places import LOGS, NODE, PEERS_PYTHON, ROOT

Answer = dict[str, Any]
Argument = int | float | str | bool
Arguments = dict[str, Argument]
GRACE_SECONDS = 15.0


class SystemFailedError(RuntimeError):
    """An action did not give its answer; `unwritten` when the adapter has no body yet."""

    def __init__(self, message: str, *, unwritten: bool = False) -> None:
        super().__init__(message)
        self.unwritten = unwritten


class Child:
    """A running action: lines of JSON come out, a line on stdin lets a producer go."""

    def __init__(self, system: System, action: str, url: str, extra: Mapping[str, str], args: Arguments):
        LOGS.mkdir(parents=True, exist_ok=True)
        self.name = f"{system.key} {action}"
        self.log = LOGS / f"{system.key}-{action}.log"
        self._buffer = b""
        with self.log.open("wb") as errors:
            self.process = subprocess.Popen(
                [*command(system), action, json.dumps(args)],
                cwd=NODE if system.runner is Runner.NODE else ROOT,
                env={**environment(system), **extra, **addressed(url)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )

    def go(self) -> None:
        assert self.process.stdin is not None  # noqa: S101 - opened as a pipe above
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()

    def answer(self, limit: float) -> Answer:
        """The next line of JSON."""
        deadline = time.monotonic() + limit
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                raise SystemFailedError(f"{self.name}: no answer in {limit:.0f} s")
            self._read(left)
        line, self._buffer = self._buffer.split(b"\n", 1)
        answer: Answer = json.loads(line)
        if "error" in answer:
            raise SystemFailedError(f"{self.name}: {answer['error']}", unwritten=answer.get("unwritten", False))
        return answer

    def _read(self, left: float) -> None:
        assert self.process.stdout is not None  # noqa: S101 - opened as a pipe above
        out = self.process.stdout.fileno()
        if not select.select([out], [], [], left)[0]:
            return
        part = os.read(out, 1 << 16)
        if not part:
            tail = self.log.read_text(errors="replace").strip().splitlines()[-1:]
            raise SystemFailedError(f"{self.name}: ended without an answer ({' '.join(tail)})")
        self._buffer += part

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


def end_on_terminate() -> None:
    """A termination unwinds like Ctrl-C does, so that all that was started is stopped."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def command(system: System) -> list[str]:
    match system.runner:
        case Runner.NODE:
            return ["node", "bench.mjs"]
        case Runner.PEERS:
            return [str(PEERS_PYTHON), "-m", f"bench.systems.{system.module}"]
        case Runner.OURS:
            return [sys.executable, "-m", f"bench.systems.{system.module}"]


def addressed(url: str) -> dict[str, str]:
    """The database for a child. Clients that are not libpq look for the password in PGPASSFILE only."""
    passfile = conninfo_to_dict(url).get("passfile")
    return {"BENCH_DSN": url, **({"PGPASSFILE": str(passfile)} if passfile else {})}


def environment(system: System) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    if system.runner is Runner.OURS:
        kept["PYTHONPATH"] = str(ROOT / "src")
    return {**kept, "PYTHONUNBUFFERED": "1", **system.environment}


@contextmanager
def child(system: System, action: str, url: str, extra: Mapping[str, str], **args: Argument) -> Iterator[Child]:
    running = Child(system, action, url, extra, args)
    try:
        yield running
    finally:
        running.stop()


def call(system: System, action: str, url: str, extra: Mapping[str, str], *, limit: float, **args: Argument) -> Answer:
    """Runs one action to its end."""
    with child(system, action, url, extra, limit=limit, **args) as running:
        return running.answer(limit + GRACE_SECONDS)
