"""Why a job is not running: one crafted situation after the other, and the answer to each."""

from datetime import timedelta

import pytest

from tests.sql.engine import START, Clock, Session, arrays, refused


@pytest.fixture
def db(db: Session) -> Session:
    """A living worker for everything, unless a test takes it away."""
    db.worker("w1", queues=["default"], kinds=["app.task"])
    return db


def nobody(db: Session) -> None:
    db.rows("delete from ostinato_data.worker")


def codes(db: Session, job: int) -> list[str]:
    found = db.call("why", job_id=job)
    for row in found:
        assert row["message"].endswith((".", "broke", "lost"))
        assert row["hint"]
        assert isinstance(row["detail"], dict)
    return [row["code"] for row in found]


def test_there_is_no_such_job(db: Session) -> None:
    with refused("OS404", "there is no job 12", "retention"):
        db.why(12)


def test_it_is_done(db: Session) -> None:
    job = db.enqueue()
    db.complete(db.claim_one(db.worker("w2")))

    assert codes(db, job) == ["done"]
    why = db.why(job)["done"]
    assert why["message"] == f"Job {job} is done: attempt 1 finished at 2026-03-02 09:00:00 UTC."
    assert f"ostinato jobs show {job}" in why["hint"]


def test_it_was_cancelled_for_a_reason(db: Session) -> None:
    job = db.enqueue()
    db.call("cancel_job", job_id=job, reason="customer left.")

    assert codes(db, job) == ["cancelled"]
    why = db.why(job)["cancelled"]
    assert why["detail"]["reason"] == "customer left."
    assert "customer left" in why["message"]
    assert f"ostinato jobs retry {job}" in why["hint"]


def test_it_was_replaced_by_another_job(db: Session) -> None:
    old = db.enqueue(unique_key="k")
    new = db.enqueue(unique_key="k", unique_policy="replace")

    why = db.why(old)

    assert list(why) == ["cancelled", "unique_conflict"]
    assert f"was replaced by job {new}" in why["cancelled"]["message"]
    assert why["cancelled"]["detail"]["replaced_by"] == new
    assert f"ostinato why {new}" in why["cancelled"]["hint"]


def test_it_died_of_an_error(db: Session) -> None:
    job = db.enqueue()
    db.fail(db.claim_one(db.worker("w2")), type_="KeyError")

    assert codes(db, job) == ["dead"]
    why = db.why(job)["dead"]
    assert "KeyError: it broke" in why["message"]
    assert (why["detail"]["reason"], why["detail"]["signature"]) == ("failed", "KeyError")
    assert f"ostinato jobs retry {job}" in why["hint"]
    assert "ostinato jobs redrive --signature 'KeyError'" in why["hint"]


def test_it_died_because_it_kills_its_workers(db: Session) -> None:
    job = db.enqueue()
    for _ in range(3):
        held = db.claim_one(db.worker("w2"), starts=1)
        db.call("begin_jobs", **arrays([held]), alone=True)
        nobody(db)
        db.call("rescue_jobs", max_crashes=1)

    why = db.why(job)["dead"]

    assert why["detail"]["reason"] == "worker_lost"
    assert "its process died" in why["hint"]


def test_it_cannot_run_again_while_another_job_has_its_key(db: Session) -> None:
    job = db.enqueue(unique_key="k")
    db.fail(db.claim_one(db.worker("w2")))
    holder = db.enqueue(unique_key="k")

    assert codes(db, job) == ["dead", "unique_conflict"]
    why = db.why(job)["unique_conflict"]
    assert why["detail"]["held_by"] == holder
    assert f"held by job {holder} (ready)" in why["message"]
    assert f"ostinato jobs cancel {holder}" in why["hint"]


def test_it_holds_a_key_that_keeps_another_job_out(db: Session) -> None:
    job = db.enqueue(unique_key="k")
    db.fail(db.claim_one(db.worker("w2")))
    holder = db.enqueue(unique_key="k")

    assert codes(db, holder) == ["waiting_turn", "holds_unique_key"]
    why = db.why(holder)["holds_unique_key"]
    assert why["detail"]["keeps_out"] == [job]
    assert str(job) in why["message"]


def test_it_is_running(db: Session, clock: Clock) -> None:
    worker = db.worker("host-7")
    job = db.enqueue()
    held = db.claim_one(worker)
    db.call("note_progress", **arrays([held]), done=[3.0], totals=[9.0], notes=["pages"])
    clock.beat(5, worker)

    assert codes(db, job) == ["running"]
    why = db.why(job)["running"]
    assert "held by worker host-7: attempt 1, since 2026-03-02 09:00:00 UTC" in why["message"]
    assert "lease until 2026-03-02 09:00:20 UTC" in why["message"]
    assert "3 of 9, pages" in why["message"]
    assert why["detail"]["worker_id"] == str(worker)


def test_it_is_running_and_asked_to_stop(db: Session) -> None:
    job = db.enqueue()
    db.claim_one(db.worker("w2"))
    db.call("cancel_job", job_id=job, reason="too long.")

    assert codes(db, job) == ["cancel_requested", "running"]
    assert db.why(job)["cancel_requested"]["detail"]["reason"] == "too long."


def test_the_process_of_its_worker_is_blocked_by_a_handler(db: Session) -> None:
    worker = db.worker("w3")
    job = db.enqueue()
    db.claim_one(worker)
    db.get("heartbeat_worker", worker_id=worker, blocked_by="billing.count")

    assert codes(db, job) == ["loop_blocked", "running"]
    why = db.why(job)["loop_blocked"]
    assert why["message"].startswith("A handler of billing.count blocks the event loop of worker w3")
    assert "no timeout" in why["message"]
    db.get("heartbeat_worker", worker_id=worker)
    assert codes(db, job) == ["running"]


def test_its_worker_is_silent(db: Session, clock: Clock) -> None:
    silent, alive = db.worker("silent"), db.worker("alive")
    job = db.enqueue()
    db.claim_one(silent)
    clock.beat(5, alive)
    assert codes(db, job) == ["running"]  # one beat is not missed yet
    clock.beat(5, alive)

    assert codes(db, job) == ["worker_silent", "running"]
    why = db.why(job)["worker_silent"]
    assert "silent was last heard of 10 s ago" in why["message"]
    assert "taken back after 2026-03-02 09:00:15 UTC" in why["message"]
    assert why["detail"]["other_workers"] == 2
    clock.beat(10, alive)
    why = db.why(job)["worker_silent"]
    assert "its lease ended at 2026-03-02 09:00:15 UTC; the next poll" in why["message"]


def test_its_worker_is_silent_and_nobody_else_is_alive(db: Session, clock: Clock) -> None:
    nobody(db)
    worker = db.worker("lonely")
    job = db.enqueue()
    db.claim_one(worker)
    clock.advance(seconds=20)

    why = db.why(job)["worker_silent"]

    assert why["detail"]["other_workers"] == 0
    assert "ostinato worker --app" in why["hint"]
    assert "after a grace of one expiry, because nobody has polled lately" in why["message"]


def test_its_worker_is_silent_after_an_outage(db: Session, clock: Clock) -> None:
    worker = db.worker("w2")
    job = db.enqueue()
    db.claim_one(worker)
    clock.advance(minutes=10)
    db.call("tick")

    why = db.why(job)["worker_silent"]

    assert "not before 2026-03-02 09:10:15 UTC" in why["message"]


def test_its_worker_is_gone(db: Session) -> None:
    worker = db.worker("w2")
    job = db.enqueue()
    db.claim_one(worker)
    db.call("unregister_worker", worker_id=worker)

    assert codes(db, job) == ["worker_silent", "running"]
    assert "is gone; the next poll" in db.why(job)["worker_silent"]["message"]


def test_it_is_for_later(db: Session) -> None:
    job = db.enqueue(run_at=START + timedelta(hours=2, minutes=5))

    assert codes(db, job) == ["later"]
    why = db.why(job)["later"]
    assert why["message"] == f"Job {job} is to run at 2026-03-02 11:05:00 UTC, in 2 h 5 min."
    assert f"ostinato jobs retry {job}" in why["hint"]


def test_it_is_for_later_in_a_paused_queue_without_a_worker(db: Session) -> None:
    job = db.enqueue(run_at=START + timedelta(hours=2), queue="q")
    db.call("pause_queue", name="q")

    assert codes(db, job) == ["later", "queue_paused", "no_worker_for_queue"]


def test_it_waits_for_a_retry(db: Session) -> None:
    job = db.enqueue(max_attempts=5)
    db.fail(db.claim_one(db.worker("w2")), delay=90)

    assert codes(db, job) == ["retrying"]
    why = db.why(job)["retrying"]
    assert "failed once and is tried again" in why["message"]
    assert "09:01:30 UTC, in 1 min 30 s. Last error: ValueError: it broke" in why["message"]
    assert (why["detail"]["failures"], why["detail"]["max_attempts"]) == (1, 5)


def test_it_was_snoozed(db: Session) -> None:
    job = db.enqueue()
    db.snooze(db.claim_one(db.worker("w2")), delay=30)

    assert codes(db, job) == ["snoozed"]
    assert "counts as no failure" in db.why(job)["snoozed"]["message"]


def test_its_time_has_come(db: Session, clock: Clock) -> None:
    job = db.enqueue(run_at=START + timedelta(seconds=10))
    clock.advance(seconds=12)

    assert codes(db, job) == ["due"]
    assert "came 2.0 s ago; the next poll" in db.why(job)["due"]["message"]


def test_its_time_has_come_and_nobody_is_there(db: Session, clock: Clock) -> None:
    nobody(db)
    job = db.enqueue(run_at=START + timedelta(seconds=10))
    clock.advance(seconds=12)

    assert codes(db, job) == ["no_worker_for_queue", "due"]


def test_its_queue_is_paused(db: Session) -> None:
    job = db.enqueue()
    db.call("pause_queue", name="default")

    assert codes(db, job) == ["queue_paused", "waiting_turn"]
    why = db.why(job)
    assert "ostinato queues resume default" in why["queue_paused"]["hint"]
    assert "once nothing of the above" in why["waiting_turn"]["message"]


def test_its_queue_is_paused_and_has_no_worker(db: Session) -> None:
    nobody(db)
    job = db.enqueue()
    db.call("pause_queue", name="default")

    assert codes(db, job) == ["queue_paused", "no_worker_for_queue", "waiting_turn"]


def test_its_queue_is_full(db: Session) -> None:
    worker = db.worker("host-7")
    db.call("configure_queue", name="default", concurrency=2)
    holders = [db.enqueue() for _ in range(2)]
    db.claim(worker)
    job = db.enqueue()

    assert codes(db, job) == ["queue_concurrency", "waiting_turn"]
    why = db.why(job)["queue_concurrency"]
    assert "runs 2 jobs at once at the most, and 2 run" in why["message"]
    assert [held["job_id"] for held in why["detail"]["holders"]] == holders
    assert {held["worker"] for held in why["detail"]["holders"]} == {"host-7"}
    assert "ostinato queues limit default" in why["hint"]


def test_at_most_ten_holders_are_named(db: Session) -> None:
    db.call("configure_queue", name="default", concurrency=12)
    for _ in range(12):
        db.enqueue()
    db.claim(db.worker("w2"))

    why = db.why(db.enqueue())["queue_concurrency"]

    assert len(why["detail"]["holders"]) == 10
    assert why["message"].endswith(", ….")


def test_its_key_is_full(db: Session) -> None:
    db.call("configure_queue", name="default", key_concurrency=1)
    holder = db.enqueue(limit_key="customer 7")
    db.claim(db.worker("w2"))
    job, free = db.enqueue(limit_key="customer 7"), db.enqueue(limit_key="customer 8")

    assert codes(db, job) == ["key_concurrency", "waiting_turn"]
    why = db.why(job)["key_concurrency"]
    assert "'customer 7'" in why["message"]
    assert [held["job_id"] for held in why["detail"]["holders"]] == [holder]
    assert codes(db, free) == ["waiting_turn"]


def test_its_queue_started_enough_for_now(db: Session, clock: Clock) -> None:
    worker = db.worker("w2")
    db.call("configure_queue", name="default", rate_count=3, rate_seconds=60.0)
    for _ in range(3):
        db.enqueue()
    db.claim(worker, 2)
    clock.beat(10, worker)
    db.claim(worker, 1)
    job = db.enqueue()
    clock.beat(10, worker)

    assert codes(db, job)[0] == "queue_rate"
    why = db.why(job)["queue_rate"]
    assert "3 jobs every 1 min 0 s at the most" in why["message"]
    assert "the next may start at 2026-03-02 09:01:00 UTC" in why["message"]
    clock.set(START + timedelta(seconds=60))
    assert "queue_rate" not in codes(db, job)


def test_its_key_started_enough_for_now(db: Session, clock: Clock) -> None:
    worker = db.worker("w2")
    db.call("configure_queue", name="default", key_rate_count=1, key_rate_seconds=10.0)
    db.enqueue(limit_key="a")
    db.claim(worker)
    job, free = db.enqueue(limit_key="a"), db.enqueue(limit_key="b")

    assert codes(db, job) == ["key_rate", "waiting_turn"]
    assert "'a' every 10 s" in db.why(job)["key_rate"]["message"]
    assert codes(db, free) == ["waiting_turn"]


def test_no_worker_serves_its_queue(db: Session) -> None:
    job = db.enqueue(queue="mails")

    assert codes(db, job) == ["no_worker_for_queue", "waiting_turn"]
    assert "ostinato worker --app" in db.why(job)["no_worker_for_queue"]["hint"]


def test_the_workers_of_its_queue_drain_or_are_silent(db: Session, clock: Clock) -> None:
    nobody(db)
    silent, draining = db.worker("silent"), db.worker("draining")
    job = db.enqueue()
    clock.beat(20)
    db.call("heartbeat_worker", worker_id=draining, draining=True)

    why = db.why(job)["no_worker_for_queue"]

    assert silent != draining
    assert (why["detail"]["draining"], why["detail"]["silent"]) == (1, 1)


def test_no_worker_knows_its_kind(db: Session) -> None:
    job = db.enqueue("app.tsak")

    assert codes(db, job) == ["no_worker_for_kind", "waiting_turn"]
    assert "knows the kind 'app.tsak'" in db.why(job)["no_worker_for_kind"]["message"]


def test_it_is_suspected_of_killing_its_workers(db: Session) -> None:
    suspects = [db.enqueue(), db.enqueue()]
    for _ in range(2):
        worker = db.worker("w2")
        for _ in suspects:
            db.claim(worker)
        db.call("unregister_worker", worker_id=worker)
        db.call("rescue_jobs")

    first, second = (db.why(job) for job in suspects)

    assert list(first) == ["suspect"]
    assert "took 2 worker processes with it" in first["suspect"]["message"]
    assert [why["suspect"]["detail"]["ahead"] for why in (first, second)] == [0, 1]


def test_it_waits_for_its_turn(db: Session) -> None:
    db.enqueue(priority=-1)
    db.enqueue(tenant_id="other")
    ahead = [db.enqueue() for _ in range(3)]
    job = db.enqueue()
    db.enqueue()

    assert codes(db, job) == ["waiting_turn"]
    why = db.why(job)["waiting_turn"]
    assert (why["detail"]["ahead"], why["detail"]["more_urgent"]) == (len(ahead), 1)
    assert "Nothing is in its way: it runs when a worker has room" in why["message"]


def test_a_long_line_is_counted_up_to_a_cap(db: Session) -> None:
    db.call("enqueue_jobs", kinds=["app.task"], args=["{}"] * 1200)
    job = db.enqueue()

    why = db.why(job)["waiting_turn"]

    assert (why["detail"]["ahead"], why["detail"]["capped"]) == (1000, True)
    assert "1000 or more" in why["message"]


def test_a_retry_that_is_ready_waits_for_its_turn(db: Session) -> None:
    job = db.enqueue()
    db.fail(db.claim_one(db.worker("w2")), delay=0)
    db.call("promote_jobs")

    assert codes(db, job) == ["waiting_turn"]


def test_it_is_to_be_cancelled_with_the_next_poll(db: Session, other: Session) -> None:
    job = db.enqueue()
    held = db.claim_one(db.worker("w2"))
    with other.transaction():
        other.call("cancel_job", job_id=job)
        db.fail(held, delay=60)

    assert codes(db, job) == ["cancel_requested", "retrying"]


def test_it_is_in_no_place_at_all(db: Session) -> None:
    job = db.enqueue()
    db.call("take_waiting", job_ids=[job])  # what no verb ever does

    assert codes(db, job) == ["nowhere"]


def test_what_the_answers_are_made_of(db: Session, clock: Clock) -> None:
    """The helpers, called one by one."""
    job = db.enqueue(unique_key="k")
    place = "(select r from ostinato_data.ready r)"

    assert db.get("able_workers", queue="default", kind="app.task") == 1
    assert db.get("able_workers", queue="default", kind="app.other") == 0
    for name in ("why_ended", "why_cancelling"):
        assert db.call(name, job_id=job) == []
    assert [row["code"] for row in db.call("why_unique", job_id=job)] == ["holds_unique_key"]
    assert [row["code"] for row in db.call("why_ready", job_id=job)] == ["waiting_turn"]
    turn = db.row(f"select * from ostinato_internal.why_turn({place}, true)")  # noqa: S608
    assert turn["code"] == "waiting_turn"
    assert db.call("why_blocked", queue="default", kind="app.task") == []
    for name in ("why_limited", "reached_limits"):
        assert db.call(name, job_id=job) == []
    assert db.call("slot_holders", queue="default", slot_key=None)[0]["who"] is None
    suspect = db.row(f"select * from ostinato_internal.why_suspect({place})")  # noqa: S608
    assert (suspect["code"], suspect["detail"]) == ("suspect", {"crashes": 0, "ahead": 0})
    cap = db.get("line_cap")
    assert [db.get("say_count", n=n) for n in (7, cap)] == ["7", f"{cap} or more"]
    frees = db.get("rate_frees_at", queue="q", limit_key="", most=1, seconds=1.0)
    assert frees is None
    worker = db.worker("w2")
    db.claim_one(worker)
    assert [row["code"] for row in db.call("why_running", job_id=job)] == ["running"]
    silent = db.call("why_silent", worker_id=worker, worker="w2", beat_at=clock.now, lease_until=clock.now)
    assert silent[0]["code"] == "worker_silent"
    later = db.enqueue(run_at=START + timedelta(days=3, hours=4))
    (scheduled,) = db.call("why_scheduled", job_id=later)
    assert "in 3 d 4 h" in scheduled["message"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-3, "0.0 s"),
        (0.04, "0.0 s"),
        (2.25, "2.3 s"),
        (59, "59 s"),
        (61.5, "1 min 1 s"),
        (3600, "1 h 0 min"),
        (86_400 * 2 + 3601, "2 d 1 h"),
    ],
)
def test_lengths_of_time_as_people_read_them(db: Session, seconds: float, said: str) -> None:
    assert db.get("say_span", span=timedelta(seconds=seconds)) == said


def test_times_as_people_read_them(db: Session) -> None:
    db.rows("set timezone = 'Asia/Tokyo'")
    assert db.get("say_time", at=START) == "2026-03-02 09:00:00 UTC"
