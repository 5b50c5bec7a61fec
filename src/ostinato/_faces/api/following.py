"""Followers of jobs: one question a second for all that a process is asked to follow, by tenant.

A stream sends an event when the state or the progress of its job changed, and ends with the job, and
with the key or token of its caller. Two hundred callers who follow the same job, or jobs of one tenant,
cost the database as much as one.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager

from ostinato._core.base.errors import NotFound, OstinatoError, TooManyRequests
from ostinato._core.base.log import get_logger
from ostinato._core.engine import inspect
from ostinato._core.engine.inspect import Following
from ostinato._core.runtime.client import Client

log = get_logger("following")

EVERY_SECONDS = 1.0
SILENT_SECONDS = 2.5
"""A stream says at least so often that it is there, and looks whether its caller still is somebody: within 5 s of a
revocation it ends, since a key is known for 2 s."""
MOST_STREAMS = 1_000
MOST_OF_TENANT = 200
MOST_OF_CALLER = 20
ENDED = frozenset({"done", "dead", "cancelled"})
Followed = tuple[str, int]
"""A tenant and one of its jobs."""
Still = Callable[[], Awaitable[bool]]
"""It answers whether the caller of a stream may still read it."""


async def always() -> bool:
    """Let a stream go on as long as its job."""
    return True


class Followers:
    """The followers hold what the streams of one process follow."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._last: dict[Followed, Following | None] = {}
        self._changed: dict[Followed, asyncio.Event] = {}
        self._streams: Counter[Followed] = Counter()
        self._callers: Counter[tuple[str, str]] = Counter()
        self._asking: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    def check_room(self, tenant: str, subject: str) -> None:
        """Refuse a stream beyond the most that are open at once, of a caller, of its tenant or of all."""
        own, tenants = self._callers[tenant, subject], self._of_tenant(tenant)
        if own >= MOST_OF_CALLER or tenants >= MOST_OF_TENANT or self._callers.total() >= MOST_STREAMS:
            raise TooManyRequests(
                f"{own} streams of this caller are open, {tenants} of its tenant",
                hint="Close one, or ask GET /jobs/{job_id} now and then.",
            )

    def _of_tenant(self, tenant: str) -> int:
        return sum(count for (of, _), count in self._callers.items() if of == tenant)

    @contextmanager
    def seat(self, tenant: str, subject: str) -> Iterator[None]:
        """Count an open stream of a caller; refused as by `check_room`, for those who came at the same time."""
        self.check_room(tenant, subject)
        self._callers[tenant, subject] += 1
        try:
            yield
        finally:
            self._callers[tenant, subject] -= 1
            if not self._callers[tenant, subject]:
                del self._callers[tenant, subject]

    async def follow(self, tenant: str, job_id: int, still: Still = always) -> AsyncIterator[bytes]:
        """Yield the events of one job, as server-sent events; the last says how it ended."""
        which = (tenant, job_id)
        self._streams[which] += 1
        self._changed.setdefault(which, asyncio.Event())
        sent: Following | None = None
        try:
            if self._asking is None or self._asking.done():
                self._asking = asyncio.create_task(self._ask_all(), name="following")
            while not self._ending.is_set() and await still():
                changed = self._changed[which]
                found = self._last.get(which)
                if found is not None and found != sent:
                    sent = found
                    yield _event("end" if found.state in ENDED else "progress", found)
                if found is not None and found.state in ENDED:
                    return
                try:
                    async with asyncio.timeout(SILENT_SECONDS):
                        await changed.wait()
                except TimeoutError:
                    yield b": waiting\n\n"  # so that a connection that is gone is noticed
        finally:
            self._streams[which] -= 1
            if not self._streams[which]:
                for kept in (self._streams, self._changed, self._last):
                    kept.pop(which, None)

    def end(self) -> None:
        """End all streams: the process stops."""
        self._ending.set()
        for changed in self._changed.values():
            changed.set()

    async def _ask_all(self) -> None:
        """Ask for all jobs that are followed, a tenant at a time, while there are some."""
        while self._streams and not self._ending.is_set():
            for tenant in {tenant for tenant, _ in self._streams}:
                jobs = [job_id for of, job_id in list(self._streams) if of == tenant]
                try:
                    async with self._client.for_tenant(tenant).transaction() as conn:
                        found = {each.job_id: each for each in await inspect.follow(conn, jobs)}
                except OstinatoError as error:
                    log.warning("not_followed", error=error.code)
                    continue
                self._tell(tenant, found)
            await asyncio.sleep(EVERY_SECONDS)

    def _tell(self, tenant: str, found: dict[int, Following]) -> None:
        for job_id, each in found.items():
            which = (tenant, job_id)
            if which in self._streams and self._last.get(which) != each:
                self._last[which] = each
                # Those who wait now are woken; those who come later look first.
                self._changed.pop(which).set()
                self._changed[which] = asyncio.Event()


def _event(name: str, found: Following) -> bytes:
    shown = {
        "job_id": str(found.job_id),
        "state": found.state,
        "done": found.done,
        "total": found.total,
        "note": found.note,
    }
    return f"event: {name}\ndata: {json.dumps(shown)}\n\n".encode()


async def check_seen(client: Client, tenant: str, job_id: int) -> None:
    """Refuse a job that the tenant has not."""
    async with client.for_tenant(tenant).transaction() as conn:
        if not await inspect.follow(conn, [job_id]):
            raise NotFound(f"there is no job {job_id}", hint="GET /jobs lists them.", job_id=job_id)
