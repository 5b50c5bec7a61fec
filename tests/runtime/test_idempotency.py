"""Idempotency from Python: typed decisions, blocks in one transaction or around it."""

import asyncio
from typing import Any

import pytest
from psycopg import AsyncConnection
from structlog.typing import EventDict

from ostinato import Client, InvalidInput, LeaseLost
from ostinato._core.base.canonical import Declaration
from ostinato._core.base.errors import IdempotencyConflict, RequestInFlight
from ostinato._core.base.flow import flow
from ostinato._core.db.pool import transaction
from ostinato._core.engine import idempotency
from ostinato._core.engine.idempotency import Answer, Differs, InFlight, New, Replay
from tests.runtime.lab import Lab

PAYMENT = Declaration(include=("account", "amount"), exclude=("trace",))
ASKED = {"account": "a", "amount": 7}
OTHER = {"account": "a", "amount": 8}


@pytest.fixture
async def effects(lab: Lab) -> None:
    await lab.rows("create table effect (id serial primary key, note text)")
    await lab.rows("grant all on effect, effect_id_seq to ostinato_worker")


async def begin(lab: Lab, payload: dict[str, Any] = ASKED, **options: object) -> Any:  # noqa: ANN401
    async with lab.client.connection() as conn:
        return await idempotency.begin(conn, "pay", "k", payload, PAYMENT, **options)  # type: ignore[arg-type]


async def lapse(lab: Lab) -> None:
    """Let the holder's time run out, while the tick goes on."""
    await lab.rows("update ostinato_data.idempotency set renewed_at = renewed_at - interval '1 hour'")
    await lab.rows("update ostinato_data.tick set last = clock_timestamp()")


# One transaction


@pytest.mark.usefixtures("effects")
async def test_of_64_callers_at_once_one_has_an_effect_and_all_have_its_answer(lab: Lab) -> None:
    async with Client(lab.engine.database, max_size=16) as client:

        async def call(number: int) -> tuple[bool, Any]:
            payload = ASKED | {"trace": number}
            async with client.connection() as conn, idempotency.once(conn, "pay", "k", payload, PAYMENT) as once:
                if once.is_new:
                    made = await conn.execute("insert into effect (note) values ('x') returning id")
                    once.answer = {"id": (await made.fetchone() or (None,))[0], "by": number}
            return once.is_new, once.answer

        answers = await asyncio.gather(*(call(number) for number in range(64)))

    assert sum(new for new, _ in answers) == 1
    assert len({str(answer) for _, answer in answers}) == 1
    assert await lab.value("select count(*) from effect") == 1


@pytest.mark.usefixtures("effects")
async def test_an_error_in_the_block_takes_everything_back_the_key_too(lab: Lab) -> None:
    async def write_and_fail(conn: AsyncConnection[Any]) -> None:
        async with idempotency.once(conn, "pay", "k", ASKED, PAYMENT):
            await conn.execute("insert into effect (note) values ('x')")
            raise ValueError("mine")

    async with lab.client.connection() as conn:
        with pytest.raises(ValueError, match="mine"):
            await write_and_fail(conn)
        async with idempotency.once(conn, "pay", "k", OTHER, PAYMENT) as once:
            assert (once.is_new, once.attempt) == (True, 1)

    assert await lab.value("select count(*) from effect") == 0


@pytest.mark.usefixtures("effects")
async def test_inside_a_transaction_of_the_caller_that_one_decides(lab: Lab) -> None:
    async def once_and_fail(conn: AsyncConnection[Any]) -> None:
        async with transaction(conn):
            async with idempotency.once(conn, "pay", "k", ASKED, PAYMENT) as once:
                once.answer = 1
            raise ValueError("outer")

    async with lab.client.connection() as conn:
        with pytest.raises(ValueError, match="outer"):
            await once_and_fail(conn)
        async with idempotency.once(conn, "pay", "k", ASKED, PAYMENT) as again:
            assert again.is_new


async def test_another_request_raises_a_conflict_that_names_the_fields(lab: Lab) -> None:
    async with lab.client.connection() as conn:
        async with idempotency.once(conn, "pay", "k", ASKED, PAYMENT):
            pass
        with pytest.raises(IdempotencyConflict, match="differs in amount") as caught:
            async with idempotency.once(conn, "pay", "k", OTHER, PAYMENT):
                pass

    error = caught.value
    assert (error.status, error.code) == (409, "idempotency_conflict")
    assert error.values["fields"] == ["amount"]
    assert "7" not in error.message
    assert "8" not in error.message


async def test_what_somebody_does_outside_raises_in_flight_and_the_doubt_is_kept(lab: Lab) -> None:
    await begin(lab, holder="till 4")
    await lapse(lab)
    await lab.rows("update ostinato_data.tick set last = clock_timestamp() - interval '1 hour'")

    async with lab.client.connection() as conn:
        with pytest.raises(RequestInFlight, match="till 4") as caught:
            async with idempotency.once(conn, "pay", "k", ASKED, PAYMENT):
                pass

    assert (caught.value.status, caught.value.retryable) == (409, True)
    assert await lab.value("select doubted_at is not null from ostinato_data.idempotency")


async def test_an_abandoned_block_keeps_no_key(lab: Lab) -> None:
    async with lab.client.connection() as conn:
        async with idempotency.once(conn, "pay", "k", ASKED, PAYMENT) as once:
            once.abandon()
        async with idempotency.once(conn, "pay", "k", OTHER, PAYMENT) as other:
            assert other.is_new


# Two transactions


async def test_work_outside_is_done_once_and_answered_after(lab: Lab) -> None:
    sent = []
    for _ in range(3):
        async with idempotency.once_outside(lab.client, "pay", "k", ASKED, PAYMENT) as once:
            if once.is_new:
                sent.append(once.attempt)
                once.answer, once.resource = [1, "é"], "payment/1"
                with pytest.raises(RequestInFlight):
                    async with idempotency.once_outside(lab.client, "pay", "k", ASKED, PAYMENT):
                        pass
        assert (once.answer, once.resource) == ([1, "é"], "payment/1")

    assert sent == [1]


async def test_an_error_outside_leaves_the_key_to_the_same_request_with_attempt_2(lab: Lab) -> None:
    with pytest.raises(TimeoutError):
        async with idempotency.once_outside(lab.client, "pay", "k", ASKED, PAYMENT):
            raise TimeoutError

    with pytest.raises(IdempotencyConflict):
        async with idempotency.once_outside(lab.client, "pay", "k", OTHER, PAYMENT):
            pass
    async with idempotency.once_outside(lab.client, "pay", "k", ASKED, PAYMENT) as once:
        assert (once.is_new, once.attempt) == (True, 2)


@pytest.mark.parametrize("error", [None, ValueError])
async def test_a_block_that_did_nothing_frees_the_key(lab: Lab, error: type[Exception] | None) -> None:
    try:
        async with idempotency.once_outside(lab.client, "pay", "k", ASKED, PAYMENT) as once:
            once.abandon()
            if error is not None:
                raise error
    except ValueError:
        pass

    assert isinstance(await begin(lab, OTHER), New)


async def test_a_cancelled_block_leaves_the_key_in_flight(lab: Lab) -> None:
    """As a crash does: only time tells that nobody works on it."""
    entered = asyncio.Event()

    async def block() -> None:
        async with idempotency.once_outside(lab.client, "pay", "k", ASKED, PAYMENT):
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(block())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert isinstance(await begin(lab), InFlight)
    await lapse(lab)
    taken = await begin(lab)
    assert isinstance(taken, New)
    assert taken.attempt == 2


async def test_who_took_too_long_is_refused_and_the_next_ones_answer_stays(lab: Lab, logs: list[EventDict]) -> None:
    async def take_too_long() -> None:
        async with idempotency.once_outside(lab.client, "pay", "k", ASKED, PAYMENT) as slow:
            slow.answer = "slow"
            await lapse(lab)
            async with idempotency.once_outside(lab.client, "pay", "k", ASKED, PAYMENT) as quick:
                quick.answer = "quick"

    with pytest.raises(LeaseLost):
        await take_too_long()

    found = await begin(lab)
    assert isinstance(found, Replay)
    assert (found.answer, found.attempt) == ("quick", 2)


async def test_an_error_of_who_took_too_long_changes_nothing(lab: Lab, logs: list[EventDict]) -> None:
    async def fail_too_late() -> None:
        async with idempotency.once_outside(lab.client, "pay", "k", ASKED, PAYMENT):
            await lapse(lab)
            await begin(lab)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await fail_too_late()

    assert isinstance(await begin(lab), InFlight)
    assert [line["event"] for line in logs] == ["key_was_taken_over"]


async def test_a_key_that_cannot_be_abandoned_is_left_to_time(lab: Lab, logs: list[EventDict]) -> None:
    verb, roles = ("execute on function ostinato.abandon_idempotent", "ostinato_worker, ostinato_tenant")
    await lab.rows(f"revoke {verb} from {roles}")
    try:
        with pytest.raises(ValueError, match="mine"):
            async with idempotency.once_outside(lab.client, "pay", "k", ASKED, PAYMENT):
                raise ValueError("mine")
    finally:
        await lab.rows(f"grant {verb} to {roles}")

    assert [line["event"] for line in logs] == ["key_not_abandoned"]


# The verbs


async def test_decisions_are_typed(lab: Lab) -> None:
    new = await begin(lab, holder="me", lease_seconds=30, ttl_seconds=60)
    assert isinstance(new, New)
    assert isinstance(await begin(lab), InFlight)
    differs = await begin(lab, OTHER)
    assert isinstance(differs, Differs)
    assert (differs.fields, differs.declaration_changed) == (("amount",), False)
    async with lab.client.connection() as conn:
        assert await idempotency.renew(conn, new) > new.until
        await idempotency.finish(conn, new, {"id": 1}, "payment/1")
        replay = await begin(lab)
        assert isinstance(replay, Replay)
        assert (replay.answer, replay.resource) == ({"id": 1}, "payment/1")
        assert await idempotency.abandon(conn, new) is False
        assert await idempotency.prune(conn) == 0


async def test_a_changed_declaration_is_said_and_is_no_silent_conflict(lab: Lab) -> None:
    new = await begin(lab)
    async with lab.client.connection() as conn:
        await idempotency.finish(conn, new, 1)
        wider = Declaration(include=("account", "amount", "currency"))
        same = await idempotency.begin(conn, "pay", "k", ASKED | {"currency": "EUR"}, wider)
        other = await idempotency.begin(conn, "pay", "k", OTHER | {"currency": "EUR"}, wider)
        unlike = await idempotency.begin(conn, "pay", "k", {"x": 1}, Declaration(include=("x",)))

    assert isinstance(same, Replay)
    assert isinstance(other, Differs)
    assert isinstance(unlike, Differs)
    assert (other.fields, other.declaration_changed) == (("amount",), True)
    assert "declared otherwise" in idempotency.refuse(other).args[0]
    assert "cannot be compared" in idempotency.refuse(unlike).args[0]


async def test_who_does_not_wait_is_not_told_whose_it_is(lab: Lab) -> None:
    async with lab.client.transaction() as conn:
        await idempotency.begin(conn, "pay", "k", ASKED, PAYMENT)

        found = await begin(lab, wait=False)

    assert isinstance(found, InFlight)
    assert found.holder is None
    assert "by" not in idempotency.refuse(found).args[0].split("worked on")[1]


async def test_the_tenant_is_given_or_flows(lab: Lab) -> None:
    with flow(tenant="t1"):
        first = await begin(lab)
    second = await begin(lab, tenant="t1")
    third = await begin(lab, OTHER)

    assert isinstance(first, New)
    assert isinstance(second, InFlight)
    assert isinstance(third, New)
    assert first.tenant_id == "t1"


@pytest.mark.parametrize(
    "answer",
    [
        Answer(202, b'{"id":  1}', (("Location", "/p/1"), ("Set-Cookie", "a"), ("Set-Cookie", "b"))),
        Answer(200, b"\xff\x00\xfe"),
        Answer(204),
        Answer(200, b"nul \x00 in text"),
    ],
)
async def test_an_http_answer_comes_back_byte_by_byte(lab: Lab, answer: Answer) -> None:
    async with lab.client.connection() as conn:
        for _ in range(2):
            async with idempotency.once(conn, "pay", "k", ASKED, PAYMENT) as once:
                if once.is_new:
                    once.answer = answer
            assert once.http() == answer
    replay = await begin(lab)
    assert isinstance(replay, Replay)
    assert replay.http() == answer


@pytest.mark.parametrize("answer", [{"x": float("nan")}, {"x": b"y"}, "x" * 262_144])
async def test_an_answer_that_cannot_be_stored_is_refused(lab: Lab, answer: object) -> None:
    new = await begin(lab)
    async with lab.client.connection() as conn:
        with pytest.raises(InvalidInput, match="the answer cannot be stored"):
            await idempotency.finish(conn, new, answer)
