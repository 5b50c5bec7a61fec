"""Gives a device an address to which it may upload one object, once, without credentials of the store.

The address is signed for one key, the declared size and the encryption that the settings ask for,
and for an object that is not there yet: nobody writes over what another has put.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, unquote_plus

from ostinato.apps.capture import sigv4
from ostinato.apps.capture.objects import bucket_url
from ostinato.apps.capture.rules import tenant_prefix
from ostinato.apps.capture.settings import CaptureSettings
from ostinato.apps.capture.views import StoreNotice
from ostinato.errors import Conflict

LONGEST_SECONDS = 604_800  # of a presigned address, in S3
OBJECT_CREATED = "Object Created"  # as EventBridge calls it


@dataclass(frozen=True, slots=True)
class Upload:
    """How to upload an object: this request, with these headers and the content as its body."""

    url: str
    headers: dict[str, str]
    expires_at: datetime


def store_key(settings: CaptureSettings, tenant_id: str, key: str) -> str:
    """Return the key in the store of what a tenant names so."""
    return f"{tenant_prefix(tenant_id)}{key}" if settings.object_prefix == "tenant" else key


def presigned(settings: CaptureSettings, tenant_id: str, key: str, size: int) -> Upload:
    """Sign an address for the upload of an object of a tenant.

    By the real clock, which the store compares it with. Raises `Conflict` where objects are
    in a folder, or the credentials are not in the settings.
    """
    if settings.store != "s3":
        raise Conflict(
            "captures are in a folder: there is no address for uploads",
            hint="Put the object into the folder, or set OSTINATO_CAPTURE_STORE=s3.",
        )
    if settings.s3_access_key_id is None or settings.s3_secret_access_key is None:
        raise Conflict(
            "addresses for uploads are signed, but the settings have no access key",
            hint="Set OSTINATO_CAPTURE_S3_ACCESS_KEY_ID and OSTINATO_CAPTURE_S3_SECRET_ACCESS_KEY.",
        )
    headers = {"Content-Length": str(size), "If-None-Match": "*", **_encryption(settings)}
    at = datetime.now(UTC).replace(microsecond=0)
    seconds = min(round(settings.upload_url_minutes * 60), LONGEST_SECONDS)
    url = sigv4.presign(
        "PUT",
        f"{bucket_url(settings)}/{quote(store_key(settings, tenant_id, key), safe='/-_.~')}",
        headers,
        credentials=sigv4.Credentials(
            settings.s3_access_key_id, settings.s3_secret_access_key, settings.s3_session_token
        ),
        region=settings.s3_region,
        at=at,
        seconds=seconds,
    )
    return Upload(url, headers, at + timedelta(seconds=seconds))


def announced_keys(settings: CaptureSettings, tenant_id: str, notice: StoreNotice) -> list[str]:
    """Return the keys, as the tenant names them, of the objects that a notification of the store says were made.

    S3 encodes a key in its own records, and gives it to EventBridge as it is.
    """
    prefix = store_key(settings, tenant_id, "")
    made = [
        unquote_plus(record.s3.object.key)
        for record in notice.Records
        if record.s3.bucket.name == settings.s3_bucket and "ObjectCreated:" in record.eventName
    ]
    told = notice.detail if notice.detail_type == OBJECT_CREATED else None
    if told is not None and told.bucket.name == settings.s3_bucket:
        made.append(told.object.key)
    return sorted({key.removeprefix(prefix) for key in made if key.startswith(prefix) and "\0" not in key})


def _encryption(settings: CaptureSettings) -> dict[str, str]:
    if settings.s3_encryption == "none":
        return {}
    found = {"x-amz-server-side-encryption": settings.s3_encryption}
    if settings.s3_kms_key_id is not None and settings.s3_encryption != "AES256":
        found["x-amz-server-side-encryption-aws-kms-key-id"] = settings.s3_kms_key_id
    return found
