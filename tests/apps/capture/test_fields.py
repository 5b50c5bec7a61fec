"""How fields are written at the door, the device's clock, and the keys of objects."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.apps.capture.fields import base64_fault
from ostinato.apps.capture.rules import is_too_skewed, object_key_fault, skew_ms_of, trouble_delay

NOW = datetime(2026, 4, 3, 10, tzinfo=UTC)


@given(st.binary(max_size=200))
def test_what_encoders_write_is_taken(raw: bytes) -> None:
    assert base64_fault(base64.b64encode(raw).decode(), len(raw)) is None


@pytest.mark.parametrize(
    "text",
    [
        "dGVzdHRhZzEyMzQ1Njc4OR==",  # the same 16 bytes as …OQ==, with bits that nobody reads
        "dGVzdHRhZzEyMzQ1Njc4OQ",
        "dGVzdHRhZzEyMzQ1Njc4OQ=",
        "dGVzdHRhZzEyMzQ1Njc4OQ==\n",
        "dGVzdHRhZzEy MzQ1Njc4OQ==",
        "-_-_",
        "é===",
        "====",
        "A",
    ],
)
def test_what_could_be_written_otherwise_is_refused(text: str) -> None:
    assert base64_fault(text) is not None


def test_a_nonce_of_another_length_is_refused() -> None:
    assert base64_fault(base64.b64encode(bytes(11)).decode(), 12) is not None


@pytest.mark.parametrize(
    ("seconds", "refused"), [(0, False), (300, False), (-300, False), (300.001, True), (-301, True)]
)
def test_a_clock_may_be_off_by_300_seconds(seconds: float, refused: bool) -> None:  # noqa: FBT001
    skew = skew_ms_of(NOW + timedelta(seconds=seconds), NOW)
    assert skew == round(seconds * 1000)
    assert is_too_skewed(skew, 300) is refused


@pytest.mark.parametrize("key", ["a", "captures/2026/é.enc", "a" * 1024])
def test_plain_keys_are_taken(key: str) -> None:
    assert object_key_fault(key) is None


@pytest.mark.parametrize(
    "key", ["", "/etc/passwd", "a/../b", "./a", "a//b", "a/", "..", "a\\b", "a\nb", "a\x7f", "é" * 513]
)
def test_keys_that_lead_elsewhere_are_refused(key: str) -> None:
    assert object_key_fault(key) is not None


def test_the_longer_a_trouble_lasts_the_less_often_it_is_looked_at() -> None:
    minutes = [0, 1, 10, 100, 1000]
    delays = [trouble_delay(timedelta(minutes=each), 15) for each in minutes]
    assert delays == [15, 15, 60, 600, 900]
    assert trouble_delay(timedelta(0), 3600) == 3600
