"""What a handler returns or raises decides what becomes of its job, and nothing else does."""

import math
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from structlog.typing import EventDict

from ostinato import Cancel, Context, Done, Retry, RetryAfter, Snooze
from tests.runtime.lab import Lab

ONCE = Retry(max_attempts=1)


async def run(lab: Lab, handler: Any, retry: Retry = ONCE) -> Any:  # noqa: ANN401 - any handler
    """Run one job of a handler until it ends, for good or for now."""
    kind = lab.app.job(retry=retry)(handler)
    async with lab.worker():
        job_id = await kind.enqueue(lab.client)
        return await lab.becomes(job_id, "done", "cancelled", "dead", "scheduled")


async def test_a_handler_that_returns_nothing_is_done_without_a_result(lab: Lab) -> None:
    async def nothing(ctx: Context) -> None:
        return None

    ended = await run(lab, nothing)

    assert (ended.state, ended.result, ended.attempt) == ("done", None, 1)


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (7, 7),
        (0, 0),
        (False, False),
        ("", ""),
        ([], []),
        ({"a": [1, None]}, {"a": [1, None]}),
        ("naïve ☃ 😀", "naïve ☃ 😀"),
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00:00Z"),
        (Decimal("1.10"), "1.10"),
        ({3}, [3]),
    ],
    ids=repr,
)
async def test_a_returned_value_is_the_result(lab: Lab, value: object, stored: object) -> None:
    async def answer(ctx: Context) -> object:
        return value

    ended = await run(lab, answer)

    assert (ended.state, ended.result) == ("done", stored)


async def test_done_carries_the_result_and_a_dataclass_is_plain_data(lab: Lab) -> None:
    @dataclass
    class Point:
        x: int
        y: int

    async def answer(ctx: Context) -> Done:
        return Done(Point(1, 2))

    ended = await run(lab, answer)

    assert (ended.state, ended.result) == ("done", {"x": 1, "y": 2})


async def test_a_snoozed_job_waits_and_uses_up_no_attempt(lab: Lab) -> None:
    async def later(ctx: Context) -> Snooze | None:
        return Snooze(3600) if ctx.job.attempt == 1 else None

    ended = await run(lab, later)

    assert ended.state == "scheduled"
    assert await lab.rows("select reason, attempt, failures from ostinato_data.scheduled") == [("snooze", 2, 0)]


async def test_a_snooze_of_no_time_runs_again_at_once(lab: Lab) -> None:
    @lab.app.job(retry=ONCE)
    async def later(ctx: Context) -> Snooze | int:
        return ctx.job.attempt if ctx.job.attempt == 5 else Snooze(0)

    async with lab.worker():
        ended = await lab.becomes(await later.enqueue(lab.client), "done", "dead")

    assert (ended.state, ended.result) == ("done", 5)


async def test_cancel_ends_the_job_with_its_reason(lab: Lab) -> None:
    async def no_need(ctx: Context) -> Cancel:
        return Cancel("the order was withdrawn")

    ended = await run(lab, no_need)

    assert (ended.state, ended.error) == ("cancelled", {"reason": "the order was withdrawn"})


@pytest.mark.parametrize("reason", ["a NUL \0 in it", "a lone \ud800", "x" * 2_000_000, 7])
async def test_an_odd_reason_to_cancel_still_cancels(lab: Lab, reason: Any) -> None:  # noqa: ANN401
    async def no_need(ctx: Context) -> Cancel:
        return Cancel(reason)

    ended = await run(lab, no_need)

    assert ended.state == "cancelled"


async def test_retry_after_says_when_and_uses_up_an_attempt(lab: Lab) -> None:
    async def busy(ctx: Context) -> None:
        raise RetryAfter(3600, "the service asks for an hour")

    ended = await run(lab, busy, Retry(max_attempts=2))

    assert ended.state == "scheduled"
    assert ended.error["message"] == "the service asks for an hour"
    assert await lab.rows("select failures, run_at - now() > interval '59 minutes' from ostinato_data.scheduled") == [
        (1, True)
    ]


async def test_retry_after_on_the_last_attempt_is_a_dead_letter(lab: Lab) -> None:
    async def busy(ctx: Context) -> None:
        raise RetryAfter(1, "later")

    ended = await run(lab, busy)

    assert ended.state == "dead"


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -math.inf, -5.0, 1e300, "soon", None])
async def test_an_absurd_retry_after_is_a_failed_attempt_like_any_other(
    lab: Lab,
    seconds: Any,  # noqa: ANN401 - whatever a handler computes
) -> None:
    async def busy(ctx: Context) -> None:
        raise RetryAfter(seconds)

    async def fine(ctx: Context) -> str:
        return "not held up"

    kind = lab.app.job(retry=Retry(max_attempts=2, delays=(0,)))(busy)
    neighbour = lab.app.job()(fine)
    async with lab.worker():
        job_id = await kind.enqueue(lab.client)
        await lab.until("select count(*) > 0 from ostinato_data.outcome")
        ended = await lab.becomes(await neighbour.enqueue(lab.client), "done")

    assert ended.result == "not held up"
    assert (await lab.outcomes(job_id))[0] == "failed"


async def test_an_exception_is_a_failed_attempt_with_its_traceback(lab: Lab) -> None:
    async def breaks(ctx: Context) -> None:
        missing: dict[str, int] = {}
        missing["invoice"]

    ended = await run(lab, breaks)

    assert ended.state == "dead"
    assert (ended.error["type"], ended.error["message"]) == ("KeyError", "'invoice'")
    assert 'missing["invoice"]' in ended.error["traceback"]
    assert await lab.rows("select reason, signature from ostinato_data.dead_letter") == [
        ("attempts_used_up", "KeyError: <text>")
    ]


async def test_a_failed_attempt_is_tried_again_until_it_succeeds(lab: Lab) -> None:
    @lab.app.job(retry=Retry(delays=(0, 0, 0)))
    async def third_time(ctx: Context) -> tuple[int, int]:
        if ctx.job.attempt < 3:
            raise ConnectionError("not yet")
        return ctx.job.attempt, ctx.job.failures

    async with lab.worker():
        job_id = await third_time.enqueue(lab.client)
        ended = await lab.becomes(job_id, "done", "dead")

    assert ended.result == [3, 2]
    assert await lab.outcomes(job_id) == ["failed", "failed", "done"]


async def test_a_permanent_error_is_not_tried_again(lab: Lab) -> None:
    async def refused(ctx: Context) -> None:
        raise PermissionError("card stolen")

    ended = await run(lab, refused, Retry(max_attempts=10, permanent=(PermissionError,)))

    assert (ended.state, ended.attempt) == ("dead", 1)
    assert await lab.value("select reason from ostinato_data.dead_letter") == "permanent_error"


async def test_a_job_may_have_more_attempts_than_its_policy(lab: Lab) -> None:
    @lab.app.job(retry=Retry(delays=(0,)))
    async def fifth_time(ctx: Context) -> int:
        if ctx.job.attempt < 5:
            raise ConnectionError("not yet")
        return ctx.job.attempt

    async with lab.worker():
        job_id = await fifth_time.options(max_attempts=5).enqueue(lab.client)
        ended = await lab.becomes(job_id, "done", "dead")

    assert ended.result == 5


async def test_bad_arguments_from_plain_sql_are_a_dead_letter_that_names_the_field(lab: Lab) -> None:
    @lab.app.job(retry=Retry(max_attempts=5))
    async def pay(ctx: Context, invoice_id: int, note: str = "") -> None:
        raise AssertionError("never called")

    async with lab.worker():
        job_id = await lab.value("select ostinato.enqueue_job('lab.pay', %s)", '{"invoice_id": "seven", "extra": 1}')
        ended = await lab.becomes(job_id, "dead", "done", "scheduled")

    assert (ended.state, ended.attempt) == ("dead", 1)
    assert ended.error["type"] == "InvalidInput"
    assert "invoice_id: Input should be a valid integer" in ended.error["message"]
    assert "there is no argument extra" in ended.error["message"]


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=repr)
async def test_what_would_end_a_program_only_fails_the_job(lab: Lab, error: BaseException) -> None:
    @lab.app.job(retry=ONCE)
    async def leaves(ctx: Context) -> None:
        raise error

    @lab.app.job(retry=ONCE)
    def leaves_its_thread(ctx: Context) -> None:
        raise error

    @lab.app.job()
    async def neighbour(ctx: Context) -> None:
        return None

    async with lab.worker():
        first = await lab.becomes(await leaves.enqueue(lab.client), "dead")
        second = await lab.becomes(await leaves_its_thread.enqueue(lab.client), "dead")
        await lab.becomes(await neighbour.enqueue(lab.client), "done")

    assert first.error["type"] == type(error).__name__
    assert type(error).__name__ in second.error["traceback"]


@pytest.mark.parametrize("error", [StopIteration(4), StopAsyncIteration(), GeneratorExit()], ids=repr)
async def test_the_end_of_an_iterator_only_fails_the_job(lab: Lab, error: BaseException) -> None:
    @lab.app.job(retry=ONCE)
    async def runs_out(ctx: Context) -> None:
        raise error

    @lab.app.job(retry=ONCE)
    def runs_out_in_a_thread(ctx: Context) -> None:
        raise error

    async with lab.worker():
        await lab.becomes(await runs_out.enqueue(lab.client), "dead")
        await lab.becomes(await runs_out_in_a_thread.enqueue(lab.client), "dead")


def cycle() -> list[object]:
    around: list[object] = []
    around.append(around)
    return around


def deep() -> object:
    value: object = 1
    for _ in range(sys.getrecursionlimit() * 2):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        object(),
        b"\xff\xfe",
        math.nan,
        [math.inf],
        {"a": -math.inf},
        "NUL \0",
        "\ud800",
        {("a", "b"): object()},
        "x" * 2_000_000,
        10**5000,
        print,
        cycle(),
        deep(),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_result_that_cannot_be_stored_fails_the_job_and_holds_up_nobody(lab: Lab, value: object) -> None:
    @lab.app.job(retry=Retry(max_attempts=5))
    async def odd(ctx: Context) -> object:
        return value

    @lab.app.job()
    async def neighbour(ctx: Context) -> str:
        return "fine"

    async with lab.worker():
        job_id, other_id = await odd.enqueue(lab.client), await neighbour.enqueue(lab.client)
        ended = await lab.becomes(job_id, "dead", "done", "scheduled")
        other = await lab.becomes(other_id, "done", "dead")

    assert other.result == "fine"
    assert (ended.state, ended.attempt) == ("dead", 1)
    assert "the result cannot be stored" in ended.error["message"]


@pytest.mark.parametrize("text", ["a NUL \0", "a lone \ud800", "x" * 1_000_000, "%s {} \\u0000"])
async def test_any_text_of_an_exception_can_be_stored(lab: Lab, text: str) -> None:
    async def breaks(ctx: Context) -> None:
        raise RuntimeError(text)

    ended = await run(lab, breaks)

    assert ended.state == "dead"
    assert ended.error["type"] == "RuntimeError"
    assert len(str(ended.error)) < 20_000


async def test_an_exception_that_cannot_be_printed_is_still_a_failed_attempt(lab: Lab) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

        __repr__ = __str__

    async def breaks(ctx: Context) -> None:
        raise Mute

    ended = await run(lab, breaks)

    assert (ended.state, ended.error["type"]) == ("dead", Mute.__qualname__)


async def test_a_group_of_exceptions_is_one_failure(lab: Lab) -> None:
    async def breaks(ctx: Context) -> None:
        raise ExceptionGroup("both", [ValueError("one"), KeyError("two")])

    ended = await run(lab, breaks)

    assert ended.state == "dead"
    assert "ValueError: one" in ended.error["traceback"]


async def test_the_context_knows_the_job_and_its_logger_names_it(lab: Lab, logs: list[EventDict]) -> None:
    @lab.app.job(queue="mail")
    async def look(ctx: Context) -> dict[str, object]:
        ctx.log.info("looking", at="me")
        job = ctx.job
        return {"token": ctx.token, "who": [job.kind, job.queue, job.tenant_id, job.correlation_id]}

    async with lab.worker():
        chosen = look.options(tenant="acme", correlation_id="order-7")
        job_id = await chosen.enqueue(lab.client)
        ended = await lab.becomes(job_id, "done")

    assert ended.result == {"token": [job_id, 1], "who": ["lab.look", "mail", "acme", "order-7"]}
    (line,) = [line for line in logs if line["event"] == "looking"]
    assert (line["job_id"], line["attempt"], line["correlation_id"]) == (job_id, 1, "order-7")
