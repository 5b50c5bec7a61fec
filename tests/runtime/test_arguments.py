"""Arguments are checked against the handler's type hints: when enqueued, and when they arrive."""

import enum
import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

import msgspec
import pydantic
import pytest

from ostinato import App, Context, InvalidInput
from tests.runtime.lab import Lab


class Address(pydantic.BaseModel):
    street: str
    number: int = 1


@dataclass
class Line:
    product: str
    amount: Decimal


class Colour(enum.Enum):
    RED = "red"


app = App("args")


@app.job()
async def pay(ctx: Context, invoice_id: int, note: str = "none", *, urgent: bool = False) -> None:
    """Takes three."""


async def test_typed_arguments_arrive_as_what_they_were(lab: Lab) -> None:
    given = {
        "at": datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC),
        "day": date(2026, 2, 3),
        "wait": timedelta(minutes=5),
        "key": UUID(int=9),
        "price": Decimal("0.10"),
        "address": Address(street="Rue"),
        "lines": [Line("tea", Decimal("2.50"))],
        "colour": Colour.RED,
        "mode": "fast",
        "tags": {"a", "b"},
        "nothing": None,
        "anything": {"deep": [1, {"er": "☃"}]},
    }
    seen: dict[str, Any] = {}

    @lab.app.job()
    async def order(  # noqa: PLR0917 - as many as it takes
        ctx: Context,
        at: datetime,
        day: date,
        wait: timedelta,
        key: UUID,
        price: Decimal,
        address: Address,
        lines: list[Line],
        colour: Colour,
        mode: Literal["fast", "slow"],
        tags: set[str],
        nothing: int | None,
        anything: Any,  # noqa: ANN401 - what is tested
        _private: int = 7,
        copy: str = "a name that pydantic has",
    ) -> None:
        seen.update({name: value for name, value in locals().items() if name in given})
        seen.update(private=_private, copy=copy)

    async with lab.worker():
        await lab.becomes(await order.enqueue(lab.client, **given), "done", "dead")  # type: ignore[arg-type]

    assert seen == {**given, "private": 7, "copy": "a name that pydantic has"}


async def test_positional_arguments_and_defaults_work_as_in_a_call(lab: Lab) -> None:
    seen: list[tuple[int, str, bool]] = []

    @lab.app.job()
    async def note(ctx: Context, first: int, second: str = "two", *, third: bool = True) -> None:
        seen.append((first, second, third))

    async with lab.worker():
        for job_id in (await note.enqueue(lab.client, 1), await note.enqueue(lab.client, 1, "zwei", third=False)):
            await lab.becomes(job_id, "done", "dead")

    assert sorted(seen) == [(1, "two", True), (1, "zwei", False)]


async def test_defaults_are_those_of_the_code_that_runs_not_of_the_code_that_enqueued(lab: Lab) -> None:
    @lab.app.job()
    async def greet(ctx: Context, name: str = "you") -> str:
        return name

    job_id = await greet.enqueue(lab.client)

    assert await lab.value("select args from ostinato_data.job where id = %s", job_id) in ({}, {"name": "you"})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"invoice_id": "seven"}, "invoice_id: Input should be a valid integer"),
        ({"invoice_id": 1.5}, "invoice_id: Input should be a valid integer"),
        ({"invoice_id": None}, "invoice_id"),
        ({"invoice_id": 1, "note": 7}, "note: Input should be a valid string"),
        ({"invoice_id": 1, "urgent": "perhaps"}, "urgent: Input should be a valid boolean"),
    ],
    ids=str,
)
async def test_a_wrong_argument_is_named_before_anything_is_enqueued(
    lab: Lab, wrong: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput, match=r"args\.pay") as caught:
        await pay.enqueue(lab.client, **wrong)
    with pytest.raises(InvalidInput):
        await pay.enqueue_many(lab.client, [{"invoice_id": 1}, wrong])

    assert said in caught.value.message
    assert "invoice_id: int" in str(caught.value.hint)
    assert await lab.value("select count(*) from ostinato_data.job") == 0


@pytest.mark.parametrize("wrong", [{}, {"invoice_id": 1, "extra": 2}, {"ctx": 1, "invoice_id": 2}])
async def test_missing_and_unknown_arguments_are_named(lab: Lab, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"args\.pay.*: .*(invoice_id|extra|ctx)"):
        await pay.enqueue(lab.client, **wrong)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("NUL \0", "NUL"),
        (["\ud800"], "surrogate"),
        ({"a": math.nan}, "nan"),
        (object(), "object"),
        ("x" * 300_000, "bytes"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_what_cannot_be_stored_is_refused_at_the_door(lab: Lab, value: object, said: str) -> None:
    @lab.app.job()
    async def take(ctx: Context, anything: Any) -> None:  # noqa: ANN401 - what is tested
        return None

    with pytest.raises(InvalidInput) as caught:
        await take.enqueue(lab.client, anything=value)

    assert said in str(caught.value)
    assert await lab.value("select count(*) from ostinato_data.job") == 0


def test_a_handler_must_take_the_context_and_then_named_arguments() -> None:
    odd = App("odd")
    with pytest.raises(InvalidInput, match="context first"):

        @odd.job()  # type: ignore[arg-type]
        async def nothing() -> None: ...

    with pytest.raises(InvalidInput, match="args"):

        @odd.job()
        async def anything(ctx: Context, *args: int) -> None: ...

    with pytest.raises(InvalidInput, match="cannot be stored as JSON"):

        @odd.job()
        async def handle(ctx: Context, lock: Lab) -> None: ...


def test_two_kinds_of_one_name_are_refused() -> None:
    twice = App("twice")

    @twice.job(name="twice.same")
    async def one(ctx: Context) -> None: ...

    with pytest.raises(InvalidInput, match=r"two kinds named 'twice\.same'"):

        @twice.job(name="twice.same")
        async def two(ctx: Context) -> None: ...


@pytest.mark.parametrize("name", ["", "Billing", "a-b", "1st", "x" * 64])
def test_an_app_has_a_plain_name(name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be named"):
        App(name)


async def test_an_argument_may_have_any_name(lab: Lab) -> None:
    @lab.app.job()
    async def send(  # noqa: PLR0917 - as many as it takes
        ctx: Context, to: str, self: str, args: int, kwargs: int, model: str
    ) -> str:
        return f"{to}{self}{args}{kwargs}{model}"

    async with lab.worker():
        job_id = await send.enqueue(lab.client, to="a", self="b", args=1, kwargs=2, model="c")
        ended = await lab.becomes(job_id, "done", "dead")

    assert ended.result == "ab12c"


async def test_a_kind_can_still_be_called_like_the_function(lab: Lab) -> None:
    @lab.app.job()
    async def add(ctx: Context, a: int, b: int) -> int:
        return a + b

    assert await add(None, 1, b=2) == 3


async def test_bytes_and_enums_have_a_wire_form(lab: Lab) -> None:
    seen: list[object] = []

    @lab.app.job()
    async def keep(ctx: Context, data: bytes, colour: Colour, lines: list[Line]) -> None:
        seen.extend((data, colour, lines))

    job_id = await keep.enqueue(lab.client, b"\xff\x00a", Colour.RED, [Line("tea", Decimal("0.10"))])
    async with lab.worker():
        await lab.becomes(job_id, "done")

    assert seen == [b"\xff\x00a", Colour.RED, [Line("tea", Decimal("0.10"))]]
    assert await lab.value("select args from ostinato_data.job where id = %s", job_id) == {
        "data": "_wBh",
        "colour": "red",
        "lines": [{"product": "tea", "amount": "0.10"}],
    }


def _newer(version: int, old: dict[str, Any]) -> dict[str, Any]:
    return {"cents": round(old["euros"] * 100)} if version == 1 else old


async def test_arguments_of_an_older_version_are_upgraded(lab: Lab) -> None:
    seen: list[int] = []
    before = App("shop")

    @before.job(name="shop.bill")
    async def old_bill(ctx: Context, euros: float) -> None: ...

    @lab.app.job(name="shop.bill", version=2, upgrade=_newer)
    async def bill(ctx: Context, cents: int) -> None:
        seen.append(cents)

    ids = [await old_bill.enqueue(lab.client, 1.5), await bill.enqueue(lab.client, cents=7)]
    stored = await lab.rows("select args::text from ostinato_data.job order by id")
    async with lab.worker():
        for job_id in ids:
            await lab.becomes(job_id, "done")

    assert sorted(seen) == [7, 150]
    assert [row[0] for row in stored] == ['{"euros":1.5}', '{"$v":2,"cents":7}']


async def test_arguments_of_a_newer_version_are_refused_with_the_reason(lab: Lab) -> None:
    newer = App("shop")

    @newer.job(name="shop.bill", version=3)
    async def next_bill(ctx: Context) -> None: ...

    @lab.app.job(name="shop.bill")
    async def bill(ctx: Context) -> None: ...

    job_id = await next_bill.enqueue(lab.client)
    async with lab.worker():
        ended = await lab.becomes(job_id, "dead")

    assert "version 3, this worker knows up to 1" in ended.error["message"]


def test_versions_start_with_one_and_upgrades_with_two() -> None:
    with pytest.raises(InvalidInput, match="version"):
        App("args").job(version=0)(_handler)
    with pytest.raises(InvalidInput, match="version"):
        App("args").job(upgrade=_newer)(_handler)


async def _handler(ctx: Context) -> None: ...


async def test_a_renamed_kind_runs_the_jobs_of_its_old_name(lab: Lab) -> None:
    seen: list[str] = []
    before = App("shop")

    @before.job(name="shop.old_name", queue="mail")
    async def old(ctx: Context, n: int) -> None: ...

    @lab.app.job(name="shop.bill", aliases=("shop.old_name",), queue="mail")
    async def bill(ctx: Context, n: int) -> None:
        seen.append(ctx.job.kind)

    ids = [await old.enqueue(lab.client, 1), await bill.enqueue(lab.client, 2)]
    async with lab.worker():
        for job_id in ids:
            await lab.becomes(job_id, "done")

    assert sorted(seen) == ["shop.bill", "shop.old_name"]
    assert lab.app["shop.old_name"] is bill
    with pytest.raises(InvalidInput, match="two kinds named"):
        lab.app.job(name="shop.old_name")(_handler)


class Point(msgspec.Struct):
    x: int
    label: str = ""


async def test_structs_of_msgspec_are_arguments_too(lab: Lab) -> None:
    seen: list[object] = []

    @lab.app.job()
    async def draw(ctx: Context, at: Point, more: list[Point], maybe: Point | None = None) -> None:
        seen.extend((at, more, maybe))

    job_id = await draw.enqueue(lab.client, Point(1, "a"), [Point(2)])
    async with lab.worker():
        await lab.becomes(job_id, "done")

    assert seen == [Point(1, "a"), [Point(2)], None]
    with pytest.raises(InvalidInput, match="at"):
        await draw.enqueue(lab.client, {"x": "no"}, [])  # type: ignore[arg-type]
