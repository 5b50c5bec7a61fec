"""Plays the outside world of captures: a store that speaks S3, and a device.

    HEAD, GET, PUT  /s3/{bucket}/{key}      an S3 in a folder, with versions; requests must be signed
    HEAD, GET, PUT  /s3-virtual/{key}       the same; the bucket is the first part of the host's name
    POST /_sandbox/capture/device           what a device sends for some content

The device encrypts, uploads (or not, or something else) and answers with the body of a
`POST /documents/capture`. `POST /_sandbox/faults` with the path /s3/* makes the store fail.
"""

import atexit
import base64
import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from email.utils import formatdate
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from uuid import uuid4
from xml.sax.saxutils import escape

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from ostinato.apps.capture import device, keyring, sigv4, uploads
from ostinato.apps.capture.rules import object_key_fault
from ostinato.apps.capture.settings import CaptureSettings

KEK_ID = "sandbox"
PREFIX, VIRTUAL = "/s3", "/s3-virtual"
ACCESS_KEY = "SANDBOX"
ENCRYPTION, VERSION = "x-amz-server-side-encryption", "x-amz-version-id"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class DeviceOrder(BaseModel):
    """What a device is to capture, and what goes wrong on the way."""

    model_config = ConfigDict(extra="forbid")

    tenant_id: str = Field(default="demo", min_length=1, max_length=200)
    user_id: str = Field(min_length=1, max_length=200, examples=["demo"])
    timestamp_device: datetime
    content_b64: str = Field(default=PIXEL, max_length=20_000_000)
    mime_type: str = "image/png"
    capture_id: str | None = None
    wrapping: Literal["gcm", "kw"] = "gcm"
    upload: Literal["as_is", "tampered", "shortened", "not_at_all"] = "as_is"


class CaptureWorld:
    """The stand-in."""

    name = "capture"

    def __init__(self) -> None:
        self.router = APIRouter(tags=["capture"])
        self.router.add_api_route(
            f"{PREFIX}/{{bucket}}/{{key:path}}", self._object, methods=["HEAD", "GET", "PUT"], include_in_schema=False
        )
        self.router.add_api_route(
            f"{VIRTUAL}/{{key:path}}", self._object_of_host, methods=["HEAD", "GET", "PUT"], include_in_schema=False
        )
        self.router.post("/_sandbox/capture/device")(self._device)
        self._chosen: CaptureSettings | None = None

    def reset(self) -> None:
        """Forget all objects."""
        shutil.rmtree(self._bucket().root, ignore_errors=True)
        shutil.rmtree(self._bucket().versions, ignore_errors=True)

    def settings(self, url: str) -> dict[str, str]:
        """Return the environment that leads captures here: a store, and a keyring made just now.

        Both are in a folder of this user that goes with this process.
        """
        home = Path(tempfile.mkdtemp(prefix="ostinato-capture-"))
        atexit.register(shutil.rmtree, home, ignore_errors=True)
        keyring.add_key(home / "keyring.json", KEK_ID)
        found = {
            "OSTINATO_CAPTURE_KEYRING_FILE": str(home / "keyring.json"),
            "OSTINATO_CAPTURE_FOLDER": str(home / "objects"),
            # Without the library for S3 the demo reads the folder behind it.
            "OSTINATO_CAPTURE_STORE": "folder" if find_spec("obstore") is None else "s3",
            "OSTINATO_CAPTURE_S3_ENDPOINT": f"{url}{PREFIX}",
            "OSTINATO_CAPTURE_S3_ACCESS_KEY_ID": ACCESS_KEY,
            "OSTINATO_CAPTURE_S3_SECRET_ACCESS_KEY": base64.b64encode(home.name.encode()).decode(),
            "OSTINATO_CAPTURE_UPLOAD_POLL_SECONDS": "0.5",
        }
        self._chosen = CaptureSettings.load(environ=found)
        return found

    def _settings(self) -> CaptureSettings:
        """Return what `settings` chose here, or in the process that started this one."""
        if self._chosen is None:
            self._chosen = CaptureSettings.load()
        return self._chosen

    def _bucket(self) -> "Bucket":
        return Bucket(Path(self._settings().folder))

    async def _device(self, order: DeviceOrder) -> Response:
        settings = self._settings()
        try:
            known = keyring.read_keys(Path(settings.keyring_file))
        except keyring.KeyringUnavailable as error:
            return JSONResponse({"error": str(error)}, 409)
        if KEK_ID not in known:
            return JSONResponse({"error": f"the keyring has no key {KEK_ID!r}"}, 409)
        prepared = device.prepare(
            base64.b64decode(order.content_b64),
            order.user_id,
            device.Kek(KEK_ID, known[KEK_ID]),
            mime_type=order.mime_type,
            capture_id=order.capture_id,
            wrapping=order.wrapping,
            bound=settings.content_context == "bound",
        )
        blob = _uploaded(prepared.blob, order.upload)
        if blob is not None:
            # As a presigned upload would: the device has no credentials of the store.
            key = uploads.store_key(settings, order.tenant_id, prepared.fields.upload_object_key)
            await run_in_threadpool(self._bucket().put, key, blob, {})
        body = asdict(prepared.fields)
        body["hash_sha3_256"] = body.pop("content_hash")
        return JSONResponse(body | {"timestamp_device": order.timestamp_device.isoformat()})

    async def _object_of_host(self, request: Request, key: str) -> Response:
        return await self._object(request, request.headers.get("host", "").partition(".")[0], key)

    async def _object(self, request: Request, bucket: str, key: str) -> Response:
        refused = await self._refusal(request, bucket, key)
        if refused is not None:
            return refused
        if request.method == "PUT":
            body, once = await request.body(), request.headers.get("if-none-match") == "*"
            return await run_in_threadpool(self._bucket().take, key, body, request.headers, once=once)
        version = request.query_params.get("versionId")
        return await run_in_threadpool(self._bucket().serve, request.method, key, version)

    async def _refusal(self, request: Request, bucket: str, key: str) -> Response | None:
        settings = self._settings()
        known = sigv4.Credentials(
            settings.s3_access_key_id or "", settings.s3_secret_access_key or "", settings.s3_session_token
        )
        raw: bytes = request.scope["raw_path"]
        asked = (request.method, raw.decode("ascii"), request.url.query, request.headers)
        if not sigv4.is_signed(*asked, credentials=known, now=datetime.now(UTC)):
            return _fault(403, "SignatureDoesNotMatch", "The signature is not that of the request, or too old.")
        declared = request.headers.get("x-amz-content-sha256", sigv4.UNSIGNED)
        if declared not in (sigv4.UNSIGNED, hashlib.sha256(await request.body()).hexdigest()):
            return _fault(400, "XAmzContentSHA256Mismatch", "The body is not the one signed.")
        if bucket != settings.s3_bucket:
            return _fault(404, "NoSuchBucket", "The specified bucket does not exist.")
        if object_key_fault(key) is not None:
            return _fault(400, "InvalidArgument", "This stand-in takes plain names only.")
        # As a policy of the bucket would.
        if request.method == "PUT" and request.headers.get(ENCRYPTION, "none") != settings.s3_encryption:
            return _fault(403, "AccessDenied", f"Objects here are encrypted: {settings.s3_encryption}.")
        return None


class Bucket:
    """Objects as files, and beside them all their versions, with what each was put with."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.versions = root.with_name("versions")

    def take(self, key: str, body: bytes, headers: Mapping[str, str], *, once: bool) -> Response:
        """Take an object; one that must be new, only if there is none."""
        if once and (self.root / key).is_file():
            return _fault(412, "PreconditionFailed", "At least one of the preconditions did not hold.")
        kept = {name: value for name, value in headers.items() if name.startswith(ENCRYPTION)}
        version = self.put(key, body, kept)
        return Response(headers={"ETag": _etag(body), VERSION: version, **kept})

    def put(self, key: str, content: bytes, headers: Mapping[str, str]) -> str:
        """Put an object, and return the version that it is."""
        version = f"v{uuid4().hex}"
        _write(self._kept(key) / version, content)
        _write(self._kept(key) / f"{version}.json", json.dumps(dict(headers)).encode())
        _write(self.root / key, content)
        _write(self._kept(key) / "latest", version.encode())
        return version

    def serve(self, method: str, key: str, version: str | None) -> Response:
        """Serve an object, or a version of it."""
        latest = self._kept(key) / "latest"
        wanted = version or (latest.read_text() if latest.is_file() else None)
        place = self.root / key if version is None else self._kept(key) / version
        if not place.is_file():
            return _fault(404, "NoSuchVersion" if version else "NoSuchKey", "The specified key does not exist.")
        content = place.read_bytes()
        headers = {
            "Content-Length": str(len(content)),
            "ETag": _etag(content),
            "Last-Modified": formatdate(place.stat().st_mtime, usegmt=True),
        }
        if wanted is not None:
            headers |= {VERSION: wanted, **json.loads((self._kept(key) / f"{wanted}.json").read_bytes())}
        shown = content if method == "GET" else b""
        return Response(shown, headers=headers, media_type="application/octet-stream")

    def _kept(self, key: str) -> Path:
        return self.versions / hashlib.sha256(key.encode()).hexdigest()


def _uploaded(blob: bytes, how: str) -> bytes | None:
    match how:
        case "tampered":
            return bytes([blob[0] ^ 1]) + blob[1:]
        case "shortened":
            return blob[:-1]
        case "not_at_all":
            return None
        case _:
            return blob


def _write(place: Path, content: bytes) -> None:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = place.with_name(f".{place.name}.draft")
    draft.write_bytes(content)
    draft.replace(place)


def _etag(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def _fault(status: int, code: str, message: str) -> Response:
    text = f"<Code>{escape(code)}</Code><Message>{escape(message)}</Message>"
    document = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error>{text}</Error>'
    return Response(document, status, media_type="application/xml")
