"""`ostinato archive …`: to a folder and to an object store."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bucket import Bucket, bucket_here
from tests.faces.conftest import Place, Shell

MORE_THAN_A_PAGE = 1001


@pytest.fixture
def place(place: Place) -> Iterator[Place]:
    """The same, at the right time for those that come after."""
    place.call("ostinato.use_test_clock()")
    yield place
    place.call("ostinato.set_test_clock(null, interval '0')")


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with bucket_here() as made:
        yield made


def done_long_ago(place: Place) -> None:
    """A week that is past retention, with a job."""
    place.call("ostinato.upkeep_partitions(14)")
    place.enqueue(args='{"n": 7}')
    held = place.claim(place.worker())
    place.conn.execute(
        "select ostinato.complete_jobs(%s, %s, %s)", [list(column) for column in zip(*held, strict=True)]
    )
    place.call("ostinato.move_test_clock(interval '40 days')")
    place.call("ostinato.upkeep_partitions(14)")


def test_what_is_past_retention_goes_to_an_object_store_and_is_read_back(
    shell: Shell, place: Place, bucket: Bucket
) -> None:
    assert "no archive is set up" in shell.fails("archive", "run", code=2)
    assert "Nothing is dropped any more" in shell("archive", "init", "s3://bucket/site")
    assert "Nothing was archived yet" in shell("archive", "list")
    done_long_ago(place)

    made = {each["name"]: each for each in shell.json("archive", "run")["archived"]}
    week = next(each for name, each in made.items() if name.startswith("job_") and each["rows"])
    assert f"/bucket/site/{week['file']}" in bucket.objects
    assert {each["name"] for each in shell.json("archive", "list")["archived"]} == set(made)
    assert week["file"] in shell("archive", "list")
    (line,) = shell("archive", "read", week["name"]).splitlines()
    assert json.loads(line)["args"] == {"n": 7}
    assert shell.json("archive", "verify") == {"files": len(made)}

    bucket.objects[f"/bucket/site/{week['file']}"] = b"no"
    assert "is damaged: its checksum is another" in shell.fails("archive", "verify")
    assert "is damaged" in shell.fails("archive", "read", week["name"])
    del bucket.objects[f"/bucket/site/{week['file']}"]
    assert f"has no file {week['file']}" in shell.fails("archive", "verify")
    assert "was not archived" in shell.fails("archive", "read", "job_20200101")
    assert "dropped without being archived" in shell("archive", "stop")


def test_all_files_are_listed_and_verified_however_many(shell: Shell, place: Place, tmp_path: Path) -> None:
    shell("archive", "init", str(tmp_path / "archive"))
    done_long_ago(place)
    made = shell.json("archive", "run")["archived"]
    place.conn.execute(
        "insert into ostinato_data.archive (name, rows, bytes, sha256, file, place, archived_at)"
        " select 'late_' || to_char(n, 'FM0000'), rows, bytes, sha256, file, place, archived_at"
        " from ostinato_data.archive, generate_series(1, %s) n where name = %s",
        [MORE_THAN_A_PAGE, made[0]["name"]],
    )

    assert len(shell.json("archive", "list")["archived"]) == len(made) + MORE_THAN_A_PAGE
    assert shell.json("archive", "verify") == {"files": len(made) + MORE_THAN_A_PAGE}
    place.conn.execute("update ostinato_data.archive set sha256 = 'other' where name = 'late_1001'")
    assert "is damaged" in shell.fails("archive", "verify")
