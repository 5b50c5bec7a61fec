"""Enqueue: what is taken, what is refused, and where the job then is."""

import json
from datetime import timedelta

import pytest

from tests.sql.engine import FIRST_DAY, START, Clock, Session, refused


def test_a_job_is_ready_at_once(db: Session) -> None:
    job = db.enqueue("app.task", args={"x": 1}, correlation_id="c1", limit_key="k", max_attempts=3)

    assert db.state(job) == "ready"
    shown = db.call("show_job", job_id=job)[0]
    assert shown["args"] == {"x": 1}
    assert (shown["correlation_id"], shown["limit_key"], shown["max_attempts"]) == ("c1", "k", 3)
    assert (shown["queue"], shown["tenant_id"], shown["priority"]) == ("default", "default", 0)
    assert shown["created_at"] == START


def test_a_job_for_later_is_scheduled(db: Session) -> None:
    job = db.enqueue(run_at=START + timedelta(hours=1))

    assert db.state(job) == "scheduled"
    assert db.call("list_jobs", state="scheduled")[0]["run_at"] == START + timedelta(hours=1)


def test_a_time_in_the_past_means_now(db: Session) -> None:
    assert db.state(db.enqueue(run_at=START - timedelta(hours=1))) == "ready"
    assert db.state(db.enqueue(run_at=START)) == "ready"


@pytest.mark.parametrize("never", ["infinity", "-infinity"])
def test_a_time_that_never_comes_is_refused(db: Session, never: str) -> None:
    with refused("OS400", "run_at"):
        db.enqueue(run_at=never)
    with refused("OS400", "run_at"):
        db.call("enqueue_jobs", kinds=["app.task"], args=["{}"], run_ats=[never])


def test_an_id_starts_with_its_day_and_grows(db: Session, clock: Clock) -> None:
    today = db.enqueue()
    clock.advance(days=1)
    tomorrow = db.enqueue()

    assert FIRST_DAY <= today < FIRST_DAY + 10_000_000_000 <= tomorrow < 2**53


def test_the_queue_and_priority_of_a_registered_kind_apply_unless_given(db: Session) -> None:
    db.call(
        "register_kinds",
        names=["app.task"],
        queues=["mails"],
        priorities=[7],
        timeouts=[None],
        retries=["{}"],
        schemas=[None],
    )

    by_kind, given = db.enqueue(), db.enqueue(queue="other", priority=1)

    listed = {row["id"]: (row["queue"], row["priority"]) for row in db.call("list_jobs")}
    assert listed == {by_kind: ("mails", 7), given: ("other", 1)}


def test_a_job_of_a_rolled_back_transaction_never_was(db: Session, other: Session) -> None:
    with db.transaction():
        job = db.enqueue()
        assert other.state(job) is None
        db.rows("rollback")
        db.rows("begin")

    assert db.state(job) is None
    assert db.call("list_jobs") == []


@pytest.mark.parametrize(
    ("args", "word"),
    [
        ("[1]", "array"),
        ('"text"', "string"),
        ("null", "null"),
        ('{"a": "\\u0000"}', "valid JSON"),
        ('{"a": "\\ud800"}', "valid JSON"),
        ('{"a": "\\uDFFF x"}', "valid JSON"),
        (json.dumps({"a": "x" * 262_144}), "the limit is 262144"),
    ],
)
def test_args_that_could_not_be_read_back_are_refused(db: Session, args: str, word: str) -> None:
    with refused("OS400", "app.task", word):
        db.enqueue(args=args)
    with refused("OS400", "app.task", word):
        db.call("enqueue_jobs", kinds=["app.task"], args=["{}", args])
    with refused("OS400", "app.task", word):
        db.call("check_args", kind="app.task", args=args)

    assert db.call("list_jobs") == []


def test_args_that_are_missing_are_refused(db: Session) -> None:
    with refused("OS400", "app.task"):
        db.enqueue(args=None)
    with refused("OS400", "app.task"):
        db.call("enqueue_jobs", kinds=["app.task"], args=[None, "{}"])


@pytest.mark.parametrize("args", ['{"a": "\\ud83d\\ude00"}', '{"a": "C:\\\\udir"}', "{}", " {} "])
def test_args_with_harmless_escapes_are_kept_as_they_are(db: Session, args: str) -> None:
    one = db.enqueue(args=args)
    (row,) = db.call("enqueue_jobs", kinds=["app.task"], args=[args])

    kept = db.rows("select id, args::text from ostinato_data.job order by id")
    assert [row["args"] for row in kept] == [args, args]
    assert [row["id"] for row in kept] == [one, row["enqueue_jobs"]]


def test_args_of_exactly_the_limit_are_taken(db: Session) -> None:
    args = json.dumps({"a": "x" * (262_144 - 9)})
    assert len(args) == 262_144

    assert db.state(db.enqueue(args=args)) == "ready"


@pytest.mark.parametrize("name", ["", "x" * 201])
@pytest.mark.parametrize("field", ["kind", "queue", "tenant_id", "unique_key", "limit_key"])
def test_names_are_1_to_200_characters(db: Session, field: str, name: str) -> None:
    given = {"kind": "app.task"} | {field: name}
    plural = {f"{given_field}s": [value] for given_field, value in given.items()}

    with refused("OS400", field):
        db.call("enqueue_job", **given)
    with refused("OS400", field):
        db.call("enqueue_jobs", args=["{}"], **plural)
    with refused("OS400", field):
        db.call("check_name", what=field, value=name)

    assert db.call("list_jobs") == []


def test_a_correlation_id_that_no_index_can_hold_is_refused(db: Session) -> None:
    with refused("OS400", "correlation_id"):
        db.enqueue(correlation_id="x" * 201)
    with refused("OS400", "correlation_id"):
        db.call("enqueue_jobs", kinds=["app.task"], args=["{}"], correlation_ids=["x" * 201])


@pytest.mark.parametrize(
    ("field", "value"), [("priority", 40_000), ("priority", -40_000), ("max_attempts", 0), ("max_attempts", 40_000)]
)
def test_numbers_out_of_range_are_refused(db: Session, field: str, value: int) -> None:
    plural = {"priority": "priorities", "max_attempts": "max_attempts"}[field]

    with refused("OS400", field):
        db.call("enqueue_job", kind="app.task", **{field: value})
    with refused("OS400", field):
        db.call("enqueue_jobs", kinds=["app.task"], args=["{}"], **{plural: [value]})


def test_checks_let_pass_what_is_not_given(db: Session) -> None:
    db.call("check_options")
    db.call("check_options", priority=-32_768, max_attempts=32_767, run_at=START, limit_key="k")
    nothing = dict.fromkeys(
        ["queues", "priorities", "run_ats", "tenant_ids", "correlation_ids", "limit_keys", "limit_scopes"]
    )
    db.call("check_sets", kinds=["app.task"], args=["{}"], max_attempts=None, **nothing)


def test_many_jobs_get_ids_in_the_order_given(db: Session) -> None:
    later = START + timedelta(minutes=5)
    found = [
        row["enqueue_jobs"]
        for row in db.call(
            "enqueue_jobs",
            kinds=["app.a", "app.b", "app.a"],
            args=['{"n": 1}', '{"n": 2}', '{"n": 3}'],
            queues=["q"],
            priorities=[5, None, 1],
            run_ats=[None, later, None],
            tenant_ids=["t1", "t2", None],
            correlation_ids=["c"],
            limit_keys=["k1", None, "k3"],
            max_attempts=[9],
        )
    ]

    assert found == sorted(found)
    shown = [db.call("show_job", job_id=job)[0] for job in found]
    assert [row["args"]["n"] for row in shown] == [1, 2, 3]
    assert [row["kind"] for row in shown] == ["app.a", "app.b", "app.a"]
    assert [row["priority"] for row in shown] == [5, 0, 1]
    assert [row["state"] for row in shown] == ["ready", "scheduled", "ready"]
    assert [row["tenant_id"] for row in shown] == ["t1", "t2", "default"]
    assert [row["limit_key"] for row in shown] == ["k1", None, "k3"]
    assert {(row["queue"], row["correlation_id"], row["max_attempts"]) for row in shown} == {("q", "c", 9)}


def test_many_jobs_take_the_queue_of_their_kind(db: Session) -> None:
    db.call(
        "register_kinds",
        names=["app.a"],
        queues=["mails"],
        priorities=[7],
        timeouts=[1.5],
        retries=["{}"],
        schemas=["{}"],
    )
    db.call("enqueue_jobs", kinds=["app.a", "app.b"], args=["{}", "{}"])

    listed = {row["kind"]: (row["queue"], row["priority"]) for row in db.call("list_jobs")}
    assert listed == {"app.a": ("mails", 7), "app.b": ("default", 0)}


def test_no_jobs_are_no_jobs(db: Session) -> None:
    assert db.call("enqueue_jobs", kinds=["app.task"], args=[]) == []


def test_arrays_that_do_not_fit_together_are_refused(db: Session) -> None:
    with refused("OS400", "lengths"):
        db.call("enqueue_jobs", kinds=["a", "b"], args=["{}", "{}", "{}"])
    with refused("OS400", "lengths"):
        db.call("enqueue_jobs", kinds=["a"], args=None)
    with refused("OS400", "lengths"):
        db.rows("select ostinato_internal.check_lengths(3, 1, 2)")
    db.rows("select ostinato_internal.check_lengths(3, 1, 3, null)")


def test_many_jobs_with_unique_keys_return_the_holders(db: Session) -> None:
    found = db.call("enqueue_jobs", kinds=["app.task"], args=["{}", "{}", "{}"], unique_keys=["a", "a", None])

    first, again, without = (row["enqueue_jobs"] for row in found)
    assert first == again != without
    assert len(db.call("list_jobs")) == 2


def test_one_bad_job_refuses_all_of_a_set(db: Session) -> None:
    with refused("OS400"):
        db.call("enqueue_jobs", kinds=["app.task"], args=["{}", "[]"])

    assert db.call("list_jobs") == []


def test_jobs_with_unique_keys_go_one_by_one(db: Session) -> None:
    first, second = db.rows(
        "select ostinato_internal.enqueue_each('{k}', '{\"{}\",\"{}\"}', null, null, null, null,"
        " null, null, '{same}', null, null, null) as id"
    )

    assert first == second


def test_pick_takes_the_one_for_all_or_the_one_for_each(db: Session) -> None:
    picked = db.row(
        "select ostinato_internal.pick(array[7], 3) as one, ostinato_internal.pick(array[7, 8, 9], 3) as each,"
        " ostinato_internal.pick(null::integer[], 3) as none"
    )

    assert picked == {"one": 7, "each": 9, "none": None}


def test_a_place_in_line_can_be_made_by_hand(db: Session) -> None:
    job = db.enqueue()
    db.call("take_waiting", job_ids=[job])

    db.call("make_ready", job_id=job, at=job + 5, attempt=4, failures=2, crashes=1)

    assert db.get("is_ready", job_id=job) is True
    held = db.claim_one(db.worker())
    assert (held.attempt, held.row["failures"], held.row["crashes"]) == (4, 2, 1)
