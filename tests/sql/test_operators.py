"""What an operator of one tenant sees and does: its own, and nothing that tells of others.

The functions are those that workers call; who asks makes the difference.
"""

from collections.abc import Callable

import psycopg
import pytest

from tests.sql.engine import START, Clock, Held, Row, Session, Sessions, Value, arrays, refused

MAX = 9223372036854775807
SHORT = 16_384  # what the HTTP API shows of a result among many
OWN_VERBS: dict[str, dict[str, str]] = {"own_limits": {}, "own_retry_job": {}, "own_cancel_job": {"reason": "x"}}


@pytest.fixture
def acme(sessions: Sessions) -> Session:
    """An operator of the tenant acme."""
    return sessions.tenant("acme")


@pytest.fixture
def nobody(sessions: Sessions) -> Session:
    """A session of the role, in which no tenant was said."""
    return sessions.open("tenant")


def dead(db: Session, tenant: str, kind: str = "app.task", **params: Value) -> int:
    """A job of a tenant that gave up."""
    job = db.enqueue(kind, tenant_id=tenant, queue="graves", **params)
    (worker,) = db.rows("select id from ostinato_data.worker where name = 'digger'") or [
        {"id": db.worker("digger", queues=["graves"], kinds=["app.task", "app.other"])}
    ]
    db.fail(db.claim_one(worker["id"], "graves"), type_=f"{kind}Error")
    return job


def running(db: Session, tenant: str, **params: Value) -> Held:
    """A job of a tenant in a worker's hands."""
    db.enqueue(tenant_id=tenant, **params)
    return db.claim_one(db.worker(f"for-{tenant}"))


def test_a_page_holds_own_jobs_only_newest_first(db: Session, acme: Session) -> None:
    mine = [db.enqueue(tenant_id="acme", correlation_id=f"c-{n}") for n in range(3)]
    db.enqueue(tenant_id="other", correlation_id="c-1")

    assert [row["id"] for row in acme.call("list_jobs")] == mine[::-1]
    assert [row["id"] for row in acme.call("list_jobs", before=mine[2], most=1)] == [mine[1]]
    assert [row["id"] for row in acme.call("list_jobs", correlation_id="c-1")] == [mine[1]]
    assert [row["id"] for row in acme.call("list_jobs", state="ready", queue="default")] == mine[::-1]
    assert acme.call("list_jobs", state="done") == []
    assert acme.call("list_jobs", kind="app.other") == []
    assert [row["id"] for row in acme.call("list_jobs", tenant_id="acme")] == mine[::-1]
    for state in (None, "ready", "done"):
        assert acme.call("list_jobs", tenant_id="other", state=state) == []


@pytest.mark.parametrize("state", ["ready", "scheduled", "running", "dead", "done", "cancelled"])
def test_a_page_by_state_holds_own_jobs_only(db: Session, acme: Session, state: str) -> None:
    made = {}
    for tenant in ("acme", "other"):
        held = running(db, tenant, queue="default")
        match state:
            case "ready":
                db.release(held)
            case "scheduled":
                db.fail(held, delay=60)
            case "dead":
                db.fail(held)
            case "done":
                db.complete(held)
            case "cancelled":
                db.release(held)
                db.call("cancel_job", job_id=held.id)
        made[tenant] = held.id

    (row,) = acme.call("list_jobs", state=state)

    assert (row["id"], row["state"]) == (made["acme"], state)


def test_a_state_or_a_page_that_is_none_is_refused(acme: Session) -> None:
    with refused("OS400", "there is no state"):
        acme.call("list_jobs", state="odd")
    with refused("OS400", "1 to 1000"):
        acme.call("list_jobs", most=1001)


def test_an_own_job_is_shown_with_attempts_and_steps(db: Session, acme: Session) -> None:
    held = running(db, "acme", args={"invoice": 7}, correlation_id="req-1", limit_key="k")
    db.call("save_steps", **arrays([held]), positions=[1], names=["charge"], results=['{"a": 1}'])

    (job,) = acme.call("show_job", job_id=held.id)
    (attempt,) = acme.call("job_attempts", job_id=held.id)
    (step,) = acme.call("job_steps", job_id=held.id)

    assert (job["id"], job["state"], job["args"]) == (held.id, "running", {"invoice": 7})
    assert (job["worker_name"], job["limit_key"], job["claimed_at"]) == ("for-acme", "k", START)
    assert (attempt["attempt"], attempt["outcome"], attempt["error"]) == (1, "running", None)
    assert (step["name"], step["result"], step["bytes"]) == ("charge", {"a": 1}, 8)


def test_of_many_attempts_and_steps_the_last_are_shown_and_none_is_long(db: Session, acme: Session) -> None:
    long = '{"type": "E", "message": "' + "x" * 20_000 + '"}'
    held = running(db, "acme")
    names = ["a", "b", "c"]
    one = arrays([held])
    for n, name in enumerate(names, 1):
        db.call("save_steps", **one, positions=[n], names=[name], results=[long])
    db.call("fail_jobs", **one, delays=[0], errors=[long], signatures=["E"])
    db.call("retry_job", job_id=held.id)
    db.complete(db.claim_one(db.worker("w2")), results=['"' + "y" * 20_000 + '"'])

    first, second = acme.call("job_attempts", job_id=held.id, longest=SHORT)
    steps = acme.call("job_steps", job_id=held.id, most=2, longest=SHORT)

    assert first["error"]["message"].startswith("E: xxx")
    assert len(first["error"]["message"]) == 200
    assert (second["outcome"], second["result"]) == ("done", None)
    assert [row["attempt"] for row in acme.call("job_attempts", job_id=held.id, most=1)] == [2]
    assert [(row["name"], row["result"]) for row in steps] == [("b", None), ("c", None)]
    assert steps[0]["bytes"] == len(long)
    assert len(acme.call("show_job", job_id=held.id)[0]["result"]) == 20_000
    assert len(acme.call("job_attempts", job_id=held.id)[1]["result"]) == 20_000


# Another tenant's job is no job.

OF_A_JOB: dict[str, Callable[[Session, int], object]] = {
    "show_job": lambda session, job: session.call("show_job", job_id=job),
    "job_attempts": lambda session, job: session.call("job_attempts", job_id=job),
    "job_steps": lambda session, job: session.call("job_steps", job_id=job),
    "why": lambda session, job: session.call("why", job_id=job),
    "retry_job": lambda session, job: session.call("retry_job", job_id=job),
    "cancel_job": lambda session, job: session.call("cancel_job", job_id=job),
}


def told(session: Session, name: str, job: int) -> dict[str, str | None]:
    """How a call is refused, every part of it, without the number."""
    with pytest.raises(psycopg.Error) as caught:
        OF_A_JOB[name](session, job)
    diag = caught.value.diag
    parts = {
        part: getattr(diag, part)
        for part in ("sqlstate", "message_primary", "message_detail", "message_hint", "context")
    }
    return {
        part: text and text.replace(f"job {job}", "job N").replace(f": {job}}}", ": N}") for part, text in parts.items()
    }


@pytest.mark.parametrize("name", OF_A_JOB)
def test_another_tenants_job_is_exactly_like_none(db: Session, acme: Session, nobody: Session, name: str) -> None:
    theirs = dead(db, "other")

    refusal = told(acme, name, theirs)

    assert refusal["sqlstate"] == "OS404"
    assert refusal["message_primary"] == "there is no job N"
    for none in (theirs + 1, 1, 0, -1, MAX, -MAX - 1):
        assert told(acme, name, none) == refusal
    assert told(nobody, name, theirs) == refusal
    nobody.rows("select set_config('app.tenant_id', '', false)")
    assert told(nobody, name, theirs) == refusal
    assert db.state(theirs) == "dead"


def test_without_a_tenant_there_is_nothing_and_nothing_changes(db: Session, nobody: Session) -> None:
    db.call("configure_queue", name="mail", concurrency=1)
    buried = dead(db, "acme")
    running(db, "acme")

    for setting in (None, ""):
        if setting is not None:
            nobody.rows("select set_config('app.tenant_id', '', false)")
        for function in ("list_jobs", "list_dead_letters", "dead_letter_groups", "list_queues", "list_workers"):
            assert nobody.call(function) == [], function
        (nothing,) = nobody.call("redrive_jobs", preview=False)
        assert nothing == {"matching": 0, "redriven": 0, "conflicts": 0}
    assert db.state(buried) == "dead"
    assert db.get("own_tenant") == ""


def test_what_runs_as_the_owner_tells_a_tenant_of_its_own_only(db: Session, acme: Session, nobody: Session) -> None:
    """Called past the verbs, and with the ids of others."""
    db.call("configure_queue", name="default", concurrency=2)
    mine, theirs = running(db, "acme"), running(db, "other")
    buried = dead(db, "other")
    waiting = db.enqueue(tenant_id="other")
    page = {"in_queue": None, "of_kind": None, "before": MAX, "most": 9}
    every = dict.fromkeys(("queue", "kind", "tenant_id", "signature", "ids", "most"))

    assert db.get("sees_all") is True
    for session, held in ((acme, [mine.id]), (nobody, [])):
        assert session.get("sees_all") is False
        assert session.call("own_lanes") == []
        for ids in (None, [mine.id, theirs.id]):
            assert [row["job_id"] for row in session.call("own_held_jobs", ids=ids)] == held
        for state in ("ready", "scheduled", "dead", "done"):
            assert session.call("own_found_jobs", in_state=state, **page) == []
        found = session.call("own_found_jobs", in_state="running", **page)
        assert [row["own_found_jobs"] for row in found] == held
        for verb, more in OWN_VERBS.items():
            for job in (buried, waiting):
                with refused("OS404", f"there is no job {job}"):
                    session.call(verb, job_id=job, **more)
        for tenant in (None, "other", ""):
            asked = every | {"tenant_id": tenant, "preview": False}
            assert session.call("own_redrive_jobs", **asked)[0]["matching"] == 0
    assert (db.state(buried), db.state(waiting)) == ("dead", "ready")
    assert acme.get("tenant_filter", asked=None) == "acme"
    assert db.get("tenant_filter", asked=None) is None


@pytest.mark.parametrize("state", [None, "ready", "dead"])
def test_a_page_of_a_tenant_does_not_cost_what_others_have(
    db: Session, acme: Session, admin: Session, state: str | None
) -> None:
    """By what its scans take from indexes."""
    for _ in range(3):
        dead(db, "acme")
    db.call("enqueue_jobs", kinds=["app.task"], args=["{}"] * 3, tenant_ids=["acme"])
    db.call("enqueue_jobs", kinds=["app.task"], args=["{}"] * 6000, tenant_ids=["other"])
    admin.rows(
        "insert into ostinato_data.dead_letter"
        " select id, 1, created_at, kind, queue, tenant_id, 'failed', 'E', null"
        " from ostinato_data.job where tenant_id = 'other'"
    )
    for table in ("job", "ready", "outcome", "dead_letter"):  # dead rows of other tests count too
        admin.rows(f"vacuum (analyze) ostinato_data.{table}")

    with acme.transaction():
        listed = acme.call("list_jobs", state=state)
        read = acme.value(
            "select sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) from pg_index i"
            " join pg_class c on c.oid = i.indrelid"
            " where c.relnamespace = 'ostinato_data'::regnamespace"
        )

    assert len(listed) == (6 if state is None else 3)
    assert 0 < read < 600


def test_what_runs_as_the_owner_reads_no_table_of_the_callers(db: Session, acme: Session) -> None:
    """A temporary table of the same name is not looked at: the search path is fixed."""
    theirs = db.enqueue(tenant_id="other")
    acme.rows("create temporary table job (id bigint, tenant_id text)")
    acme.rows(f"insert into job values ({theirs}, 'acme')")  # noqa: S608

    with refused("OS404"):
        acme.call("show_job", job_id=theirs)


# Verbs.


def test_an_own_dead_job_is_retried(db: Session, acme: Session) -> None:
    job = dead(db, "acme")

    assert acme.get("retry_job", job_id=job) == "dead"
    assert db.state(job) == "ready"
    with refused("OS412", "is ready"):
        acme.call("retry_job", job_id=job)


def test_an_own_job_is_cancelled_for_a_reason(db: Session, acme: Session) -> None:
    job = db.enqueue(tenant_id="acme")

    with refused("OS400", "reason must be"):
        acme.call("cancel_job", job_id=job, reason="x" * 201)
    assert acme.get("cancel_job", job_id=job, reason="not wanted") == "ready"
    assert db.state(job) == "cancelled"
    assert db.why(job)["cancelled"]["detail"]["reason"] == "not wanted"
    assert acme.get("cancel_job", job_id=job) == "cancelled"


def test_a_running_job_is_asked_to_stop(db: Session, acme: Session) -> None:
    held = running(db, "acme")

    assert acme.get("cancel_job", job_id=held.id) == "running"
    assert acme.call("show_job", job_id=held.id)[0]["cancel_requested_at"] == START


def test_dead_letters_are_own_ones(db: Session, acme: Session) -> None:
    first, second = dead(db, "acme"), dead(db, "acme", "app.other")
    dead(db, "other")

    assert [row["job_id"] for row in acme.call("list_dead_letters")] == [second, first]
    assert [row["job_id"] for row in acme.call("list_dead_letters", before=second)] == [first]
    assert [row["job_id"] for row in acme.call("list_dead_letters", kind="app.other")] == [second]
    assert acme.call("list_dead_letters", signature="none") == []
    groups = acme.call("dead_letter_groups")
    assert {(row["signature"], row["count"]) for row in groups} == {("app.taskError", 1), ("app.otherError", 1)}
    assert {row["example_job_id"] for row in groups} == {first, second}
    assert len(acme.call("dead_letter_groups", most=1)) == 1


def test_a_redrive_counts_first_and_moves_own_jobs_only(db: Session, acme: Session) -> None:
    mine = [dead(db, "acme") for _ in range(3)]
    odd = dead(db, "acme", "app.other")
    theirs = dead(db, "other")

    assert acme.call("redrive_jobs", kind="app.task", preview=True) == [{"matching": 3, "redriven": 0, "conflicts": 0}]
    assert acme.call("redrive_jobs", tenant_id="other")[0]["matching"] == 0
    assert acme.call("redrive_jobs", kind="app.task", preview=False, most=2) == [
        {"matching": 3, "redriven": 2, "conflicts": 0}
    ]
    assert [db.state(job) for job in (*mine, odd, theirs)] == ["ready", "ready", "dead", "dead", "dead"]
    assert acme.call("redrive_jobs", signature="app.taskError", queue="graves", preview=False)[0]["redriven"] == 1
    assert acme.call("redrive_jobs", preview=False)[0]["redriven"] == 1
    assert db.state(theirs) == "dead"


def test_a_redrive_leaves_a_job_whose_key_is_taken(db: Session, acme: Session) -> None:
    dead(db, "acme", unique_key="k")
    db.enqueue(tenant_id="acme", unique_key="k")

    assert acme.call("redrive_jobs", preview=False) == [{"matching": 1, "redriven": 0, "conflicts": 1}]


def test_jobs_that_the_engine_makes_cannot_be_made(db: Session, acme: Session) -> None:
    """Their args hold events, of whatever tenant."""
    db.call("subscribe", name="audit", kind="app.audit")

    for kind in ("webhooks.deliver", "app.audit"):
        with refused("OS400", "made by the engine"):
            acme.call("check_open_kind", kind=kind)
        with refused("OS400", "made by the engine"):
            acme.enqueue(kind)
    acme.call("check_open_kind", kind="app.task")


# The installation, without the others.


def test_queues_count_own_jobs_and_hide_those_of_others(db: Session, acme: Session, clock: Clock) -> None:
    db.call("configure_queue", name="mail", concurrency=3)
    db.enqueue(tenant_id="acme", queue="default")
    clock.advance(seconds=30)
    db.enqueue(tenant_id="acme", queue="default", priority=-5)
    db.enqueue(tenant_id="acme", queue="mail", run_at=clock.now.replace(year=2030))
    dead(db, "acme")
    for queue in ("default", "mail", "secret"):
        db.enqueue(tenant_id="other", queue=queue, priority=-9)
        db.enqueue(tenant_id="other", queue=queue, run_at=clock.now.replace(year=2030))
    dead(db, "other")
    running(db, "other", priority=-10)
    held = running(db, "acme", priority=-20)

    queues = {row["name"]: row for row in acme.call("list_queues")}

    counts = ("ready", "scheduled", "running", "dead")
    assert {name: tuple(row[c] for c in counts) for name, row in queues.items()} == {
        "default": (2, 0, 1, 0),
        "graves": (0, 0, 0, 1),
        "mail": (0, 1, 0, 0),
    }
    assert queues["default"]["oldest_wait"] == 30
    assert queues["mail"]["concurrency"] == 3
    assert queues["mail"]["oldest_wait"] is None
    assert queues["default"]["workers"] == 2
    assert all(row["capped"] == [] for row in queues.values())
    assert len(acme.call("list_queues", most=1)) == 1
    db.complete(held)


def test_a_count_that_is_a_lower_bound_says_so(db: Session, acme: Session) -> None:
    db.call("enqueue_jobs", kinds=["app.task"], args=["{}"] * 10_001, tenant_ids=["acme"], queues=["q"])

    (row,) = [row for row in acme.call("list_queues") if row["name"] == "q"]

    assert (row["ready"], row["capped"]) == (10_000, ["ready"])


def test_workers_are_seen_with_own_jobs_only(db: Session, acme: Session) -> None:
    worker = db.worker("w1")
    db.enqueue(tenant_id="other")
    db.claim_one(worker)
    mine = db.enqueue(tenant_id="acme")
    assert db.claimed_ids(worker) == [mine]
    db.worker("idle")

    seen = {row["name"]: row for row in acme.call("list_workers")}

    assert {name: row["held"] for name, row in seen.items()} == {"w1": 1, "idle": 0}
    assert seen["w1"]["oldest_claim"] == START
    assert seen["idle"]["oldest_claim"] is None
    assert len(acme.call("list_workers", most=1)) == 1


# Why, without the others.


def reasons(session: Session, job: int) -> dict[str, Row]:
    return {row["code"]: row for row in session.call("why", job_id=job)}


def test_why_of_an_own_job_is_the_engines(db: Session, acme: Session) -> None:
    job = db.enqueue(tenant_id="acme", run_at=START.replace(year=2030), unique_key="k")

    mine = acme.call("why", job_id=job)

    assert [(row["code"], row["message"], row["hint"]) for row in mine] == [
        (row["code"], row["message"], row["hint"]) for row in db.call("why", job_id=job)
    ]
    assert [row["code"] for row in mine] == ["later", "no_worker_for_queue", "holds_unique_key"]


def test_who_holds_the_slots_is_told_of_own_jobs_only(db: Session, acme: Session) -> None:
    db.call("configure_queue", name="default", concurrency=2, key_concurrency=2)
    shared = {"limit_key": "k", "limit_scope": "installation"}
    theirs = running(db, "other", **shared)
    mine = running(db, "acme", **shared)
    job = db.enqueue(tenant_id="acme", **shared)

    found = reasons(acme, job)

    assert found["queue_concurrency"]["message"] == (
        "Queue 'default' runs 2 jobs at once at the most, and as many run."
        f" Slots of this tenant are held by job {mine.id} (worker for-acme)."
    )
    assert "2 jobs of the key 'k', which all tenants share, at once" in found["key_concurrency"]["message"]
    holders = found["key_concurrency"]["detail"]["holders"]
    assert [(holder["job_id"], holder["worker"]) for holder in holders] == [(mine.id, "for-acme")]
    said = str(found)
    assert str(theirs.id) not in said
    assert "for-other" not in said
    db.complete(mine)
    other = running(db, "other", **shared, priority=-1)
    said = str(reasons(acme, job))
    assert "held by none of its jobs." in said
    assert str(other.id) not in said


def test_who_holds_the_slots_of_its_own_key_is_told_in_full(db: Session, acme: Session) -> None:
    """No other tenant has slots of that key: there is nothing to hide."""
    db.call("configure_queue", name="default", key_concurrency=1)
    running(db, "other", limit_key="k")
    mine = running(db, "acme", limit_key="k")
    job = db.enqueue(tenant_id="acme", limit_key="k")

    found = reasons(acme, job)["key_concurrency"]

    assert found["message"] == (
        "Queue 'default' runs 1 jobs of the key 'k' at once at the most, and 1 run."
        f" The slots are held by job {mine.id} (worker for-acme)."
    )
    assert [holder["job_id"] for holder in found["detail"]["holders"]] == [mine.id]


def test_the_turn_counts_own_jobs_only(db: Session, acme: Session) -> None:
    db.worker("w1")
    db.enqueue(tenant_id="acme")
    job = db.enqueue(tenant_id="acme")
    for _ in range(7):
        db.enqueue(tenant_id="other", priority=-1)

    turn = reasons(acme, job)["waiting_turn"]

    assert "with 1 jobs of this tenant ahead" in turn["message"]
    assert "7" not in turn["message"].replace(str(job), "")
    assert turn["detail"] == {"ahead": 1, "capped": False, "workers": 1}


def test_a_suspect_is_told_without_those_ahead(db: Session, acme: Session, admin: Session) -> None:
    db.worker("w1")
    db.enqueue(tenant_id="other")
    job = db.enqueue(tenant_id="acme")
    admin.rows("update ostinato_data.ready set crashes = 2")

    suspect = reasons(acme, job)["suspect"]

    assert suspect["message"].endswith("it waits for a worker that runs no other suspect.")
    assert suspect["detail"] == {"crashes": 2}


# What belongs to no job.


def test_trail_events_and_schedules_are_own_ones(db: Session, acme: Session) -> None:
    for tenant in ("acme", "other"):
        db.enqueue(tenant_id=tenant, correlation_id="same")
        db.call("emit_event", type="paid", correlation_id="same", tenant_id=tenant, occurred_at=START, producer="shop")
        db.call("upsert_schedule", name=f"of-{tenant}", kind="x", cron="0 8 * * *", tenant_id=tenant)
    (theirs,) = db.call("list_events", tenant_id="other")

    assert {row["tenant_id"] for row in acme.call("trail", correlation_id="same")} == {"acme"}
    assert acme.call("trail", correlation_id="same", for_tenant="other") == []
    assert [row["tenant_id"] for row in acme.call("list_events")] == ["acme"]
    assert acme.call("list_events", tenant_id="other") == []
    assert acme.call("show_event", event_id=theirs["id"]) == []
    assert [row["name"] for row in acme.call("list_schedules")] == ["of-acme"]
    for function in ("show_schedule", "next_fires", "list_fires"):
        with refused("OS404"):
            acme.call(function, name="of-other")
        with refused("OS404"):
            acme.call(function, name="of-other", tenant_id="other")


def test_a_trail_by_the_number_of_anothers_job_is_empty(db: Session, acme: Session) -> None:
    theirs = db.enqueue(tenant_id="other")

    assert acme.call("trail", correlation_id=f"job-{theirs}") == []
