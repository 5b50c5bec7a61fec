"""A signal reaches a process of jobs, whatever its event loop waits for."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import needs
from tests.waiting import until

IDLE = """
import asyncio
import sys
from ostinato._core.runtime.worker.ward import guardianship
from ostinato._faces.cli.serve.process import Stop, event_loop

async def work():
    stop = Stop()
    stop.watch_when_blocked(None)
    if sys.argv[1] == "after its warden died":
        first = guardianship().pid
        guardianship()._process.kill()
        guardianship()._process.wait()
        assert guardianship().tend()
        guardianship().hear_signals()
        assert guardianship().pid != first
    print("ready", flush=True)
    await stop.asked.wait()
    print("asked", flush=True)

event_loop().run_until_complete(work())
"""


def sleeps(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


@needs("linux", here=sys.platform == "linux", reason="There is no warden here, and asyncio's own means do.")
@pytest.mark.parametrize("when", ["from the start", "after its warden died"])
def test_an_idle_process_hears_a_signal_without_anything_else_to_wake_it(when: str) -> None:
    """uvloop waits in C, where no signal handler of Python's runs: the warden wakes it."""
    with subprocess.Popen([sys.executable, "-c", IDLE, when], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            until(lambda: sleeps(process.pid))

            process.send_signal(signal.SIGTERM)

            assert process.stdout.readline() == "asked\n"
            assert process.wait() == 0
        finally:
            process.kill()
