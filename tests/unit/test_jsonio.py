import datetime as dt
import decimal
import json
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.jsonio import MAX_DEPTH, dump_args

LIMIT = 262_144

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
documents = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=20)
wild = st.recursive(
    scalars | st.floats() | st.text(st.characters(exclude_categories=())) | st.binary(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=())) | st.integers(), inner)
    ),
    max_leaves=10,
)


@given(documents)
def test_every_good_value_comes_back_as_it_was(value: object) -> None:
    assert json.loads(dump_args(value, LIMIT)) == value


@given(wild)
def test_any_value_is_either_stored_unchanged_or_refused_with_a_place(value: object) -> None:
    try:
        text = dump_args(value, LIMIT)
    except InvalidInput as refusal:
        place = str(refusal.values["path"])
    else:
        place = "$"
        assert json.loads(text.encode()) == value

    assert place.startswith("$")


@pytest.mark.parametrize(
    ("value", "path", "what"),
    [
        ({"a": [0, 1, 2, float("nan")]}, "$.a[3]", "is nan"),
        ({"a": float("-inf")}, "$.a", "is -inf"),
        ({"note": "a\0b"}, "$.note", "text with a NUL character ('a\\x00b')"),
        ({"a\0": 1}, "$", "key with a NUL character"),
        ({"name": "\ud83d"}, "$.name", "lone surrogate ('\\ud83d')"),
        ({"a": {7: "x"}}, "$.a", "has the key 7 of type int"),
        ({"a": {None: "x"}}, "$.a", "has the key None of type NoneType"),
        ({"two words": [{1}]}, "$['two words'][0]", "is {1} of type set"),
        ({"n": 10**4001}, "$.n", "integer of more than 4000 digits"),
        ({"n": -(10**5000)}, "$.n", "integer of more than 4000 digits"),
        ({10**5000: 1}, "$", "has the key <unprintable> of type int"),
        ({"b": b"raw"}, "$.b", "is b'raw' of type bytes"),
    ],
)
def test_a_value_that_cannot_be_stored_is_refused_by_its_place(value: object, path: str, what: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        dump_args(value, LIMIT)

    assert caught.value.values["path"] == path
    assert f"{path} " in caught.value.message
    assert what in caught.value.message


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "isoformat"),
        (dt.timedelta(1), "total_seconds"),
        (decimal.Decimal("1.10"), r"str\(value\)"),
        (uuid.UUID(int=1), r"str\(value\)"),
        ({1, 2}, "sorted"),
        (b"x", "base64"),
        (object(), "Pass text, numbers"),
    ],
)
def test_the_error_says_what_to_pass_instead(value: object, remedy: str) -> None:
    with pytest.raises(InvalidInput, match=remedy):
        dump_args({"value": value}, LIMIT)


def nested(levels: int) -> object:
    value: object = 1
    for level in range(levels):
        value = [value] if level % 2 else {"in": value}
    return value


def test_nesting_is_allowed_up_to_its_limit_and_not_beyond() -> None:
    assert dump_args(nested(MAX_DEPTH), LIMIT)

    with pytest.raises(InvalidInput, match="deeper than 64 levels"):
        dump_args(nested(MAX_DEPTH + 1), LIMIT)


@pytest.mark.parametrize("levels", [2_000, 200_000])
def test_absurdly_deep_nesting_is_refused_like_any_other(levels: int) -> None:
    value: list[object] = []
    for _ in range(levels):
        value = [value]

    with pytest.raises(InvalidInput, match="deeper than 64 levels"):
        dump_args(value, LIMIT)


def test_a_value_that_contains_itself_is_refused() -> None:
    value: dict[str, object] = {}
    value["me"] = value

    with pytest.raises(InvalidInput, match="Does it contain itself"):
        dump_args(value, LIMIT)


def test_the_size_counts_bytes_and_not_characters() -> None:
    assert dump_args("é" * 10, max_bytes=22)

    with pytest.raises(InvalidInput, match="args are 24 bytes of JSON, more than the limit of 23"):
        dump_args("é" * 11, max_bytes=23)


def test_text_that_only_looks_like_an_escaped_nul_is_allowed() -> None:
    assert json.loads(dump_args({"code": "\\u0000"}, LIMIT)) == {"code": "\\u0000"}


def test_large_integers_keep_every_digit() -> None:
    assert dump_args({"n": 2**80}, LIMIT) == '{"n":1208925819614629174706176}'


def test_an_object_that_cannot_be_printed_is_still_refused_by_its_place() -> None:
    class Rude:
        def __repr__(self) -> str:
            raise RuntimeError

    with pytest.raises(InvalidInput, match=r"\$\.x is <unprintable> of type Rude"):
        dump_args({"x": Rude()}, LIMIT)
