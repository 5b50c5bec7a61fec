"""Runs one attempt, from a claimed job to a verdict. Only here is an outcome turned into one.

A handler returns what it wants or raises; `judge` turns that into one verdict, and the finisher
turns each verdict into one engine verb. Handlers never set a state.
"""

import asyncio
import contextvars
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, assert_never

from ostinato._core.base.backoff import LONGEST_DELAY, Retry, is_permanent, next_delay
from ostinato._core.base.enderrors import PERMANENT
from ostinato._core.base.errors import InvalidInput, LeaseLost, RetryAfter, StepMismatch
from ostinato._core.base.flow import enter, leave
from ostinato._core.base.signature import bounded_error, error_signature, storable
from ostinato._core.base.vault import SHOWN, is_sealed
from ostinato._core.db.sqlstate import is_databases_fault
from ostinato._core.engine.claims import Failure, Job
from ostinato._core.engine.secrets import args_purpose
from ostinato._core.runtime.handlers import batches
from ostinato._core.runtime.handlers.context import Context, SyncContext, leave_transaction
from ostinato._core.runtime.handlers.kinds import JobKind
from ostinato._core.runtime.handlers.outcomes import Cancel, Done, Snooze
from ostinato._core.runtime.handlers.results import dump_result
from ostinato._core.runtime.handlers.steps import Joining, Slept, Waiting
from ostinato._core.runtime.worker.threads import Threads


@dataclass(frozen=True, slots=True)
class Completed:
    """The job is done; its result is JSON text."""

    result: str | None


@dataclass(frozen=True, slots=True)
class Failed:
    """The attempt failed; the failure says what comes next."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Deferred:
    """The database failed, not the job: it is given back, and fails only when that is too often."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Snoozed:
    """The job runs again after some seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The job is cancelled."""

    reason: str


@dataclass(frozen=True, slots=True)
class Released:
    """The job is given back because the worker stops."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The job was completed in the handler's own transaction: nothing is left to write."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Another worker has the job by now: nothing may be written."""

    counted: bool = False
    """Whether the write that was refused is counted already."""


Verdict = Completed | Failed | Deferred | Snoozed | Slept | Waiting | Joining | Cancelled | Released | Settled | Lost

PLAIN_SUCCESS = Completed(None)
REASON_LENGTH = 1000


async def execute(kind: JobKind[Any], ctx: Context, threads: Threads, rng: random.Random) -> Verdict:
    """Run the handler, in the flow of its job, and return the verdict.

    Never raises; a cancellation of the lane is part of the verdict.
    """
    token = enter(ctx)
    try:
        arguments = kind.arguments.load(_opened(kind, ctx) if kind.arguments.secrets else ctx.job.args)
        if kind.batch is not None:
            outcome = await batches.run(kind, ctx, arguments)
        elif kind.is_async:
            outcome = await kind.handler(ctx, **arguments)
        else:
            outcome = await _in_thread(kind, ctx, arguments, threads)
        plain = outcome is None and not ctx.settled and ctx.steps is None
        return PLAIN_SUCCESS if plain else judge(outcome, ctx)
    except asyncio.CancelledError as error:
        _uncancel()
        return judge_interruption(kind, ctx, error, rng)
    except BaseException as error:
        # Whatever a handler raises is a failed attempt, SystemExit included.
        if ctx.settled:
            ctx.log.warning("error_after_completion", exc_info=error)
        decided = _decided(ctx)
        if decided is None and kind.reporters and not isinstance(error, LeaseLost):
            _report(kind, ctx, error)
        return decided or judge_error(error, ctx.job, kind.retry, rng, hidden=ctx.opened)
    finally:
        leave(token)


def _report(kind: JobKind[Any], ctx: Context, error: BaseException) -> None:
    for report in kind.reporters:
        try:
            report(error)
        except Exception as failed:  # noqa: BLE001 - whatever it is, the job is not its business
            ctx.log.warning("error_not_reported", error=type(failed).__name__)


def judge(outcome: object, ctx: Context) -> Verdict:
    """Return the verdict for a returned outcome."""
    if (decided := _decided(ctx)) is not None:
        return decided
    if ctx.steps is not None and not isinstance(outcome, Snooze | Cancel):
        ctx.steps.check_all_taken()
    match outcome:
        case None:
            return PLAIN_SUCCESS
        case Done(result):
            return Completed(dump_result(result))
        case Snooze(seconds):
            return Snoozed(seconds)
        case Cancel(reason):
            return Cancelled(storable(str(reason))[:REASON_LENGTH])
        case _:
            return Completed(dump_result(outcome))


def judge_error(
    error: BaseException,
    job: Job,
    retry: Retry,
    rng: random.Random,
    *,
    settled: bool = False,
    hidden: Sequence[str] = (),
) -> Verdict:
    """Return the verdict for an error: a retry after a delay, or a dead letter.

    The database's own trouble gives the job back instead, unless its policy says otherwise. What is
    `hidden`, secret arguments that the handler got, is not kept with the error.
    """
    if settled:
        return Settled()  # the work is committed; an error after it cannot undo that
    if isinstance(error, LeaseLost) and error.values.get("job_id") in (None, job.id):
        return Lost(counted="step" in error.values)
    failures = job.failures + 1
    most = job.max_attempts if job.max_attempts is not None else retry.max_attempts
    reason = "attempts_used_up"
    delay: float | None = None
    verdict = Deferred if is_databases_fault(error) else Failed
    if isinstance(error, (InvalidInput, StepMismatch, *PERMANENT)) or is_permanent(retry, error):
        reason = "permanent_error"
        verdict = Failed
    elif failures < most:
        delay = _asked_delay(error)
        if delay is None:
            delay = _delay(retry, failures, most, rng)
    kept = bounded_error(error.with_traceback(_handlers_part(error.__traceback__)))
    if hidden:
        message, trace = _hiding(kept["message"], hidden), _hiding(kept["traceback"], hidden)
        kept = {"type": kept["type"], "message": message, "traceback": trace}
    return verdict(Failure(delay, json.dumps(kept), error_signature(kept["type"], kept["message"]), reason))


def judge_interruption(kind: JobKind[Any], ctx: Context, error: BaseException, rng: random.Random) -> Verdict:
    """Return the verdict for a handler that was stopped from outside."""
    if (decided := _decided(ctx)) is not None:
        return decided
    match ctx.interrupted:
        case "timeout":
            late = TimeoutError(f"{kind.name} took longer than its timeout of {kind.timeout:g} s")
            return judge_error(late.with_traceback(error.__traceback__), ctx.job, kind.retry, rng)
        case "cancel":
            return Cancelled("cancelled while it ran")
        case "stop":
            return Released()
        case "lost":
            return Lost()
        case None:
            return judge_error(error, ctx.job, kind.retry, rng)
        case other:
            assert_never(other)  # type: ignore[arg-type]


def _decided(ctx: Context) -> Verdict | None:
    """Return the verdict of a handler that has already ended its job or left it, else None."""
    if ctx.settled:
        return Settled()
    return None if ctx.steps is None else ctx.steps.leaving


def _asked_delay(error: BaseException) -> float | None:
    """Return the delay that the handler asked for; None if it asked for none, or for an absurd one."""
    seconds = error.seconds if isinstance(error, RetryAfter) else None
    if isinstance(seconds, int | float) and seconds >= 0:
        return float(min(seconds, LONGEST_DELAY))
    return None


def _delay(retry: Retry, failures: int, most: int, rng: random.Random) -> float | None:
    # A job with more attempts than its policy repeats the last delay.
    return next_delay(retry, min(failures, retry.max_attempts - 1) if failures < most else failures, rng)


def _handlers_part(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without our own frame at its start."""
    ours = trace is not None and trace.tb_frame.f_code is execute.__code__
    return trace.tb_next if trace is not None and ours and trace.tb_next else trace


async def _in_thread(kind: JobKind[Any], ctx: Context, arguments: dict[str, Any], threads: Threads) -> object:
    context = contextvars.copy_context()
    loop = asyncio.get_running_loop()

    def call() -> object:
        try:
            return context.run(kind.handler, SyncContext(ctx, loop), **arguments)
        except (StopIteration, GeneratorExit) as error:
            # A future cannot carry the first, and the second would close the lane that waits.
            raise RuntimeError(f"the handler raised {type(error).__name__}") from error

    try:
        return await threads.run(call)
    except asyncio.CancelledError:
        ctx.log.warning("thread_left_running", reason=ctx.interrupted)
        leave_transaction(ctx)
        raise


def _opened(kind: JobKind[Any], ctx: Context) -> str:
    """Return the arguments of a job with the secret ones opened.

    One that is in the clear is left so: it was enqueued in plain SQL, or before it was secret, and
    `ostinato doctor` counts it.
    """
    job, args = ctx.job, json.loads(ctx.job.args)
    for name in kind.arguments.secrets & args.keys():
        if isinstance(args[name], str):
            if is_sealed(args[name]):
                args[name] = ctx.vault.open(args[name], purpose=args_purpose(job.kind, name, job.tenant_id))
            ctx.opened = (*ctx.opened, args[name])
    return json.dumps(args)


def _hiding(text: str, hidden: Sequence[str]) -> str:
    for secret in sorted(filter(None, hidden), key=len, reverse=True):
        text = text.replace(secret, SHOWN)
    return text


def _uncancel() -> None:
    """Clear the cancellation of the task, because the lane outlives the cancelled handler."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()
