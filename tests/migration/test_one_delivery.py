"""Deliveries of the two ways of before become jobs, and none is lost."""

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from ostinato._core.db.bundle import Component
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.db.migrate import migrate
from ostinato._core.engine.schema import ENGINE
from tests.sql.deliveries import lanes_are_right
from tests.sql.engine import Session

DATABASE = "two_deliveries"
THIS_ONE = 20

BEFORE = """
insert into ostinato_data.subscription
    (name, types, mode, kind, on_poison, paused, position, created_at, registered_at)
values ('relayed', null, 'relay', null, 'skip', false, 12, now(), now()),
       ('blocked', null, 'relay', null, 'block', false, 12, now(), now()),
       ('made', null, 'job', 'app.made', 'skip', false, 12, now(), now());
insert into ostinato_data.event_sequencer (position, safe_seq, pending_seq, pending_xid)
values (12, 12, 12, '0');
insert into ostinato_data.event (id, occurred_at, emitted_at, version, type, tenant_id,
    correlation_id, producer, ordering_key, payload)
select n, now(), now(), 1, 'paid', 'acme', 'c' || n, 'p', case when n < 12 then 'k' end,
       json_build_object('n', n) from generate_series(2, 12) n;
insert into ostinato_data.event_kept (id, occurred_at, emitted_at, version, type, tenant_id,
    correlation_id, producer, ordering_key, payload)
values (1, now(), now(), 1, 'paid', 'acme', 'c1', 'p', 'k', '{"n": 1}');
insert into ostinato_data.event_log
    (event_id, position, sequenced_at, type, tenant_id, ordering_key)
select n, n, now(), 'paid', 'acme', case when n < 12 then 'k' end from generate_series(2, 12) n;
insert into ostinato_data.job (id, created_at, priority, kind, queue, tenant_id, args)
values (77, now(), 0, 'app.made', 'default', 'acme',
        '{"subscription": "made", "position": 5, "delivery": 1}');
insert into ostinato_data.ready (position, job_id, attempt, priority, failures, crashes, keyed,
    queue, tenant_id, kind)
values (77, 77, 3, 0, 2, 0, false, 'default', 'acme', 'app.made');
insert into ostinato_data.delivery (subscription, position, event_id, job_id, due_at, held_at,
    buried_at, worker_id, attempt, failures, crashes, state, lane, reason, signature, error)
values ('relayed', 1, 1, null, 'infinity', null, now(), null, 3, 3, 0, 'buried', E'acme\\x1fk',
        'attempts_used_up', 'ValueError', '{"type": "ValueError", "message": "no"}'),
       ('relayed', 2, 2, null, now(), now(), null, gen_random_uuid(), 1, 0, 0, 'done',
        E'acme\\x1fk', null, null, null),
       ('relayed', 3, 3, null, now(), now(), null, gen_random_uuid(), 1, 0, 0, 'held',
        E'acme\\x1fk', null, null, null),
       ('relayed', 4, 4, null, now(), now(), null, gen_random_uuid(), 1, 0, 0, 'held',
        E'acme\\x1fk', null, null, null),
       ('relayed', 6, 6, null, 'infinity', null, null, null, 0, 0, 0, 'waiting',
        E'acme\\x1fk', null, null, null),
       ('relayed', 12, 12, null, now() + interval '1 hour', null, null, null, 1, 1, 0, 'waiting',
        null, null, null, null),
       ('blocked', 1, 1, null, 'infinity', null, now(), null, 3, 3, 0, 'buried', E'acme\\x1fk',
        'attempts_used_up', 'ValueError', '{"type": "ValueError", "message": "no"}'),
       ('blocked', 7, 7, null, 'infinity', null, null, null, 0, 0, 0, 'waiting', E'acme\\x1fk',
        null, null, null),
       ('made', 5, 5, 77, now(), now(), null, null, 1, 0, 0, 'held', E'acme\\x1fk', null, null,
        null),
       ('made', 8, 8, null, 'infinity', null, null, null, 0, 0, 0, 'waiting', E'acme\\x1fk', null,
        null, null);
"""


@pytest.fixture
def before(shared_server: Server, tmp_path: Path) -> Iterator[Urls]:
    """A database with the tables of the release before, and deliveries of every sort."""
    (tmp_path / "sql" / "functions").mkdir(parents=True)
    (tmp_path / "sql" / "tables").mkdir()
    for step in ENGINE.tables:
        if step.version < THIS_ONE:
            (tmp_path / "sql" / "tables" / step.file).write_text(step.text, encoding="utf-8")
    urls = shared_server.create_database(DATABASE)
    yield urls
    shared_server.drop_database(DATABASE)


async def test_what_two_ways_held_becomes_jobs_and_nothing_is_lost(before: Urls, tmp_path: Path) -> None:
    await migrate(before.admin, [Component("engine", tmp_path / "sql", ("ostinato",))])
    with psycopg.connect(before.admin, autocommit=True) as conn:
        conn.execute(BEFORE.encode())

    await migrate(before.admin, [ENGINE])

    db, admin = Session.open(before.worker), Session.open(before.admin)
    try:
        lanes_are_right(admin)
        check_jobs(db, admin)
    finally:
        db.close()
        admin.close()


def check_jobs(db: Session, admin: Session) -> None:
    kinds = ["relayed", "blocked", "app.made"]
    assert {row["name"]: row["kind"] for row in db.call("list_subscriptions")} == {
        "relayed": "relayed",
        "blocked": "blocked",
        "made": "app.made",
    }
    buried = {(row["subscription"], row["position"]) for row in db.call("list_buried")}
    assert buried == {("relayed", 1), ("blocked", 1)}
    worker = db.worker(kinds=kinds)
    jobs = db.claim(worker, kinds=kinds)
    events = [json.loads(job.row["args"]) for job in jobs]
    places = [(event["subscription"], event["position"]) for event in events]
    assert [at for name, at in places if name == "relayed"] == [3, 4, 6]  # what was held, again
    assert [at for name, at in places if name == "made"] == [5, 8]
    assert ("blocked", 7) not in places  # behind its dead letter
    assert {event["payload"]["n"] for event in events} == {3, 4, 5, 6, 8}
    (kept,) = [job for job in jobs if job.id == 77]
    assert (kept.attempt, kept.row["failures"]) == (3, 2)
    db.complete(*jobs)
    lanes_are_right(admin)
    retried = admin.row("select reason, failures from ostinato_data.scheduled where reason = 'retry'")
    assert retried == {"reason": "retry", "failures": 1}
    assert db.get("redeliver", subscription="blocked") == 1
    assert db.get("redeliver", subscription="relayed") == 1
    again = [json.loads(job.row["args"]) for job in db.claim(worker, kinds=kinds)]
    assert {(event["subscription"], event["payload"]["n"]) for event in again} == {
        ("blocked", 1),
        ("blocked", 7),
        ("relayed", 1),
    }
