"""Scripts of faults, by themselves."""

import pytest

from ostinato._core.base.errors import InvalidInput
from ostinato.lab.sandbox.faults import Faults, Limit, Order, parse


def played(script: str, calls: int) -> list[str]:
    faults = Faults()
    faults.order(Order("/hooks/*", script))
    return [faults.take("POST", "/hooks/a").text for _ in range(calls)]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("503,503,200", ["503", "503", "200", "ok", "ok"]),
        ("close*2, ok, reset", ["close*2", "close*2", "ok", "reset", "ok"]),
        ("429:7*", ["429:7*"] * 5),
        ("", ["ok"] * 5),
        ("503*0,stall", ["stall", "ok", "ok", "ok", "ok"]),
    ],
)
def test_a_script_is_followed_word_by_word_and_then_all_is_usual(script: str, said: list[str]) -> None:
    assert played(script, 5) == said


def test_a_word_says_status_pause_and_delay() -> None:
    ((fault, times),) = parse("429:7@1.5*3")

    assert (fault.what, fault.status, fault.retry_after, fault.delay, times) == ("status", 429, 7, 1.5, 3)


@pytest.mark.parametrize("script", ["maybe", "999", "503;200", "503@", "503@301", "503**", ",", "50", "ok:x", "503,"])
def test_what_is_no_word_is_refused_with_the_words_there_are(script: str) -> None:
    with pytest.raises(InvalidInput, match="is no word of a script") as refused:
        parse(script)

    assert "close" in str(refused.value.hint)


def test_the_newest_script_that_fits_is_followed() -> None:
    faults = Faults()
    faults.order(Order("/hooks/*", "500*"))
    faults.order(Order("/hooks/a", "502"))
    faults.order(Order("/hooks/*", "503*", method="GET"))

    assert [faults.take("POST", "/hooks/a").status for _ in range(2)] == [502, 500]
    assert faults.take("GET", "/hooks/a").status == 503
    assert faults.take("POST", "/other").what == "ok"


def test_a_script_for_the_same_calls_takes_the_place_of_the_one_before() -> None:
    faults = Faults()
    faults.order(Order("/a", "500*"))
    faults.order(Order("/a", "502"))

    assert [faults.take("GET", "/a").status for _ in range(2)] == [502, 200]
    assert len(faults.orders) == 1


def test_a_limit_lets_so_many_through_in_a_window_and_says_when_to_come_again() -> None:
    now = [100.0]
    faults = Faults(clock=lambda: now[0])
    faults.order(Order("/a", limit=Limit(requests=2, seconds=10)))

    first = [faults.take("GET", "/a").what for _ in range(3)]
    held_back = faults.take("GET", "/a")
    now[0] += 10
    later = faults.take("GET", "/a")

    assert first == ["ok", "ok", "status"]
    assert (held_back.status, held_back.retry_after) == (429, 10)
    assert later.what == "ok"


def test_what_is_kept_of_calls_is_bounded() -> None:
    faults = Faults()
    for _ in range(2100):
        faults.note(method="GET", path="/a", query="", headers={}, body=b"")

    assert len(faults.calls) == 2000
    assert faults.calls[-1].number == 2100
