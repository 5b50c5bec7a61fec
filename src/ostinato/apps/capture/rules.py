"""This module decides about captures, from plain values alone.

Two captures are compared by the SHA-256 of their canonical payload (docs/specs/capture.md, "The
canonical payload"): nine fields, `capture_id` and `content_hash` in lower case, keys in order, no
spaces, UTF-8, as RFC 8785 writes JSON. Nothing else is normalised: what a client may write in two
ways is refused at the door (`fields`), so that a fingerprint never depends on somebody's taste.
"""

import dataclasses
import hmac
import re
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import quote

from ostinato.apps.capture.model import CanonicalPayloadFields, Create, Decision, Existing, Idempotent
from ostinato.errors import IdempotencyConflict, InvalidInput
from ostinato.idempotency import Declaration, canonical

__all__ = [
    "CONFLICT_MESSAGE",
    "PAYLOAD",
    "build_canonical_json",
    "check_new",
    "compute_canonical_fingerprint",
    "content_context",
    "decide",
    "is_too_skewed",
    "look_delay",
    "normalised",
    "object_key_fault",
    "shown",
    "skew_ms_of",
    "tenant_prefix",
    "trouble_delay",
]

PAYLOAD: Final = Declaration(
    include=tuple(each.name for each in dataclasses.fields(CanonicalPayloadFields)),
    exclude=("ocr_text", "ocr_confidence", "ocr_language"),
)
"""Which fields make two captures the same, as the engine compares requests (INV-103-37)."""
CONFLICT_MESSAGE = "capture_id already used with different payload"
SHOWN_DIGITS = 16
LONGEST_KEY_BYTES = 1024  # of an object, in S3
LOOK_FACTOR, LONGEST_LOOK_SECONDS = 5, 28_800.0
SHARE_OF_WAIT, LONGEST_DELAY_SECONDS = 0.1, 900.0
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def normalised(fields: CanonicalPayloadFields) -> CanonicalPayloadFields:
    """Put `capture_id` and `content_hash` into lower case (INV-103-31)."""
    return replace(fields, capture_id=fields.capture_id.lower(), content_hash=fields.content_hash.lower())


def build_canonical_json(fields: CanonicalPayloadFields) -> str:
    """Write the canonical payload, as RFC 8785 and the specification's `JSON.stringify` do."""
    return canonical(_payload(fields)).decode()


def compute_canonical_fingerprint(fields: CanonicalPayloadFields) -> str:
    """Compute `payload_canonical_sha256`: the SHA-256 of the canonical payload, in lower-case hex.

    It is the engine's fingerprint of the nine fields: the same function that compares requests
    under an Idempotency-Key.
    """
    return PAYLOAD.fingerprint(_payload(fields)).value


def decide(fingerprint: str, existing: Existing | None) -> Decision:
    """Decide whether a capture is new or the same again; raise `IdempotencyConflict` otherwise.

    INV-103-37. Only the beginning of either fingerprint is in the error.
    """
    if existing is None:
        return Create(fingerprint)
    stored = existing.payload_canonical_sha256
    if hmac.compare_digest(stored, fingerprint):
        return Idempotent(existing.id, existing.state)
    raise IdempotencyConflict(
        CONFLICT_MESSAGE,
        hint="Send the first capture again unchanged, or give the new one a capture_id of its own.",
        stored=shown(stored),
        received=shown(fingerprint),
    )


def shown(fingerprint: str) -> str:
    """Return as much of a fingerprint as logs may have."""
    return fingerprint[:SHOWN_DIGITS]


def skew_ms_of(device: datetime, server: datetime) -> int:
    """Return how far the device's clock is ahead of ours, in milliseconds."""
    return round((device - server) / timedelta(milliseconds=1))


def is_too_skewed(skew_ms: int, tolerance_seconds: float) -> bool:
    """Return whether a device's clock is off by more than is let pass (INV-103-12)."""
    return abs(skew_ms) > tolerance_seconds * 1000


def check_new(
    fields: CanonicalPayloadFields, skew_ms: int, *, skew_seconds: float, max_object_bytes: int | None
) -> None:
    """Refuse a capture that cannot be taken in, by `InvalidInput` with a `refusal`.

    Of a capture that is there already none of it is asked: it was taken in.
    """
    if max_object_bytes is not None and fields.size_bytes > max_object_bytes:
        raise InvalidInput(
            f"size_bytes is {fields.size_bytes:,}, more than the limit of {max_object_bytes:,}",
            hint="Send a smaller capture, or raise the setting capture.max_object_bytes.",
            refusal="TOO_LARGE",
            size_bytes=fields.size_bytes,
        )
    if is_too_skewed(skew_ms, skew_seconds):
        raise InvalidInput(
            f"timestamp_device is {abs(skew_ms) / 1000:,.0f} s"
            f" {'ahead of' if skew_ms > 0 else 'behind'} this server's clock;"
            f" {skew_seconds:g} s are let pass",
            hint="Set the clock of the device, and send the capture again.",
            refusal="CLOCK_SKEW",
            skew_ms=skew_ms,
        )


def look_delay(waited: timedelta, first_seconds: float) -> float:
    """Return when to look again for an object that is not there: after five times as long, up to eight hours.

    With 15 s: 15 s after the first look, then 75 s, 6, 31 and 156 minutes later, then every eight hours.
    By the time that was waited and not by the looks: one more in between puts nothing off.
    """
    delay, looked_until = first_seconds, first_seconds
    while looked_until <= waited.total_seconds() and delay < LONGEST_LOOK_SECONDS:
        delay = min(delay * LOOK_FACTOR, LONGEST_LOOK_SECONDS)
        looked_until += delay
    return delay


def trouble_delay(waited: timedelta, least_seconds: float) -> float:
    """Return when to try again what does not answer: the longer it lasts, the less often."""
    share = waited.total_seconds() * SHARE_OF_WAIT
    return max(least_seconds, min(share, LONGEST_DELAY_SECONDS))


def content_context(user_id: str, fields: CanonicalPayloadFields) -> bytes:
    """Return what the content is bound to when it is encrypted (the AAD of AES-GCM).

    Canonical JSON of whose capture it is: a blob cannot be passed off as that of another capture,
    another user or another type.
    """
    bound = {
        "capture_id": fields.capture_id.lower(),
        "kek_id": fields.kek_id,
        "mime_type": fields.mime_type,
        "user_id": user_id,
    }
    return canonical(bound)


def object_key_fault(key: str) -> str | None:
    """Return what is wrong with the key of an object, if something is.

    A key is a path of plain names: it must mean the same in a folder, in S3 and in a log.
    """
    if not key or len(key.encode("utf-8", "replace")) > LONGEST_KEY_BYTES:
        return f"must have 1 to {LONGEST_KEY_BYTES} bytes"
    if has_control(key) or "\\" in key:
        return "may have neither control characters nor backslashes"
    if any(part in ("", ".", "..") for part in key.split("/")):
        return "must be names with single slashes between them, none of them . or .."
    return None


def tenant_prefix(tenant_id: str) -> str:
    """Return where the objects of a tenant are: a folder of its name, in which only letters stay as they are."""
    return f"{quote(tenant_id, safe='').replace('.', '%2E')}/"


def _payload(fields: CanonicalPayloadFields) -> dict[str, object]:
    size: object = fields.size_bytes
    if isinstance(size, bool) or not isinstance(size, int | float):
        raise InvalidInput(f"size_bytes is a number, got {type(size).__name__}", hint="Send it without quotes.")
    return asdict(normalised(fields))


def has_control(text: str) -> bool:
    """Return whether a text has characters that do not show."""
    return bool(_CONTROL.search(text))
