"""A handler takes the steps of one attempt in order, and each has its position.

A step is known by its position and its name. What an earlier attempt committed is given back
without running anything; all else runs, and is committed before the handler goes on. So a handler
must take the same steps in the same order whenever it is given the same results. If a new version
takes other ones, it fails with the reason, and the job becomes a dead letter instead of going wrong silently.

A handler that sleeps or waits leaves the worker: `Suspended` unwinds it, and the finisher writes
where it stands. It is started anew when it can go on.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ostinato._core.base.enderrors import WaitTimeout
from ostinato._core.base.errors import InvalidInput, StepMismatch
from ostinato._core.engine.children import EVENT, OnFailure, join_key
from ostinato._core.engine.claims import Job
from ostinato._core.engine.steps import NewStep, StoredStep, wait_name
from ostinato._core.runtime.handlers.results import dump_step
from ostinato._core.runtime.worker.saver import Saver, Stored

LONGEST_NAME = 200
LONGEST_SECONDS = 10 * 366 * 86_400

# The job whose step is running here: steps do not nest.
_inside: ContextVar[int | None] = ContextVar("ostinato_step", default=None)


class Suspended(BaseException):
    """An exception that ends a handler whose job leaves its worker. Not an error: do not catch it."""


@dataclass(frozen=True, slots=True)
class Slept:
    """Go on after some seconds."""

    position: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """Go on when an event comes, or when the time is up."""

    position: int
    event: str
    key: str
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Joining:
    """Go on when children have ended, or when the time is up."""

    position: int
    spawns: str
    """The steps that spawned them, with commas."""
    on_failure: OnFailure
    timeout: float | None


class Steps:
    """Gives each step its position, and its result when it was committed before."""

    __slots__ = ("_broken", "_count", "_job", "_loading", "_open", "_saver", "_stored", "leaving")

    def __init__(self, job: Job, saver: Saver) -> None:
        self.leaving: Slept | Waiting | Joining | None = None
        """Why the job leaves the worker, once it does; nothing else counts then."""
        self._job = job
        self._saver = saver
        self._count = 0
        self._open = 0
        self._broken: StepMismatch | None = None
        # A first attempt has no steps behind it.
        self._stored: Stored | None = {} if job.attempt == 1 else None
        self._loading: asyncio.Future[Stored] | None = None

    def take(self, name: str) -> int:
        """Return the position of the step that is called now."""
        if self.leaving is not None:
            raise Suspended
        if self._broken is not None:
            raise self._broken
        if _inside.get() == self._job.id:
            raise InvalidInput(
                f"step {name!r} was called inside another step",
                hint="A step that is done is not run again, so its inner ones could not be found:"
                " call them one after the other.",
                step=name,
            )
        check_name("step", name)
        self._count += 1
        return self._count

    async def run(
        self, position: int, name: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:  # noqa: ANN401 - what the step returns
        """Return the result of a step: the stored one, or that of the function."""
        if self._stored is None:
            await self.load()
        if self._stored:
            found = self.find(position, name, "call")
            if found is not None:
                return value_of(found)
        started = time.perf_counter()
        self._open += 1
        inside = _inside.set(self._job.id)
        try:
            result = fn(*args, **kwargs)
            if hasattr(result, "__await__"):
                result = await result
        finally:
            _inside.reset(inside)
            self._open -= 1
        await self.save(self.made(position, name, result, started))
        return result

    async def save(self, step: NewStep) -> None:
        """Commit a step."""
        self._open += 1
        try:
            await self._saver.save(step)
        finally:
            self._open -= 1

    def made(self, position: int, name: str, result: object, started: float) -> NewStep:
        """Return a step that has run, ready to be saved."""
        milliseconds = int((time.perf_counter() - started) * 1000)
        return NewStep(self._job, position, name, dump_step(name, result), milliseconds)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Guard the function of a step: no other step may be called inside."""
        self._open += 1
        inside = _inside.set(self._job.id)
        try:
            yield
        finally:
            _inside.reset(inside)
            self._open -= 1

    async def load(self) -> None:
        """Load what earlier attempts committed, once."""
        if self._stored is not None:
            return
        if self._loading is None:
            self._loading = self._saver.load(self._job.id)
        # Shielded, because several steps may wait for it and one of them be stopped.
        self._stored = await asyncio.shield(self._loading)

    @property
    def loaded(self) -> bool:
        """Whether there is nothing to load any more."""
        return self._stored is not None

    def find(self, position: int, name: str, *types: str) -> StoredStep | None:
        """Return what an earlier attempt committed at this position, if it is the same step."""
        stored = self._stored or {}
        found = stored.get(position)
        if found is not None and (found.name != name or found.type not in types):
            raise self._mismatch(
                f"step {position} of job {self._job.id} was stored as {_shown(found)} and is now"
                f" {_shown_as(types[0], name)}",
                position=position,
                found=found.name,
                given=name,
            )
        return found

    async def sleep(self, seconds: float) -> None:
        """Go on if the sleep is over; leave the worker if it is not."""
        _check_seconds("sleep", seconds)
        position = self.take("sleep")
        self._check_alone("sleep")
        await self.load()
        found = self.find(position, "sleep", "sleep")
        if found is not None and (found.seconds_left or 0) <= 0:
            return
        self.leaving = Slept(position, float(seconds))
        raise Suspended

    async def wait_for(self, event: str, key: str, timeout: float | None) -> Any:  # noqa: ANN401, ASYNC109 - a payload; no time of ours
        """Return the payload of an event; leave the worker until it is there."""
        check_name("event", event)
        check_name("key", key)
        if timeout is not None:
            _check_seconds("wait", timeout)
        name = wait_name(event, key)
        position = self.take("wait_for")
        self._check_alone("wait_for")
        await self.load()
        found = self.find(position, name, "event", "timeout")
        if found is None:
            self.leaving = Waiting(position, event, key, timeout)
            raise Suspended
        if found.type == "timeout":
            limit = "" if timeout is None else f" within {timeout:g} s"
            raise WaitTimeout(f"no event {event} with the key {key!r} came{limit}")
        return value_of(found)

    async def join(self, spawns: str, on_failure: OnFailure, timeout: float | None) -> dict[str, Any]:  # noqa: ASYNC109 - no time of ours
        """Return how children ended; leave the worker until they have."""
        if timeout is not None:
            _check_seconds("wait", timeout)
        name = wait_name(EVENT, join_key(spawns))
        position = self.take("join")
        self._check_alone("join")
        await self.load()
        found = self.find(position, name, "event", "timeout")
        if found is None:
            self.leaving = Joining(position, spawns, on_failure, timeout)
            raise Suspended
        if found.type == "timeout":
            limit = "" if timeout is None else f" within {timeout:g} s"
            raise WaitTimeout(f"the children of job {self._job.id} have not ended{limit}")
        counts: dict[str, Any] = value_of(found)
        return counts

    def check_all_taken(self) -> None:
        """Refuse to end a job that has not called all the steps that were stored."""
        if self._broken is not None:
            raise self._broken
        left = [step for at, step in sorted((self._stored or {}).items()) if at > self._count]
        if left:
            raise self._mismatch(
                f"job {self._job.id} ended after {self._count} steps, but step {left[0].position}"
                f" was stored as {_shown(left[0])}",
                position=left[0].position,
                found=left[0].name,
                given=None,
            )

    def _check_alone(self, what: str) -> None:
        if self._open:
            raise InvalidInput(
                f"ctx.{what}() was called while a step was still running",
                hint="The job leaves its worker with it: await all steps first.",
            )

    def _mismatch(self, message: str, *, position: int, found: str, given: str | None) -> StepMismatch:
        stored = [f"{at} {step.name}" for at, step in sorted((self._stored or {}).items())]
        self._broken = StepMismatch(
            f"{message}; stored: {', '.join(stored)}",
            hint="Run it with the version of the code that began it, or from a step that both know:"
            f" ostinato jobs restart {self._job.id} --from STEP",
            job_id=self._job.id,
            position=position,
            stored_name=found,
            given_name=given,
            stored=stored,
        )
        return self._broken


def value_of(step: StoredStep) -> Any:  # noqa: ANN401 - whatever was stored
    """Return the result that was stored."""
    return None if step.result is None else json.loads(step.result)


def check_name(what: str, name: str) -> None:
    """Refuse a name that cannot be stored, or found again."""
    # A number as a key is an easy slip, and would be found in no event.
    good = type(name) is str and 0 < len(name) <= LONGEST_NAME and "\0" not in name
    if not good or not (name.isascii() or _is_unicode(name)):
        raise InvalidInput(
            f"the {what} {name!r:.100} cannot be used: it must be text of 1 to {LONGEST_NAME} characters",
            hint="Leave out NUL and unpaired surrogates; a number is written as str(number).",
        )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_seconds(what: str, seconds: float) -> None:
    if not 0 <= seconds < LONGEST_SECONDS:
        raise InvalidInput(f"cannot {what} for {seconds} seconds", hint="Use 0 seconds to ten years.")


def _shown(step: StoredStep) -> str:
    return _shown_as(step.type, step.name)


def _shown_as(kind: str, name: str) -> str:
    match kind:
        case "call":
            return repr(name)
        case "sleep":
            return "a sleep"
        case _:
            return f"a wait for {name!r}"
