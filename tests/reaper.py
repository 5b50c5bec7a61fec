"""Ends what the tests have started when their run ends, also when it is cut short.

PostgreSQL, workers and services have sessions of their own, and no process that is killed can stop
them. So a process beside the run holds one end of a pipe; when the run is gone, however it ended,
it ends every process that carries the mark of the run in its environment.
"""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable

from ostinato._core.runtime.worker import procfs

MARK = "OF_OSTINATO_TESTS"
STOP_SECONDS = 15.0


def start() -> Callable[[], None]:
    """Start the process; returns what ends it, with all that is left, at the end of a run."""
    mark = secrets.token_hex(16)
    # Without the mark of a run that this one is a test of: whoever ends that one would end the process, too.
    environ = {name: value for name, value in os.environ.items() if name != MARK}
    os.environ[MARK] = mark
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.reaper", f"{MARK}={mark}"],
        stdin=reading,
        env=environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,
    )
    os.close(reading)

    def end() -> None:
        os.close(writing)
        process.wait()

    return end


def main() -> None:
    """Wait for the end of the run."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    # For PostgreSQL it is a fast shutdown, for everything of ours a request to stop.
    procfs.end_all(sys.argv[1], first=signal.SIGINT, seconds=STOP_SECONDS)


if __name__ == "__main__":
    main()
