"""The board shows a warden what its worker does, in memory that both processes map.

    head    the worker's id, the pulses of its event loop and of its heart, the job that the heart
            saw block the loop, and whether the warden has ended this worker
    slots   one for each job that runs: what is needed to end its attempt without this process
    card    JSON: how to reach the database, the settings that matter, the kinds and their policies

The worker writes and the warden reads. Nothing locks: the warden acts only on a worker that has
written nothing for seconds, and a handler that holds the GIL keeps the board as it was when it
started. Times are of the monotonic clock, which all processes of a host share. Only the standard
library is imported here, because the warden must start in a few milliseconds.
"""

import json
import mmap
import os
import struct
import time
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol
from uuid import UUID

HEAD = struct.Struct("=16sddqqqq")  # id, loop, heart, blamed job, ended, slots, bytes of the card
PULSE = struct.Struct("=d")
NUMBER = struct.Struct("=q")
SLOT = struct.Struct("=qqqqqqdd")  # as `Running`; no job has the id 0
LOOP_AT, HEART_AT, BLAMED_AT, ENDED_AT = 16, 24, 32, 40
NOBODY = UUID(int=0)
NO_DEADLINE = 0.0


class Running(NamedTuple):
    """A job that runs, as the board shows it."""

    job_id: int
    attempt: int
    claim_id: int
    kind: int
    """Its place in the list of kinds on the card."""
    failures: int
    max_attempts: int
    """0 means that its kind's policy decides."""
    started: float
    deadline: float
    """When its timeout is over; 0 means that it has none."""

    def is_overdue(self, now: float, grace_seconds: float) -> bool:
        """Return whether its timeout is over, and the grace that a handler gets to stop as well."""
        return self.deadline != NO_DEADLINE and now >= self.deadline + grace_seconds


class Held(Protocol):
    """What the board needs to know of a job."""

    @property
    def id(self) -> int: ...

    @property
    def attempt(self) -> int: ...

    @property
    def claim_id(self) -> int: ...

    @property
    def failures(self) -> int: ...

    @property
    def max_attempts(self) -> int | None: ...


class Board:
    """The worker's side: shows what runs. Each method is one or two writes into memory."""

    def __init__(self, slots: int, card: dict[str, Any]) -> None:
        text = json.dumps(card).encode()
        self.fd = os.memfd_create("ostinato-board")
        """To be handed to the warden."""
        size = HEAD.size + slots * SLOT.size + len(text)
        os.ftruncate(self.fd, size)
        self._memory = mmap.mmap(self.fd, size)
        now = time.monotonic()
        HEAD.pack_into(self._memory, 0, NOBODY.bytes, now, now, 0, 0, slots, len(text))
        self._memory[size - len(text) :] = text
        self._free = [HEAD.size + n * SLOT.size for n in range(slots)]

    def close(self) -> None:
        """Give the memory back."""
        os.close(self.fd)
        self._memory.close()

    def name_worker(self, worker_id: UUID | None) -> None:
        """Show under which id this worker is registered; None: under none, nobody may beat."""
        self._memory[:16] = (worker_id or NOBODY).bytes
        self.blame(0)
        NUMBER.pack_into(self._memory, ENDED_AT, 0)

    def feel_loop(self) -> None:
        """Show that the event loop runs."""
        PULSE.pack_into(self._memory, LOOP_AT, time.monotonic())

    def feel_heart(self) -> None:
        """Show that the heart's thread runs, and with it the interpreter."""
        PULSE.pack_into(self._memory, HEART_AT, time.monotonic())

    def blame(self, job_id: int) -> None:
        """Show which job the event loop is stuck in; 0: in none that is known."""
        NUMBER.pack_into(self._memory, BLAMED_AT, job_id)

    @property
    def ended(self) -> bool:
        """Whether the warden has taken this worker's jobs and wants the process to end."""
        return bool(NUMBER.unpack_from(self._memory, ENDED_AT)[0])

    def begin(self, job: Held, kind: int, started: float, deadline: float | None) -> int:
        """Show a job that starts now; returns the place to clear when it has ended."""
        if not self._free:
            return 0
        place = self._free.pop()
        SLOT.pack_into(
            self._memory,
            place,
            job.id,
            job.attempt,
            job.claim_id,
            kind,
            job.failures,
            job.max_attempts or 0,
            started,
            deadline or NO_DEADLINE,
        )
        return place

    def end(self, place: int) -> None:
        """Clear a place."""
        if place:
            NUMBER.pack_into(self._memory, place, 0)
            self._free.append(place)


class View:
    """The warden's side: reads a board."""

    def __init__(self, fd: int) -> None:
        self._memory = mmap.mmap(fd, 0)
        *_, self._slots, length = HEAD.unpack_from(self._memory)
        self.card: dict[str, Any] = json.loads(self._memory[len(self._memory) - length :])

    @property
    def worker_id(self) -> UUID | None:
        """The id that the worker has now, None if it has none."""
        found = UUID(bytes=self._memory[:16])
        return None if found == NOBODY else found

    @property
    def loop_pulse(self) -> float:
        """When the event loop last ran."""
        return float(PULSE.unpack_from(self._memory, LOOP_AT)[0])

    @property
    def heart_pulse(self) -> float:
        """When the heart's thread last ran."""
        return float(PULSE.unpack_from(self._memory, HEART_AT)[0])

    @property
    def blamed(self) -> int:
        """The job that the heart saw block the loop; 0: none."""
        return int(NUMBER.unpack_from(self._memory, BLAMED_AT)[0])

    def running(self) -> Iterator[Running]:
        """Yield the jobs that run."""
        for n in range(self._slots):
            found = Running(*SLOT.unpack_from(self._memory, HEAD.size + n * SLOT.size))
            if found.job_id:
                yield found

    def mark_ended(self) -> None:
        """Tell the process that its jobs are taken: its heart ends it, if nobody else can."""
        NUMBER.pack_into(self._memory, ENDED_AT, 1)

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()
