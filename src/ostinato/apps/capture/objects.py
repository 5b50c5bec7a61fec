"""Reads the encrypted content from a folder, or from a store that speaks S3.

Objects are put there by the device (`uploads` gives it an address) and only read here, piece by
piece. Where the store keeps versions, `find` names the one that it found, and the same is read.
"""

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol
from urllib.parse import urlsplit, urlunsplit

from ostinato.apps.capture.rules import object_key_fault, tenant_prefix
from ostinato.apps.capture.settings import CaptureSettings
from ostinato.errors import NotConfigured

if TYPE_CHECKING:
    from obstore import GetOptions
    from obstore.store import S3Config, S3Store

PIECE_BYTES = 262_144
CONNECT_SECONDS = 5.0
REQUEST_SECONDS = 120.0
S3_RETRIES = 1  # the job tries again by its own policy


class ObjectMissing(Exception):
    """There is no such object, or not yet."""


class StoreUnavailable(Exception):
    """The store cannot be read now: worth another attempt."""


@dataclass(frozen=True, slots=True)
class Found:
    """An object that is there."""

    size: int
    version: str | None = None
    """Which version it is; None: the store keeps none."""


class Objects(Protocol):
    """A store of objects."""

    async def find(self, key: str, version: str | None = None) -> Found:
        """Find an object, or a version of it; raises `ObjectMissing` or `StoreUnavailable`."""

    def read(self, key: str, version: str | None = None) -> AsyncIterator[bytes]:
        """Yield its content in pieces; raises as `find`."""


class OfTenant:
    """The part of a store that belongs to one tenant: no key leads out of it.

    Whatever is elsewhere is missing, as what does not exist is: a reason must not tell a tenant of
    an object of another.
    """

    def __init__(self, objects: Objects, tenant_id: str) -> None:
        self._objects = objects
        self._prefix = tenant_prefix(tenant_id)

    async def find(self, key: str, version: str | None = None) -> Found:
        return await self._objects.find(self._place(key), version)

    async def read(self, key: str, version: str | None = None) -> AsyncIterator[bytes]:
        async for piece in self._objects.read(self._place(key), version):
            yield piece

    def _place(self, key: str) -> str:
        place = f"{self._prefix}{key}"
        if object_key_fault(key) is not None or object_key_fault(place) is not None:
            raise ObjectMissing
        return place


class Folder:
    """Objects as files below a folder, without versions. A writer renames a finished file into its place."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def find(self, key: str, version: str | None = None) -> Found:  # noqa: ARG002 - it keeps none
        with await asyncio.to_thread(self._open, key) as file:
            return Found(os.fstat(file.fileno()).st_size)

    async def read(self, key: str, version: str | None = None) -> AsyncIterator[bytes]:  # noqa: ARG002 - as above
        with await asyncio.to_thread(self._open, key) as file:
            while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
                yield piece

    def _open(self, key: str) -> BinaryIO:
        if object_key_fault(key) is not None:
            raise ObjectMissing
        try:
            place = (self._root / key).resolve()
            # Links may lead out of the folder, and a key is chosen by a caller.
            if not place.is_relative_to(self._root.resolve()) or not place.is_file():
                raise ObjectMissing
            return place.open("rb")
        except (FileNotFoundError, RuntimeError):  # links in a circle, before Python 3.13
            raise ObjectMissing from None
        except OSError as error:
            if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
                raise ObjectMissing from None  # no file can have this name
            raise StoreUnavailable(f"the folder cannot be read: {error.strerror}") from None


class S3:
    """Objects in a bucket of anything that speaks S3."""

    def __init__(self, store: "S3Store") -> None:
        self._store = store

    async def find(self, key: str, version: str | None = None) -> Found:
        import obstore  # noqa: PLC0415 - only who uses S3 has it

        with _told():
            found = await obstore.get_async(self._store, key, options={"head": True, **_of(version)})
        return Found(found.meta["size"], found.meta["version"])

    async def read(self, key: str, version: str | None = None) -> AsyncIterator[bytes]:
        import obstore  # noqa: PLC0415 - as above

        with _told():
            got = await obstore.get_async(self._store, key, options=_of(version))
            async for piece in got.stream(min_chunk_size=PIECE_BYTES):
                yield bytes(piece)


def _of(version: str | None) -> "GetOptions":
    return {} if version is None else {"version": version}


@contextmanager
def _told() -> Iterator[None]:
    """Turn errors of the library into ours. Theirs quote the answer, which may quote the signature."""
    from obstore.exceptions import BaseError, NotFoundError  # noqa: PLC0415 - as above

    try:
        yield
    except (NotFoundError, FileNotFoundError):
        raise ObjectMissing from None
    except (BaseError, OSError) as error:
        name = type(error).__name__
        raise StoreUnavailable(f"the object store did not give the object: {name}") from None


def bucket_url(settings: CaptureSettings) -> str:
    """Return the address of the bucket, without a slash at its end."""
    endpoint = urlsplit(settings.s3_endpoint or f"https://s3.{settings.s3_region}.amazonaws.com")
    path = endpoint.path.rstrip("/")
    if settings.s3_style == "virtual":
        return urlunsplit((endpoint.scheme, f"{settings.s3_bucket}.{endpoint.netloc}", path, "", ""))
    return urlunsplit((endpoint.scheme, endpoint.netloc, f"{path}/{settings.s3_bucket}", "", ""))


def load(settings: CaptureSettings) -> Objects:
    """Open the store that the settings name."""
    if settings.store == "folder":
        return Folder(Path(settings.folder).expanduser())
    try:
        from obstore.store import S3Store  # noqa: PLC0415 - as above
    except ImportError:
        raise NotConfigured(
            "captures are in S3, but the library for it is not installed", hint="pip install 'ostinato[s3]'"
        ) from None
    virtual = settings.s3_style == "virtual"
    options: S3Config = {"region": settings.s3_region, "virtual_hosted_style_request": virtual}
    if settings.s3_endpoint is not None:
        # Of a virtual host the library wants the whole name, with the bucket.
        options["endpoint"] = bucket_url(settings) if virtual else settings.s3_endpoint
    if settings.s3_access_key_id is not None and settings.s3_secret_access_key is not None:
        options["access_key_id"] = settings.s3_access_key_id
        options["secret_access_key"] = settings.s3_secret_access_key
        if settings.s3_session_token is not None:
            options["session_token"] = settings.s3_session_token
    store = S3Store(
        settings.s3_bucket,
        config=options,
        client_options={
            "allow_http": (settings.s3_endpoint or "").startswith("http://"),
            "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
            "timeout": timedelta(seconds=REQUEST_SECONDS),
        },
        retry_config={"max_retries": S3_RETRIES, "retry_timeout": timedelta(seconds=REQUEST_SECONDS)},
    )
    return S3(store)
