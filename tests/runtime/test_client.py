"""Enqueueing from Python: in the caller's own transaction, with a ring after the commit."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import ostinato
from ostinato import App, Context, InvalidInput, Unique, UniqueConflict
from ostinato._core.base.errors import NotFound
from ostinato._core.engine import jobs, queues
from ostinato._core.runtime.client import Client
from tests.runtime.lab import Lab, listens
from tests.waiting import until_async


@pytest.fixture
def rings(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queues that the client rang for."""
    heard: list[str] = []
    monkeypatch.setattr(lab.client, "ring", heard.append)
    return heard


async def test_a_transaction_that_commits_adds_its_jobs_and_rings_once_per_queue(lab: Lab, rings: list[str]) -> None:
    @lab.app.job(queue="mail")
    async def send(ctx: Context, to: str) -> None: ...

    @lab.app.job()
    async def clean(ctx: Context) -> None: ...

    async with lab.client.transaction() as conn:
        await send.enqueue(conn, to="a")
        await send.enqueue_many(conn, [{"to": "b"}, {"to": "c"}])
        await clean.enqueue(conn)
        assert await lab.value("select count(*) from ostinato_data.job") == 0
        assert rings == []

    assert await lab.value("select count(*) from ostinato_data.ready") == 4
    assert sorted(rings) == ["default", "mail"]


async def test_a_transaction_that_rolls_back_adds_nothing_and_rings_nobody(lab: Lab, rings: list[str]) -> None:
    @lab.app.job()
    async def send(ctx: Context) -> None: ...

    with pytest.raises(ZeroDivisionError):  # noqa: PT012 - what is left of it is the point
        async with lab.client.transaction() as conn:
            await send.enqueue(conn)
            1 / 0  # noqa: B018 - the error is the point

    assert await lab.value("select count(*) from ostinato_data.job") == 0
    assert rings == []


async def test_jobs_that_are_hastened_ring_for_their_queues(lab: Lab, rings: list[str]) -> None:
    @lab.app.job(queue="mail")
    async def send(ctx: Context) -> None: ...

    later = await send.options(delay=86_400).enqueue(lab.client)
    rings.clear()

    async with lab.client.transaction() as conn:
        moved = await jobs.hasten(conn, [later, 4711])
        assert rings == []

    assert (moved, rings) == ([later], ["mail"])
    assert await lab.value("select count(*) from ostinato_data.ready") == 1


async def test_an_idle_worker_starts_a_job_on_the_ring_without_a_poll(lab: Lab) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None: ...

    async with lab.worker(poll_seconds=3600) as worker:
        await until_async(lambda: listens(worker))
        await until_async(lambda: not worker._claimer._due)
        job_id = await work.enqueue(lab.client)
        await lab.becomes(job_id, "done")


async def test_a_job_by_name_rings_for_the_queue_of_its_kind(lab: Lab) -> None:
    @lab.app.job(queue="mail")
    async def work(ctx: Context) -> None: ...

    async with lab.worker(poll_seconds=3600) as worker:
        await until_async(lambda: listens(worker))
        await until_async(lambda: not worker._claimer._due)
        await lab.becomes(await lab.client.enqueue(work.name), "done")


async def test_a_lost_ring_is_only_a_late_poll(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> bool:
        raise NotFound("nobody there")

    monkeypatch.setattr(queues, "ring", refuse)

    @lab.app.job()
    async def work(ctx: Context) -> None: ...

    async with lab.worker():
        await lab.becomes(await work.enqueue(lab.client), "done")


async def test_options_say_when_where_and_for_whom(lab: Lab) -> None:
    @lab.app.job(queue="mail", priority=3)
    async def send(ctx: Context) -> None: ...

    at = datetime.now(UTC) + timedelta(days=1)
    chosen = send.options(queue="slow", priority=-7, tenant="acme", correlation_id="c-1", limit_key="k", max_attempts=2)
    plain, later = (await send.enqueue(lab.client), await chosen.options(run_at=at).enqueue(lab.client))

    columns = "queue, priority, tenant_id, correlation_id, limit_key, max_attempts, run_at"
    rows = await lab.rows(f"select {columns} from ostinato_data.job order by id")  # noqa: S608
    assert plain < later
    assert rows == [("mail", 3, "default", None, None, None, None), ("slow", -7, "acme", "c-1", "k", 2, at)]


async def test_a_delay_counts_from_the_databases_time(lab: Lab) -> None:
    @lab.app.job()
    async def send(ctx: Context) -> None: ...

    job_id = await send.options(delay=3600).enqueue(lab.client)

    assert await lab.state(job_id) == "scheduled"
    assert await lab.value(
        "select extract(epoch from run_at - created_at) between 3599 and 3600 from ostinato_data.job"
    )
    with pytest.raises(InvalidInput, match="both run_at and delay"):
        send.options(delay=1, run_at=datetime.now(UTC))
    with pytest.raises(InvalidInput, match="no time zone"):
        await send.options(run_at=datetime(2026, 1, 1)).enqueue(lab.client)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"dely": 60}, "Did you mean delay"),
        ({"countdown": 60}, "There are: queue"),  # of another library
        ({"delay": "5m"}, "of type str, not seconds"),
        ({"delay": timedelta(minutes=5)}, "of type timedelta, not seconds"),
        ({"run_at": "2030-01-01T00:00:00Z"}, "not a datetime"),
        ({"priority": "high"}, "not a whole number"),
        ({"limit_key": 7}, "limit_key of lab.send is of type int, not text"),
        ({"unique": "order-7"}, "not a Unique"),
    ],
    ids=str,
)
async def test_an_option_that_is_none_is_refused_and_no_job_is_added(
    lab: Lab, wrong: dict[str, Any], said: str
) -> None:
    """A misspelt delay would be a job that runs at once."""

    @lab.app.job()
    async def send(ctx: Context) -> None: ...

    with pytest.raises(InvalidInput) as by_kind:
        send.options(**wrong)
    with pytest.raises(InvalidInput) as by_name:
        await lab.client.enqueue("lab.send", **wrong)

    assert said in str(by_kind.value)
    assert said in str(by_name.value)
    assert await lab.value("select count(*) from ostinato_data.job") == 0


async def test_an_option_that_is_none_means_not_given(lab: Lab) -> None:
    @lab.app.job(queue="mail")
    async def send(ctx: Context) -> None: ...

    job_id = await send.options(delay=None, unique=None, tenant=None).enqueue(lab.client)  # type: ignore[arg-type]

    assert await lab.state(job_id) == "ready"


def test_a_unique_key_is_text() -> None:
    with pytest.raises(InvalidInput, match="not text"):
        Unique(7)  # type: ignore[arg-type]


async def test_whoever_forgets_the_connection_is_told_so_before_the_arguments_are_judged() -> None:
    app = App("lab")

    @app.job()
    async def send(ctx: Context, to: int) -> None: ...

    with pytest.raises(InvalidInput, match=r"through builtins\.int"):
        await send.enqueue(7)  # type: ignore[call-arg, arg-type]
    with pytest.raises(InvalidInput, match=r"through builtins\.int"):
        send.enqueue_sync(7)  # type: ignore[call-arg, arg-type]
    with pytest.raises(InvalidInput, match="through contextlib") as not_entered:
        await send.enqueue(ostinato.connect(), to=7)  # type: ignore[arg-type]
    assert "async with ostinato.connect()" in str(not_entered.value.hint)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"retry": 3}, r"retry of lab.send is of type int.*Retry\(max_attempts=3\)"),
        ({"timeout": "30s"}, "timeout of lab.send is of type str, not seconds"),
        ({"priority": "high"}, "priority of lab.send is of type str"),
        ({"aliases": "lab.old"}, r"aliases of lab.send is one text"),
    ],
    ids=str,
)
def test_a_kind_that_is_declared_wrongly_says_so(wrong: dict[str, Any], said: str) -> None:
    async def send(ctx: Context) -> None: ...

    declare: Any = App("lab").job(**wrong)
    with pytest.raises(InvalidInput, match=said):
        declare(send)


def test_a_decorator_without_parentheses_says_so() -> None:
    async def send(ctx: Context) -> None: ...

    declare: Any = App("lab").job
    with pytest.raises(InvalidInput, match="lacks its parentheses"):
        declare(send)


@pytest.mark.parametrize("name", ["key", "tenant", "correlation_id", "subject", "occurred_at"])
async def test_a_field_of_an_event_that_is_no_text_or_time_is_refused(lab: Lab, name: str) -> None:
    """A number as a key, the id of a row, was a function that is not there: advice to migrate."""
    paid = lab.app.event("invoice.paid")

    with pytest.raises(InvalidInput, match=f"{name} of an event invoice.paid is of type int"):
        await paid.emit(lab.client, {}, **{name: 7})  # type: ignore[arg-type]


async def test_wrong_arguments_are_named_and_an_option_among_them_is_shown_its_place(lab: Lab) -> None:
    @lab.app.job()
    async def send(ctx: Context, to: int) -> None: ...

    with pytest.raises(InvalidInput) as refused:
        await send.enqueue(lab.client, too=7, delay=60)  # type: ignore[call-arg]

    assert "to is missing; there is no argument too; there is no argument delay" in str(refused.value)
    assert "send.options(delay=…).enqueue(…)" in str(refused.value)


async def test_a_unique_job_is_there_once(lab: Lab) -> None:
    @lab.app.job()
    async def sync(ctx: Context, account: int) -> None: ...

    first = await sync.options(unique=Unique("account-7")).enqueue(lab.client, account=7)
    second = await sync.options(unique=Unique("account-7")).enqueue(lab.client, account=7)
    refusing = sync.options(unique=Unique("account-7", policy="refuse"))
    with pytest.raises(UniqueConflict) as caught:
        await refusing.enqueue(lab.client, account=7)
    replacing = sync.options(unique=Unique("account-7", policy="replace"))
    third = await replacing.enqueue(lab.client, account=8)

    assert first == second != third
    assert caught.value.values["job_id"] == first
    assert [await lab.state(job_id) for job_id in (first, third)] == ["cancelled", "ready"]


async def test_a_unique_key_is_free_again_when_its_job_is_done(lab: Lab) -> None:
    @lab.app.job()
    async def sync(ctx: Context) -> None: ...

    chosen = sync.options(unique=Unique("account-7"))
    async with lab.worker():
        first = await chosen.enqueue(lab.client)
        await lab.becomes(first, "done")
        second = await chosen.enqueue(lab.client)
        await lab.becomes(second, "done")

    assert first != second


async def test_many_at_once_keep_their_order_and_only_default_unique_keys(lab: Lab) -> None:
    @lab.app.job()
    async def number(ctx: Context, n: int) -> None: ...

    ids = await number.enqueue_many(lab.client, [{"n": n} for n in range(1000)])
    none = await number.enqueue_many(lab.client, [])
    keyed = number.options(unique=Unique("same"))
    same = await keyed.enqueue_many(lab.client, [{"n": 1}, {"n": 2}])
    with pytest.raises(InvalidInput, match="only the defaults are possible"):
        await number.options(unique=Unique("k", policy="refuse")).enqueue_many(lab.client, [{"n": 1}])

    assert ids == sorted(ids)
    assert await lab.rows(
        "select (args ->> 'n')::integer from ostinato_data.job where id <= %s order by id", ids[-1]
    ) == [(n,) for n in range(1000)]
    assert none == []
    assert same[0] == same[1]


async def test_a_kind_that_this_process_does_not_know_is_enqueued_by_name(lab: Lab) -> None:
    job_id = await lab.client.enqueue("elsewhere.task", {"n": 1}, queue="far", delay=60)

    assert await lab.state(job_id) == "scheduled"
    assert await lab.rows("select kind, queue, args from ostinato_data.job") == [("elsewhere.task", "far", {"n": 1})]


async def test_a_client_that_closes_still_rings(lab: Lab) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None: ...

    async with Client(lab.engine.database) as client:
        await work.enqueue(client)

    assert await lab.value("select count(*) from ostinato_data.doorbell") == 1
