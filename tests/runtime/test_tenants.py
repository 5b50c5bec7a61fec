"""A client acts as a tenant, one transaction at a time, on connections that all tenants share."""

import asyncio
import contextlib

import psycopg
import pytest

from ostinato import Context
from ostinato._core.base.errors import InvalidInput, NotConfigured, NotFound
from ostinato._core.base.flow import current_tenant, flow
from ostinato._core.engine import inspect, jobs, steps, tenants
from ostinato._core.engine.jobs import NewJob
from ostinato._core.runtime.worker.enrol import declare_kinds
from tests.runtime.lab import Lab

SEEN = "select distinct tenant_id from ostinato_data.job"


@pytest.fixture(autouse=True)
async def task(lab: Lab) -> None:
    @lab.app.job(open=True)
    async def task(ctx: Context) -> str | None:
        return current_tenant()

    @lab.app.job()
    async def prune(ctx: Context) -> None:
        """Over all tenants."""

    async with lab.client.connection() as conn:
        await declare_kinds(conn, [lab.app])


async def test_a_tenant_sees_and_adds_its_own_rows_only(lab: Lab) -> None:
    acme, other = lab.client.for_tenant("acme"), lab.client.for_tenant("other")
    kind = lab.app.kinds["lab.task"]
    with flow(correlation="req-1"):
        first = await kind.enqueue(acme)
        await other.enqueue("lab.task")

    async with acme.transaction() as conn:
        seen = await (await conn.execute(SEEN)).fetchall()
        assert current_tenant() == "acme"
        (mine,) = await inspect.trail(conn, "req-1")
    assert current_tenant() is None
    async with lab.client.connection() as conn:
        everybody = await (await conn.execute(SEEN)).fetchall()

    assert seen == [("acme",)]
    assert (mine.job_id, mine.tenant_id) == (first, "acme")
    assert sorted(everybody) == [("acme",), ("other",)]


async def test_a_tenant_cannot_work_for_another(lab: Lab) -> None:
    acme = lab.client.for_tenant("acme")

    with pytest.raises(NotConfigured, match="adds nothing for tenant 'other'"):
        await acme.enqueue("lab.task", tenant="other")
    with pytest.raises(InvalidInput, match=r"lab\.prune is closed to tenants"):
        await lab.app.kinds["lab.prune"].enqueue(acme)
    with flow(tenant="other"):
        job = await acme.enqueue("lab.task")  # the client says whose it is, not what is around it
    with pytest.raises(NotFound, match=f"there is no job {job}"):
        async with lab.client.for_tenant("other").connection() as conn:
            await jobs.cancel(conn, job)
    with pytest.raises(NotFound, match=f"there is no job {job}"):
        async with lab.client.for_tenant("other").connection() as conn:
            await steps.restart(conn, job)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with acme.connection() as conn:
            await conn.execute("select * from ostinato_data.claim")
    async with acme.connection() as conn:
        assert await jobs.cancel(conn, job) == "ready"

    assert await lab.value("select tenant_id from ostinato_data.job") == "acme"


async def enqueue_as(lab: Lab, tenant: str, kind: str = "lab.task", **given: object) -> int:
    """Add a job by the one statement that the API uses."""
    acting = lab.client.for_tenant(tenant, "ann", 7)
    ((answer, *_),) = await acting.call("enqueue_job_as", kind=kind, args="{}", place="/jobs/", **given)  # type: ignore[arg-type]
    return int(answer["headers"][0][1].removeprefix("/jobs/"))


async def test_one_call_is_a_whole_request_of_the_tenant(lab: Lab) -> None:
    with flow(correlation="req-1"):
        job = await enqueue_as(lab, "acme")
    rows = {"job_id": job, "parts": 1, "longest": 1, "most_events": 1, "most_lines": 9}
    ((shown, *_),) = await lab.client.for_tenant("acme").call("show_job_as", _read=True, **rows)

    assert (shown["id"], shown["correlation_id"], shown["state"]) == (job, "req-1", "ready")
    assert await lab.value("select tenant_id from ostinato_data.job") == "acme"
    seen = "select concat_ws(' ', tenant_id, actor, key_id, verb, correlation_id) from ostinato_data.audit_entry"
    assert await lab.value(seen) == "acme ann 7 enqueue req-1"
    with pytest.raises(NotFound, match=f"there is no job {job}"):
        await lab.client.for_tenant("other").call("show_job_as", _read=True, **rows)
    async with lab.client.connection() as conn:  # the role ended with the statement
        assert await (await conn.execute("select current_user = session_user")).fetchall() == [(True,)]


async def test_one_call_that_is_refused_leaves_nothing_and_wakes_nobody(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []
    monkeypatch.setattr(lab.client, "ring", heard.append)

    with pytest.raises(InvalidInput, match=r"lab\.prune is closed to tenants"):
        await enqueue_as(lab, "acme", "lab.prune")
    assert (heard, await lab.value("select count(*) from ostinato_data.audit_entry")) == ([], 0)
    await enqueue_as(lab, "acme", queue="default")
    await enqueue_as(lab, "acme")

    assert heard == ["default", jobs.ANY_QUEUE]


async def test_a_function_that_does_not_say_as_whom_cannot_be_called_so(lab: Lab) -> None:
    with pytest.raises(NotConfigured):
        await lab.client.for_tenant("acme").call("show_job", _read=True, job_id=1)


async def test_what_a_tenant_adds_wakes_workers_and_runs_in_its_flow(lab: Lab) -> None:
    async with lab.worker(poll_seconds=60):
        job = await lab.client.for_tenant("acme").enqueue("lab.task")
        ended = await lab.becomes(job, "done", "dead")

    assert ended.result == "acme"


async def test_writes_and_job_of_a_tenant_are_one_transaction(lab: Lab) -> None:
    acme = lab.client.for_tenant("acme")

    with contextlib.suppress(KeyError):
        async with acme.transaction() as conn:
            await jobs.enqueue(conn, NewJob("lab.task"))
            raise KeyError

    assert await lab.rows(SEEN) == []


async def test_tenants_side_by_side_do_not_mix(lab: Lab) -> None:
    async def work(tenant: str) -> list[tuple[str]]:
        client = lab.client.for_tenant(tenant)
        seen: list[tuple[str]] = []
        for _ in range(10):
            async with client.transaction() as conn:
                await jobs.enqueue(conn, NewJob("lab.task"))
                seen += await (await conn.execute(SEEN)).fetchall()
        return seen

    found = await asyncio.gather(*(work(f"t{n}") for n in range(8)))

    assert found == [[(f"t{n}",)] * 10 for n in range(8)]
    async with lab.client.connection() as conn:
        cursor = await conn.execute("select current_user, current_setting('app.tenant_id', true)")
        assert await cursor.fetchone() in (("ostinato_worker", ""), ("ostinato_worker", None))


async def test_a_tenant_is_a_matter_of_a_transaction(lab: Lab) -> None:
    async with lab.client.connection() as conn:
        with pytest.raises(InvalidInput, match=r"tenants\.enter outside of a transaction"):
            await tenants.enter(conn, "acme")
        with pytest.raises(InvalidInput, match="outside of a transaction"):
            await tenants.enter_flow(conn, "acme")


async def test_plain_sql_in_a_transaction_is_told_the_flow(lab: Lab) -> None:
    with flow(tenant="acme", correlation="req-1"):
        async with lab.client.transaction() as conn:
            await tenants.enter_flow(conn)
            await conn.execute("select ostinato.enqueue_job('lab.task')")
            await tenants.enter_flow(conn, correlation_id="req-2")
            await conn.execute("select ostinato.enqueue_job('lab.task')")

    rows = await lab.rows("select tenant_id, correlation_id from ostinato_data.job order by id")
    assert rows == [("acme", "req-1"), ("acme", "req-2")]
