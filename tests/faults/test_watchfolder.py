"""Workers that tend a folder and are killed, or sleep: no file lost, no state left out or twice."""

import asyncio
import json
import random
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from ostinato._core.db import migrate
from ostinato._core.engine.schema import ENGINE
from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.jobs import start_watching
from ostinato.apps.watchfolder.schema import COMPONENT
from ostinato.apps.watchfolder.station.processes import ServiceProcess, running
from ostinato.lab.torture.crew import Crew, Hand
from tests.apps.watchfolder.papers import text_pdf
from tests.faults.site import Site, say
from tests.waiting import until

KILLS = 3
FILES_EACH = 3
FILES = KILLS * FILES_EACH
SETTINGS: dict[str, object] = {
    "max_crashes": 3,  # as it is by default: a tending that is killed thrice must not be a suspect
    "expiry_seconds": 60.0,  # the test itself says that a worker is gone: a busy machine is no death
    "watchfolder_stable_seconds": 0,
    "watchfolder_tick_seconds": 0.1,
    "watchfolder_min_free_bytes": 0,
    "watchfolder_renew_seconds": 0.3,
    "watchfolder_max_jobs_in_flight": 2,
}


FORGOTTEN = "select coalesce(max(n), 0) = 0 from ostinato_data.claim c, unnest(c.crashes) n"
"""No job that is being done has taken a worker down, as far as the engine remembers."""


def begin(site: Site, root: Path) -> tuple[Folders, dict[str, int]]:
    """Two folders of a tenant, each with its job."""
    asyncio.run(migrate.migrate(site.urls.admin, [ENGINE, COMPONENT]))
    made = {}
    for name in ("courrier", "other"):
        Folders.below(root / name).make()
        made[name] = site.value(
            "insert into watchfolder.folder (tenant_id, name, path, lang, created_at, created_by)"
            " values ('acme', %s, %s, 'fra+eng', now(), 'test') returning id",
            name,
            str(root / name),
        )

    async def start() -> None:
        async with await psycopg.AsyncConnection.connect(site.urls.admin) as conn:
            for folder_id in made.values():
                await start_watching(conn, "acme", folder_id)

    asyncio.run(start())
    return Folders.below(root / "courrier"), made


def job_of(site: Site, folder_id: int) -> int:
    found: int = site.value(
        "select max(id) from ostinato_data.job where kind = 'watchfolder.tend' and args ->> 'folder_id' = %s",
        str(folder_id),
    )
    return found


def told(site: Site) -> list[dict[str, object]]:
    rows = site.rows("select payload from ostinato_data.event where type = 'watchfolder.job_changed' order by id")
    return [row[0] for row in rows]


def hand_of(site: Site, crew: Crew, job_id: int) -> Hand | None:
    """The worker that has a job, if one that lives has."""
    name = site.holder(job_id)
    return next((hand for hand in crew.alive if hand.name == name), None)


def gone(site: Site, hand: Hand) -> None:
    """A worker that beats no more has not beaten for long."""
    site.rows("update ostinato_data.worker set beat_at = beat_at - interval '1 hour' where name = %s", hand.name)


def ticks_again(site: Site, folder_id: int) -> None:
    """Wait until a folder is watched, from now on."""
    site.until("select ticked_at > %s from watchfolder.folder where id = %s", site.now(), folder_id)


@pytest.mark.proof
def test_a_worker_that_watches_may_be_killed_or_sleep_at_any_time(site: Site, tmp_path: Path) -> None:
    rng = random.Random(5)
    folders, ids = begin(site, tmp_path / "root")
    prep, ocr = ServiceProcess("prep", folders.work), ServiceProcess("ocr", folders.work)
    inputs = {f"{number}.pdf": text_pdf(f"Document {number}") for number in range(FILES)}
    with running(prep, ocr):
        urls = {"watchfolder_prep_url": prep.url, "watchfolder_ocr_url": ocr.url}
        crew = site.crew(None, app="ostinato.apps.watchfolder:APP", **(SETTINGS | urls))
        for _ in range(2):
            crew.start()
        job_id = job_of(site, ids["courrier"])

        for number in range(KILLS):
            wanted = len(told(site)) + rng.randint(1, 3 * FILES_EACH)
            for name in list(inputs)[number * FILES_EACH : (number + 1) * FILES_EACH]:
                (folders.incoming / f".{name}").write_bytes(inputs[name])
                (folders.incoming / f".{name}").rename(folders.incoming / name)
            until(lambda w=wanted: len(told(site)) >= w)  # type: ignore[misc]
            victim = hand_of(site, crew, job_id) or rng.choice(crew.alive)
            say(f"kill {number + 1}: {victim.name} after {wanted} states")
            victim.kill()
            gone(site, victim)
            crew.start()
            ticks_again(site, ids["courrier"])
            ticks_again(site, ids["other"])
            site.until(FORGOTTEN)

        until(lambda: hand_of(site, crew, job_id))
        sleeper = hand_of(site, crew, job_id)
        assert sleeper is not None
        sleeper.pause()
        gone(site, sleeper)
        until(lambda: site.holder(job_id) != sleeper.name)
        sleeper.resume()
        (folders.incoming / "twin.pdf").write_bytes(inputs["0.pdf"])
        until(lambda: len(list(folders.out.iterdir())) == FILES)
        site.until("select exists (select from watchfolder.duplicate)")
        until(lambda: not [path for path in folders.work.iterdir() if path.is_dir()])
        for folder_id in ids.values():
            ticks_again(site, folder_id)

    archived = {path.name: path.read_bytes() for path in folders.archive.rglob("*.pdf")}
    assert archived == inputs
    seqs: dict[str, list[object]] = {}
    for event in told(site):
        seqs.setdefault(str(event["job_key"]), []).append(event["seq"])
    assert len(seqs) == FILES
    for seen in seqs.values():
        assert seen == list(range(1, len(seen) + 1))  # none left out, none twice
    rows = site.rows("select job_key, state, seq from watchfolder.job")
    assert Counter(state for _, state, _ in rows) == {"DONE": FILES}
    assert {key: seq for key, _, seq in rows} == {key: len(seen) for key, seen in seqs.items()}
    index = json.loads(folders.index_file.read_text())
    assert {key: entry["state"] for key, entry in index["jobs"].items()} == {key: "DONE" for key, _, _ in rows}
    held = [path.name for path in folders.hold.iterdir()]
    assert [row[0] for row in site.rows("select job_key from watchfolder.duplicate")] == held
    dead = "select count(*) from ostinato_data.outcome where outcome = 'dead'"
    assert site.value(dead) == 0
