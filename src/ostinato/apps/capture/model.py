"""Defines the values of captures, without behaviour."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

__all__ = [
    "AuditEvent",
    "CanonicalPayloadFields",
    "Create",
    "Decision",
    "Device",
    "Existing",
    "Idempotent",
    "Material",
    "Ocr",
    "Reason",
    "State",
    "Verdict",
]


@dataclass(frozen=True, slots=True)
class CanonicalPayloadFields:
    """The nine fields that make two captures the same (INV-103-37). OCR is not among them."""

    capture_id: str
    content_hash: str
    """SHA3-256 of the content before it was encrypted, in hex."""
    aes_gcm_nonce_b64: str
    aes_gcm_tag_b64: str
    dek_wrapped_b64: str
    kek_id: str
    mime_type: str
    size_bytes: int
    upload_object_key: str


class State(StrEnum):
    """Where a capture stands; `machine.CAPTURE` says what leads from one to the next."""

    RECEIVED = "RECEIVED"
    UPLOADING = "UPLOADING"
    UPLOADED = "UPLOADED"
    VERIFYING = "VERIFYING"
    SEALED = "SEALED"
    ANCHORED = "ANCHORED"
    REJECTED = "REJECTED"
    FAILED = "FAILED"


class Reason(StrEnum):
    """Why a capture was not sealed."""

    DEK_MALFORMED = "DEK_MALFORMED"
    """The wrapped key has a length that no known wrapping has."""
    DEK_UNWRAP_FAILED = "DEK_UNWRAP_FAILED"
    """The key that was named did not wrap it."""
    SIZE_MISMATCH = "SIZE_MISMATCH"
    """The object is longer or shorter than declared."""
    TAG_MISMATCH = "TAG_MISMATCH"
    """The object is not what was encrypted with this key, nonce and context."""
    HASH_MISMATCH = "HASH_MISMATCH"
    """The content is not what its hash says."""
    OBJECT_MISSING = "OBJECT_MISSING"
    """The object did not arrive in time."""
    KEK_UNKNOWN = "KEK_UNKNOWN"
    """The keyring had no key of this name for as long as it was tried."""
    UNAVAILABLE = "UNAVAILABLE"
    """The object store or the keyring did not answer for as long as it was tried."""
    ABANDONED = "ABANDONED"
    """The check was started again and again, and never came to an end."""


class AuditEvent(StrEnum):
    """The types of entries in the audit log."""

    ACCEPTED = "CAPTURE_ACCEPTED"
    REPLAYED = "CAPTURE_REPLAYED"
    CONFLICT = "CAPTURE_CONFLICT"
    CONFLICT_SEEN = "CAPTURE_CONFLICT_SEEN"
    REFUSED = "CAPTURE_REFUSED"
    SEALED = "CAPTURE_SEALED"
    REJECTED = "CAPTURE_REJECTED"
    FAILED = "CAPTURE_FAILED"
    ANCHORED = "CAPTURE_ANCHORED"
    CHANGED = "CAPTURE_CHANGED"
    """The object of a sealed capture is no longer what was sealed."""
    RESTORED = "CAPTURE_RESTORED"
    """It is again."""


@dataclass(frozen=True, slots=True)
class Existing:
    """A capture that is there already."""

    id: str
    state: str
    payload_canonical_sha256: str


@dataclass(frozen=True, slots=True)
class Create:
    """The capture is new."""

    payload_canonical_sha256: str
    action: Literal["CREATE"] = "CREATE"


@dataclass(frozen=True, slots=True)
class Idempotent:
    """The capture came before, with the same payload."""

    existing_capture_event_id: str
    existing_state: str
    action: Literal["IDEMPOTENT"] = "IDEMPOTENT"


Decision = Create | Idempotent
"""What to do with a capture. The third way, a different payload, is `IdempotencyConflict`."""


@dataclass(frozen=True, slots=True)
class Ocr:
    """What the device read in the picture; no part of what makes two captures the same."""

    text: str | None = None
    confidence: float | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """What the device says of itself."""

    timestamp: datetime
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Material:
    """What the check of a capture needs."""

    capture_event_id: str
    tenant_id: str
    user_id: str
    state: State
    received_at: datetime
    now: datetime
    """When this was read."""
    fields: CanonicalPayloadFields
    object_version: str | None = None
    """Which version of the object was sealed, in a store that keeps versions."""
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a check: sealed, or a reason why not."""

    reason: Reason | None = None
    object_version: str | None = None
    """Which version of the object was read."""
