"""The buffer holds what a worker has claimed and not started.

    add() -> ahead -> (the marker says that they begin) -> ready -> pop() -> a lane
          -> suspect -> (nothing else runs, and the marker says so) -> pop()

A job may start once its claim says so: what the process took with it when it died is distinguished from what
only waited here. Of what is claimed, as much may start at once as the lanes will take within a
moment; the rest is marked in time.

A suspect, which was there when two processes died, runs alone: while it waits and while it runs
nothing else starts. If what runs does not end soon, the suspect runs beside it, and then a death
of the process is not held against it.

While all connections are in use, jobs of kinds that use one do not start: they would only wait, and
their time would run.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from ostinato._core.engine.claims import Job
from ostinato._core.runtime.worker.marker import Marker

SUSPECT_CRASHES = 2
QUIET_SECONDS = 5.0
"""How long a suspect waits for what runs to end."""


@dataclass(slots=True)
class Suspect:
    """A suspect that waits for its turn."""

    job: Job
    since: float
    asked: bool = False
    """Whether the marker was asked to let it begin."""
    marked: bool = False
    alone: bool = False


class Buffer:
    """Holds claimed jobs until a lane takes them."""

    def __init__(
        self,
        marker: Marker,
        *,
        connections: Callable[[], int],
        behind: Callable[[list[Job]], list[Job]],
        on_ready: Callable[[Iterable[Job]], None],
    ) -> None:
        self._marker = marker
        self._connections = connections
        """How many more jobs may start that use a connection."""
        self._behind = behind
        """Those behind some jobs that are to start soon: they are marked in the same round."""
        self._on_ready = on_ready
        self._ready: deque[Job] = deque()
        self._ahead: deque[Job] = deque()
        self._marking: list[Job] = []
        self._suspect: Suspect | None = None
        self._alone: Job | None = None
        """The suspect that runs alone."""

    def __len__(self) -> int:
        return len(self._ready) + len(self._ahead) + len(self._marking)

    def __iter__(self) -> Iterator[Job]:
        yield from self._ready
        yield from self._marking
        yield from self._ahead
        if self._suspect is not None:
            yield self._suspect.job

    @property
    def ready(self) -> int:
        """How many may start."""
        return len(self._ready)

    @property
    def quiet(self) -> bool:
        """Whether a suspect waits or runs, so that nothing else may start."""
        return self._alone is not None or self._suspect is not None

    def add(self, jobs: Iterable[Job], starts: int | None, now: float) -> None:
        """Take claimed jobs in, of which the first `starts` may start; None means all."""
        for n, job in enumerate(jobs):
            if starts is not None and job.crashes >= SUSPECT_CRASHES and self._suspect is None:
                self._suspect = Suspect(job, now)
            elif starts is None or (n < starts and job.crashes < SUSPECT_CRASHES):
                self._ready.append(job)
            else:
                self._ahead.append(job)

    def add_first(self, job: Job, begun: bool) -> None:  # noqa: FBT001 - a field of a follower
        """Take a job in whose turn it is; one that has not begun is marked first."""
        (self._ready if begun else self._ahead).appendleft(job)

    def startable(self) -> int:
        """Return how many could start now, if there were lanes."""
        if self.quiet:
            return int(self._suspect is not None and self._suspect.marked)
        if self._ready and self._ready[0].kind in self._marker.apart:
            return max(0, min(self._connections(), len(self._ready)))
        return len(self._ready)

    def pop(self) -> Job | None:
        """Return the next job to start, if any may."""
        if self.quiet:
            return self._pop_suspect() if self._alone is None else None
        if not self._ready:
            return None
        apart = self._marker.apart
        if self._ready[0].kind not in apart or self._connections() > 0:
            return self._ready.popleft()
        for n, job in enumerate(self._ready):
            if job.kind not in apart:
                del self._ready[n]
                return job
        return None

    def ended(self, job: Job) -> None:
        """Learn that a job has ended."""
        if job is self._alone:
            self._alone = None

    def tend(self, running: int, wanted: int, now: float) -> None:
        """Mark what may start next: `wanted` jobs should be ready."""
        if self._suspect is not None:
            self._tend_suspect(self._suspect, running, now)
        elif self._ahead and not self._marking and len(self._ready) * 2 < wanted:
            count = min(wanted - len(self._ready), len(self._ahead))
            self._marking = [self._ahead.popleft() for _ in range(count)]
            behind = self._behind(self._marking)
            marked = self._marker.begin([*self._marking, *behind])
            marked.add_done_callback(partial(self._begun, self._marking, behind))

    def take(self, *, suspect: bool = True) -> list[Job]:
        """Take everything out, to give it back."""
        kept = None if suspect or self._suspect is None else self._suspect.job
        jobs = [job for job in self if job is not kept]
        self.clear(suspect=suspect)
        return jobs

    def clear(self, *, suspect: bool = True) -> None:
        """Forget everything."""
        self._ready.clear()
        self._ahead.clear()
        self._marking = []
        if suspect:
            self._suspect = None

    def _begun(self, jobs: list[Job], behind: list[Job], marked: "asyncio.Future[set[int]]") -> None:
        if jobs is not self._marking or marked.cancelled():
            return  # given back meanwhile
        refused = marked.result()
        self._marking = []
        self._ready.extend(job for job in jobs if job.id not in refused)
        self._on_ready(job for job in behind if job.id not in refused)

    def _tend_suspect(self, suspect: Suspect, running: int, now: float) -> None:
        if suspect.asked or (running and now - suspect.since < QUIET_SECONDS):
            return
        suspect.asked, suspect.alone = True, running == 0
        marked = self._marker.begin([suspect.job], alone=suspect.alone)
        marked.add_done_callback(partial(self._suspect_begun, suspect))

    def _suspect_begun(self, suspect: Suspect, marked: "asyncio.Future[set[int]]") -> None:
        if suspect is not self._suspect or marked.cancelled():
            return  # given back meanwhile
        suspect.marked = True
        if suspect.job.id in marked.result():
            self._suspect = None
        self._on_ready(())

    def _pop_suspect(self) -> Job | None:
        suspect = self._suspect
        if suspect is None or not suspect.marked:
            return None
        self._suspect = None
        if suspect.alone:
            self._alone = suspect.job
        return suspect.job
