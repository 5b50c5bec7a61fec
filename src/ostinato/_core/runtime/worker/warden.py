"""The warden is a small process beside a worker process, for when that one cannot help itself.

A handler that blocks the event loop stops the loop's watch over timeouts, cancel requests and
signals; one that holds the GIL stops the heart as well. The warden shares neither. It looks at the
boards (`board.py`) of its parent once a second, and when one says nothing any more:

    the heart is silent    somebody holds the GIL: the warden beats in its place, so that a long
                           job is not started a second time
    the loop is silent     past the timeout and grace of the handler that blocks it, after a request
                           to cancel that handler, or after SIGTERM and the time to drain: the
                           attempt of that handler ends as its policy says, everything else goes
                           back untouched, and the process is killed, to be replaced by its
                           supervisor

A process that is *stopped* (SIGSTOP, a debugger) is no worker that is busy: the kernel says so in
`/proc`. For such a one nothing is beaten, so that it expires, and what it does late is refused.
Time in which the parent or the warden itself was stopped counts as silence of nobody.

It ends with its parent, whose end of the line closes however it dies. Then it unregisters the
workers that did not leave, so that others take their jobs at once instead of after the expiry, and
ends what the handlers have started, if the process belongs to the worker. Until it has to act it
holds no connection and imports the standard library only: 10 MB, and a wake-up a second.
"""

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from typing import TYPE_CHECKING, Any

from ostinato._core.runtime.worker import procfs
from ostinato._core.runtime.worker.board import Running, View
from ostinato._core.runtime.worker.silence import Ending, Silence, Stack, blamed, ending

if TYPE_CHECKING:
    from ostinato._core.runtime.worker.standin import StandIn

DUMP_SIGNAL = signal.SIGRTMAX - 3
"""Makes the parent write where its threads stand, even while one of them holds the GIL."""
LOOK_SECONDS = 1.0
CLOSE_LOOK_SECONDS = 0.2
BLOCKED_SECONDS = 2.0
SLEPT_SECONDS = 1.0  # beyond what it asked for: it was stopped itself
POLL_SECONDS = 1.5
DYING_SECONDS = 2.0
LONGEST_MESSAGE = 1 << 20


class Ward:
    """One worker of the parent."""

    def __init__(self, fd: int) -> None:
        self.view = View(fd)
        card = self.view.card
        self.beat_seconds = float(card["beat_seconds"])
        # The heart looks up once a second, or with each beat if that is sooner.
        self._heart_seconds = max(card["expiry_seconds"] / 6, 2 * min(1.0, self.beat_seconds))
        self._loop, self._heart = Silence(), Silence()
        self._stand_in: StandIn | None = None
        self._next_beat = self._next_poll = 0.0
        self._cancels: dict[int, float] = {}
        self._told: object = None
        self._ended: object = None

    @property
    def is_watched_closely(self) -> bool:
        """Whether its event loop seems to be blocked."""
        return self._loop.seconds >= BLOCKED_SECONDS / 2

    @property
    def holds_gil(self) -> bool:
        """Whether not even the heart's thread runs."""
        return bool(self._heart.seconds >= self._heart_seconds)

    def look(self, now: float, asked: list[float], stack: Stack, *, counts: bool) -> Ending | None:
        """Beat for the process if it cannot; returns how to end it if that must be."""
        self._loop.feel(self.view.loop_pulse, now, counts=counts)
        self._heart.feel(self.view.heart_pulse, now, counts=counts)
        worker_id = self.view.worker_id
        if worker_id is None or worker_id == self._ended or not counts:
            return None
        blocks = None
        if self._loop.seconds >= BLOCKED_SECONDS:
            blocks = self._blamed(now, stack)
            self._learn_cancels(now)
        else:
            self._cancels.clear()
        if self.holds_gil and now >= self._next_beat:
            self._next_beat = now + self.beat_seconds
            self.stand_in().beat(worker_id, self._kind_of(blocks))
        if self._loop.seconds < BLOCKED_SECONDS:
            return None
        return ending(blocks, self.view.card, now, asked=asked, cancels=self._cancels)

    def tell(self, ended: Ending, stack: Stack, *, owned: bool) -> None:
        """Log its end, once, also if what it holds can be given back at a later look only."""
        if self._told != self.view.worker_id:
            self._told = self.view.worker_id
            self.stand_in().tell(ended, stack, owned=owned)

    def give_up(self, ended: Ending | None) -> None:
        """Give its jobs back, if the database answers; the one that is to blame ends as its policy says."""
        worker_id = self.view.worker_id
        if worker_id is None:
            return
        try:
            self.stand_in().give_up(worker_id, ended)
        except Exception as error:  # noqa: BLE001 - it is buried, or expires; at the next look if the process stays
            self.stand_in().complain(error)
        else:
            self._ended = worker_id

    def bury(self) -> None:
        """Unregister a worker whose process died without doing so."""
        worker_id = self.view.worker_id
        if worker_id is not None and worker_id != self._ended:
            self.stand_in().bury(worker_id)

    def stand_in(self) -> "StandIn":
        """Return what acts in the database; its imports take half a second, so they come when needed."""
        if self._stand_in is None:
            from ostinato._core.runtime.worker.standin import StandIn  # noqa: PLC0415 - see above

            self._stand_in = StandIn(self.view.card)
        return self._stand_in

    def needs_stack(self, now: float) -> bool:
        """Return whether more than the board is needed to tell which job is to blame."""
        grace = self.view.card["grace_seconds"]
        due = (job.job_id in self._cancels or job.is_overdue(now, grace) for job in self._jobs())
        return self.holds_gil and any(due)

    def _jobs(self) -> list[Running]:
        return list(self.view.running())

    def _blamed(self, now: float, stack: Stack) -> Running | None:
        known = None if self.holds_gil else self.view.blamed
        return blamed(self._jobs(), known, stack, self.view.card["kinds"], now)

    def _kind_of(self, job: Running | None) -> str | None:
        return None if job is None else str(self.view.card["kinds"][job.kind]["name"])

    def _learn_cancels(self, now: float) -> None:
        if now >= self._next_poll and (worker_id := self.view.worker_id) is not None:
            try:
                asked = self.stand_in().cancels(worker_id)
            except Exception as error:  # noqa: BLE001 - a database that is away does not make time stop
                self.stand_in().complain(error)
                asked = []
            self._next_poll = time.monotonic() + POLL_SECONDS
            for job_id in asked:
                self._cancels.setdefault(job_id, now)

    def close(self) -> None:
        if self._stand_in is not None:
            self._stand_in.close()
        self.view.close()


class Warden:
    """Watches over the workers of its parent until that ends."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._wards: dict[int, Ward] = {}
        self._asked: list[float] = []
        """When the parent was asked to stop."""
        self._terms: dict[str, Any] = {"parent": os.getppid(), "owned": False}
        self._dump = self._dump_read = -1
        self._stack = Stack("")
        self._dumped_at = 0.0
        self._family: dict[int, str] = {}
        """What the handlers have started, noted at each look: one that has another environment, and a session of its
        own, cannot be found once its parent is gone."""

    def run(self) -> None:
        """Watch until the parent is gone; then clear up what it left."""
        while self._parent_lives():
            seconds = self._pause()
            before = time.monotonic()
            lives = self._hear(seconds)
            self._note_family()
            if not lives:
                break
            now = time.monotonic()
            slept = now - before > seconds + SLEPT_SECONDS
            self._look(now, counts=not slept and not self._is_stopped())
        if not self._wards and not self._terms["owned"]:
            return
        over = time.monotonic() + DYING_SECONDS
        while self._parent_lives():  # the kernel closes its files before it is gone
            if time.monotonic() > over:
                return  # it only closed the line, and will start another warden
            time.sleep(DYING_SECONDS / 100)
        if self._terms["owned"]:
            procfs.end_all(self._terms["mark"], self._terms["group"], noted=self._family)
        for ward in self._wards.values():
            ward.bury()

    def _note_family(self) -> None:
        if self._terms["owned"]:
            self._family = procfs.alive(self._family) | procfs.family(self._terms["parent"])
            self._family.pop(os.getpid(), None)

    def _parent_lives(self) -> bool:
        return bool(os.getppid() == self._terms["parent"])

    def _is_stopped(self) -> bool:
        return procfs.is_stopped(self._terms["parent"])

    def _pause(self) -> float:
        if any(ward.is_watched_closely for ward in self._wards.values()):
            return CLOSE_LOOK_SECONDS
        return min([LOOK_SECONDS, *(ward.beat_seconds for ward in self._wards.values())])

    def _hear(self, seconds: float) -> bool:
        """Wait for a message and read it; False means that the other end is closed."""
        if not select.select([self._line], [], [], seconds)[0]:
            return True
        text, fds, *_ = socket.recv_fds(self._line, LONGEST_MESSAGE, 4)
        if not text:
            return False
        if len(text) == 1:  # the number of a signal, written by the parent's own signal handler
            if text[0] in self._terms.get("signals", ()):
                self._asked.append(time.monotonic())
            with contextlib.suppress(OSError):  # it reads nothing: it is blocked, or gone
                self._line.send(text, socket.MSG_DONTWAIT)  # wakes its event loop
            return True
        message = json.loads(text)
        if "terms" in message:
            self._terms = message["terms"]
            sys.path[:] = self._terms["path"]
            self._dump = fds[0] if fds else -1
        elif "take" in message:
            self._wards[message["take"]] = Ward(fds[0])
            os.close(fds[0])
        elif (ward := self._wards.pop(message["leave"], None)) is not None:
            ward.close()
        return True

    def _look(self, now: float, *, counts: bool) -> None:
        for ward in self._wards.values():
            try:
                if (ended := ward.look(now, self._asked, self._stack, counts=counts)) is not None:
                    self._end(ward, ended)
                elif ward.needs_stack(now) and not self._stack:
                    self._ask_for_stack(now)
            except Exception as error:  # noqa: BLE001 - it must go on watching whatever happens
                ward.stand_in().complain(error)
        if not any(ward.holds_gil for ward in self._wards.values()):
            self._stack = Stack("")

    def _ask_for_stack(self, now: float) -> None:
        """Let the parent write where its threads stand, and read it at the next look."""
        if self._dump < 0:
            return
        size = os.fstat(self._dump).st_size
        if size > self._dump_read >= 0:
            text = os.pread(self._dump, size - self._dump_read, self._dump_read)
            self._stack = Stack(text.decode(errors="replace"))
            self._dump_read = -1
        elif now - self._dumped_at > BLOCKED_SECONDS:
            self._dump_read, self._dumped_at = size, now
            os.kill(self._terms["parent"], DUMP_SIGNAL)

    def _end(self, ward: Ward, ended: Ending) -> None:
        """Take everything from the parent's workers, and end it if it is theirs."""
        owned = self._terms["owned"]
        if ended.at_once and owned:
            os.kill(self._terms["parent"], signal.SIGKILL)
            return
        ward.tell(ended, self._stack, owned=owned)
        for each in self._wards.values() if owned else (ward,):
            each.give_up(ended if each is ward else None)
        if owned:
            for each in self._wards.values():
                each.view.mark_ended()
            os.kill(self._terms["parent"], signal.SIGKILL)


def main() -> None:
    """Run as a process of its own; the second argument is the line to the parent."""
    # What stops a service signals all its processes: this one ends with its parent.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        Warden(socket.socket(fileno=int(sys.argv[2]))).run()
    os._exit(0)
