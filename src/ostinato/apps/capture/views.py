"""Defines what requests and answers about captures look like over HTTP."""

import re
from collections.abc import Callable
from dataclasses import fields
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AliasChoices,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ostinato.apps.capture import fields as checks
from ostinato.apps.capture import rules, service
from ostinato.apps.capture.model import CanonicalPayloadFields, Device, Ocr, State

LONGEST_OCR = 200_000
MOST_BODY = 12 * LONGEST_OCR + 65_536  # each letter may be two escapes of six bytes
LONGEST_WRAPPED = 4096
MOST_RECORDS = 100  # S3 sends one; so many of the longest keys fit into a body of the usual limit
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]")


def _fits(fault: str | None) -> None:
    if fault is not None:
        raise PydanticCustomError("malformed", "{fault}", {"fault": fault})


def _without(fault: Callable[[str], str | None]) -> AfterValidator:
    """Refuse a text that has a fault, and say which."""

    def check(text: str) -> str:
        _fits(fault(text))
        return text

    return AfterValidator(check)


_BASE64 = _without(checks.base64_fault)
_NONCE = _without(partial(checks.base64_fault, length=checks.NONCE_BYTES))
_TAG = _without(partial(checks.base64_fault, length=checks.TAG_BYTES))


def _written(value: object) -> object:
    # Digits alone would be taken for Unix time, in seconds or milliseconds as they look.
    if not isinstance(value, str) or _DATE.match(value) is None:
        _fits("must be a time as text, such as 2026-04-03T10:00:00Z")
    return value


CaptureId = Annotated[str, Field(pattern=checks.CAPTURE_ID)]
Written = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_written)]


class CaptureRequest(BaseModel):
    """A capture: the nine fields that make it what it is, the device, and what it read."""

    model_config = ConfigDict(extra="forbid", strict=True)

    capture_id: CaptureId = Field(
        description="UUID v4, chosen by the device; letter case does not matter.",
        examples=["a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d"],
    )
    hash_sha3_256: str = Field(
        pattern=checks.HASH,
        validation_alias=AliasChoices("hash_sha3_256", "content_hash"),
        description="SHA3-256 of the content before encryption, in hex (canonical name:"
        " content_hash, which is taken as well).",
        examples=["3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"],
    )
    aes_gcm_nonce_b64: Annotated[str, _NONCE] = Field(
        pattern=checks.BASE64, min_length=16, max_length=16, examples=["dGVzdG5vbmNlMTIz"]
    )
    aes_gcm_tag_b64: Annotated[str, _TAG] = Field(
        pattern=checks.BASE64, min_length=24, max_length=24, examples=["dGVzdHRhZzEyMzQ1Njc4OQ=="]
    )
    dek_wrapped_b64: Annotated[str, _BASE64] = Field(
        pattern=checks.BASE64,
        min_length=4,
        max_length=LONGEST_WRAPPED,
        description="The key of the content, wrapped by the key kek_id: AES-256-GCM (60 bytes:"
        " nonce, key, tag) or AES-KW (40 bytes).",
        examples=["ZGVrd3JhcHBlZGI2NA=="],
    )
    kek_id: Annotated[str, _without(checks.text_fault)] = Field(
        min_length=1, max_length=checks.LONGEST_NAME, examples=["kek-2026-04-01"]
    )
    mime_type: str = Field(pattern=checks.MIME_TYPE, examples=["image/png"])
    size_bytes: int = Field(ge=0, le=checks.MOST_SIZE, examples=[524288])
    upload_object_key: Annotated[str, _without(rules.object_key_fault)] = Field(
        min_length=1, max_length=rules.LONGEST_KEY_BYTES, examples=["captures/a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d.enc"]
    )
    timestamp_device: Written = Field(
        description="The device's clock, with its offset; within 300 s of the server's.",
        examples=["2026-04-03T10:00:00Z"],
    )
    device_id: CaptureId | None = Field(default=None, description="UUID v4 of the device.")
    ocr_text: str | None = Field(default=None, max_length=LONGEST_OCR)
    ocr_confidence: float | None = Field(default=None, ge=0, le=1)
    ocr_language: str | None = Field(default=None, pattern=checks.LANGUAGE, max_length=70)

    @model_validator(mode="before")
    @classmethod
    def _one_hash(cls, given: Any) -> Any:  # noqa: ANN401 - whatever was sent
        if isinstance(given, dict) and {"hash_sha3_256", "content_hash"} <= given.keys():
            _fits("hash_sha3_256 and content_hash are two names of one field: send one")
        return given

    def wanted(self, source_ip: str | None) -> service.Wanted:
        """Return the capture as the service takes it."""
        named = {"content_hash": self.hash_sha3_256, **self.model_dump()}
        payload = {each.name: named[each.name] for each in fields(CanonicalPayloadFields)}
        return service.Wanted(
            CanonicalPayloadFields(**payload),
            Device(self.timestamp_device, self.device_id and self.device_id.lower()),
            Ocr(self.ocr_text, self.ocr_confidence, self.ocr_language),
            source_ip,
        )


class CaptureAccepted(BaseModel):
    """What became of a capture that was sent."""

    capture_event_id: str = Field(examples=["0b9f6a52-3c1e-4a57-9f7b-6f2f0f6f2a11"])
    capture_id: str = Field(examples=["a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d"])
    state: State = Field(examples=["RECEIVED"])
    replayed: bool = Field(description="Whether it was there already.")


class CaptureConflict(BaseModel):
    """Another payload has this capture_id."""

    error: str = Field(examples=["CONFLICT"])
    message: str = Field(examples=[rules.CONFLICT_MESSAGE])


class CaptureView(BaseModel):
    """A capture, as its user may see it: nothing that opens it."""

    capture_event_id: str
    capture_id: str
    state: State
    content_hash: str
    mime_type: str
    size_bytes: int
    upload_object_key: str
    signature_status: str = Field(examples=["PENDING_SIGNATURE", "SIGNED"])
    reason: str | None = Field(description="Why it was rejected, or failed.")
    skew_ms: int = Field(description="How far the device's clock was ahead of the server's.")
    ocr_text: str | None
    ocr_confidence: float | None
    ocr_language: str | None
    received_at: datetime
    verified_at: datetime | None
    anchored_at: datetime | None
    object_version: str | None = Field(
        description="The version of the object that was sealed, if the store has versions."
    )
    rechecked_at: datetime | None = Field(description="When the object was last looked at again.")
    changed_at: datetime | None = Field(description="Since when the object is not what was sealed.")
    changed_reason: str | None


class CaptureItem(BaseModel):
    """A capture in a list: without what was read in it."""

    capture_event_id: str
    capture_id: str
    state: State
    content_hash: str
    mime_type: str
    size_bytes: int
    upload_object_key: str
    device_id: str | None
    signature_status: str
    reason: str | None
    received_at: datetime
    verified_at: datetime | None
    anchored_at: datetime | None
    rechecked_at: datetime | None
    changed_at: datetime | None
    changed_reason: str | None


class CapturePage(BaseModel):
    """Captures, newest first."""

    items: list[CaptureItem]
    next_cursor: str | None = Field(
        description="For the next page, also after one with few items; null: there is none."
    )


class UploadView(BaseModel):
    """An address for the upload of an object: send the content there with these headers, once."""

    method: str = Field(examples=["PUT"])
    url: str
    headers: dict[str, str] = Field(examples=[{"Content-Length": "524288", "If-None-Match": "*"}])
    expires_at: datetime


class Announced(BaseModel):
    """What an announcement woke."""

    woken: int = Field(description="How many captures that wait for the object are looked at now.")


class StoredObject(BaseModel):
    """The object of a record; more is in it."""

    key: str = Field(max_length=8192, description="Encoded as in a query; by EventBridge as it is.")


class StoredBucket(BaseModel):
    """The bucket of a record; more is in it."""

    name: str = Field(max_length=255)


class StoredPlace(BaseModel):
    """Where something happened."""

    bucket: StoredBucket
    object: StoredObject


class StoreRecord(BaseModel):
    """One thing that happened in the store."""

    eventName: str = Field(max_length=200, examples=["ObjectCreated:Put"])  # noqa: N815 - as S3 writes it
    s3: StoredPlace


class StoreNotice(BaseModel):
    """A notification as S3 and those who speak like it send them, or EventBridge for S3; a test message has neither."""

    Records: list[StoreRecord] = Field(default_factory=list, max_length=MOST_RECORDS)
    detail_type: str | None = Field(default=None, alias="detail-type", max_length=200, examples=["Object Created"])
    detail: StoredPlace | None = Field(default=None, description="What happened, as EventBridge sends it.")
