"""A handler spawns children, and joins them: part of its context.

    pages = await ctx.spawn_many(convert, [{"page": n} for n in range(1, 101)])
    joined = await ctx.join(pages, on_failure="collect")
    async for child in joined:
        ...

A spawn is a step: the children, their group and the step commit together, so that a crash leaves
either nothing or exactly these children. A join is a wait: the job leaves its worker.
"""

import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, ParamSpec, TypeVar

from ostinato._core.base.enderrors import ChildFailed
from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine import children as engine
from ostinato._core.engine import steps as engine_steps
from ostinato._core.engine.children import Child, OnFailure
from ostinato._core.engine.claims import Job
from ostinato._core.runtime.handlers.kinds import Given, JobKind, named_values
from ostinato._core.runtime.handlers.lent import Services
from ostinato._core.runtime.handlers.steps import Steps, value_of

P = ParamSpec("P")
T = TypeVar("T")

CHUNK = 5000
PAGE = 500


@dataclass(frozen=True, slots=True)
class Children:
    """The children that one step spawned, to be joined."""

    step: int
    group_id: int
    total: int


@dataclass(frozen=True, slots=True)
class Joined:
    """Children that have ended. `async for child in joined` reads them page by page."""

    total: int
    done: int
    failed: int
    cancelled: int
    on_failure: OnFailure
    _job_id: int = field(repr=False)
    _groups: tuple[int, ...] = field(repr=False)
    _services: Services = field(repr=False, compare=False)

    async def pages(self, most: int = PAGE) -> AsyncIterator[list[Child]]:
        """Yield the children in the order of their spawns, a page at a time: memory holds one page."""
        for group_id in self._groups:
            after = 0
            while True:
                async with self._services.transaction() as conn:
                    found = await engine.page(conn, self._job_id, group_id, after=after, most=most)
                if found:
                    yield [each for each in found if self.on_failure != "ignore" or each.state == "done"]
                    after = found[-1].job_id
                if len(found) < most:
                    break

    async def __aiter__(self) -> AsyncIterator[Child]:
        async for page in self.pages():
            for child in page:
                yield child

    async def results(self) -> list[Any]:
        """Return the results of the children that are done, in the order of their spawns, all in memory."""
        return [child.result async for child in self if child.state == "done"]


class Parent:
    """The part of a context that spawns and joins."""

    __slots__ = ()
    job: Job
    _services: Services

    def _open_steps(self, what: str) -> Steps:
        raise NotImplementedError

    async def set_apart(self) -> None:
        """Give the job a claim of its own."""
        raise NotImplementedError

    async def spawn(self, kind: JobKind[P], /, *args: P.args, **kwargs: P.kwargs) -> Children:
        """Add a child, once and for all attempts: `await ctx.spawn(convert, page=3)`.

        The options of the kind hold: `convert.options(delay=60)`. It inherits the tenant, the
        correlation id and the subject of this job.
        """
        return await self._spawn(kind, iter([kind.arguments.dump(args, kwargs)]))

    async def spawn_many(
        self, kind: JobKind[P], arguments: Iterable[Given[P]] | Iterable[Mapping[str, object]]
    ) -> Children:
        """Add a child for each set of named arguments, in one transaction: 100,000 are fine.

        The iterable is read in chunks, so it may be a generator. A type checker checks what `kind.args(…)` makes.
        """
        return await self._spawn(kind, (kind.arguments.dump_values(named_values(values)) for values in arguments))

    async def join(
        self,
        *children: Children | Iterable[Children],
        on_failure: OnFailure = "fail",
        timeout: float | None = None,  # noqa: ASYNC109 - the time is the database's
    ) -> Joined:
        """Wait until the children have ended; the job leaves its worker meanwhile.

        With "fail" the first child that fails for good, or is cancelled, ends the join: the rest is
        cancelled, and `ChildFailed` is raised. "collect" waits for all, and `Joined` has the errors
        too; "ignore" waits for all and leaves those out that did not end well. Raises `TimeoutError`
        after `timeout` seconds; the children go on then.
        """
        chosen = _flat(children)
        if on_failure not in ("fail", "collect", "ignore"):
            raise InvalidInput(f"unknown on_failure {on_failure!r}", hint='Use "fail", "collect" or "ignore".')
        if not chosen:
            raise InvalidInput("ctx.join() got no children", hint="Give it what ctx.spawn() returned.")
        spawns = ",".join(str(each.step) for each in chosen)
        counts = await self._open_steps("join").join(spawns, on_failure, timeout)
        if on_failure == "fail" and counts["failed"] + counts["cancelled"]:
            raise ChildFailed(
                f"{counts['failed']} of {counts['total']} children of job {self.job.id} failed, and"
                f" {counts['cancelled']} were cancelled; one of them is job {counts['failed_id']}",
                hint=f"Ask: ostinato why {counts['failed_id']}. Redrive it, then let the parent wait again:"
                f" ostinato jobs restart {self.job.id} --from STEP, with the step of the join.",
                job_id=self.job.id,
                child_id=counts["failed_id"],
            )
        return Joined(
            counts["total"],
            counts["done"],
            counts["failed"],
            counts["cancelled"],
            on_failure,
            self.job.id,
            tuple(each.group_id for each in chosen),
            self._services,
        )

    async def _spawn(self, kind: JobKind[Any], texts: Iterator[str]) -> Children:
        name = f"spawn {kind.name}"[:200]
        steps = self._open_steps(name)
        position = steps.take(name)
        await steps.load()
        found = steps.find(position, name, "call")
        if found is not None:
            return Children(position, *value_of(found))
        if "unique" in kind.chosen or kind.chosen.get("tenant", self.job.tenant_id) != self.job.tenant_id:
            raise InvalidInput(
                f"a child of {kind.name} cannot have a unique key, or another tenant than its parent",
                hint="A spawn is made once anyway; enqueue jobs of other tenants with enqueue().",
            )
        started = time.perf_counter()
        await self.set_apart()
        total = 0
        with steps.running():
            async with self._services.transaction() as conn:
                group_id = await engine.open_group(conn, self.job, position)
                blank = await kind.new(conn, "{}")
                while chunk := [replace(blank, args=text) for text in islice(texts, CHUNK)]:
                    await engine.add(conn, self.job, group_id, chunk)
                    total += len(chunk)
                await engine.seal(conn, self.job, group_id, total)
                # The fence comes last, as in ctx.transaction().
                await engine_steps.save_one(conn, steps.made(position, name, [group_id, total], started))
        return Children(position, group_id, total)


class SyncJoined:
    """Children that have ended, for a plain function; iterating reads them page by page."""

    def __init__(self, joined: Joined, parent: "SyncParent") -> None:
        self.total, self.done = joined.total, joined.done
        self.failed, self.cancelled = joined.failed, joined.cancelled
        self._joined = joined
        self._parent = parent

    def __iter__(self) -> Iterator[Child]:
        pages = self._joined.pages()
        while (page := self._parent._wait(_next(pages))) is not None:  # noqa: SLF001 - two halves of one thing
            yield from page

    def results(self) -> list[Any]:
        """Return what `Joined.results` returns."""
        return [child.result for child in self if child.state == "done"]


class SyncParent:
    """The same for a plain function in a thread."""

    __slots__ = ()

    def _parent(self) -> Parent:
        raise NotImplementedError

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        raise NotImplementedError

    def spawn(self, kind: JobKind[P], /, *args: P.args, **kwargs: P.kwargs) -> Children:
        """Spawn as `Context.spawn` does."""
        return self._wait(self._parent().spawn(kind, *args, **kwargs))

    def spawn_many(self, kind: JobKind[P], arguments: Iterable[Given[P]] | Iterable[Mapping[str, object]]) -> Children:
        """Spawn as `Context.spawn_many` does."""
        return self._wait(self._parent().spawn_many(kind, arguments))

    def join(
        self, *children: Children | Iterable[Children], on_failure: OnFailure = "fail", timeout: float | None = None
    ) -> SyncJoined:
        """Join as `Context.join` does."""
        return SyncJoined(self._wait(self._parent().join(*children, on_failure=on_failure, timeout=timeout)), self)


async def _next(pages: AsyncIterator[list[Child]]) -> list[Child] | None:
    return await anext(pages, None)


def _flat(children: Iterable[Children | Iterable[Children]]) -> list[Children]:
    flat: list[Children] = []
    for each in children:
        flat += [each] if isinstance(each, Children) else list(each)
    return list(dict.fromkeys(flat))
