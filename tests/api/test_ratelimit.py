"""Token buckets: what they let through, what they say, and how much they remember."""

import random
import re

import pytest

from ostinato._faces.api.ratelimit import Bounded, Grant, RateLimit

SHAPES = {
    "ratelimit-policy": re.compile(r'"[a-z]+";q=[0-9]+;w=[0-9]+'),
    "ratelimit": re.compile(r'"[a-z]+";r=[0-9]+;t=[0-9]+'),
}


class Time:
    """A clock that stands until it is moved."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def test_a_full_bucket_lets_through_what_it_holds_and_no_more() -> None:
    limit = RateLimit("default", 3, clock=Time())

    taken = [limit.take("a") for _ in range(5)]

    assert taken == [
        Grant(allowed=True, remaining=2, seconds=20),
        Grant(allowed=True, remaining=1, seconds=40),
        Grant(allowed=True, remaining=0, seconds=20),
        Grant(allowed=False, remaining=0, seconds=20),
        Grant(allowed=False, remaining=0, seconds=20),
    ]


def test_what_costs_more_than_is_left_is_owed() -> None:
    clock = Time()
    limit = RateLimit("default", 60, clock=clock)
    limit.take("a")

    assert limit.charge("a", 49) == Grant(allowed=True, remaining=10, seconds=50)
    assert limit.charge("a", 30) == Grant(allowed=True, remaining=0, seconds=21)
    assert limit.charge("a", 1) == limit.take("a") == Grant(allowed=False, remaining=0, seconds=21)
    assert limit.take("b").remaining == 59
    clock.now += 21
    assert limit.take("a").allowed
    assert not limit.take("a").allowed


def test_one_large_body_owes_a_minute_at_the_most() -> None:
    clock = Time()
    limit = RateLimit("default", 60, clock=clock)
    limit.take("a")

    assert limit.charge("a", 2_000).allowed
    assert not limit.take("a").allowed
    clock.now += 61
    assert limit.take("a").allowed


@pytest.mark.parametrize("start", [0.0, 1.0e6 / 3, 1.0e9 / 7])
@pytest.mark.parametrize("per_minute", [1, 7, 60, 6000, 100_000])
def test_exactly_so_many_pass_at_once_whatever_the_clock_says(per_minute: int, start: float) -> None:
    limit = RateLimit("default", per_minute, clock=Time(start))

    passed = sum(limit.take("a").allowed for _ in range(per_minute + 10))

    assert passed == per_minute


def test_who_waits_as_long_as_was_said_is_let_through() -> None:
    rng = random.Random(7)
    for _ in range(200):
        clock = Time(rng.uniform(0, 1e6))
        limit = RateLimit("default", rng.randint(1, 500), clock=clock)
        while (grant := limit.take("a")).allowed:
            clock.now += rng.choice([0, 0, 0.01])

        clock.now += grant.seconds

        assert limit.take("a").allowed


def test_refusals_cost_nothing() -> None:
    clock = Time()
    limit = RateLimit("default", 60, clock=clock)
    for _ in range(1000):
        limit.take("a")

    clock.now += 1

    assert limit.take("a").allowed
    assert not limit.take("a").allowed


def test_ten_times_the_rate_gets_the_rate() -> None:
    clock = Time(12345.678)
    limit = RateLimit("default", 600, clock=clock)
    passed = 0
    for _ in range(60_000):  # ten minutes at a hundred a second
        clock.now += 0.01
        passed += limit.take("a").allowed

    assert 6000 <= passed <= 600 + 6000


def test_callers_do_not_share_a_bucket() -> None:
    limit = RateLimit("default", 1, clock=Time())
    assert limit.take("a").allowed
    assert not limit.take("a").allowed

    assert limit.take("b").allowed
    assert limit.take(("a", "b")).allowed


def test_a_clock_that_goes_back_locks_nobody_out_for_long() -> None:
    clock = Time(1000)
    limit = RateLimit("default", 60, clock=clock)
    limit.take("a")
    clock.now = 999

    assert limit.take("a").allowed


def test_the_headers_are_those_of_the_draft() -> None:
    limit = RateLimit("default", 6000, clock=Time())

    headers = limit.headers(limit.take("a"))

    assert headers == {"ratelimit-policy": '"default";q=6000;w=60', "ratelimit": '"default";r=5999;t=1'}
    for name, value in headers.items():
        assert SHAPES[name].fullmatch(value)


def test_memory_is_bounded_and_the_busy_are_remembered() -> None:
    limit = RateLimit("default", 1, clock=Time(), most=10)
    limit.take("busy")
    for number in range(1000):
        assert limit.take(number).allowed
        assert not limit.take("busy").allowed

    assert len(limit._full_at) == 10


def test_a_bounded_dictionary_forgets_what_was_set_longest_ago() -> None:
    kept: Bounded[str, int] = Bounded(2)
    kept.keep("a", 1)
    kept.keep("b", 2)
    kept.keep("a", 3)

    kept.keep("c", 4)

    assert dict(kept) == {"a": 3, "c": 4}
