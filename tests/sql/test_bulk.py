"""Bulk actions: preview, batches, refusals, stop, the canary; and the search that finds their jobs."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.sql.engine import START, Clock, Row, Session, Sessions, Value, refused

LATER = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def acme(sessions: Sessions) -> Session:
    """An operator of the tenant acme."""
    return sessions.tenant("acme")


def dead(db: Session, **params: Value) -> int:
    """A job that gave up."""
    job = db.enqueue(queue="graves", **params)
    found = db.rows("select id from ostinato_data.worker where name = 'digger'")
    worker = found[0]["id"] if found else db.worker("digger", queues=["graves"])
    db.fail(db.claim_one(worker, "graves"))
    return job


def run(db: Session, bulk: int) -> Row:
    """Do batches until it waits or is over, as its job does."""
    while True:
        (found,) = db.call("run_bulk", bulk_id=bulk)
        if found["waiting"] or found["state"] != "running":
            return found


def shown(db: Session, bulk: int) -> Row:
    (found,) = db.call("list_bulks", bulk_id=bulk)
    return found


def search(db: Session, state: str | None = None, **fields: Value) -> list[int]:
    (found,) = db.call("search_jobs", state=state, filter=fields)
    assert found["next"] is None
    return list(found["ids"])


def test_jobs_are_found_by_kind_state_queue_tenant_time_and_arguments_together(db: Session, clock: Clock) -> None:
    db.enqueue("app.mail", args={"to": "ada", "n": 1}, tenant_id="acme")
    clock.advance(hours=1)
    wanted = db.enqueue("app.mail", args={"to": "Grace", "n": 1, "more": [1, 2]}, tenant_id="acme")
    db.enqueue("app.mail", args={"to": "grace", "n": 2}, tenant_id="other")
    later = db.enqueue("app.mail", args={"to": "grace", "n": 1}, tenant_id="acme", run_at=LATER)
    clock.advance(hours=1)

    since, until = (START + timedelta(minutes=30)).isoformat(), (START + timedelta(hours=2)).isoformat()

    assert search(db, args={"n": 1, "more": [2]}) == [wanted]
    assert search(db, text="GRACE", tenant_id="acme") == [later, wanted]
    assert search(db, "ready", text="grace", tenant_id="acme", kind="app.mail", queue="default") == [wanted]
    assert search(db, since=since, until=until, tenant_id="acme") == [later, wanted]
    assert search(db, until=since) == [wanted - 1]


def test_a_search_goes_on_where_it_gave_up(db: Session) -> None:
    wanted = db.enqueue(args={"rare": True})
    db.call("enqueue_jobs", kinds=["app.task"], args=["{}"] * 11_000)

    (first,) = db.call("search_jobs", filter={"args": {"rare": True}})
    (second,) = db.call("search_jobs", filter={"args": {"rare": True}}, before=first["next"])

    assert (first["ids"], first["next"] is None) == ([], False)
    assert (second["ids"], second["next"]) == ([wanted], None)


@pytest.mark.slow
def test_a_search_gives_up_once_it_has_read_much(db: Session) -> None:
    """1,500 jobs with arguments as large as they may be took longer than a call may, so nothing was found at all."""
    wanted = {"args": {"rare": True}}
    found = db.enqueue(args={"rare": True})
    large = "select ostinato.enqueue_job('app.task', json_build_object('x', repeat('y', 260000)), queue => 'large')"
    db.rows(f"{large} from generate_series(1, 210)")

    (first,) = db.call("search_jobs", filter=wanted)
    (second,) = db.call("search_jobs", filter=wanted, before=first["next"])
    (seen,) = db.call("preview_bulk", verb="cancel", state="ready", filter=wanted)
    bulk = db.get("start_bulk", verb="cancel", state="ready", filter=wanted)

    assert (first["ids"], first["next"] is None) == ([], False)
    assert (second["ids"], second["next"]) == ([found], None)
    assert (seen["matching"], seen["capped"]) == (0, True)
    assert run(db, int(str(bulk)))["done"] == 1


@pytest.mark.parametrize(
    "wanted", [{"n": [1] * 21}, {"n": [[1, 2, 3, 4]] * 5}, {"n": [{"m": [1]}] * 11}, {"n": "x" * 4001}]
)
def test_wanted_arguments_that_would_take_long_to_look_for_are_refused(db: Session, wanted: dict[str, Value]) -> None:
    """A list of a body's length in those of a job takes minutes of a processor, in one piece that nothing ends."""
    with refused("OS400", "args of a filter are too long"):
        db.call("search_jobs", filter={"args": wanted})
    with refused("OS400", "args of a filter are too long"):
        db.call("preview_bulk", verb="cancel", filter={"args": wanted})
    with refused("OS400", "args of a filter are too long"):
        db.call("start_bulk", verb="cancel", filter={"args": wanted})


def test_wanted_arguments_may_have_lists(db: Session) -> None:
    found = db.enqueue(args={"n": [*range(30), [7, 8]], "m": 1})
    db.enqueue(args={"n": [*range(30)], "m": 1})

    assert search(db, args={"n": [*range(16), [8]]}) == [found]


def test_a_tenant_with_many_bulk_actions_leaves_lanes_to_others(sessions: Sessions, db: Session, acme: Session) -> None:
    """Each keeps its lane until it is over: a tenant that started many had all lanes of all workers."""
    worker = db.worker("w", queues=["ostinato"], kinds=["ostinato.bulk"])
    many = [acme.get("start_bulk", verb="cancel", filter={}) for _ in range(5)]
    other = sessions.tenant("other").get("start_bulk", verb="cancel", filter={})

    assert sorted(db.claimed_ids(worker, 10, queue="ostinato")) == [*many[:2], other]


def test_pages_of_a_search_hold_each_job_once(db: Session) -> None:
    made = [db.enqueue(args={"n": n % 2}) for n in range(20)]
    met: list[int] = []
    before = None
    while True:
        (page,) = db.call("search_jobs", filter={"args": {"n": 1}}, before=before, most=3)
        met += page["ids"]
        before = page["next"]
        if before is None:
            break

    assert met == made[1::2][::-1]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"filter": {"colour": "red"}}, "no field"),
        ({"filter": {"args": [1]}}, "must be a JSON object"),
        ({"filter": {"since": "yesterday-ish"}}, "cannot be read"),
        ({"state": "odd"}, "no state"),
        ({"state": "done", "filter": {"signature": "x"}}, "no signature"),
    ],
)
def test_a_filter_that_cannot_be_is_refused(db: Session, given: dict[str, Value], words: str) -> None:
    with refused("OS400", words):
        db.call("search_jobs", **given)


def test_a_tenant_finds_its_own_jobs_only(db: Session, acme: Session) -> None:
    mine = db.enqueue(tenant_id="acme", args={"n": 1})
    db.enqueue(tenant_id="other", args={"n": 1})

    for state in (None, "ready"):
        assert search(acme, state, args={"n": 1}) == [mine]
        assert search(acme, state, tenant_id="other") == []


def test_a_preview_counts_and_names_five_and_changes_nothing(db: Session) -> None:
    made = [db.enqueue("app.mail") for _ in range(7)]
    db.enqueue("app.other")

    (found,) = db.call("preview_bulk", verb="cancel", filter={"kind": "app.mail"})

    assert (found["matching"], found["capped"], found["samples"]) == (7, False, made[::-1][:5])
    assert {db.state(job) for job in made} == {"ready"}


def test_a_preview_stops_to_count_at_a_cap(db: Session) -> None:
    db.call("enqueue_jobs", kinds=["app.task"], args=["{}"] * 10_001)

    (found,) = db.call("preview_bulk", verb="cancel")

    assert (found["matching"], found["capped"]) == (10_000, True)


def test_a_bulk_cancel_ends_what_waits_and_asks_what_runs_and_leaves_the_rest(db: Session) -> None:
    db.enqueue("app.mail")
    held = db.claim_one(db.worker())
    waits = db.enqueue("app.mail", run_at=LATER, unique_key="u")
    ready = db.enqueue("app.mail")
    other = db.enqueue("app.other")
    bulk = db.get("start_bulk", verb="cancel", filter={"kind": "app.mail"}, reason="withdrawn")
    added = db.enqueue("app.mail")

    found = run(db, bulk)

    assert (found["state"], found["done"], found["refused"]) == ("done", 3, 0)
    assert [db.state(job) for job in (waits, ready, other, added, held.id)] == [
        *("cancelled", "cancelled", "ready", "ready", "running")
    ]
    assert db.value("select reason from ostinato_data.cancel_request where job_id = %s", held.id) == "withdrawn"
    assert db.value("select count(*) from ostinato_data.job_unique") == 0


def test_a_bulk_action_takes_no_job_beyond_its_filter_when_that_wants_a_null(db: Session) -> None:
    """A null in the wanted arguments is a value: without it, all jobs would be meant."""
    wanted = db.enqueue(args={"customer": None, "n": 1})
    other = db.enqueue(args={"customer": "ada", "n": 1})

    found = run(db, db.get("start_bulk", verb="cancel", filter={"args": {"customer": None}}))

    assert (found["state"], found["done"]) == ("done", 1)
    assert [db.state(job) for job in (wanted, other)] == ["cancelled", "ready"]


def test_more_than_a_batch_is_done_in_batches(db: Session) -> None:
    db.call("enqueue_jobs", kinds=["app.task"], args=["{}"] * 1_200)
    bulk = db.get("start_bulk", verb="cancel", filter={"kind": "app.task"})

    (first,) = db.call("run_bulk", bulk_id=bulk)
    last = run(db, bulk)

    assert (first["state"], first["done"]) == ("running", 0)  # nothing is scheduled
    assert (last["state"], last["done"], last["matching"]) == ("done", 1_200, 1_200)


def test_a_stop_counts_after_the_batch_that_is_on(db: Session) -> None:
    db.call("enqueue_jobs", kinds=["app.task"], args=["{}"] * 1_200)
    bulk = db.get("start_bulk", verb="cancel", state="ready", filter={"kind": "app.task"})
    db.call("run_bulk", bulk_id=bulk)

    assert db.get("stop_bulk", bulk_id=bulk) == "running"

    found = run(db, bulk)
    assert (found["state"], found["done"]) == ("stopped", 500)
    assert db.get("stop_bulk", bulk_id=bulk) == "stopped"


def test_discard_gives_dead_letters_up(db: Session) -> None:
    gone, kept = dead(db, tenant_id="acme"), dead(db, tenant_id="other")
    bulk = db.get("start_bulk", verb="discard", filter={"tenant_id": "acme"})

    assert run(db, bulk)["done"] == 1
    assert (db.state(gone), db.state(kept)) == ("cancelled", "dead")


def test_what_is_refused_is_listed_with_the_reason(db: Session) -> None:
    first = dead(db, unique_key="u")
    second = dead(db)
    holder = db.enqueue(unique_key="u")
    bulk = db.get("start_bulk", verb="redrive")

    found = run(db, bulk)

    assert (found["state"], found["done"], found["refused"]) == ("done", 1, 1)
    assert db.state(second) == "ready"
    (row,) = db.call("list_bulk_refusals", bulk_id=bulk)
    assert (row["job_id"], row["reason"]) == (first, f"its unique key 'u' is held by job {holder}")


def test_a_bulk_retry_runs_what_waits_and_what_is_dead_and_cancelled_ones_only_if_asked(db: Session) -> None:
    waits, died = db.enqueue(run_at=LATER), dead(db)
    gone = db.enqueue(run_at=LATER)
    db.call("cancel_job", job_id=gone)

    assert run(db, db.get("start_bulk", verb="retry"))["done"] == 2
    assert [db.state(job) for job in (waits, died, gone)] == ["ready", "ready", "cancelled"]
    assert run(db, db.get("start_bulk", verb="retry", state="cancelled"))["done"] == 1
    assert db.state(gone) == "ready"


def test_a_canary_runs_one_then_ten_then_the_rest(db: Session) -> None:
    made = [dead(db) for _ in range(15)]
    worker = db.worker("healer", queues=["graves"])
    bulk = db.get("start_bulk", verb="redrive", canary=True)

    seen = []
    for _ in range(2):
        assert run(db, bulk)["waiting"]
        held = db.claim(worker, 100, "graves")
        seen.append(sorted(job.id for job in held))
        assert run(db, bulk)["waiting"]  # they run
        db.complete(*held)
    last = run(db, bulk)

    assert seen == [made[:1], made[1:11]]
    assert (last["state"], last["done"]) == ("done", 15)
    assert {db.state(job) for job in made[11:]} == {"ready"}


def test_a_canary_halts_when_what_it_runs_again_fails_again(db: Session) -> None:
    made = [dead(db) for _ in range(3)]
    bulk = db.get("start_bulk", verb="redrive", canary=True)
    run(db, bulk)
    db.fail(db.claim_one(db.worker("healer", queues=["graves"]), "graves"), delay=60, type_="StillBroken")

    found = run(db, bulk)

    assert (found["state"], found["done"]) == ("halted", 1)
    assert [db.state(job) for job in made] == ["scheduled", "dead", "dead"]
    row = shown(db, bulk)
    assert (row["failed"], row["finished_at"] is None) == (1, False)
    assert row["note"].startswith("StillBroken")


def test_a_canary_of_few_ends_after_its_stage(db: Session) -> None:
    dead(db)
    bulk = db.get("start_bulk", verb="redrive", canary=True)
    run(db, bulk)
    db.complete(db.claim_one(db.worker("healer", queues=["graves"]), "graves"))

    assert run(db, bulk)["state"] == "done"


def test_each_batch_is_recorded_by_who_started_it_and_says_nothing_of_arguments(db: Session) -> None:
    job = db.enqueue(args={"mail": "ada@example.org"})
    with db.transaction():
        db.call("act_as", actor="ann@host", reason="withdrawn")
        bulk = db.get("start_bulk", verb="cancel", filter={"text": "ada@example.org"})
    db.rows("set application_name = 'ostinato/worker'")

    run(db, bulk)

    batch, start = db.call("list_audit")
    assert (start["verb"], start["noun"], start["target"]) == ("start", "bulk", str(bulk))
    assert (batch["verb"], batch["actor"], batch["actor_type"], batch["reason"], batch["job_ids"]) == (
        *("cancel", "ann@host", "operator", "withdrawn", [job]),
    )
    assert "ada" not in str((batch["filter"], start["filter"]))


def test_a_tenant_starts_sees_and_stops_its_own_only(db: Session, acme: Session, sessions: Sessions) -> None:
    mine, others = db.enqueue(tenant_id="acme"), db.enqueue(tenant_id="other")
    bulk = acme.get("start_bulk", verb="cancel")

    assert [row["id"] for row in acme.call("list_bulks")] == [bulk]
    assert acme.call("preview_bulk", verb="cancel", filter={"tenant_id": "other"})[0]["matching"] == 0
    with refused("OS400", "starts nothing"):
        acme.call("start_bulk", verb="cancel", filter={"tenant_id": "other"})
    stranger = sessions.tenant("other")
    assert stranger.call("list_bulks") == []
    with refused("OS404", "no bulk action"):
        stranger.call("stop_bulk", bulk_id=bulk)

    run(db, bulk)
    assert (db.state(mine), db.state(others)) == ("cancelled", "ready")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"verb": "burn"}, "no bulk action"),
        ({"verb": "cancel", "state": "dead"}, "not for jobs that are dead"),
        ({"verb": "cancel", "canary": True}, "a canary redrives"),
        ({"verb": "cancel", "reason": ""}, "a reason must be"),
    ],
)
def test_a_bulk_action_that_cannot_be_is_refused(db: Session, given: dict[str, Value], words: str) -> None:
    with refused("OS400", words):
        db.call("start_bulk", **given)


def test_a_bulk_action_that_is_not_there_is_refused(db: Session) -> None:
    for verb in ("run_bulk", "stop_bulk"):
        with refused("OS404", "no bulk action"):
            db.call(verb, bulk_id=7)
