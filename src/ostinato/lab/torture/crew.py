"""Runs the worker processes that are tortured, each in a process group of its own.

A hand is one process of `ostinato worker`. It is started, killed, paused, resumed and ended only
here; leaving the crew kills all that are left.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

from ostinato._core.base.settings import ENV_PREFIX
from ostinato.lab.torture.network import Host

KILL_SECONDS = 300.0  # a process that has not ended by then never ends


class Hand:
    """One worker process, with its log."""

    def __init__(self, name: str, argv: Sequence[str], env: Mapping[str, str], log: Path) -> None:
        self.name = name
        self.log_path = log
        self.paused = False
        # However this process ends, the worker sees the line close and drains.
        self._link, theirs = socket.socketpair()
        with log.open("ab") as out, theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [*argv, f"--name={name}", f"--link={theirs.fileno()}"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=dict(env),
                pass_fds=[theirs.fileno()],
                process_group=0,
            )

    @property
    def pid(self) -> int:
        """Its process id, which is that of its group too."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it has not ended; a stopped one is alive."""
        return self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process alone."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it as a crash does, with the processes that its handlers have started."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        self._link.close()

    def pause(self) -> None:
        """Pause it, as a virtual machine that is moved."""
        self.paused = True
        self.send(signal.SIGSTOP)

    def resume(self) -> None:
        """Resume it, as if no time had passed."""
        self.send(signal.SIGCONT)
        self.paused = False

    def terminate(self) -> None:
        """Ask it to drain and end."""
        self.send(signal.SIGTERM)

    def wait(self, seconds: float = KILL_SECONDS) -> int:
        """Wait for its end and return its exit code; if negative, the signal that killed it."""
        return self._process.wait(seconds)

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield its log, line by line."""
        with self.log_path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                with contextlib.suppress(ValueError):
                    yield json.loads(line)

    def said(self, event: str) -> int:
        """Return how often it logged an event."""
        return sum(line.get("event_type") == event for line in self.lines())


class Crew:
    """Workers of one app on one database. A context manager: none outlives the block."""

    def __init__(
        self, app: str, url: str, folder: Path, settings: Mapping[str, object] | None = None, hosts: Sequence[Host] = ()
    ) -> None:
        self._app = app
        self._url = url
        self._folder = folder
        self._settings = dict(settings or {})
        self._hosts = hosts
        self.hands: list[Hand] = []
        """All that were ever started."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for hand in self.hands:
            hand.kill()

    @property
    def alive(self) -> list[Hand]:
        """Those that run, or are stopped."""
        return [hand for hand in self.hands if hand.alive]

    def start(self, *more: str, **settings: object) -> Hand:
        """Start one more worker, with settings of its own beside those of the crew."""
        name = f"hand-{len(self.hands) + 1}"
        argv = [sys.executable, "-m", "ostinato", "worker", f"--app={self._app}", *more]
        values = {"database_url": self._url, "log_format": "json", **self._settings, **settings}
        with self._host():
            hand = Hand(name, argv, _environ(values), self._folder / f"{name}.log")
        self.hands.append(hand)
        return hand

    def _host(self) -> AbstractContextManager[None]:
        """Choose where the next one runs: on the hosts in turn, if there are any."""
        if not self._hosts:
            return contextlib.nullcontext()
        return self._hosts[len(self.hands) % len(self._hosts)].inside()

    def said(self, event: str) -> int:
        """Return how often any of them logged an event."""
        return sum(hand.said(event) for hand in self.hands)


def _environ(settings: Mapping[str, object]) -> dict[str, str]:
    """Return the environment of a worker: these settings and no others of ours."""
    plain = {name: text for name, text in os.environ.items() if not name.startswith(ENV_PREFIX)}
    ours = {f"{ENV_PREFIX}{name.upper()}": str(value) for name, value in settings.items()}
    return plain | ours
