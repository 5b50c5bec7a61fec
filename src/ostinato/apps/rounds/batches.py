"""Runs a job of rounds: handles what is due in sets, a transaction each.

Every set is tried as it is. Sets that failed are bisected at the end, until the groups at fault
are alone: by then all that can be done is done, and nobody has waited for them. Where a hundred
failed and hardly any was done it is no group's fault, and the run gives up on the rest.
Groups that another transaction has locked are skipped at first, and waited for in a second pass.
"""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from ostinato.apps.rounds import service
from ostinato.apps.rounds.model import JobName
from ostinato.apps.rounds.queries import Connection
from ostinato.apps.rounds.service import Days, Due
from ostinato.apps.rounds.settings import RoundsSettings
from ostinato.database import is_transient, translate
from ostinato.errors import CommitUnknown, DatabaseUnavailable, InvalidInput, LeaseLost, NotConfigured, OstinatoError
from ostinato.observe import FilteringBoundLogger, redact

Work = Callable[[Connection, Sequence[int]], Awaitable[list[float]]]

LONGEST_ERROR = 300
SETS_AHEAD = 40
NOBODYS_FAULT = (DatabaseUnavailable, CommitUnknown, LeaseLost, NotConfigured)
MOST_ALONE = 100
"""How many groups are found at fault, where hardly one in ten is not, before a run gives up."""


class Runs(Protocol):
    """The part of a job's context that a run needs; `Context` has it."""

    @property
    def log(self) -> FilteringBoundLogger:
        """A logger bound to the job."""

    def fenced(self) -> AbstractAsyncContextManager[Connection]:
        """Open a transaction that only the owner of the job commits."""


@dataclass
class Run:
    """One run of a job: what it did, and what went wrong."""

    job: JobName
    ctx: Runs
    settings: RoundsSettings
    rng: random.Random = field(default_factory=random.SystemRandom)
    done: int = 0
    worst_lateness: float = 0.0
    failed: list[Due] = field(default_factory=list)
    to_mend: list[Due] = field(default_factory=list)
    """Those that failed for the first time, with an error that a retry may fix."""
    given_up: OstinatoError | None = None

    @property
    def by(self) -> str:
        """The actor that is logged with each transition."""
        return f"rounds.{self.job.value}"

    async def through(self, name: str, work: Callable[[bool], Work], **params: object) -> None:
        """Handle all that a statement names: first what is not locked, then, waiting, the rest."""
        for wait in (False, True):
            turn = Pass(work(wait), Pages(self, name, params))
            # Several sets at a time: while one waits for its commit, another computes.
            try:
                async with asyncio.TaskGroup() as tasks:
                    for _ in range(self.settings.sets_at_once):
                        tasks.create_task(self._work_off(turn))
            except BaseExceptionGroup as several:
                raise several.exceptions[0] from None
            if not await self._bisect(turn):
                return

    async def one(self, work: Work, due_id: int) -> None:
        """Handle a single group or round; an error is the caller's."""
        async with self.ctx.fenced() as conn:
            self._count(await work(conn, [due_id]))

    async def _work_off(self, current: "Pass") -> None:
        while dues := await current.pages.next():
            await self._try(current, dues)

    async def _try(self, current: "Pass", dues: Sequence[Due]) -> None:
        """Handle a set; one that fails is put aside, as long as it may be a group's fault."""
        try:
            async with self.ctx.fenced() as conn:
                late = await current.work(conn, [due.id for due in dues])
        except Exception as error:
            if isinstance(translate(error), NOBODYS_FAULT) and not is_transient(error):
                raise  # the whole run is tried again
            current.aside.append((dues, error))
        else:
            current.passed += len(dues)
            self._count(late)

    async def _bisect(self, current: "Pass") -> bool:
        """Bisect what was put aside, until the groups at fault are alone; False: the run gave up.

        Breadth first, so that the fault of some groups is known only after the others are done.
        """
        alone = 0
        while current.aside:
            dues, error = current.aside.popleft()
            if len(dues) > 1:
                middle = len(dues) // 2
                await self._try(current, dues[:middle])
                await self._try(current, dues[middle:])
                continue
            said = await self._fail(dues[0], error)
            alone += 1
            if alone > MOST_ALONE and alone > 9 * current.passed:
                self.given_up = OstinatoError(
                    f"{alone} groups failed and {current.passed} did not, the last with {said}",
                    hint="This is no group's fault; `rounds.failures` has the errors.",
                )
                return False
        return True

    def _count(self, late: Sequence[float]) -> None:
        self.done += len(late)
        self.worst_lateness = max(self.worst_lateness, 0.0, *late)

    async def _fail(self, due: Due, error: Exception) -> str:
        known = translate(error)
        said = f"{known.code}: {redact(known.message, LONGEST_ERROR)}"[:LONGEST_ERROR]
        self.failed.append(due)
        self.ctx.log.error(
            "group_failed",
            job=self.job.value,
            group_id=due.group_id,
            group_tenant_id=due.tenant_id,
            round_id=due.round_id,
            error=said,
        )
        async with self.ctx.fenced() as conn:
            is_first = await service.note_failure(conn, self.job, due, said)
        # What is wrong for good waits for another setting, and each run looks at it anyway.
        if is_first and not isinstance(known, InvalidInput):
            self.to_mend.append(due)
        return said

    def creating(self, days: Days, wait: bool) -> Work:  # noqa: FBT001 - as `through` calls it
        """Make the work that gives a set of groups its rounds of the next day, and of today."""

        async def work(conn: Connection, ids: Sequence[int]) -> list[float]:
            made = await service.create_set(conn, ids, days, self.settings, self.rng, wait=wait)
            return [0.0] * len(made)

        return work

    def retiming(self, wait: bool) -> Work:  # noqa: FBT001 - as above
        """Return the work that computes the times of a set of rounds again."""

        async def work(conn: Connection, ids: Sequence[int]) -> list[float]:
            await service.retime_set(conn, ids, self.settings, wait=wait)
            return []

        return work

    def opening(self, wait: bool) -> Work:  # noqa: FBT001 - as above
        """Make the work that opens a set of rounds."""

        async def work(conn: Connection, ids: Sequence[int]) -> list[float]:
            found = await service.open_set(conn, ids, self.rng, by=self.by, wait=wait)
            return [each.lateness for each in found]

        return work

    def closing(self, wait: bool) -> Work:  # noqa: FBT001 - as above
        """Make the work that closes a set of rounds."""

        async def work(conn: Connection, ids: Sequence[int]) -> list[float]:
            found = await service.close_set(conn, ids, by=self.by, wait=wait)
            return list(found.values())

        return work


@dataclass
class Pass:
    """One pass over what is due: how a set is handled, how many succeeded, which sets failed."""

    work: Work
    pages: "Pages"
    passed: int = 0
    aside: deque[tuple[Sequence[Due], Exception]] = field(default_factory=deque)


class Pages:
    """Hands out what is due for a run, a set at a time, to the tasks of the run."""

    def __init__(self, run: Run, name: str, params: Mapping[str, object]) -> None:
        self._run = run
        self._name = name
        self._params = params
        self._last: Due | None = None
        self._ahead: list[Due] = []
        self._turn = asyncio.Lock()

    async def next(self) -> list[Due]:
        """Return the next set, without those that failed already; empty when there are no more."""
        size = self._run.settings.set_size
        async with self._turn:
            if not self._ahead:
                await self._look_ahead(SETS_AHEAD * size)
            taken, self._ahead = self._ahead[:size], self._ahead[size:]
        return taken

    async def _look_ahead(self, most: int) -> None:
        """Read many sets at once, because the search for what is due may be slow."""
        gone = {due.id for due in self._run.failed}
        while not self._ahead:
            async with self._run.ctx.fenced() as conn:
                dues = await service.page(conn, self._name, self._last, most, **self._params)
            if not dues:
                return
            self._last = dues[-1]
            self._ahead = [due for due in dues if due.id not in gone]


async def work_through(run: Run) -> None:
    """Handle everything that is due for a job."""
    match run.job:
        case JobName.CREATE:
            days = await creation_days(run)
            await run.through(
                "to_create",
                partial(run.creating, days),
                **days._asdict(),
                default_zone=run.settings.zone,
                default_time=run.settings.default_drop_time,
            )
        case JobName.OPEN:
            await run.through("to_retime", run.retiming)
            await run.through("to_open", run.opening)
            await run.through("to_prompt", run.opening)
        case JobName.CLOSE:
            await run.through("to_close", run.closing)
    if run.given_up is not None:
        raise run.given_up


async def creation_days(run: Run) -> Days:
    """Return the days whose rounds are created, by zone."""
    async with run.ctx.fenced() as conn:
        return await service.days(conn, run.settings)
