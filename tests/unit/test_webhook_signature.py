"""Signatures of webhooks: the vectors of the standard, and what must not pass."""

import base64
import hashlib
import hmac
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato._core.base.errors import (
    HeaderMissing,
    InvalidInput,
    OstinatoError,
    SignatureMismatch,
    SignatureRefused,
    TimestampRefused,
)
from ostinato._core.base.redact import redact
from ostinato._core.base.webhooks import Verified, hint_of, make_secret, sign, signed_headers, verify

# The example that the libraries of the standard share.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
AT = 1614265330
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
OTHER = make_secret(bytes(range(32)))


def independent(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """HMAC-SHA256 as RFC 2104 writes it down, from nothing but the hash."""
    key = base64.b64decode(secret.removeprefix("whsec_")).ljust(64, b"\0")
    inner = bytes(byte ^ 0x36 for byte in key)
    outer = bytes(byte ^ 0x5C for byte in key)
    content = f"{message_id}.{timestamp}.".encode() + body
    mac = hashlib.sha256(outer + hashlib.sha256(inner + content).digest()).digest()
    return "v1," + base64.b64encode(mac).decode()


def sent(**changes: str) -> dict[str, str]:
    headers = signed_headers(ID, AT, BODY, [SECRET])
    return headers | {name.replace("_", "-"): value for name, value in changes.items()}


def test_the_vector_of_the_standard() -> None:
    assert sign(SECRET, ID, AT, BODY) == SIGNATURE
    assert independent(SECRET, ID, AT, BODY) == SIGNATURE
    assert verify(sent(), BODY, [SECRET], now=AT) == Verified(ID, AT)


@given(
    st.binary(min_size=24, max_size=64),
    st.text("abcXYZ019_-", min_size=1, max_size=50),
    st.integers(0, 10**11),
    st.binary(max_size=200),
)
def test_another_implementation_makes_the_same_signature(
    key: bytes, message_id: str, timestamp: int, body: bytes
) -> None:
    secret = make_secret(key)

    assert sign(secret, message_id, timestamp, body) == independent(secret, message_id, timestamp, body)
    headers = signed_headers(message_id, timestamp, body, [secret])
    assert verify(headers, body, [secret], now=timestamp).id == message_id


def test_a_secret_may_come_without_its_prefix() -> None:
    assert verify(sent(), BODY, [SECRET.removeprefix("whsec_")], now=AT).id == ID


def test_names_of_headers_come_in_any_case() -> None:
    headers = {name.title(): value for name, value in sent().items()} | {"Accept": "*/*"}

    assert verify(headers, BODY, [SECRET], now=AT).timestamp == AT


def test_during_a_rotation_both_secrets_are_accepted_by_both_sides() -> None:
    both = signed_headers(ID, AT, BODY, [OTHER, SECRET])

    assert len(both["webhook-signature"].split(" ")) == 2
    for known in ([SECRET], [OTHER], [OTHER, SECRET], [SECRET, OTHER]):
        assert verify(both, BODY, known, now=AT).id == ID
    assert verify(sent(), BODY, [OTHER, SECRET], now=AT).id == ID


def test_signatures_of_other_versions_are_passed_over() -> None:
    wrong = sign(OTHER, ID, AT, BODY)
    listed = f"{wrong} v1a,AAAA v2,{SIGNATURE[3:]} nonsense {SIGNATURE} v1,%%%"

    assert verify(sent(webhook_signature=listed), BODY, [SECRET], now=AT).id == ID
    with pytest.raises(SignatureMismatch):
        verify(sent(webhook_signature=f"v2,{SIGNATURE[3:]}"), BODY, [SECRET], now=AT)


@pytest.mark.parametrize(
    "signature",
    [
        sign(OTHER, ID, AT, BODY),
        SIGNATURE[:-4],
        SIGNATURE[:11],
        "v1,",
        "v1",
        SIGNATURE[3:],
        "V1" + SIGNATURE[2:],
        SIGNATURE.replace("v1,", "v1:"),
        SIGNATURE.lower(),
        SIGNATURE + "A",
        "v1,dawfeoifkpqwoekfpqoekf",
        "v1,é",
        sign(SECRET, ID, AT + 1, BODY),
        sign(SECRET, ID + "x", AT, BODY),
        sign(SECRET, ID, AT, BODY + b" "),
        " ".join([sign(OTHER, ID, AT, BODY)] * 40 + [SIGNATURE]),
    ],
)
def test_a_wrong_or_truncated_signature_is_refused(signature: str) -> None:
    with pytest.raises(SignatureMismatch):
        verify(sent(webhook_signature=signature), BODY, [SECRET], now=AT)


@pytest.mark.parametrize("body", [b'{"test":2432232314}', BODY + b"\n", b"", BODY.upper()])
def test_the_raw_bytes_are_signed(body: bytes) -> None:
    """A body that was parsed and written again is another one."""
    with pytest.raises(SignatureMismatch):
        verify(sent(), body, [SECRET], now=AT)


@pytest.mark.parametrize("late", [301, 86_400])
def test_an_old_message_is_refused_and_one_from_the_future(late: float) -> None:
    for now in (AT + late, AT - late):
        with pytest.raises(TimestampRefused):
            verify(sent(), BODY, [SECRET], now=now)
    assert verify(sent(), BODY, [SECRET], now=AT + 300).id == ID
    assert verify(sent(), BODY, [SECRET], now=AT - 300).id == ID
    assert verify(sent(), BODY, [SECRET], late, now=AT + late).id == ID


def test_a_replay_with_a_new_time_is_refused() -> None:
    with pytest.raises(SignatureMismatch):
        verify(sent(webhook_timestamp=str(AT + 900)), BODY, [SECRET], now=AT + 900)


def test_values_in_each_others_headers_are_refused() -> None:
    headers = sent()
    swapped = headers | {"webhook-id": str(AT), "webhook-timestamp": ID}

    with pytest.raises(SignatureRefused):
        verify(swapped, BODY, [SECRET], now=AT)
    with pytest.raises(SignatureRefused):
        verify(headers | {"webhook-signature": ID, "webhook-id": SIGNATURE}, BODY, [SECRET], now=AT)


def test_the_border_between_id_time_and_body_cannot_be_moved() -> None:
    """`a.5.{}` signed as (a, 5, {}) must not pass as an id with a dot, or as a longer body."""
    headers = signed_headers("a", AT, b"7.{}", [SECRET])

    with pytest.raises(SignatureRefused):
        verify(headers | {"webhook-id": f"a.{AT}", "webhook-timestamp": "7"}, b"{}", [SECRET], now=7)
    with pytest.raises(InvalidInput):
        sign(SECRET, "a.b", AT, b"{}")


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_a_missing_empty_or_doubled_header_is_refused(name: str) -> None:
    headers = sent()
    without = {key: value for key, value in headers.items() if key != name}

    for bad in (without, headers | {name: ""}):
        with pytest.raises(HeaderMissing):
            verify(bad, BODY, [SECRET], now=AT)
    with pytest.raises(SignatureRefused):
        verify(headers | {name.upper(): headers[name]}, BODY, [SECRET], now=AT)


@pytest.mark.parametrize("stamp", ["hello", "1.5", "-1", "1e9", " 1614265330", "٣", "9" * 40])
def test_a_timestamp_that_is_none_is_refused(stamp: str) -> None:
    with pytest.raises(TimestampRefused):
        verify(sent(webhook_timestamp=stamp), BODY, [SECRET], now=AT)


@pytest.mark.parametrize(
    "secret", ["", "whsec_", "whsec_" + "A" * 28, "whsec_" + "A" * 88, "whsec_not base64!", "whsk_" + "A" * 32]
)
def test_a_secret_that_is_none_is_refused_and_not_shown(secret: str) -> None:
    for attempt in (lambda: sign(secret, ID, AT, BODY), lambda: verify(sent(), BODY, [secret], now=AT)):
        with pytest.raises(InvalidInput) as caught:
            attempt()
        shown = secret.removeprefix("whsec_")[:6]
        assert not shown or shown not in str(caught.value)


def test_no_secret_at_all_accepts_nothing() -> None:
    for call in (
        lambda: verify(sent(), BODY, [], now=AT),
        lambda: signed_headers(ID, AT, BODY, []),
        lambda: signed_headers(ID, AT, BODY, [SECRET] * 11),
        lambda: verify(sent(), BODY, [SECRET] * 11, now=AT),
    ):
        with pytest.raises(InvalidInput):
            call()


def test_no_error_tells_a_secret_or_what_the_signature_should_be() -> None:
    changes = ({"webhook_signature": sign(OTHER, ID, AT, BODY)}, {"webhook_timestamp": "1"})
    for change in changes:
        with pytest.raises(OstinatoError) as caught:
            verify(sent(**change), BODY, [SECRET], now=AT)
        said = f"{caught.value!r} {caught.value} {caught.value.values}"
        assert SECRET[6:] not in said
        assert SIGNATURE[3:] not in said


def test_a_secret_is_masked_in_text_and_known_by_its_end() -> None:
    assert redact(f"the secret is {SECRET}!") == "the secret is whsec_***!"
    assert hint_of(SECRET) == "LaSw"
    assert hint_of(make_secret(bytes(25))) == "AAAA"  # without the padding


def test_refusals_are_401() -> None:
    for cls in (SignatureRefused, HeaderMissing, TimestampRefused, SignatureMismatch):
        assert cls.status == 401


def test_ten_thousand_wrong_signatures_are_compared_in_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check 11: however much of a signature is right, the same bytes are compared as often.

    Counted and not timed: a clock would measure this machine. The comparison itself is OpenSSL's.
    """
    right = base64.b64decode(signed_headers("m1", 1000, b"{}", [SECRET])["webhook-signature"].partition(",")[2])
    rng = random.Random(11)
    compared: Counter[tuple[int, int]] = Counter()
    really = hmac.compare_digest

    def counted(ours: bytes, theirs: bytes) -> bool:
        compared[len(ours), len(theirs)] += 1
        return really(ours, theirs)

    monkeypatch.setattr(hmac, "compare_digest", counted)
    for number in range(10_000):
        same = number % len(right)
        wrong = right[:same] + bytes([right[same] ^ 1 + rng.randrange(255)]) + rng.randbytes(len(right) - same - 1)
        headers = {
            "webhook-id": "m1",
            "webhook-timestamp": "1000",
            "webhook-signature": f"v1,{base64.b64encode(wrong).decode()}",
        }
        with pytest.raises(SignatureMismatch):
            verify(headers, b"{}", [SECRET, OTHER], now=1000)

    assert compared == {(32, 32): 20_000}
