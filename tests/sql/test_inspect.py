"""What people and programs look at: lists, one job, queues, workers, dead letters, numbers."""

from datetime import timedelta

import pytest

from tests.sql.engine import START, Clock, Session, Sessions, Value, arrays, refused

STATES = ("scheduled", "ready", "running", "dead", "done", "cancelled")


def one_in_each_state(db: Session, **params: Value) -> dict[str, int]:
    queue = str(params.get("queue", "default"))
    worker = db.worker(queues=[queue])
    jobs = {}
    for state in ("done", "dead", "cancelled", "running"):
        jobs[state] = db.enqueue(**(params | {"priority": -9}))  # before what is left ready
        if state == "cancelled":
            db.call("cancel_job", job_id=jobs[state])
            continue
        held = db.claim_one(worker, queue=queue)
        if state == "done":
            db.complete(held, durations=[5], results=["7"])
        elif state == "dead":
            db.fail(held)
    jobs["scheduled"] = db.enqueue(run_at=START + timedelta(hours=1), **params)
    jobs["ready"] = db.enqueue(**params)
    assert {state: db.state(job) for state, job in jobs.items()} == {s: s for s in jobs}
    return jobs


def test_a_list_by_state_shows_the_jobs_in_it(db: Session) -> None:
    jobs = one_in_each_state(db)

    for state in STATES:
        (row,) = db.call("list_jobs", state=state)
        assert (row["id"], row["state"]) == (jobs[state], state)
    everything = db.call("list_jobs")
    assert [row["id"] for row in everything] == sorted(jobs.values(), reverse=True)


@pytest.mark.parametrize("state", [None, *STATES])
@pytest.mark.parametrize(
    ("given", "other"),
    [
        ({"queue": "q1"}, {"queue": "q2"}),
        ({"kind": "app.a"}, {"kind": "app.b"}),
        ({"tenant_id": "t1"}, {"tenant_id": "t2"}),
        ({"correlation_id": "c1"}, {"correlation_id": "c2"}),
    ],
)
def test_filters_apply_in_every_state(
    db: Session, state: str | None, given: dict[str, str], other: dict[str, str]
) -> None:
    wanted = one_in_each_state(db, **given)
    one_in_each_state(db, **other)
    one_in_each_state(db)

    found = db.call("list_jobs", state=state, **given)

    expected = wanted.values() if state is None else [wanted[state]]
    assert sorted(row["id"] for row in found) == sorted(expected)
    assert all(row | given == row for row in found)


@pytest.mark.parametrize("state", [None, *STATES])
def test_pages_follow_each_other_without_gap_or_overlap(db: Session, state: str | None) -> None:
    for tenant in ("a", "b", "c"):
        one_in_each_state(db, tenant_id=tenant)
    one_in_each_state(db, priority=5, tenant_id="d")
    whole = [row["id"] for row in db.call("list_jobs", state=state)]

    paged: list[int] = []
    before = None
    while page := db.call("list_jobs", state=state, before=before, most=2):
        paged += [row["id"] for row in page]
        before = paged[-1]

    assert paged == whole == sorted(whole, reverse=True)


def test_ready_jobs_that_moved_are_listed_by_their_id(db: Session) -> None:
    worker = db.worker()
    old = db.enqueue()
    db.fail(db.claim_one(worker), delay=0)
    new = db.enqueue()
    db.call("promote_jobs")

    first, second = db.call("list_jobs", state="ready")

    assert [first["id"], second["id"]] == [new, old]
    assert (second["attempt"], second["failures"], second["error"]) == (2, 1, "ValueError: it broke")
    assert [row["id"] for row in db.call("list_jobs", state="ready", before=new)] == [old]


def test_a_list_tells_what_comes_next_and_what_went_wrong(db: Session, clock: Clock) -> None:
    worker = db.worker()
    job = db.enqueue(priority=3)
    clock.advance(seconds=5)
    db.fail(db.claim_one(worker), delay=60)

    (row,) = db.call("list_jobs", state="scheduled")

    assert row["id"] == job
    assert (row["created_at"], row["run_at"]) == (START, clock.now + timedelta(seconds=60))
    assert (row["priority"], row["attempt"], row["failures"]) == (3, 2, 1)
    assert (row["error"], row["reason"], row["finished_at"]) == ("ValueError: it broke", "retry", None)


def test_a_cancelled_job_that_was_retried_is_not_listed_as_cancelled(db: Session) -> None:
    again, still = db.enqueue(), db.enqueue()
    for job in (again, still):
        db.call("cancel_job", job_id=job)
    db.call("retry_job", job_id=again)

    assert [row["id"] for row in db.call("list_jobs", state="cancelled")] == [still]
    db.call("cancel_job", job_id=again)
    listed = [row["id"] for row in db.call("list_jobs", state="cancelled")]
    assert listed == [still, again]


def test_a_rare_filter_finds_what_lies_behind_many_others(db: Session, admin: Session) -> None:
    """Beyond what the first look takes in: 20,000 finished and 1,000 ready jobs."""
    rare = one_in_each_state(db, kind="app.rare")
    admin.rows(
        "insert into ostinato_data.job (id, created_at, priority, kind, queue, tenant_id, args)"
        " select %s + g, ostinato.now(), 0, 'app.task', 'default', 'default', '{}'"
        " from generate_series(1, 20010) g",
        max(rare.values()),
    )
    admin.rows(
        "insert into ostinato_data.outcome (job_id, finished_at, attempt, outcome)"
        " select id, created_at, 1, 'done' from ostinato_data.job where kind = 'app.task'"
    )

    for state in STATES:
        (found,) = db.call("list_jobs", state=state, kind="app.rare")
        assert found["id"] == rare[state]
    assert [row["id"] for row in db.call("list_jobs", state="ready")] == [rare["ready"]]
    common = db.call("list_jobs", state="done", kind="app.task", most=5)
    assert [row["id"] - max(rare.values()) for row in common] == [20010, 20009, 20008, 20007, 20006]


def test_a_page_has_a_size(db: Session) -> None:
    for most in (0, -1, 1001, None):
        with refused("OS400", "1 to 1000"):
            db.call("list_jobs", most=most)
    assert db.get("page_size", most=1000) == 1000


def test_there_is_no_other_state(db: Session) -> None:
    with refused("OS400", "'asleep'", "scheduled, ready, running"):
        db.call("list_jobs", state="asleep")


def test_one_job_is_shown_whole(db: Session, clock: Clock) -> None:
    worker = db.worker("host-1")
    job = db.enqueue(
        args={"x": [1]},
        correlation_id="c",
        limit_key="l",
        unique_key="u",
        max_attempts=4,
        run_at=START - timedelta(hours=1),
    )
    clock.advance(seconds=3)
    held = db.claim_one(worker)
    db.call("note_progress", **arrays([held]), done=[1.0], totals=[4.0], notes=["a quarter"])
    db.call("cancel_job", job_id=job, reason="late")

    (shown,) = db.call("show_job", job_id=job)

    expected = {
        "id": job,
        "state": "running",
        "attempt": 1,
        "args": {"x": [1]},
        "correlation_id": "c",
        "limit_key": "l",
        "unique_key": "u",
        "unique_states": ["scheduled", "ready", "running"],
        "max_attempts": 4,
        "asked_run_at": START - timedelta(hours=1),
        "worker_id": worker,
        "worker_name": "host-1",
        "claimed_at": clock.now,
        "lease_until": START + timedelta(seconds=15),
        "cancel_reason": "late",
        "cancel_requested_at": clock.now,
        "progress_done": 1,
        "progress_total": 4,
        "progress_note": "a quarter",
    }
    assert shown | expected == shown


@pytest.mark.parametrize("state", STATES)
def test_a_job_is_shown_in_every_state(db: Session, state: str) -> None:
    jobs = one_in_each_state(db)

    (shown,) = db.call("show_job", job_id=jobs[state])

    assert (shown["id"], shown["state"]) == (jobs[state], state)
    finished = {"done", "dead", "cancelled"}
    assert (shown["finished_at"] is not None) is (state in finished)
    assert (shown["lease_until"] is not None) is (state == "running")
    assert shown["result"] == (7 if state == "done" else None)
    reasons = {"scheduled": "later", "dead": "failed", "cancelled": "cancelled by request"}
    assert shown["reason"] == reasons.get(state)


def test_an_unknown_job_is_not_found(db: Session) -> None:
    for verb in ("show_job", "job_attempts", "why", "refuse_unknown"):
        with refused("OS404", "there is no job 7"):
            db.call(verb, job_id=7)


def test_attempts_come_first_to_last_with_the_one_that_is_on(db: Session, clock: Clock) -> None:
    worker = db.worker()
    job = db.enqueue()
    held = db.claim_one(worker)
    clock.advance(seconds=2)
    db.call(
        "fail_jobs",
        **arrays([held]),
        delays=[0.0],
        errors=['{"type": "E", "message": "m"}'],
        signatures=["E"],
        durations=[1500],
    )
    db.call("promote_jobs")
    db.claim_one(worker)

    first, second = db.call("job_attempts", job_id=job)

    assert (first["attempt"], first["outcome"]) == (1, "failed")
    assert first["started_at"] == clock.now - timedelta(seconds=1.5)
    assert first["error"] == {"type": "E", "message": "m"}
    assert (second["attempt"], second["outcome"]) == (2, "running")
    assert (second["started_at"], second["finished_at"]) == (clock.now, None)
    assert (second["worker_id"], second["worker_name"]) == (worker, "w1")


def test_every_queue_that_anything_knows_of_is_listed(db: Session, clock: Clock) -> None:
    worker = db.worker(queues=["busy", "idle"])
    db.worker("draining", queues=["busy"])
    db.call("configure_queue", name="limited", concurrency=3, rate_count=5, rate_seconds=60.0)
    db.call(
        "register_kinds",
        names=["app.task"],
        queues=["declared"],
        priorities=[0],
        timeouts=[None],
        retries=["{}"],
        schemas=[None],
    )
    one_in_each_state(db, queue="busy")
    db.enqueue(queue="paused")
    db.call("pause_queue", name="paused")
    clock.beat(10, worker)
    db.enqueue(queue="busy")

    queues = {row["name"]: row for row in db.call("list_queues")}

    assert sorted(queues) == ["busy", "declared", "limited", "paused"]
    busy = queues["busy"]
    counts = {name: busy[name] for name in ("ready", "scheduled", "running", "dead")}
    assert counts == {"ready": 2, "scheduled": 1, "running": 1, "dead": 1}
    assert (busy["oldest_wait"], busy["capped"], busy["paused"]) == (10, [], False)
    assert queues["paused"]["paused"] is True
    limited = queues["limited"]
    assert (limited["concurrency"], limited["rate_count"], limited["rate_seconds"]) == (3, 5, 60)
    assert (limited["oldest_wait"], limited["workers"]) == (None, 0)


def test_a_long_queue_is_counted_up_to_a_cap_and_says_so(db: Session) -> None:
    for _ in range(3):
        db.call("enqueue_jobs", kinds=["app.task"], args=["{}"] * 3334)

    (queue,) = db.call("list_queues")

    assert (queue["ready"], queue["capped"]) == (10_000, ["ready"])


def test_workers_are_listed_with_what_they_hold(db: Session, clock: Clock) -> None:
    busy = db.worker("busy", queues=["default", "b"], kinds=["app.task"])
    db.worker("silent")
    for _ in range(3):
        db.enqueue()
    db.claim(busy)
    clock.beat(20, busy)

    silent, alive = db.call("list_workers")

    assert (silent["name"], silent["expired"], silent["held"]) == ("silent", True, 0)
    assert silent["beat_age"] == 20
    assert (alive["name"], alive["expired"], alive["held"]) == ("busy", False, 3)
    assert (alive["queues"], alive["kinds"]) == (["default", "b"], ["app.task"])
    assert (alive["beat_age"], alive["oldest_claim"]) == (0, START)


def test_dead_letters_are_listed_and_grouped_by_what_killed_them(db: Session, clock: Clock) -> None:
    worker = db.worker()
    letters = []
    for kind, type_ in [("app.a", "E1"), ("app.a", "E1"), ("app.b", "E1"), ("app.a", "E2")]:
        letters.append(db.enqueue(kind))
        db.fail(db.claim_one(worker), type_=type_)
        clock.advance(seconds=1)

    listed = db.call("list_dead_letters", most=3)
    groups = db.call("dead_letter_groups")

    assert [row["job_id"] for row in listed] == letters[:0:-1]
    rest = db.call("list_dead_letters", before=letters[1])
    assert [row["job_id"] for row in rest] == letters[:1]
    largest = groups[0]
    assert len(groups) == 3
    assert (largest["signature"], largest["kind"], largest["count"]) == ("E1", "app.a", 2)
    assert (largest["reason"], largest["example_job_id"]) == ("failed", letters[1])
    assert (largest["first"], largest["last"]) == (START, START + timedelta(seconds=1))
    assert largest["example_error"] == "E1: it broke"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"kind": "app.b"}, [1]),
        ({"queue": "q"}, [2]),
        ({"tenant_id": "t"}, [3]),
        ({"signature": "KeyError"}, [3]),
        ({"signature": "KeyError", "tenant_id": "other"}, []),
        ({}, [3, 2, 1, 0]),
    ],
)
def test_dead_letters_can_be_filtered(db: Session, given: dict[str, object], expected: list[int]) -> None:
    worker = db.worker()
    letters = []
    for kind, queue, tenant, type_ in [
        ("app.a", "default", "default", "ValueError"),
        ("app.b", "default", "default", "ValueError"),
        ("app.a", "q", "default", "ValueError"),
        ("app.a", "default", "t", "KeyError"),
    ]:
        letters.append(db.enqueue(kind, queue=queue, tenant_id=tenant))
        db.fail(db.claim_one(worker, queue=queue), type_=type_)

    found = db.call("list_dead_letters", **given)

    assert [row["job_id"] for row in found] == [letters[n] for n in expected]


def test_the_engine_in_numbers(db: Session, clock: Clock) -> None:
    worker = db.worker()
    one_in_each_state(db)
    clock.beat(20, worker)
    clock.set(START + timedelta(hours=2))

    (stats,) = db.call("engine_stats")

    expected = {"ready": 1, "scheduled": 1, "due": 1, "running": 1, "dead": 1, "estimated": []}
    assert stats | expected == stats
    assert (stats["workers"], stats["expired_workers"]) == (0, 2)
    assert stats["oldest_ready"] == 7200
    assert stats["ready_dead_tuples"] >= 0
    assert stats["default_bytes"] > 0


def test_a_snapshot_held_open_elsewhere_shows_in_the_numbers(db: Session, sessions: Sessions) -> None:
    tenant = sessions.open("tenant")
    tenant.rows("begin isolation level repeatable read")
    tenant.rows("select 1")
    for _ in range(5):
        db.enqueue()

    (stats,) = db.call("engine_stats")

    assert stats["xmin_age"] >= 5


BURY_MANY = """
    insert into ostinato_data.dead_letter (job_id, attempt, died_at, kind, queue, tenant_id, reason, signature, error)
    select n, 1, ostinato.now(), 'app.a', 'default', 'default', 'failed', case n when 1 then 'old' else 'E1' end, '{}'
    from generate_series(1, %s) n
"""


def test_no_more_dead_letters_are_grouped_than_is_quick(db: Session, admin: Session) -> None:
    """The newest are: a page with the causes of millions would take seconds, and is drawn anew every few."""
    most = db.get("place_cap")
    admin.rows(BURY_MANY, most - 1)
    whole = db.call("dead_letter_groups")
    admin.rows("delete from ostinato_data.dead_letter where job_id > 1")
    admin.rows(BURY_MANY.replace("generate_series(1,", "generate_series(2,"), most + 1)
    (found,) = db.call("dead_letter_groups")

    assert [(row["signature"], row["count"], row["capped"]) for row in whole] == [
        ("E1", most - 2, False),
        ("old", 1, False),
    ]
    assert (found["signature"], found["count"], found["capped"]) == ("E1", most, True)
    assert found["example_job_id"] == most + 1


def test_what_the_numbers_are_made_of(db: Session, clock: Clock) -> None:
    """The helpers, called one by one."""
    job = db.enqueue(queue="b")
    db.enqueue(queue="a", tenant_id="t", priority=1)
    clock.advance(seconds=7)

    assert [row["waiting_queues"] for row in db.call("waiting_queues")] == ["a", "b"]
    lines = sorted(tuple(row.values()) for row in db.call("ready_lines"))
    assert lines == [("a", 1, 7), ("b", 1, 7)]
    assert (db.get("ready_cap"), db.get("place_cap")) == (10_000, 100_000)
    assert db.get("short_json", value={"a": 1}, longest=7) is None
    db.call("check_job", job_id=job)
    with refused("OS404"):
        db.call("check_job", job_id=job, tenant_id="t")
    assert db.call("held_jobs") == db.call("own_held_jobs", ids=None) == []
    lanes = db.call("waiting_lanes", for_queue=None, for_tenant=None)
    assert [tuple(lane.values()) for lane in lanes] == [("a", 1, "t"), ("b", 0, "default")]
    assert len(db.call("waiting_lanes", for_queue="a", for_tenant=None)) == 1
    assert len(db.call("waiting_lanes", for_queue=None, for_tenant="t")) == 2
    assert db.get("oldest_wait", queue="b") == 7
    assert db.get("oldest_wait", queue="c") is None
    assert db.get("ready_since", job_id=job) == START
    assert db.get("waited", job_id=job) == 7
    assert db.get("estimate_rows", name="ostinato_data.ready") >= 0
    for name in ("find_ready", "find_ended"):
        ended = {"in_state": "done"} if name == "find_ended" else {}
        page = db.call(name, **ended, in_queue="b", of_kind=None, of_tenant=None, before=job + 1, most=1)
        assert page == ([] if ended else [{name: job}])
    assert db.get("was_last", job_id=job, attempt=1) is False
    (found,) = db.call(
        "find_jobs", in_state="ready", in_queue="b", of_kind=None, of_tenant=None, before=job + 1, most=1
    )
    assert found == {"find_jobs": job}
    assert [row["id"] for row in db.call("job_summaries", ids=[job, 1])] == [job]


@pytest.mark.parametrize(
    ("error", "summary"),
    [
        ('{"type": "E", "message": "m"}', "E: m"),
        ('{"type": "E"}', "E"),
        ('{"message": "m"}', "m"),
        ('{"reason": "r"}', "r"),
        ('"words"', "words"),
        ('{"a": 1}', '{"a": 1}'),
        (None, None),
        ('{"message": "' + "x" * 500 + '"}', "x" * 200),
    ],
)
def test_an_error_in_one_line(db: Session, error: str | None, summary: str | None) -> None:
    assert db.get("error_summary", error=error) == summary
