"""The canonical payload and its fingerprint: golden vectors, the specification's code, RFC 8785."""

import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import asdict, fields, replace
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from ostinato._core.base.errors import IdempotencyConflict, InvalidInput
from ostinato.apps.capture.model import CanonicalPayloadFields, Existing, Idempotent
from ostinato.apps.capture.rules import build_canonical_json, compute_canonical_fingerprint, decide
from ostinato.apps.capture.views import CaptureRequest
from tests.apps.capture.vault import SEED
from tests.needs import lacking

GOLDEN = (
    '{"aes_gcm_nonce_b64":"dGVzdG5vbmNlMTIz","aes_gcm_tag_b64":"dGVzdHRhZzEyMzQ1Njc4OQ==",'
    '"capture_id":"a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d","content_hash":'
    '"abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789","dek_wrapped_b64":'
    '"ZGVrd3JhcHBlZGI2NA==","kek_id":"kek-2026-04-01","mime_type":"image/png",'
    '"size_bytes":524288,"upload_object_key":"captures/a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d.enc"}'
)
NAMES = [field.name for field in fields(CanonicalPayloadFields)]

# buildCanonicalJson of the specification, in its own language, for each of some fields.
SEED_CODE = """
function buildCanonicalJson(fields) {
  const canonical = {
    aes_gcm_nonce_b64: fields.aes_gcm_nonce_b64,
    aes_gcm_tag_b64: fields.aes_gcm_tag_b64,
    capture_id: fields.capture_id.toLowerCase(),
    content_hash: fields.content_hash.toLowerCase(),
    dek_wrapped_b64: fields.dek_wrapped_b64,
    kek_id: fields.kek_id,
    mime_type: fields.mime_type,
    size_bytes: fields.size_bytes,
    upload_object_key: fields.upload_object_key,
  };
  return JSON.stringify(canonical, Object.keys(canonical).sort());
}
const given = JSON.parse(require('fs').readFileSync(0, 'utf8'));
process.stdout.write(given.map(buildCanonicalJson).join('\\0'));
"""

unicode = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
anything = st.builds(
    CanonicalPayloadFields,
    **dict.fromkeys([name for name in NAMES if name != "size_bytes"], unicode),
    size_bytes=st.integers(0, 2**53 - 1),
)
letter_cases = st.integers(0, 2**64 - 1)  # a bit for each letter


def test_the_golden_vector_is_met_byte_for_byte() -> None:
    assert build_canonical_json(SEED) == GOLDEN
    assert len(GOLDEN.encode()) == 402
    fingerprint = "dd8c3a4df0bc14a3d676b45fd997fcc79802ce343029c3f75738fd0fba652a3f"
    assert compute_canonical_fingerprint(SEED) == fingerprint


def test_the_golden_vector_of_another_size() -> None:
    """TC-INV-06 B, at the fingerprint."""
    found = compute_canonical_fingerprint(replace(SEED, size_bytes=999999))
    assert found == "8d3f79ed6a0dad78ec039baa63de401acc7d302424d5e4331fb05bb0f43c1587"


def test_the_keys_are_the_nine_in_order() -> None:
    keys = list(json.loads(build_canonical_json(SEED)))
    assert keys == sorted(NAMES)
    assert len(keys) == 9


def test_ocr_is_not_part_of_it() -> None:
    """TC-INV-06 C, at the fingerprint."""
    assert "ocr" not in build_canonical_json(SEED)


def test_the_size_is_a_number() -> None:
    assert '"size_bytes":524288,' in build_canonical_json(SEED)
    whole: Any = 524288.0
    assert build_canonical_json(replace(SEED, size_bytes=whole)) == GOLDEN
    for bad in (True, "524288", None):
        odd: Any = bad
        with pytest.raises(InvalidInput):
            build_canonical_json(replace(SEED, size_bytes=odd))


def test_id_and_hash_are_in_lower_case() -> None:
    """TC-INV-06 D, at the fingerprint; INV-103-31."""
    upper = replace(SEED, capture_id=SEED.capture_id.upper(), content_hash=SEED.content_hash.upper())
    assert build_canonical_json(upper) == GOLDEN


def test_tc_nr_10_the_fingerprint_is_the_same_at_every_call() -> None:
    found = {compute_canonical_fingerprint(replace(SEED)) for _ in range(100)}
    assert len(found) == 1
    assert re.fullmatch("[0-9a-f]{64}", found.pop())


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("capture_id", "content_hash")])
def test_letter_case_counts_everywhere_else(name: str) -> None:
    if name == "size_bytes":
        other = replace(SEED, size_bytes=1)
    else:
        values: dict[str, Any] = {name: getattr(SEED, name).swapcase()}
        other = replace(SEED, **values)
    assert compute_canonical_fingerprint(other) != compute_canonical_fingerprint(SEED)


@given(anything)
def test_it_is_what_rfc_8785_says(given_fields: CanonicalPayloadFields) -> None:
    lowered = asdict(given_fields)
    for name in ("capture_id", "content_hash"):
        lowered[name] = lowered[name].lower()
    text = build_canonical_json(given_fields)
    assert text.encode() == rfc8785.dumps(lowered)
    # For nine flat fields the specification's JSON.stringify is this:
    plain = json.dumps(lowered, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert text == plain
    assert compute_canonical_fingerprint(given_fields) == hashlib.sha256(plain.encode()).hexdigest()


@given(st.permutations([*NAMES, "timestamp_device", "ocr_text"]))
def test_the_order_in_which_fields_come_does_not_matter(order: list[str]) -> None:
    """As a client writes them: the keys of the body of a request, in any order."""
    values = asdict(SEED) | {"timestamp_device": "2026-04-03T10:00:00Z", "ocr_text": "no part"}
    body = json.dumps({name: values[name] for name in order})
    taken = CaptureRequest.model_validate_json(body).wanted(None).fields
    assert build_canonical_json(taken) == GOLDEN


@given(letter_cases, letter_cases)
def test_no_letter_case_of_id_and_hash_matters(first: int, second: int) -> None:
    def cased(text: str, upper: int) -> str:
        return "".join(c.upper() if upper >> place & 1 else c for place, c in enumerate(text))

    other = replace(SEED, capture_id=cased(SEED.capture_id, first), content_hash=cased(SEED.content_hash, second))
    assert build_canonical_json(other) == GOLDEN


@given(anything, st.sampled_from(NAMES), st.data())
def test_two_fingerprints_are_the_same_only_for_the_same_payload(
    one: CanonicalPayloadFields, name: str, data: st.DataObject
) -> None:
    """The second payload is the first with one field written otherwise, or drawn anew."""
    value = getattr(one, name)
    other: Any
    if name == "size_bytes":
        other = data.draw(st.integers(0, 2**53 - 1) | st.just(value))
    else:
        other = data.draw(unicode | st.sampled_from([value, value.upper(), value.lower()]))
    lowered = name in ("capture_id", "content_hash")
    same = other.lower() == value.lower() if lowered else other == value
    changed = replace(one, **{name: other})
    found = compute_canonical_fingerprint(one) == compute_canonical_fingerprint(changed)
    assert found is same


def test_the_fields_may_be_given_in_their_order() -> None:
    assert CanonicalPayloadFields(*asdict(SEED).values()) == SEED


def test_unicode_is_not_normalised() -> None:
    composed, parts = replace(SEED, kek_id="cl\u00e9"), replace(SEED, kek_id="cle\u0301")
    assert compute_canonical_fingerprint(composed) != compute_canonical_fingerprint(parts)


def test_a_lone_surrogate_has_no_fingerprint() -> None:
    with pytest.raises(InvalidInput, match="surrogate"):
        build_canonical_json(replace(SEED, kek_id="\ud800"))


def test_a_size_that_others_round_has_no_fingerprint() -> None:
    with pytest.raises(InvalidInput, match="2\\^53"):
        build_canonical_json(replace(SEED, size_bytes=2**53 + 1))


def test_the_seeds_own_code_writes_the_same_bytes() -> None:
    node = shutil.which("node")
    if node is None:
        lacking("node", "node is not here to run the code of the specification")
    some = [
        SEED,
        replace(SEED, capture_id=SEED.capture_id.upper()),
        replace(SEED, kek_id='\u00e9\U0001f600\u2028\u007f/\\"\b\t\n\f\r\u0001'),
        replace(SEED, size_bytes=0),
        replace(SEED, size_bytes=2**53 - 1),
        replace(SEED, content_hash="\u0130\u03a3 \u03a3\u1e9e"),
    ]
    said = subprocess.run(
        [node, "-e", SEED_CODE],
        input=json.dumps([asdict(each) for each in some]).encode(),
        capture_output=True,
        check=True,
    ).stdout
    assert [build_canonical_json(each).encode() for each in some] == said.split(b"\0")


def test_a_conflict_shows_only_the_beginning_of_fingerprints() -> None:
    stored = "a" * 64
    with pytest.raises(IdempotencyConflict) as refused:
        decide("b" * 64, Existing("id", "RECEIVED", stored))
    assert refused.value.values == {"stored": "a" * 16, "received": "b" * 16}
    assert "a" * 17 not in str(refused.value)


def test_a_replay_has_the_id_and_the_state_of_what_is_there() -> None:
    found = decide("a" * 64, Existing("id", "SEALED", "a" * 64))
    assert found == Idempotent("id", "SEALED")
