"""Commands as real processes: those that go on, and those that talk to a terminal."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

SIDE_BY_SIDE = {"OSTINATO_API_PORT": "0", "OSTINATO_API_WORKERS": "1"}
"""Tests have ports of their own, and of the API one process and not one for each core: each takes seconds to start."""


class Running:
    """A command that is running; its stderr goes into a file."""

    def __init__(self, process: subprocess.Popen[str], errors: Path) -> None:
        self.process = process
        self._errors = errors

    @property
    def stderr(self) -> str:
        return self._errors.read_text()

    def line(self, start: str) -> str:
        """The next line on stdout that starts so; fails when stdout ends before."""
        return self._find(lambda line: line.startswith(start), start).rstrip("\n")

    def event(self, name: str) -> dict[str, Any]:
        """The next event of this name that a command with --json tells."""
        found: dict[str, Any] = json.loads(self._find(lambda line: _tells(line, name), name))
        return found

    def rest(self) -> list[str]:
        """What is left on stdout, until it ends."""
        return self._stdout.readlines()

    def signal(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def ended(self) -> int:
        """Wait for the end; the exit code."""
        return self.process.wait()

    def _find(self, wanted: Callable[[str], bool], what: str) -> str:
        passed = []
        for line in self._stdout:
            if wanted(line):
                return line
            passed.append(line)
        told = f"stdout:\n{''.join(passed)}\nstderr:\n{self.stderr}"
        raise AssertionError(f"no line of {what!r}; {told}")

    @property
    def _stdout(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout


def _tells(line: str, name: str) -> bool:
    told = json.loads(line)
    return told.get("event") == name or name in told


@contextmanager
def running(folder: Path, env: dict[str, str], *args: str, under: Sequence[str] = ()) -> Iterator[Running]:
    """Run a command in a folder, `under` another that becomes it; whatever is left of it at the end is killed."""
    errors = folder / f"stderr-{len(list(folder.glob('stderr-*')))}"
    with (
        errors.open("w") as file,
        subprocess.Popen(
            [*under, sys.executable, "-m", "ostinato", *args],
            cwd=folder,
            env=os.environ | SIDE_BY_SIDE | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
        ) as process,
    ):
        try:
            yield Running(process, errors)
        finally:
            process.kill()


# Makes stdin the terminal that Ctrl-C is typed at, and hears it, as what a shell starts does: tests
# that run in the background may ignore it. Not a preexec_fn, which may block for ever in a process
# with threads, such as one of pytest-xdist.
TAKE_TERMINAL = """
import fcntl, runpy, signal, termios
signal.signal(signal.SIGINT, signal.default_int_handler)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
runpy.run_module("ostinato", run_name="__main__", alter_sys=True)
"""


class Terminal:
    """Somebody at a terminal, who reads and types."""

    def __init__(self, process: subprocess.Popen[bytes], fd: int) -> None:
        self.process = process
        self._fd = fd

    def reads_until(self, text: str) -> str:
        """What the command says until it has said this."""
        said = b""
        while text.encode() not in said:
            said += os.read(self._fd, 1000)
        return said.decode(errors="replace")

    def types(self, text: str) -> None:
        os.write(self._fd, text.encode())


@contextmanager
def at_terminal(env: dict[str, str], *args: str) -> Iterator[Terminal]:
    """Run a command whose three streams are a terminal of its own; Ctrl-C in it is a signal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", TAKE_TERMINAL, *args],
        env=os.environ | env | {"TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        try:
            yield Terminal(process, ours)
        finally:
            process.kill()
            os.close(ours)
