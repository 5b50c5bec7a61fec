import json
import random
from itertools import count, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato._core.base.backoff import Retry, from_json, is_permanent, next_delay, to_json
from ostinato._core.base.errors import InvalidInput, LeaseLost, OstinatoError

policies = st.builds(
    Retry,
    delays=st.lists(st.floats(0, 1e6), max_size=5).map(tuple),
    base=st.floats(0, 1e6),
    factor=st.floats(1, 1000),
    cap=st.floats(0, 1e6),
    jitter=st.floats(0, 1),
    max_attempts=st.integers(0, 10_000),
    permanent=st.lists(st.sampled_from(["ValueError", "a.b.C"]), max_size=2).map(tuple),
)


def delays_of(policy: Retry) -> list[float | None]:
    rng = random.Random(1)
    computed = (next_delay(policy, failures, rng) for failures in count(1))
    return list(takewhile(lambda delay: delay is not None, computed))


def test_the_default_retries_four_times_within_about_five_minutes() -> None:
    assert delays_of(Retry(jitter=0)) == [2, 10, 50, 250]


def test_a_list_of_delays_is_followed_in_order_and_then_the_job_is_given_up() -> None:
    policy = Retry(delays=(1, 60, 3600), jitter=0)

    assert delays_of(policy) == [1, 60, 3600]
    assert policy.max_attempts == 4


def test_the_last_delay_repeats_when_more_attempts_are_asked_for() -> None:
    assert delays_of(Retry(delays=(1, 5), max_attempts=5, jitter=0)) == [1, 5, 5, 5]


def test_one_attempt_means_no_retry() -> None:
    assert delays_of(Retry(max_attempts=1)) == []


def test_an_exponential_delay_stops_growing_at_the_cap_however_many_failures() -> None:
    policy = Retry(base=1, factor=10, cap=100, jitter=0, max_attempts=10_000)

    assert next_delay(policy, 3, random.Random(1)) == 100
    assert next_delay(policy, 9_999, random.Random(1)) == 100


def test_jitter_comes_from_the_generator_handed_in_and_from_nowhere_else() -> None:
    policy = Retry(jitter=0.5)

    first, second = (next_delay(policy, 1, random.Random(42)) for _ in range(2))

    assert first == second


@given(policies, st.integers(1, 10_000), st.integers())
def test_a_delay_stays_within_its_jitter_and_ends_with_the_attempts(policy: Retry, failures: int, seed: int) -> None:
    delay = next_delay(policy, failures, random.Random(seed))

    if failures >= policy.max_attempts:
        assert delay is None
    else:
        longest = max(policy.delays, default=policy.cap)
        assert delay is not None
        assert 0 <= delay <= longest * (1 + policy.jitter) + 1e-9


@given(policies)
def test_a_policy_survives_being_stored_as_json(policy: Retry) -> None:
    stored = json.loads(json.dumps(to_json(policy)))
    read = from_json(stored)

    assert to_json(read) == to_json(policy)
    assert delays_equal(read, policy)


def delays_equal(one: Retry, other: Retry) -> bool:
    return all(
        next_delay(one, failures, random.Random(3)) == next_delay(other, failures, random.Random(3))
        for failures in range(1, 8)
    )


def test_stored_errors_still_match_after_reading_them_back() -> None:
    policy = from_json(to_json(Retry(permanent=(ValueError, LeaseLost))))

    assert policy.permanent == ("ValueError", "ostinato.errors.LeaseLost")
    assert is_permanent(policy, LeaseLost("gone"))


def test_a_subclass_of_a_permanent_error_is_permanent_by_class_and_by_name() -> None:
    error = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad")

    assert is_permanent(Retry(permanent=(ValueError,)), error)
    assert is_permanent(Retry(permanent=("ValueError",)), error)
    assert is_permanent(Retry(permanent=("ostinato.errors.OstinatoError",)), LeaseLost("x"))


def test_other_errors_are_not_permanent() -> None:
    assert not is_permanent(Retry(permanent=(ValueError, "KeyError")), OSError("disk"))
    assert not is_permanent(Retry(), OstinatoError("x"))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"jitter": 1.5}, "Retry.jitter must be a number from 0 to 1, got 1.5"),
        ({"delays": (1, -1)}, "Retry.delays must be a number from 0"),
        ({"delays": 5}, "Retry.delays must be a tuple, got 5"),
        ({"base": float("nan")}, "Retry.base must be a number"),
        ({"cap": float("inf")}, "Retry.cap must be a number"),
        ({"factor": 0.5}, "Retry.factor must be a number from 1"),
        ({"factor": True}, "got True"),
        ({"max_attempts": 1.5}, "Retry.max_attempts must be a whole number from 1"),
        ({"max_attempts": -1}, "got -1"),
        ({"permanent": ValueError}, "Retry.permanent must be a tuple"),
        ({"permanent": "ValueError"}, "Retry.permanent must be a tuple"),
        ({"permanent": (int,)}, "takes exception classes or their names, got <class 'int'>"),
        ({"permanent": ("not a name",)}, "got 'not a name'"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_with_the_value(fields: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence.replace("(", r"\(")):
        Retry(**fields)  # type: ignore[arg-type]


def test_an_unknown_field_of_a_stored_policy_is_named() -> None:
    with pytest.raises(InvalidInput, match="no field 'backoff'"):
        from_json({"backoff": 3})


def test_a_list_is_as_good_as_a_tuple() -> None:
    policy = Retry(delays=[1, 2])  # type: ignore[arg-type]

    assert policy == Retry(delays=(1, 2))
