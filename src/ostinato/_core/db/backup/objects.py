"""Copies a repository to an object store, and back: S3 and what speaks it, or any other that obstore knows.

    s3://bucket/prefix        as AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL say
    file:///mnt/elsewhere

Files that are whole never change, so only new ones are sent. `index.json` lists them with their size and SHA-256 and is
written last: what it does not list does not count, and a copy that was interrupted is the copy before it. Nothing else
is asked of the store, not even a list.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostinato._core.base.enderrors import BackupFailed
from ostinato._core.base.errors import Conflict, NotConfigured
from ostinato._core.db.backup.repository import ABOUT, PARTIAL, Repository, private

if TYPE_CHECKING:
    from obstore.store import ClientConfig, ObjectStore

INDEX = "index.json"
CONNECT_SECONDS = 5.0
REQUEST_SECONDS = 120.0

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sent:
    """What was copied."""

    files: int
    bytes: int
    deleted: int = 0


def store(url: str) -> "ObjectStore":
    """Return the object store of a URL; its keys are in the environment."""
    try:
        from obstore.store import from_url  # noqa: PLC0415 - only who uses one has it
    except ImportError:
        raise NotConfigured(
            "the library for object stores is not installed", hint="pip install 'ostinato[s3]'"
        ) from None
    with _told(url):
        if url.startswith("file:"):
            return from_url(url, mkdir=True)
        plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
        options: ClientConfig = {
            "allow_http": plain,
            "timeout": timedelta(seconds=REQUEST_SECONDS),
            "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
        }
        return from_url(url, client_options=options)


async def push(repository: Repository, url: str, step: Callable[[str], None] = lambda _text: None) -> Sent:
    """Send what the store does not have, then its new list, then delete what the list no longer has."""
    import obstore  # noqa: PLC0415 - as above

    with private(), repository.locked():
        to = store(url)
        before = await _index(to, url)
        if before and before["system"] != repository.about.system:
            raise Conflict(f"{url} has the backups of another server", hint="Choose another prefix.", url=url)
        had: dict[str, Entry] = before["files"] if before else {}
        now: dict[str, Entry] = {}
        count = size = 0
        for path in _files(repository):
            key = str(path.relative_to(repository.folder))
            if key in had and not _changes(path):
                now[key] = had[key]
                continue
            if _changes(path):  # what is sent must be what its sum is of
                content: bytes | Path = await asyncio.to_thread(path.read_bytes)
            else:
                content = path
            now[key] = await asyncio.to_thread(_entry, content)
            if had.get(key) == now[key]:
                continue
            with _told(url, writes=True):
                await obstore.put_async(to, key, content)
            count, size = count + 1, size + now[key]["size"]
            if count % 100 == 0:
                step(f"{count:,} files sent")
        index = {"system": repository.about.system, "files": now}
        with _told(url, writes=True):
            await obstore.put_async(to, INDEX, json.dumps(index).encode())
            gone = [key for key in had if key not in now]
            if gone:
                await obstore.delete_async(to, gone)
    return Sent(count, size, len(gone))


async def fetch(url: str, folder: Path, step: Callable[[str], None] = lambda _text: None) -> Sent:
    """Bring a repository back into an empty folder, every file checked; repeated, it goes on where it stopped."""
    with private():
        return await _fetch(url, folder, step)


async def _fetch(url: str, folder: Path, step: Callable[[str], None]) -> Sent:
    import obstore  # noqa: PLC0415 - as above

    at = store(url)
    index = await _index(at, url)
    if index is None:
        raise BackupFailed(f"{url} has no backups: there is no {INDEX}", hint="`ostinato backup copy` makes them.")
    if (folder / ABOUT).exists():
        raise Conflict(f"{folder} is a repository already", hint="Name an empty folder.", folder=str(folder))
    count = size = 0
    # The file that makes a folder a repository comes last.
    for key in sorted(index["files"], key=lambda name: (name == ABOUT, name)):
        entry, path = index["files"][key], folder / key
        if key.startswith("/") or ".." in key.split("/"):
            raise BackupFailed(f"{INDEX} names a file outside of the repository: {key}")
        if path.exists() and await asyncio.to_thread(_entry, path) == entry:
            continue
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _told(url):
            got = await obstore.get_async(at, key)
            with path.open("wb") as file:
                async for piece in got.stream(min_chunk_size=1 << 20):
                    file.write(piece)
        if await asyncio.to_thread(_entry, path) != entry:
            path.unlink()
            raise BackupFailed(f"{key} in {url} is not as it was sent", hint="Fetch again; or use another copy.")
        count, size = count + 1, size + entry["size"]
        if count % 100 == 0:
            step(f"{count:,} of {len(index['files']):,} files fetched")
    for name in ("base", "log"):
        (folder / name).mkdir(mode=0o700, exist_ok=True)
    return Sent(count, size)


async def put(to: "ObjectStore", url: str, name: str, path: Path) -> None:
    """Store a file under a name."""
    import obstore  # noqa: PLC0415 - as above

    with _told(url, writes=True):
        await obstore.put_async(to, name, path)


async def get(at: "ObjectStore", url: str, name: str) -> AsyncIterator[bytes]:
    """Yield the pieces of a file; raises `FileNotFoundError`."""
    import obstore  # noqa: PLC0415 - as above

    with _told(url):
        got = await obstore.get_async(at, name)
        async for piece in got.stream(min_chunk_size=1 << 20):
            yield bytes(piece)


async def _index(at: "ObjectStore", url: str) -> dict[str, Any] | None:
    import obstore  # noqa: PLC0415 - as above

    try:
        with _told(url):
            got = await obstore.get_async(at, INDEX)
            return dict(json.loads(bytes(await got.bytes_async())))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise BackupFailed(f"{INDEX} in {url} cannot be read", hint="Delete it, and copy again.") from error


def _files(repository: Repository) -> Iterator[Path]:
    """Yield all that counts; of a base backup its own description last, as in the repository."""
    for base in repository.bases():
        yield from (path for path in sorted(repository.files(base).rglob("*")) if path.is_file())
        yield repository.folder / "base" / f"{base.label}.json"
    yield from (path for path in sorted((repository.folder / "log").rglob("*")) if path.is_file())
    yield repository.folder / ABOUT


def _changes(path: Path) -> bool:
    return path.name.endswith((PARTIAL, ".json"))


def _entry(content: bytes | Path) -> Entry:
    if isinstance(content, bytes):
        return {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    with content.open("rb") as file:
        return {"size": content.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


@contextmanager
def _told(url: str, *, writes: bool = False) -> Iterator[None]:
    """Turn errors of the library into ours. Theirs quote the answer, which may quote the signature."""
    from obstore.exceptions import BaseError, NotFoundError  # noqa: PLC0415 - as above

    try:
        yield
    except (NotFoundError, FileNotFoundError):
        if writes:
            raise BackupFailed(
                f"nothing can be written to {url}: there is no such bucket", hint="Make the bucket, or correct the URL."
            ) from None
        raise FileNotFoundError(url) from None
    except BaseError as error:
        raise BackupFailed(
            f"the object store {url} refused or did not answer: {type(error).__name__}",
            hint="Check the URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL.",
        ) from None
