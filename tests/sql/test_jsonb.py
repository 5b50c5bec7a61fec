"""Every verb that takes JSON takes jsonb too, and literals mean what they did."""

import json
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Json, Jsonb

from tests.sql.engine import START, Session, Sessions, refused

TWINS = """
select p.proname as name, p.proargnames as names,
       pg_get_function_result(p.oid) as result,
       p.proargtypes::oid[] @> array['jsonb'::regtype::oid] as is_jsonb
from pg_proc p where p.pronamespace = 'ostinato'::regnamespace and p.proname in (
    select t.proname from pg_proc t where t.pronamespace = 'ostinato'::regnamespace
    group by t.proname having count(*) > 1)
order by 1, 4
"""
# Helpers that no caller outside the engine has JSON for: the migration's, the worker's, and those of the API.
INNER = {"install_machine", "complete_webhook_deliveries", "begin_request", "finish_request", "enqueue_job_as"}
TAKE_JSON = """
select p.proname as name from pg_proc p where p.pronamespace = 'ostinato'::regnamespace
group by 1 having bool_or(p.proargtypes::oid[] @> array['json'::regtype::oid])
    and not bool_or(p.proargtypes::oid[] @> array['jsonb'::regtype::oid])
"""


def args(db: Session, job: int) -> Any:  # noqa: ANN401 - what was stored
    return db.value("select args from ostinato_data.job where id = %s", job)


@pytest.mark.parametrize(
    "call",
    [
        """ostinato.enqueue_job('a.b', '{"n": 1}')""",
        """ostinato.enqueue_job('a.b'::text, '{"n": 1}')""",
        """ostinato.enqueue_job('a.b'::varchar, '{"n": 1}')""",
        """ostinato.enqueue_job('a.b', '{"n": 1}'::json)""",
        """ostinato.enqueue_job('a.b', '{"n": 1}'::jsonb)""",
        """ostinato.enqueue_job('a.b', jsonb_build_object('n', 1), 'quick')""",
        """ostinato.enqueue_job(kind => 'a.b', args => '{"n": 1}', queue => 'quick')""",
        """ostinato.enqueue_job(args => jsonb_build_object('n', 1), kind => 'a.b')""",
    ],
)
def test_a_job_is_added_with_either_type_by_position_and_by_name(db: Session, call: str) -> None:
    job = db.value(f"select {call}")

    assert args(db, job) == {"n": 1}


def test_a_job_without_arguments_is_not_ambiguous(db: Session) -> None:
    assert args(db, db.value("select ostinato.enqueue_job('a.b')")) == {}
    assert args(db, db.value("select ostinato.enqueue_job(kind => 'a.b', queue => 'q')")) == {}


@pytest.mark.parametrize("wrapped", [json.dumps, Json, Jsonb])
def test_drivers_bind_what_they_like(db: Session, wrapped: Any) -> None:  # noqa: ANN401 - a type
    job = db.value("select ostinato.enqueue_job(%s, %s)", "a.b", wrapped({"n": 1}))

    assert args(db, job) == {"n": 1}


def test_a_parameter_without_a_type_is_json_as_before(db: Session) -> None:
    prepared = db.conn.pgconn
    prepared.prepare(b"typed", b"select ostinato.enqueue_job($1, $2)")
    types = prepared.describe_prepared(b"typed")

    assert [types.param_type(n) for n in range(types.nparams)] == [
        psycopg.adapters.types["text"].oid,
        psycopg.adapters.types["json"].oid,
    ]


def test_twins_have_the_same_parameters_and_the_same_answer(db: Session) -> None:
    twins = db.rows(TWINS)

    assert len(twins) == 24
    for ours, theirs in zip(twins[::2], twins[1::2], strict=True):
        assert (ours["is_jsonb"], theirs["is_jsonb"]) == (False, True)
        assert [ours[n] for n in ("name", "names", "result")] == [theirs[n] for n in ("name", "names", "result")]


def test_no_verb_takes_json_alone(db: Session) -> None:
    assert {row["name"] for row in db.rows(TAKE_JSON)} == INNER


def test_a_tenant_may_call_the_verbs_with_jsonb(sessions: Sessions) -> None:
    tenant = sessions.tenant("acme")

    job = tenant.value("select ostinato.enqueue_job('app.task', jsonb_build_object('n', 1))")

    assert args(tenant, job) == {"n": 1}
    assert tenant.value(
        "select ostinato.emit_event('a.b', jsonb_build_object('n', 1), correlation_id => 'c',"
        " producer => 'p', occurred_at => now())"
    )


def test_finishing_verbs_take_jsonb_text_and_literals(db: Session) -> None:
    first, second, third = (db.enqueue() for _ in range(3))
    db.claim(db.worker())

    db.rows("select ostinato.complete_job(%s, 1, '{\"n\": 1}')", first)
    db.rows("select ostinato.complete_job(%s, 1, jsonb_build_object('n', 2))", second)
    db.rows("select ostinato.fail_job(%s, 1, jsonb_build_object('type', 'Broken'))", third)

    stored = "select result from ostinato_data.outcome where job_id = %s"
    assert db.value(stored, first) == {"n": 1}
    assert db.value(stored, second) == {"n": 2}
    assert db.value("select signature from ostinato_data.dead_letter") == "Broken"


def test_other_verbs_take_jsonb(db: Session) -> None:
    begun = db.row("select * from ostinato.begin_idempotent('pay', 'k', repeat('0', 64), '{\"a\": 1}'::jsonb)")
    db.rows("select ostinato.finish_idempotent('pay', 'k', %s, jsonb_build_object('id', 7))", begun["token"])
    again = db.row("select * from ostinato.begin_idempotent('pay', 'k', repeat('0', 64))")
    db.rows("select ostinato.upsert_schedule('s', 'a.b', jsonb_build_object('n', 1), cron => '* * * * *')")
    made = "select * from ostinato.upsert_schedules(jsonb_build_array(jsonb_build_object(%s)))"
    db.rows(made.replace("%s", "'name', 't', 'kind', 'a.b', 'cron', '* * * * *'"))

    assert (begun["decision"], again["decision"], again["answer"]) == ("new", "replay", {"id": 7})
    assert [row["name"] for row in db.rows("select name from ostinato_data.schedule order by 1")] == ["s", "t"]


DEEP = '{"a":' * 20_000 + "1" + "}" * 20_000


def emit(db: Session, payload: str) -> None:
    who = {"tenant_ids": ["acme"], "correlation_ids": ["c"], "producers": ["p"], "occurred_ats": [START]}
    db.call("emit_events", types=["a.b"], payloads=[payload], **who)


def test_json_that_is_nested_too_deep_is_refused_as_such(db: Session) -> None:
    with refused("OS400", "args of app.task are not valid JSON"):
        db.call("enqueue_jobs", kinds=["app.task"], args=["{}", DEEP])
    with refused("OS400", "payload of event a.b"):
        emit(db, DEEP)

    deep_enough = '{"a":' * 2_000 + "1" + "}" * 2_000
    assert len(db.call("enqueue_jobs", kinds=["app.task"], args=["{}", deep_enough])) == 2
