"""A small supervisor: keeps the processes of some parts running until it is stopped.

    starting   one part after the other, in the order given; the first process of a part shows
               whether it can work at all: if it ends before it is ready, so does the supervisor,
               with the same exit code
    running    a process that dies is replaced, at once the first time, then after growing pauses;
               one that reports that it cannot work (exit code 2 or 78) ends the supervisor
    stopping   SIGTERM, SIGINT: one part after the other, in reverse, finishes its work; a
               second signal, or a part that takes too long, kills

Each process has one end of a socket pair. It reports there when it is ready; when the supervisor
dies, however it dies, the process sees the line close and stops. Sockets that a part listens on are
the supervisor's: while one process of the part is replaced, connections wait for the next.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ostinato._faces.cli.frame.output import Output
from ostinato._faces.cli.serve.process import stop_signals

OnReady = Callable[[dict[str, list[dict[str, Any]]]], Awaitable[None]]
"""Called with the reports of the processes of each part when all of them are ready."""

HOPELESS = (2, 78)  # wrong settings or app, and a contract that does not fit: no restart can help
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
HEALTHY_SECONDS = 60.0
LAST_WORDS_SECONDS = 1.0
EXTRA_SECONDS = 15.0  # on top of the drain: for the last verdicts, and for unregistering


@dataclass(frozen=True)
class Part:
    """A part: a number of processes that run the same command."""

    name: str
    argv: Callable[[int], Sequence[str]]
    """The command of its process with this number, from 1 on; `--link` is appended."""
    count: int = 1
    sockets: Sequence[socket.socket] = ()
    """The sockets it listens on: its processes inherit them, and they are closed when it stops."""


@dataclass
class Slot:
    """The slot of one process, which is refilled when the process dies."""

    part: Part
    number: int
    process: Process | None = None
    told: dict[str, Any] | None = None
    """The report of the process when it was ready."""
    error: dict[str, Any] | None = None
    """The report of the process when it could not go on."""
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def name(self) -> str:
        """Such as "worker 2", or "api" where there is only one."""
        return self.part.name if self.part.count == 1 else f"{self.part.name} {self.number}"


class Supervisor:
    """Runs the processes of some parts, started in this order and stopped in reverse."""

    def __init__(
        self, parts: Sequence[Part], out: Output, *, env: Mapping[str, str], drain_seconds: float, on_ready: OnReady
    ) -> None:
        self._parts = [[Slot(part, number) for number in range(1, part.count + 1)] for part in parts]
        self._out = out
        self._env = dict(env)
        self._drain_seconds = drain_seconds
        self._on_ready = on_ready
        self._stop = asyncio.Event()
        self._signals = 0
        self._exit_code = 0
        self._keepers: dict[str, list[asyncio.Task[None]]] = {}

    @property
    def was_signalled(self) -> bool:
        """Whether a person, or the system, asked for the end."""
        return self._signals > 0

    def stop(self) -> None:
        """Let everything end as after a first signal."""
        self._stop.set()

    async def run(self) -> int:
        """Keep the parts running; returns the exit code."""
        loop = asyncio.get_running_loop()
        signals = stop_signals()
        for number in signals:
            loop.add_signal_handler(number, self._signalled, number)
        try:
            if await self._start():
                told = {
                    slots[0].part.name: [slot.told for slot in slots if slot.told is not None] for slots in self._parts
                }
                await self._unless_stopped(self._on_ready(told))
            await self._stop.wait()
        finally:
            await self._end()
            for number in signals:
                loop.remove_signal_handler(number)
        return self._exit_code

    async def _start(self) -> bool:
        """Start the parts in order; False means that everything stops instead."""
        for slots in self._parts:
            first, *others = slots
            keepers = self._keepers[first.part.name] = [asyncio.create_task(self._keep(first))]
            if await self._ready([first]):
                keepers += [asyncio.create_task(self._keep(slot)) for slot in others]
            if not await self._ready(slots):
                return False
        return True

    async def _keep(self, slot: Slot) -> None:
        """Keep a process in the slot until everything stops."""
        pause = 0.0
        loop = asyncio.get_running_loop()
        while not self._stop.is_set():
            started = loop.time()
            code = await self._live(slot)
            if self._stop.is_set():
                return
            never_ready = slot.number == 1 and not slot.ready.is_set()
            if never_ready or code in HOPELESS:
                self._give_up(code, slot.error)
                return
            if loop.time() - started > HEALTHY_SECONDS:
                pause = 0.0
            self._out.warn(f"{slot.name} {_ending(code)}; starting another" + (f" in {pause:g} s" if pause else ""))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), pause)
            pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, 2 * pause))

    async def _live(self, slot: Slot) -> int:
        """Start a process, hear when it is ready, and return its exit code."""
        ours, theirs = socket.socketpair()
        part = slot.part
        try:
            slot.process = await asyncio.create_subprocess_exec(
                *part.argv(slot.number),
                f"--link={theirs.fileno()}",
                stdin=DEVNULL,
                # With --json our stdout is for documents only, not for what handlers print.
                stdout=2 if self._out.json else None,
                env=self._env,
                pass_fds=[theirs.fileno(), *(sock.fileno() for sock in part.sockets)],
                # Ctrl-C at the terminal is for the supervisor, which then stops the others.
                process_group=0,
            )
        finally:
            theirs.close()
        if self._stop.is_set():  # asked for while the process was being made
            self._send(slot.process, signal.SIGTERM)
        hearing = asyncio.create_task(self._hear(slot, ours))
        code = await slot.process.wait()
        # What its handlers forked may keep the line open: its last report comes soon or never.
        await asyncio.wait({hearing}, timeout=LAST_WORDS_SECONDS)
        hearing.cancel()
        slot.process = None
        return code

    async def _hear(self, slot: Slot, ours: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=ours)
        try:
            while line := await reader.readline():
                told = json.loads(line)
                if "ready" in told:
                    slot.told = told["ready"]
                    slot.ready.set()
                else:
                    slot.error = told
        except OSError:
            pass  # it died with something unread; the exit code says why
        finally:
            writer.close()

    async def _end(self) -> None:
        """Stop the parts in reverse: those that take new work in stop before those that do it."""
        self._stop.set()
        late = self._drain_seconds + EXTRA_SECONDS
        for slots in reversed(self._parts):
            part = slots[0].part
            for sock in part.sockets:
                sock.close()
            keepers = self._keepers.get(part.name)
            if keepers is None:
                continue  # it was never started
            self._tell(signal.SIGTERM, slots)
            _, pending = await asyncio.wait(keepers, timeout=late)
            if pending:
                self._out.warn(f"what was left of {part.name} after {late:g} s was killed")
                self._tell(signal.SIGKILL, slots)
                await asyncio.wait(pending)

    def _signalled(self, number: int) -> None:
        self._signals += 1
        if self._signals == 1:
            self._out.note(f"stopping: what runs has {self._drain_seconds:g} s to end; again to end at once")
            self._stop.set()
        else:
            self._exit_code = 128 + number
            for slots in self._parts:
                self._tell(signal.SIGKILL, slots)

    def _give_up(self, code: int, error: dict[str, Any] | None) -> None:
        if error is not None:
            self._out.event(error)  # people have read it already, on the process's stderr
        self._exit_code = code if code > 0 else 1
        self._stop.set()

    def _tell(self, number: signal.Signals, slots: Sequence[Slot]) -> None:
        for slot in slots:
            if slot.process is not None:
                self._send(slot.process, number)

    def _send(self, process: Process, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            if number == signal.SIGKILL:
                os.killpg(process.pid, number)  # and whatever its handlers have started
            else:
                process.send_signal(number)

    async def _ready(self, slots: Sequence[Slot]) -> bool:
        """Wait until these are ready; False means that everything stops instead."""
        for slot in slots:
            await self._unless_stopped(slot.ready.wait())
        return not self._stop.is_set()

    async def _unless_stopped(self, work: Awaitable[object]) -> None:
        """Await something until it ends or everything stops."""
        doing = asyncio.ensure_future(work)
        stopped = asyncio.create_task(self._stop.wait())
        await asyncio.wait({doing, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if doing.done():
            doing.result()
        doing.cancel()


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was killed by {signal.Signals(-code).name}"
