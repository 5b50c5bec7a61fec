"""A small supervisor: keeps some worker processes running until it is told to stop.

    starting   the first worker shows whether the app can be loaded and the database serves it;
               if it ends before it is ready, so does the supervisor, with the same exit code
    running    a worker that dies is replaced, at once the first time, then after growing pauses;
               one that says it cannot work at all (exit code 2 or 78) ends the supervisor
    stopping   SIGTERM, SIGINT: the workers drain; a second signal, or a drain that takes too long,
               kills them

Each worker has one end of a socket pair. It says there when it is ready; when the supervisor dies,
however it dies, the worker hears the line close and drains.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ostinato.cli.output import Output
from ostinato.cli.process import stop_signals

__all__ = ["OnReady", "Supervisor"]

OnReady = Callable[[list[dict[str, Any]]], None]

HOPELESS = (2, 78)  # wrong settings or app, and a contract that does not fit: no restart can help
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
HEALTHY_SECONDS = 60.0
LAST_WORDS_SECONDS = 1.0
EXTRA_SECONDS = 15.0  # on top of the drain: for the last verdicts, and for saying goodbye


@dataclass
class Slot:
    """The place of one worker, whichever process fills it."""

    number: int
    process: Process | None = None
    told: dict[str, Any] | None = None
    """What the worker said when it was ready."""
    error: dict[str, Any] | None = None
    """What it said when it could not go on."""
    ready: asyncio.Event = field(default_factory=asyncio.Event)


class Supervisor:
    """Runs `count` processes: what `argv` says for the number of each, with `--link` behind it."""

    def __init__(
        self,
        argv: Callable[[int], Sequence[str]],
        count: int,
        out: Output,
        *,
        env: Mapping[str, str],
        drain_seconds: float,
        on_ready: OnReady,
    ) -> None:
        self._argv = argv
        self._out = out
        self._env = dict(env)
        self._drain_seconds = drain_seconds
        self._on_ready = on_ready
        self._slots = [Slot(number) for number in range(1, count + 1)]
        self._stop = asyncio.Event()
        self._signals = 0
        self._exit_code = 0

    async def run(self) -> int:
        """Keep the workers running; returns the exit code."""
        loop = asyncio.get_running_loop()
        signals = stop_signals()
        for number in signals:
            loop.add_signal_handler(number, self._signalled, number)
        first, *others = self._slots
        keepers = [asyncio.create_task(self._keep(first))]
        try:
            if await self._ready([first]):
                keepers += [asyncio.create_task(self._keep(slot)) for slot in others]
                if await self._ready(self._slots):
                    self._on_ready([slot.told for slot in self._slots if slot.told is not None])
            await self._stop.wait()
        finally:
            await self._end(keepers)
            for number in signals:
                loop.remove_signal_handler(number)
        return self._exit_code

    async def _keep(self, slot: Slot) -> None:
        """Fill a slot, again and again, until everything stops."""
        pause = 0.0
        loop = asyncio.get_running_loop()
        while not self._stop.is_set():
            started = loop.time()
            code = await self._live(slot)
            if self._stop.is_set():
                return
            never_ready = slot is self._slots[0] and not slot.ready.is_set()
            if never_ready or code in HOPELESS:
                self._give_up(code, slot.error)
                return
            if loop.time() - started > HEALTHY_SECONDS:
                pause = 0.0
            self._out.warn(
                f"worker {slot.number} {_ending(code)}; starting another"
                + (f" in {pause:g} s" if pause else "")
            )
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), pause)
            pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, 2 * pause))

    async def _live(self, slot: Slot) -> int:
        """Start a process, hear when it is ready, and return its exit code."""
        ours, theirs = socket.socketpair()
        try:
            slot.process = await asyncio.create_subprocess_exec(
                *self._argv(slot.number),
                f"--link={theirs.fileno()}",
                stdin=DEVNULL,
                # With --json our stdout is for documents only, not for what handlers print.
                stdout=2 if self._out.json else None,
                env=self._env,
                pass_fds=[theirs.fileno()],
                # Ctrl-C at the terminal is for the supervisor, which then tells the workers.
                process_group=0,
            )
        finally:
            theirs.close()
        if self._stop.is_set():  # asked for while the process was being made
            self._send(slot.process, signal.SIGTERM)
        hearing = asyncio.create_task(self._hear(slot, ours))
        code = await slot.process.wait()
        # What its handlers forked may keep the line open: the last words come soon or never.
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
            pass  # it died with something unread; the exit code tells
        finally:
            writer.close()

    async def _end(self, keepers: list[asyncio.Task[None]]) -> None:
        self._stop.set()
        self._tell(signal.SIGTERM)
        late = self._drain_seconds + EXTRA_SECONDS
        _, pending = await asyncio.wait(keepers, timeout=late)
        if pending:
            self._out.warn(f"workers that did not end within {late:g} s were killed")
            self._tell(signal.SIGKILL)
            await asyncio.wait(pending)

    def _signalled(self, number: int) -> None:
        self._signals += 1
        if self._signals == 1:
            self._out.note(
                f"stopping: running jobs have {self._drain_seconds:g} s; again to end at once"
            )
            self._stop.set()
        else:
            self._exit_code = 128 + number
            self._tell(signal.SIGKILL)

    def _give_up(self, code: int, error: dict[str, Any] | None) -> None:
        if error is not None:
            self._out.event(error)  # people have read it already, on the worker's stderr
        self._exit_code = code if code > 0 else 1
        self._stop.set()

    def _tell(self, number: signal.Signals) -> None:
        for slot in self._slots:
            if slot.process is not None:
                self._send(slot.process, number)

    def _send(self, process: Process, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            if number == signal.SIGKILL:
                os.killpg(process.pid, number)  # and whatever its handlers have started
            else:
                process.send_signal(number)

    async def _ready(self, slots: list[Slot]) -> bool:
        """Wait until these are ready; False: everything stops instead."""
        stopped = asyncio.create_task(self._stop.wait())
        for slot in slots:
            ready = asyncio.create_task(slot.ready.wait())
            await asyncio.wait({ready, stopped}, return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
        stopped.cancel()
        return not self._stop.is_set()


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was killed by {signal.Signals(-code).name}"
