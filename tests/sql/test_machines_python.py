"""The Python face of machines: the same verbs, errors of ours, and the flow as the default."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from ostinato._core.base.errors import IllegalTransition, InvariantBroken, LeaseLost, NotFound
from ostinato._core.base.flow import flow
from ostinato._core.db.embedded import Urls
from ostinato._core.db.pool import Connection, connect
from ostinato._core.engine import leases, machines
from ostinato._core.engine.machines import Moved
from tests.sql.engine import START, Session, Sessions
from tests.sql.machinery import ENTITY, Table, table_of
from tools.machines import EXAMPLE

SENT = {"sent_at": datetime(2026, 3, 2, tzinfo=UTC)}
Ask = Callable[[Callable[[Connection], Awaitable[Any]]], Any]


@pytest.fixture
def table(admin: Session, sessions: Sessions) -> Iterator[Table]:
    with table_of(admin) as made:
        yield made


@pytest.fixture
def ask(urls: Urls) -> Ask:
    """Runs something on a connection of a worker."""
    return lambda work: asyncio.run(on(urls.worker, work))


async def on(url: str, work: Callable[[Connection], Awaitable[Any]]) -> Any:  # noqa: ANN401
    async with await connect(url) as conn:
        return await work(conn)


def test_an_event_happens_in_the_flow_of_the_code(db: Session, table: Table, ask: Ask) -> None:
    row = table.add(tenant="t1")

    async def send(conn: Connection) -> str:
        with flow(correlation="req-1"):
            return await machines.transition(conn, EXAMPLE, ENTITY, row, "send", by="ana", why="due", changes=SENT)

    assert ask(send) == "sent"
    (line,) = ask(lambda conn: machines.history(conn, ENTITY, int(row)))
    assert (line.from_state, line.event, line.to_state, line.actor, line.why) == ("draft", "send", "sent", "ana", "due")
    assert (line.correlation_id, line.tenant_id, line.at) == ("req-1", "t1", START)


def test_refusals_are_errors_of_ours(db: Session, table: Table, ask: Ask) -> None:
    row = table.add()

    def happen(event: str, **how: Any) -> Any:  # noqa: ANN401
        def work(conn: Connection) -> Awaitable[str]:
            return machines.transition(conn, EXAMPLE, ENTITY, row, event, by="ana", **how)

        return ask(work)

    with pytest.raises(IllegalTransition, match="is draft: pay is not possible") as caught:
        happen("pay")
    assert caught.value.values["allowed"] == {"send": "sent", "cancel": "void"}
    assert caught.value.hint == "From draft: cancel to void, send to sent."
    with pytest.raises(InvariantBroken, match="needs: sent_at is filled"):
        happen("send")
    with pytest.raises(LeaseLost):
        happen("cancel", fence=(1, 1))
    with pytest.raises(NotFound):
        ask(lambda conn: machines.transition(conn, EXAMPLE, ENTITY, 404, "cancel", by="ana"))


def test_a_lease_fences_for_the_tenant_that_holds_it(db: Session, table: Table, ask: Ask) -> None:
    row = table.add()

    async def work(conn: Connection) -> str:
        lease = await leases.acquire(conn, "books", holder="me", ttl=60, tenant="acme")
        how = machines.How(by="ana", fence=lease, changes=SENT)
        await machines.transition(conn, EXAMPLE, ENTITY, row, "send", **how)
        await leases.release(conn, lease)
        return await machines.transition(conn, EXAMPLE, ENTITY, row, "cancel", by="me", fence=lease)

    with pytest.raises(LeaseLost):
        ask(work)
    assert table.state(row) == "sent"


def test_many_at_once(db: Session, table: Table, ask: Ask) -> None:
    rows = [table.add(), table.add()]

    moved = ask(
        lambda conn: machines.transition_all(conn, EXAMPLE, ENTITY, [*rows, "404"], "cancel", by="sweep", skip=True)
    )

    assert moved == [Moved(row, "draft", "void") for row in rows]
    page = ask(lambda conn: machines.history(conn, ENTITY, most=1))
    assert [line.entity_id for line in page] == [rows[1]]


def test_many_at_once_as_parts_of_their_own_requests_and_each_with_its_own_changes(
    db: Session, table: Table, ask: Ask
) -> None:
    rows = [table.add(), table.add()]
    each = [{"id": row, "sent_at": f"at-{row}"} for row in rows]

    ask(
        lambda conn: machines.transition_all(
            conn, EXAMPLE, ENTITY, rows, "send", by="sweep", correlation_ids=["a", "b"], each=each
        )
    )

    assert {line.entity_id: line.correlation_id for line in ask(lambda conn: machines.history(conn, ENTITY))} == {
        rows[0]: "a",
        rows[1]: "b",
    }
    assert db.rows("select sent_at from billing.invoice order by id") == [{"sent_at": f"at-{row}"} for row in rows]


def test_a_plain_connection_can_do_it_too(urls: Urls, table: Table) -> None:
    row = table.add()

    with psycopg.connect(urls.worker) as conn:
        state = machines.transition_now(conn, EXAMPLE, ENTITY, row, "cancel", by="script")
        with pytest.raises(IllegalTransition):
            machines.transition_now(conn, EXAMPLE, ENTITY, row, "cancel", by="script")

    assert state == "void"


def test_a_migration_installs_and_attaches(admin: Session, urls: Urls) -> None:
    with table_of(admin, attach=False) as table:

        async def migrate(conn: Connection) -> tuple[bool, bool]:
            first = await machines.install(conn, EXAMPLE)
            await machines.attach(conn, EXAMPLE, ENTITY, tenant_column="tenant_id")
            return first, await machines.install(conn, EXAMPLE)

        assert asyncio.run(on(urls.owner, migrate)) == (True, False)
        assert table.happen(admin, table.add(), "cancel") == "void"
