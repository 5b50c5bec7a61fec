"""The fork server: it has everything loaded, and forks a worker process for each job.

A fork is 100 times cheaper than a start, and the HTTP server, which has threads, never forks. The
fork server reads orders, one line of JSON each, and answers what became of the worker processes:

    {"start": id, "task": {…}, "limits": {…}}      {"id": id, "pid": …}
    {"kill": id}                                   {"id": id, "ended": {"code": …, "said": …}}

What a worker process says on its standard output and error comes by a pipe, and the end of it is
kept in memory: a file in the job's folder could be a link that the process made, to any other file.

It holds the locks of the folders that its service works in, too ({"hold": path}, {"drop": path}; the answer
to one that it cannot have is {"unheld": path, "error": …}); worker processes do not. When its line closes it
kills all of them and ends; when it dies, so do they (PDEATHSIG).
"""

import contextlib
import fcntl
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

READ = 1 << 16
MOST_SAID = 600
MOST_READS = 64
"""At the end of a process: what it left in its pipe, and no more."""


class ForkServer:
    """The worker processes, and the line to the HTTP server."""

    def __init__(self, work: str) -> None:
        self._held: dict[str, int] = {}
        self._offline = leave_network()  # once: a name space for each process would cost more
        self._work = importlib.import_module(work)
        preload = getattr(self._work, "preload", None)
        if preload is not None:
            preload()
        gc.collect()
        gc.freeze()  # so that worker processes share what was loaded
        self._processes: dict[int, str] = {}
        self._pipes: dict[int, int] = {}
        """The reading end of each process's pipe."""
        self._said: dict[int, bytes] = {}
        self._wake = os.pipe()
        """A signal wakes us by it. A worker process that had it could read in our place, and we would wait for ever."""
        self._buffer = b""

    def serve(self) -> None:
        """Take orders until the line closes."""
        reading, writing = self._wake
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        _say({"ready": os.getpid()})
        while True:
            with contextlib.suppress(InterruptedError):
                ready, _, _ = select.select([0, reading, *self._pipes.values()], [], [])
                for pid, pipe in [*self._pipes.items()]:
                    if pipe in ready:
                        self._listen(pid)
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
            elif "hold" in order:
                self._hold(order["hold"])
            elif "drop" in order and order["drop"] in self._held:
                os.close(self._held.pop(order["drop"]))
        return True

    def _hold(self, path: str) -> None:
        """Share the lock that the service has: it must outlive a service that is killed."""
        if path in self._held:
            return
        try:
            number = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:  # a folder in its place, or nothing: the other folders are not to suffer
            _say({"unheld": path, "error": str(error)})
            return
        try:
            fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            os.close(number)
            _say({"unheld": path, "error": str(error)})
        else:
            self._held[path] = number

    def _start(self, order: dict[str, Any]) -> None:
        us = os.getpid()
        hearing, saying = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                for number in (*self._held.values(), *self._pipes.values(), *self._wake, hearing):
                    os.close(number)
                _become_worker(order, us, saying, offline=self._offline)
                run_task(self._work.run, order["task"])
                os._exit(0)
            except BaseException as error:  # noqa: BLE001 - this process must end here, whatever happens
                os._exit(NO_ROOM if isinstance(error, OSError) and error.errno in FULL else 70)
        os.close(saying)
        os.set_blocking(hearing, False)
        self._processes[pid], self._pipes[pid] = order["start"], hearing
        _say({"id": order["start"], "pid": pid})

    def _listen(self, pid: int) -> bool:
        """Keep the end of what a process said; return whether there may be more."""
        try:
            data = os.read(self._pipes[pid], READ)
        except BlockingIOError:
            return False
        if not data:
            os.close(self._pipes.pop(pid))
            return False
        self._said[pid] = (self._said.get(pid, b"") + data)[-4 * MOST_SAID :]
        return True

    def _last_words(self, pid: int) -> str:
        """Return what a process said last, and close its pipe, which others may still hold."""
        for _ in range(MOST_READS):
            if pid not in self._pipes or not self._listen(pid):
                break
        if pid in self._pipes:
            os.close(self._pipes.pop(pid))
        return self._said.pop(pid, b"").decode("utf-8", "replace")[-MOST_SAID:].strip()

    def _reap(self) -> None:
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if found is None:
                return
            pid = found.si_pid
            if pid in self._processes:
                # What it started must not outlive it. As long as it is not reaped, nobody else has
                # its number; and no process can leave the group (seccomp).
                _kill_group(pid)
            _, status, used = os.wait4(pid, 0)
            name = self._processes.pop(pid, None)
            if name is not None:
                code = os.waitstatus_to_exitcode(status)
                ended = {
                    "code": code if code >= 0 else None,
                    "signal": -code if code < 0 else None,
                    "rssKb": used.ru_maxrss,
                    "cpu": round(used.ru_utime + used.ru_stime, 3),
                    "said": self._last_words(pid),
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


def _become_worker(order: dict[str, Any], parent: int, saying: int, *, offline: bool) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    task = order["task"]
    folder = Path(task["folder"])
    temporary = folder / tmp_name(task["service"], task["attempt"])
    os.environ.update({"TMPDIR": str(temporary), "HOME": str(temporary)})
    tempfile.tempdir = None  # what was loaded may have asked where it was, and remembers
    os.chdir(folder)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, target in ((nothing, 0), (saying, 1), (saying, 2)):
        os.dup2(number, target)
    os.close(nothing)
    os.close(saying)
    limits = Limits(**order["limits"])
    task["sandbox"] = confine(limits, [folder], parent=parent, offline=offline)
    temporary.mkdir(exist_ok=True)  # by now as the user that it is for


def _say(news: dict[str, Any]) -> None:
    os.write(1, json.dumps(news).encode() + b"\n")


def main() -> None:
    """Serve as `python -m ostinato.apps.watchfolder.station.forkserver MODULE`."""
    ForkServer(sys.argv[1]).serve()


if __name__ == "__main__":
    main()
