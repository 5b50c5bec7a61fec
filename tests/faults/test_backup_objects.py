"""A repository in an object store: sent, fetched and restored, over real HTTP."""

import asyncio
import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ostinato._core.base.enderrors import BackupFailed
from ostinato._core.base.errors import Conflict
from ostinato._core.db.backup import objects
from ostinato._core.db.backup.repository import About, Base, Repository
from tests.bucket import Bucket, bucket_here

SEGMENT_BYTES = 2**20
AT = datetime(2026, 11, 18, 9, tzinfo=UTC)
ABOUT = About("7", 18, SEGMENT_BYTES, "slot", embedded=True)


URL = "s3://bucket/site"


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with bucket_here() as made:
        yield made


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """One base backup of two files, a segment and a part of one."""
    made = Repository.create(tmp_path / "repository", ABOUT)
    add(made, "one")
    log = made.log_folder(1)
    log.mkdir()
    (log / made.segment_name(1, 1)).write_bytes(b"a" * SEGMENT_BYTES)
    (log / f"{made.segment_name(1, 2)}.partial").write_bytes(b"b" * 100)
    return made


def add(repository: Repository, label: str) -> Base:
    base = Base(label, AT, AT, 2, 1, "0/100000", "0/100001")
    (repository.files(base) / "global").mkdir(parents=True)
    (repository.files(base) / "PG_VERSION").write_text("18")
    (repository.files(base) / "global" / "1").write_bytes(label.encode())
    repository.keep(base)
    return base


def content(folder: Path) -> dict[str, bytes]:
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if name != "lock"}


def test_a_repository_comes_back_as_it_was_sent(repository: Repository, bucket: Bucket, tmp_path: Path) -> None:
    sent = asyncio.run(objects.push(repository, URL))
    asyncio.run(objects.fetch(URL, tmp_path / "fetched"))

    assert sent.files == 6
    assert content(tmp_path / "fetched") == content(repository.folder)
    assert Repository.open(tmp_path / "fetched").log_after(repository.base()).gap is None
    with pytest.raises(Conflict, match="is a repository already"):
        asyncio.run(objects.fetch(URL, tmp_path / "fetched"))


def test_only_what_is_new_is_sent_and_what_was_pruned_is_deleted(repository: Repository, bucket: Bucket) -> None:
    asyncio.run(objects.push(repository, URL))
    bucket.asked.clear()
    old = repository.base("one")
    add(repository, "two")
    repository.drop(old)
    partial = next(repository.log_folder(1).glob("*.partial"))
    partial.write_bytes(b"b" * 200)

    sent = asyncio.run(objects.push(repository, URL))

    assert (sent.files, sent.deleted) == (4, 3)
    assert not [key for key in bucket.objects if "/one" in key]
    assert not [line for line in bucket.asked if line.startswith("PUT") and repository.segment_name(1, 1) in line]
    assert bucket.asked[-1].startswith(("POST", "DELETE"))  # after the list, which no longer has them


def test_a_copy_that_was_cut_short_or_damaged_is_noticed(
    repository: Repository, bucket: Bucket, tmp_path: Path
) -> None:
    with pytest.raises(BackupFailed, match="has no backups"):
        asyncio.run(objects.fetch(URL, tmp_path / "fetched"))
    asyncio.run(objects.push(repository, URL))
    (key,) = [key for key in bucket.objects if key.endswith("PG_VERSION")]
    whole = bucket.objects[key]
    bucket.objects[key] = b"17"

    with pytest.raises(BackupFailed, match="is not as it was sent"):
        asyncio.run(objects.fetch(URL, tmp_path / "fetched"))
    with pytest.raises(Exception, match="is no repository"):
        Repository.open(tmp_path / "fetched")
    bucket.objects[key] = whole
    asyncio.run(objects.fetch(URL, tmp_path / "fetched"))  # goes on

    assert content(tmp_path / "fetched") == content(repository.folder)


def test_another_server_and_a_store_that_refuses_are_told(repository: Repository, bucket: Bucket) -> None:
    asyncio.run(objects.push(repository, URL))

    stranger = Repository(repository.folder, About("8", 18, SEGMENT_BYTES, "slot", embedded=True))
    with pytest.raises(Conflict, match="of another server"):
        asyncio.run(objects.push(stranger, URL))
    bucket.failing = True
    with pytest.raises(BackupFailed, match="refused or did not answer") as told:
        asyncio.run(objects.push(repository, URL))
    assert "made-up" not in str(told.value)
    bucket.failing, bucket.missing = False, True
    with pytest.raises(BackupFailed, match="there is no such bucket"):
        asyncio.run(objects.push(repository, URL))


def test_a_folder_elsewhere_is_a_store_too(repository: Repository, tmp_path: Path) -> None:
    url = (tmp_path / "elsewhere").as_uri()

    asyncio.run(objects.push(repository, url))
    asyncio.run(objects.fetch(url, tmp_path / "fetched"))

    assert content(tmp_path / "fetched") == content(repository.folder)


def test_copies_and_what_is_fetched_are_for_our_user_only(repository: Repository, tmp_path: Path) -> None:
    there, fetched = tmp_path / "elsewhere", tmp_path / "fetched"
    fetched.mkdir(mode=0o755)
    asyncio.run(objects.push(repository, there.as_uri()))
    asyncio.run(objects.fetch(there.as_uri(), fetched))

    made = [path for folder in (there, fetched) for path in folder.rglob("*")]
    assert len(made) > 12
    assert {path.stat().st_mode & 0o077 for path in made} == {0}


def test_no_file_of_an_index_lies_outside_of_the_repository(bucket: Bucket, tmp_path: Path) -> None:
    entry = {"size": 1, "sha256": hashlib.sha256(b"x").hexdigest()}
    for key in ("../out", "/out", "base/../../out", "base\\..\\out/../../../out"):
        bucket.objects["/bucket/site/index.json"] = json.dumps({"system": "1", "files": {key: entry}}).encode()
        with pytest.raises(BackupFailed, match="outside of the repository"):
            asyncio.run(objects.fetch(URL, tmp_path / "fetched"))
    assert not (tmp_path / "out").exists()
