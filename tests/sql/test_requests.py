"""A function that is a whole request acts as its tenant, and answers a key once (`requests.sql`)."""

import json
from hashlib import sha256
from typing import Any

from tests.sql.engine import Session, refused

AS = {"as_tenant": "t1", "as_correlation": "c1", "as_user": "ada", "as_key": None}
TRACE = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"


def request(fingerprint: str = "f1") -> str:
    return json.dumps(
        {
            "scope": "POST /jobs",
            "key": "k1",
            "fingerprint": sha256(fingerprint.encode()).hexdigest(),
            "fields": {"kind": sha256(fingerprint.encode()).hexdigest()},
            "declaration": "d1",
            "holder": "api",
            "lease_seconds": 60,
            "ttl_seconds": 3600,
        }
    )


def add(db: Session, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - what the verb takes
    (row,) = db.call("enqueue_job_as", **AS, kind="app.task", args="{}", place="/jobs/", **more)
    return dict(row)


def test_a_job_is_added_as_its_tenant_with_the_span_that_asked_for_it(db: Session) -> None:
    made = add(db, traceparent=TRACE)

    job_id = json.loads(made["answer"]["body"])["job_id"]
    (job,) = db.rows("select tenant_id, correlation_id, traceparent from ostinato_data.job where id = %s", job_id)
    assert tuple(job.values()) == ("t1", "c1", TRACE)
    assert made["answer"]["headers"] == [["Location", f"/jobs/{job_id}"]]
    assert made["queues"] == ["@any"]
    assert db.value("select current_user") == "ostinato_worker"  # the tenant was left with the statement


def test_the_same_request_again_gets_the_first_answer_and_another_one_is_refused(db: Session) -> None:
    first, again, other = add(db, request=request()), add(db, request=request()), add(db, request=request("f2"))

    assert (first["replayed"], again["replayed"]) == (False, True)
    assert first["answer"] == again["answer"]
    assert (other["answer"], other["refused"]["decision"]) == (None, "conflict")
    assert db.value("select count(*) from ostinato_data.job") == 1


def test_a_request_without_a_key_stores_nothing(db: Session) -> None:
    (begun,) = db.call("begin_request", request=None)
    answer = db.value("select ostinato.make_answer(201, '{}')")
    db.call("finish_request", request=None, token=None, answer=json.dumps(answer))

    assert (begun["token"], begun["answer"], begun["replayed"], begun["refused"]) == (None, None, False, None)
    assert answer == {"status": 201, "headers": [], "body": "{}"}
    assert db.value("select count(*) from ostinato_data.idempotency") == 0


def test_a_tenant_is_shown_no_job_of_another(db: Session) -> None:
    job_id = json.loads(add(db)["answer"]["body"])["job_id"]
    parts = {"parts": 10, "longest": 1000, "most_events": 10, "most_lines": 10}

    (shown,) = db.call("show_job_as", **AS, job_id=job_id, **parts)

    assert shown["job"]["kind"] == "app.task"
    with refused("OS404", "job"):
        db.call("show_job_as", **{**AS, "as_tenant": "t2"}, job_id=job_id, **parts)
