"""The fork server: it has everything loaded, and forks a worker process for each job.

A fork is 100 times cheaper than a start, and the HTTP server, which has threads, never forks. The
fork server reads orders, one line of JSON each, and answers what became of the worker processes:

    {"start": id, "task": {…}, "limits": {…}}      {"id": id, "pid": …}
    {"kill": id}                                   {"id": id, "ended": {"code": …, "signal": …}}

It holds the lock of its service, too, whose number it is given; worker processes do not. When its
line closes it kills all of them and ends; when it dies, so do they (PDEATHSIG).
"""

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from ostinato.apps.watchfolder.station.refused import FULL, NO_ROOM
from ostinato.apps.watchfolder.station.sandbox import Limits, confine, leave_network
from ostinato.apps.watchfolder.station.worker import run_task, tmp_name

__all__ = ["main"]

READ = 1 << 16


class ForkServer:
    """The worker processes, and the line to the HTTP server."""

    def __init__(self, work: str, held: list[int]) -> None:
        self._held = held
        self._offline = leave_network()  # once: a name space for each process would cost more
        self._work = importlib.import_module(work)
        preload = getattr(self._work, "preload", None)
        if preload is not None:
            preload()
        gc.collect()
        gc.freeze()  # so that worker processes share what was loaded
        self._processes: dict[int, str] = {}
        self._buffer = b""

    def serve(self) -> None:
        """Take orders until the line closes."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        _say({"ready": os.getpid()})
        while True:
            with contextlib.suppress(InterruptedError):
                ready, _, _ = select.select([0, reading], [], [])
                if reading in ready:
                    os.read(reading, READ)
                    self._reap()
                if 0 in ready and not self._take_orders():
                    break
        self._kill_all()

    def _take_orders(self) -> bool:
        data = os.read(0, READ)
        if not data:
            return False
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            order = json.loads(line)
            if "start" in order:
                self._start(order)
            elif "kill" in order:
                self._kill(order["kill"])
        return True

    def _start(self, order: dict[str, Any]) -> None:
        us = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                for number in self._held:
                    os.close(number)
                _become_worker(order, us, offline=self._offline)
                run_task(self._work.run, order["task"])
                os._exit(0)
            except BaseException as error:  # noqa: BLE001 - this process must end here, whatever happens
                os._exit(NO_ROOM if isinstance(error, OSError) and error.errno in FULL else 70)
        self._processes[pid] = order["start"]
        _say({"id": order["start"], "pid": pid})

    def _reap(self) -> None:
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            name = self._processes.pop(pid, None)
            if name is not None:
                with contextlib.suppress(OSError):
                    os.killpg(pid, signal.SIGKILL)  # what it started must not outlive it
                code = os.waitstatus_to_exitcode(status)
                ended = {
                    "code": code if code >= 0 else None,
                    "signal": -code if code < 0 else None,
                    "rssKb": used.ru_maxrss,
                    "cpu": round(used.ru_utime + used.ru_stime, 3),
                }
                _say({"id": name, "ended": ended})

    def _kill(self, name: str) -> None:
        for pid, known in self._processes.items():
            if known == name:
                _kill_group(pid)

    def _kill_all(self) -> None:
        for pid in self._processes:
            _kill_group(pid)


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:  # it has no group of its own yet
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _become_worker(order: dict[str, Any], parent: int, *, offline: bool) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    task = order["task"]
    folder = Path(task["folder"])
    temporary = folder / tmp_name(task["service"], task["attempt"])
    temporary.mkdir(exist_ok=True)
    os.environ.update({"TMPDIR": str(temporary), "HOME": str(temporary)})
    tempfile.tempdir = None  # what was loaded may have asked where it was, and remembers
    os.chdir(folder)
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(folder / f"{task['service']}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for number, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(number, target)
    limits = Limits(**order["limits"])
    task["sandbox"] = confine(limits, [folder], parent=parent, offline=offline)


def _say(news: dict[str, Any]) -> None:
    os.write(1, json.dumps(news).encode() + b"\n")


def main() -> None:
    """`python -m ostinato.apps.watchfolder.station.forkserver MODULE`."""
    ForkServer(sys.argv[1], [int(number) for number in sys.argv[2:]]).serve()


if __name__ == "__main__":
    main()
