import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato._core.base import signature
from ostinato._core.base.redact import redact
from ostinato._core.base.signature import bounded_error, error_signature, storable

any_text = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("no row 17 in invoices", "no row 4711 in invoices"),
        ("took 1.52 s", "took 99.01 s"),
        ("bad key 'alpha'", "bad key 'beta gamma'"),
        ('bad key "alpha"', 'bad key "beta"'),
        ("order 6f1c1a52-97b5-4d2f-9d3a-2b8f6f1c1a52 is gone", "order 00000000-0000-4000-8000-000000000000 is gone"),
        ("<Lock at 0x7f3a2c>", "<Lock at 0x10ffee>"),
        ("connect to 10.0.0.1:5432 failed", "connect to 192.168.1.20:6432 failed"),
        ("connect to [2001:db8::1]:5432 failed", "connect to [2001:db8::ff]:5432 failed"),
        ("etag d41d8cd98f00b204 differs", "etag 9e107d9d372bb682 differs"),
        ("mail to ana@example.org bounced", "mail to bo.x@example.com bounced"),
        ("first line\n  second", "first line second"),
    ],
)
def test_two_occurrences_of_the_same_error_share_a_signature(one: str, other: str) -> None:
    assert error_signature("E", one) == error_signature("E", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("connection refused", "connection reset"),
        ("can't open, won't retry", "can't close, won't retry"),
        ("feedface is a word", "deadline is a word"),
    ],
)
def test_different_errors_keep_different_signatures(one: str, other: str) -> None:
    assert error_signature("E", one) != error_signature("E", other)


def test_the_type_is_part_of_the_signature() -> None:
    assert error_signature("KeyError", "'a'") == "KeyError: <text>"
    assert error_signature("TimeoutError", "") == "TimeoutError"


@given(any_text, any_text)
def test_a_signature_is_always_one_short_line_that_can_be_stored(name: str, message: str) -> None:
    line = error_signature(name, message)

    assert len(line) <= 200
    assert line.splitlines() in ([], [line])
    assert "\0" not in line
    line.encode()


def test_a_huge_message_is_only_read_as_far_as_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counted(text: str) -> str:
        read.append(len(text))
        return storable(text)

    monkeypatch.setattr(signature, "storable", counted)

    assert error_signature("E", "x " * 1_000_000).endswith("…")
    assert max(read) < 10_000


def raised(exc: BaseException) -> BaseException:
    with pytest.raises(type(exc)) as caught:
        raise exc
    return caught.value


def test_an_error_is_kept_with_type_message_and_traceback() -> None:
    kept = bounded_error(raised(ValueError("no such invoice")))

    assert kept["type"] == "ValueError"
    assert kept["message"] == "no such invoice"
    assert "in raised" in kept["traceback"]


def test_a_long_traceback_keeps_its_beginning_and_its_end() -> None:
    kept = bounded_error(raised(ValueError("y" * 20_000 + " the end")), limit=2000)

    assert kept["traceback"].startswith("Traceback (most recent call last)")
    assert kept["traceback"].endswith(" the end\n")
    assert "characters left out" in kept["traceback"]


@given(any_text, st.integers(0, 3000))
def test_what_is_kept_is_bounded_and_can_always_be_stored(message: str, limit: int) -> None:
    kept = bounded_error(raised(ValueError(message)), limit=limit)

    assert sum(map(len, (kept["message"], kept["traceback"]))) <= limit
    json.dumps(kept, ensure_ascii=False).encode()
    assert "\0" not in kept["message"] + kept["traceback"]


def test_an_error_that_cannot_be_printed_is_kept_all_the_same() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    kept = bounded_error(raised(Broken()))

    assert kept["message"].endswith("Broken.__str__ raised RuntimeError>")
    assert "in raised" in kept["traceback"]


def test_an_endless_recursion_is_kept() -> None:
    def endless() -> None:
        endless()

    with pytest.raises(RecursionError) as caught:
        endless()

    assert bounded_error(caught.value)["type"] == "RecursionError"


def test_a_huge_message_is_shortened_before_it_is_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a caller sent costs no more than what is kept of it, whichever pattern it is made for."""
    read: list[int] = []

    def counted(text: str) -> str:
        read.append(len(text))
        return redact(text)

    monkeypatch.setattr(signature, "redact", counted)

    bounded_error(raised(ValueError("a@b. " * 1_000_000)))

    assert len(read) >= 2
    assert max(read) <= 8192


def test_a_group_of_errors_is_kept() -> None:
    group = ExceptionGroup("two", [ValueError("one"), KeyError("other")])

    assert "KeyError" in bounded_error(raised(group))["traceback"]


def test_a_password_in_the_message_is_not_kept() -> None:
    kept = bounded_error(raised(OSError("cannot reach postgresql://bo:hunter2@db/app")))

    assert "hunter2" not in str(kept)


@pytest.mark.parametrize("before", range(0, 60, 7))
def test_a_secret_that_is_cut_is_not_kept(before: int) -> None:
    secret = "postgresql://bo:hunter2-hunter2-hunter2-hunter2-hunter2@db/app"
    filled = ("x " * 1100)[: 2048 - before]  # the message is cut at 2,048 characters

    kept = bounded_error(raised(OSError(f"{filled}{secret} {'y ' * 9000}{secret}")))

    assert "hunter" not in str(kept)


def test_storable_text_says_what_was_there() -> None:
    assert storable("a\0b\ud800") == "a\\x00b\\ud800"
