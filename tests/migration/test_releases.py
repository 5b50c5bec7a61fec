"""From each release to this one, under its workers: nothing that was waiting, held or done is lost or done twice.

The code of a release comes from the repository's history. A release whose contract this schema still serves works on
beside the new one; one that it does not (0.1.0 has contract 1) is to be stopped first, as the changelog says. Here
nobody stops it: it must break nothing, and cannot be started again.
"""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ostinato._core.db.embedded import Server
from ostinato._core.db.migrate import migrate
from ostinato._core.engine.schema import ENGINE
from ostinato._core.engine.workers import CONTRACT
from ostinato.lab.torture.crew import Crew
from tests.faults.site import QUICK, Site
from tests.needs import needs

ROOT = Path(__file__).parents[2]


class Release(NamedTuple):
    """A release, and the contract of its workers."""

    name: str
    commit: str
    contract: int


RELEASES = (Release("0.1.0", "cbd5ff5f", 1),)
OLDEST_SERVED = 2
HELD, WAITING, LATER = 6, 20, 10
APP = """
import asyncio
import os

import psycopg

from ostinato import App, Context

app = App("faults")


@app.job()
async def effect(ctx: Context) -> None:
    async with ctx.transaction() as conn:
        await conn.execute("insert into effect values (%s, %s)", ctx.token)


@app.job()
async def effect_when_told(ctx: Context) -> None:
    async with await psycopg.AsyncConnection.connect(os.environ["BOTH_URL"], autocommit=True) as conn:
        while not (await conn.execute("select from started where attempt = 0")).rowcount:
            await asyncio.sleep(0.05)
    async with ctx.transaction() as conn:
        await conn.execute("insert into effect values (%s, %s)", ctx.token)
"""


def is_there(commit: str) -> bool:
    """Whether the history has it; a shallow clone does not."""
    git = shutil.which("git")
    if git is None:
        return False
    return subprocess.run([git, "cat-file", "-e", commit], cwd=ROOT, capture_output=True, check=False).returncode == 0


def code_of(release: Release, folder: Path) -> Path:
    """The sources of a release."""
    archive = subprocess.run(
        ["git", "archive", release.commit, "src"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    folder.mkdir()
    subprocess.run(["tar", "-x"], input=archive, cwd=folder, check=True)
    return folder / "src"


@pytest.mark.proof
@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
@needs("clone", here=all(is_there(release.commit) for release in RELEASES), reason="the history is not here")
def test_a_release_becomes_this_one_under_its_workers(
    shared_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: Release
) -> None:
    name = f"from_{release.name.replace('.', '_')}"
    urls = shared_server.create_database(name)
    (tmp_path / "both_app.py").write_text(APP)
    old = f"{code_of(release, tmp_path / 'old')}{os.pathsep}{tmp_path}"
    monkeypatch.setenv("PYTHONPATH", old)
    subprocess.run(
        [sys.executable, "-m", "ostinato", "db", "migrate"],
        env=os.environ | {"OSTINATO_DATABASE_URL": urls.admin},
        cwd=tmp_path,
        check=True,
    )
    monkeypatch.setenv("BOTH_URL", urls.worker)
    settings = QUICK | {"expiry_seconds": 2}  # a release knows no setting of a later one
    with Site(shared_server, urls, tmp_path) as site, Crew("both_app:app", urls.worker, tmp_path, settings) as crew:
        before = crew.start()
        site.ready(before)
        done = site.enqueue("effect", 5)
        site.until("select count(*) = 5 from effect")
        held = site.enqueue("effect_when_told", HELD)
        site.until("select sum(cardinality(job_ids)) = %s from ostinato_data.claim", HELD)
        site.rows("select ostinato.pause_queue('default')")
        waiting = site.enqueue("effect", WAITING)

        assert asyncio.run(migrate(urls.admin, [ENGINE]))

        site.rows("select ostinato.resume_queue('default')")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        after = crew.start()
        site.ready(after)
        waiting += site.enqueue("effect", LATER)
        site.rows("insert into started values (0, 0)")  # which lets those that are held write
        site.until_idle()
        ids = done + held + waiting
        site.check(ids, ids)

        monkeypatch.setenv("PYTHONPATH", old)
        again = crew.start()
        if release.contract < OLDEST_SERVED:
            assert again.wait() == 78
            assert f"contract {release.contract}" in again.log_path.read_text()
        else:
            site.ready(again)
    assert release.contract <= CONTRACT
    shared_server.drop_database(name)
