"""Canonical JSON and fingerprints: one text for one value, everywhere."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato._core.base.canonical import Declaration, canonical, differing, parse, sha256
from ostinato._core.base.errors import InvalidInput

# The nine fields of a capture, with values that other implementations were checked against.
CAPTURE: dict[str, object] = {
    "capture_id": "a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d",
    "content_hash": "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789",
    "dek_wrapped_b64": "ZGVrd3JhcHBlZGI2NA==",
    "aes_gcm_nonce_b64": "dGVzdG5vbmNlMTIz",
    "aes_gcm_tag_b64": "dGVzdHRhZzEyMzQ1Njc4OQ==",
    "kek_id": "kek-2026-04-01",
    "mime_type": "image/png",
    "size_bytes": 524288,
    "upload_object_key": "captures/a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d.enc",
}
FIELDS = Declaration(include=tuple(CAPTURE), exclude=("ocr_text", "ocr_confidence"))
GOLDEN = "dd8c3a4df0bc14a3d676b45fd997fcc79802ce343029c3f75738fd0fba652a3f"
GOLDEN_OTHER_SIZE = "8d3f79ed6a0dad78ec039baa63de401acc7d302424d5e4331fb05bb0f43c1587"

integers = st.integers(-(2**53) + 1, 2**53 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.none() | st.booleans() | integers | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    scalars | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


# Golden vectors


def test_a_capture_has_the_text_and_the_fingerprint_that_others_have() -> None:
    text = canonical(CAPTURE)

    assert len(text) == 402
    assert text.startswith(b'{"aes_gcm_nonce_b64":"dGVzdG5vbmNlMTIz","aes_gcm_tag_b64":"dGVz')
    assert sha256(text) == GOLDEN
    assert FIELDS.fingerprint(CAPTURE).value == GOLDEN


def test_another_size_has_another_fingerprint() -> None:
    assert FIELDS.fingerprint(CAPTURE | {"size_bytes": 999_999}).value == GOLDEN_OTHER_SIZE


def test_what_was_read_on_a_capture_does_not_make_it_another() -> None:
    assert FIELDS.fingerprint(CAPTURE | {"ocr_text": "TOTAL 12,00"}).value == GOLDEN


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"\U0001f600": 1, "\ufb33": 2, "a": 3}, '{"a":3,"\U0001f600":1,"\ufb33":2}'),
        (524288.0, "524288"),
        (-0.0, "0"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1e-7, "1e-7"),
        (1e-6, "0.000001"),
        (0.1 + 0.2, "0.30000000000000004"),
        (5e-324, "5e-324"),
        (2**53 - 1, "9007199254740991"),
        ("\u0000\u0008\t\n\u000c\r\u001f\u007f", '"\\u0000\\b\\t\\n\\f\\r\\u001f\x7f"'),
        ("/\u2028é", '"/\u2028é"'),
        ('"\\', '"\\"\\\\"'),
        ([], "[]"),
        ({}, "{}"),
        ([None, True, False], "[null,true,false]"),
        ({"b": {"z": 1, "y": 2}, "a": (1, 2)}, '{"a":[1,2],"b":{"y":2,"z":1}}'),
    ],
)
def test_edge_cases_are_written_as_rfc_8785_says(value: object, text: str) -> None:
    assert canonical(value).decode() == text


def test_unicode_is_not_normalised() -> None:
    assert canonical("\u00e9") != canonical("e\u0301")


# What has no canonical form


@pytest.mark.parametrize(
    ("value", "place", "said"),
    [
        ({"a": float("nan")}, "$.a", "nan"),
        ([1, float("inf")], "$[1]", "inf"),
        ({"a": {"b": 2**53}}, "$.a.b", "beyond 2^53"),
        (-(2**53), "$", "beyond 2^53"),
        ({"a": ["x\ud800"]}, "$.a[0]", "surrogate"),
        ({"\udfff": 1}, "$", "surrogate"),
        ({1: 2}, "$", "key 1"),
        ({"a": b"x"}, "$.a", "bytes"),
        ({"a": {1, 2}}, "$.a", "set"),
    ],
)
def test_what_others_would_read_otherwise_is_refused_with_its_place(value: object, place: str, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        canonical(value)

    assert caught.value.message.startswith(place)
    assert said in caught.value.message
    assert caught.value.hint


def test_depth_and_size_are_bounded() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    with pytest.raises(InvalidInput, match="deeper than 64"):
        canonical(deep)
    with pytest.raises(InvalidInput, match="1,000,002 bytes"):
        canonical("x" * 1_000_000, max_bytes=1_000_001)
    while deep:  # taken apart by hand: freeing it at once would nest as deep
        deep = deep[0]


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: dict[str, object] = {}
    loop["self"] = loop

    with pytest.raises(InvalidInput, match="deeper than 64"):
        canonical(loop)


# Parsing


def test_json_text_is_parsed_to_what_it_says() -> None:
    assert parse(b'{"a": [1, 2.5, "\xc3\xa9", null]}') == {"a": [1, 2.5, "é", None]}
    assert parse("9007199254740994") == 2.0**53 + 2  # exact for everybody


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "'c' twice"),
        ('{"a": NaN}', "NaN"),
        ("[-Infinity]", "-Infinity"),
        ("1e400", "inf"),
        ("9007199254740993", r"beyond 2\^53"),
        ("1" * 5000, "not JSON"),
        ('"\\ud800"', "surrogate"),
        ('{"a": 1,}', "not JSON"),
        ("", "not JSON"),
        (b"\xff", "not UTF-8"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        ("[" * 100_000, "not JSON|deeper"),
        ("[" * 65 + "]" * 65, "deeper than 64"),
        ("x" * 1_048_577, "more than the limit"),
    ],
)
def test_json_that_is_read_differently_elsewhere_is_refused(text: str | bytes, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        parse(text)


@given(values)
def test_canonical_text_reads_back_and_stays_as_it_is(value: object) -> None:
    text = canonical(value)

    assert canonical(parse(text)) == text
    assert parse(text) == json.loads(json.dumps(value))


# Declarations


@given(st.dictionaries(texts, values, min_size=1, max_size=6), st.randoms())
def test_the_order_of_keys_does_not_matter(payload: dict[str, object], rng: random.Random) -> None:
    shuffled = list(payload.items())
    rng.shuffle(shuffled)
    everything = Declaration()

    assert everything.fingerprint(dict(shuffled)) == everything.fingerprint(payload)


@given(st.dictionaries(texts, values, min_size=1, max_size=6), st.data())
def test_any_change_of_an_included_field_changes_the_fingerprint_and_names_the_field(
    payload: dict[str, object], data: st.DataObject
) -> None:
    declared = Declaration(include=tuple(payload))
    name = data.draw(st.sampled_from(sorted(payload)))
    other = data.draw(values.filter(lambda v: canonical(v) != canonical(payload[name])))
    before = declared.fingerprint(payload)

    after = declared.fingerprint(payload | {name: other})
    without = declared.fingerprint({n: v for n, v in payload.items() if n != name})

    for changed in (after, without):
        assert changed.value != before.value
        assert {n for n in payload if changed.fields[n] != before.fields[n]} == {name}


@given(st.dictionaries(texts, values, min_size=2, max_size=6), st.data())
def test_excluded_fields_do_not_matter(payload: dict[str, object], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(payload)))
    rest = {n: v for n, v in payload.items() if n != name}
    listed = Declaration(include=tuple(rest), exclude=(name,))
    others = Declaration(exclude=(name,))

    for declared in (listed, others):
        before = declared.fingerprint(payload)
        assert declared.fingerprint(payload | {name: data.draw(values)}) == before
        assert declared.fingerprint(rest) == before


def test_a_field_that_is_not_there_differs_from_one_that_is_null() -> None:
    declared = Declaration(include=("a", "b"))

    assert declared.fingerprint({"a": 1}).value != declared.fingerprint({"a": 1, "b": None}).value
    assert set(declared.fingerprint({"a": 1}).fields) == {"a", "b"}


def test_a_field_that_nobody_decided_about_is_refused() -> None:
    with pytest.raises(InvalidInput, match="says nothing about 'c'"):
        Declaration(include=("a",), exclude=("b",)).fingerprint({"a": 1, "b": 2, "c": 3})


def test_a_declaration_is_recognised_by_what_it_says() -> None:
    one = Declaration(include=("a", "b"), exclude=("c", "d"))

    assert one.hash == Declaration(include=("b", "a"), exclude=("d", "c")).hash
    others = [
        Declaration(include=("a",), exclude=("c", "d")),
        Declaration(include=("a", "b"), exclude=("c",)),
        Declaration(include=("a", "b"), exclude=("c", "d"), version=2),
        Declaration(exclude=("c", "d")),
    ]
    assert len({one.hash, *(other.hash for other in others)}) == 5
    assert one.fingerprint({"a": 1}).declaration == one.hash


@pytest.mark.parametrize("bad", [{"include": "ab"}, {"include": (1,)}, {"include": ()}, {"exclude": ["a"]}])
def test_a_declaration_that_makes_no_sense_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Declaration(**bad)


def test_a_field_is_included_or_excluded_not_both() -> None:
    with pytest.raises(InvalidInput, match="'a'"):
        Declaration(include=("a",), exclude=("a",))


def test_only_named_fields_are_fingerprinted_and_not_too_many() -> None:
    with pytest.raises(InvalidInput, match="got list"):
        Declaration().fingerprint([1])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="201 fields"):
        Declaration().fingerprint({str(n): n for n in range(201)})


def test_a_fingerprint_says_nothing_about_the_request() -> None:
    found = FIELDS.fingerprint(CAPTURE)

    assert not any(str(value) in str(found) for value in CAPTURE.values())


def test_the_fields_in_which_two_requests_differ_are_named() -> None:
    held = FIELDS.fingerprint(CAPTURE).fields
    asked = FIELDS.fingerprint({**CAPTURE, "size_bytes": 1, "kek_id": "other"}).fields

    assert differing(held, held) == []
    assert differing(held, asked) == ["kek_id", "size_bytes"]
    assert differing({}, {"a": "1"}) == differing({"a": "1"}, {}) == ["a"]
