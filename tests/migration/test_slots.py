"""Limits go on counting what runs and waits when limit keys become those of their tenants."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from ostinato._core.db.bundle import Component
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.db.migrate import migrate
from ostinato._core.engine.schema import ENGINE
from tests.sql.engine import Session

DATABASE = "shared_slots"
THIS_ONE = 27

BEFORE = """
insert into ostinato_data.queue (name, key_concurrency, key_rate_count, key_rate_seconds)
values ('narrow', 1, null, null), ('slow', null, 1, 3600);
insert into ostinato_data.worker (id, name, started_at, beat_at, expiry_seconds, contract, queues, kinds)
values (gen_random_uuid(), 'before', now(), now(), 3600, 2, '{narrow}', '{app.task}');
insert into ostinato_data.job (id, created_at, priority, kind, queue, tenant_id, args, limit_key)
select n, now(), 0, 'app.task', q, t, '{}', 'k'
from (values (1, 'narrow', 'a'), (2, 'narrow', 'a'), (3, 'narrow', 'b'), (4, 'slow', 'a')) j (n, q, t);
insert into ostinato_data.claim
    (id, worker_id, claimed_at, queue, keyed, job_ids, positions, attempts, failures, crashes, limit_keys)
select nextval('ostinato_data.claim_id_seq'), w.id, now(), 'narrow', false,
    '{1}', '{1}', '{1}', '{0}', '{0}', '{k}' from ostinato_data.worker w;
insert into ostinato_data.ready
    (position, job_id, attempt, priority, failures, crashes, keyed, queue, tenant_id, kind, limit_key)
select j.id, j.id, 1, 0, 0, 0, false, j.queue, j.tenant_id, j.kind, j.limit_key from ostinato_data.job j where id > 1;
insert into ostinato_data.rate_use (queue, limit_key, started_at, started) values ('slow', 'k', now(), 1);
insert into ostinato_data.kind (name, queue, priority, retry, registered_at)
values ('app.task', 'default', 0, '{}', now()), ('webhooks.deliver', 'webhooks', 0, '{}', now());
"""


@pytest.fixture
def before(shared_server: Server, tmp_path: Path) -> Iterator[Urls]:
    """A database with the tables of the release before."""
    (tmp_path / "sql" / "functions").mkdir(parents=True)
    (tmp_path / "sql" / "tables").mkdir()
    for step in ENGINE.tables:
        if step.version < THIS_ONE:
            (tmp_path / "sql" / "tables" / step.file).write_text(step.text, encoding="utf-8")
    yield shared_server.create_database(DATABASE)
    shared_server.drop_database(DATABASE)


async def test_what_ran_and_waited_under_a_key_counts_for_its_tenant(before: Urls, tmp_path: Path) -> None:
    await migrate(before.admin, [Component("engine", tmp_path / "sql", ("ostinato",))])
    with psycopg.connect(before.admin, autocommit=True) as conn:
        conn.execute(BEFORE.encode())

    await migrate(before.admin, [ENGINE])

    db, tenant = Session.open(before.worker), Session.open(before.tenant)
    try:
        worker = db.worker(queues=["narrow", "slow"])
        assert db.claimed_ids(worker, queue="narrow") == [3]  # a's only slot is taken, b has its own
        assert db.claimed_ids(worker, queue="slow") == []  # a has started its one of this hour
        # What workers of the release before declared stays as open as it was.
        tenant.rows("select set_config('app.tenant_id', 'a', false)")
        assert db.state(tenant.enqueue("app.task")) == "ready"
        assert db.value("select open from ostinato_data.kind where name = 'webhooks.deliver'") is False
        # Its clock cannot be moved any more: it was not made for tests.
        assert db.value("select count(*) from ostinato_data.test_clock") == 0
    finally:
        db.close()
        tenant.close()
