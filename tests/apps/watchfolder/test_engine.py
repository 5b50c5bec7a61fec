"""Under the engine: watched by a worker, every state emitted, decided by API."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostinato._core.base.machine import Machine
from ostinato.apps.watchfolder.jobs import lease_of, start_watching
from ostinato.apps.watchfolder.machine import DUPLICATE, JOB
from ostinato.apps.watchfolder.queries import QUERIES
from ostinato.apps.watchfolder.station.processes import ServiceProcess, running
from tests.apps.watchfolder.engine import PATH, Office
from tests.apps.watchfolder.papers import text_pdf
from tests.waiting import until_async


def put(folder: Path, name: str, data: bytes) -> None:
    (folder / f".{name}").write_bytes(data)
    (folder / f".{name}").rename(folder / name)


@pytest.mark.slow
async def test_a_file_is_done_and_every_state_is_an_event(office: Office) -> None:
    folders = await office.make("courrier")
    put(folders.incoming, "lettre.pdf", text_pdf("Bonjour"))

    async with office.worker():
        (job,) = await office.jobs("courrier", "DONE", 1)
        await until_async(lambda: _gone(folders.job(job["job_key"])))

    told = await office.told("watchfolder.job_changed")
    assert [each["seq"] for each in told] == list(range(1, len(told) + 1))
    states = [each["state"] for each in told]
    assert states == [
        "INGESTING",
        "DISCOVERED",
        "PREP_SUBMITTED",
        "PREP_RUNNING",
        "PREP_DONE",
        "OCR_SUBMITTED",
        "OCR_RUNNING",
        "FINALIZING",
        "DONE",
    ]
    assert job["out_path"] == str(folders.out / "lettre.pdf")
    assert (folders.out / "lettre.pdf").is_file()
    folder = await office.get("courrier")
    assert folder["metrics"]["done"] == 1
    assert folder["problem"] is None


@pytest.fixture
def near(office: Office, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """PREP and OCR that are there already, for the folder `courrier` of `acme`."""
    work = office.root / "acme" / "courrier" / "work"
    work.mkdir(parents=True)
    prep, ocr = ServiceProcess("prep", work), ServiceProcess("ocr", work)
    with running(prep, ocr):
        monkeypatch.setenv("OSTINATO_WATCHFOLDER_PREP_URL", prep.url)
        monkeypatch.setenv("OSTINATO_WATCHFOLDER_OCR_URL", ocr.url)
        yield


@pytest.mark.proof
async def test_another_worker_goes_on_where_one_stopped_and_a_duplicate_is_decided_by_api(
    office: Office, near: None
) -> None:
    folders = await office.make("courrier")
    content = text_pdf("Deux fois")
    put(folders.incoming, "un.pdf", content)
    async with office.worker():
        await office.jobs("courrier", "DONE", 1)
    put(folders.incoming, "deux.pdf", content)

    async with office.worker():
        (held,) = await office.duplicates("courrier", "DUPLICATE_PENDING")
        path = f"{PATH}/courrier/duplicates/{held['job_key']}/decision"
        body = {"action": "USE_EXISTING_RESULT"}
        strange = await office.api.call("POST", path, tenant="other", json=body)
        first = await office.api.call("POST", path, json=body)
        (applied,) = await office.duplicates("courrier", "APPLIED")
        await office.api.call("POST", f"{PATH}/courrier/pause")
        (row,) = await office.lab.rows("select id from ostinato_data.job where kind = 'watchfolder.tend'")
        ended = await office.lab.becomes(row[0], "done")

    recorded = await office.lab.rows("select verb, noun, actor from ostinato_data.audit_entry where verb <> 'create'")
    assert recorded == [("decide", "duplicate", "tester"), ("pause", "folder", "tester")]
    with folders.locked():  # nobody has it any more
        assert ended.result == "paused"
    assert (strange.status_code, first.status_code) == (404, 202)
    assert applied["decided_by"] == "tester"
    assert (folders.out / "deux.pdf").is_file()
    assert list(folders.hold.iterdir()) == []
    told = await office.told("watchfolder.duplicate_changed")
    assert [each["state"] for each in told] == ["DUPLICATE_PENDING", "APPLIED"]
    told = await office.told("watchfolder.job_changed")
    assert sum(each["state"] == "DONE" for each in told) == 1


async def test_a_folder_of_another_tenant_is_not_there(office: Office) -> None:
    await office.make("courrier")

    for path in ("courrier", "courrier/jobs", "courrier/duplicates"):
        answer = await office.api.call("GET", f"{PATH}/{path}", tenant="other")
        assert answer.status_code == 404
    listed = await office.api.call("GET", PATH, tenant="other")
    assert listed.json() == {"folders": []}


async def test_a_name_is_taken_once_and_cannot_lead_elsewhere(office: Office) -> None:
    await office.make("courrier")

    again = await office.api.call("POST", PATH, json={"name": "courrier"})
    strange = await office.api.call("POST", PATH, json={"name": "../etc"})

    assert (again.status_code, strange.status_code) == (409, 422)


async def test_every_active_folder_has_one_job_however_often_one_looks(office: Office) -> None:
    await office.make("a")
    await office.make("a", tenant="other")
    await office.make("b")
    await office.api.call("POST", f"{PATH}/b/pause")

    for _ in range(2):
        async with office.lab.client.transaction() as conn:
            for row in await QUERIES.rows(conn, "active_folders"):
                await start_watching(conn, row["tenant_id"], row["id"])

    rows = await office.lab.rows(
        "select j.tenant_id from ostinato_data.job j where j.kind = 'watchfolder.tend' order by 1"
    )
    assert [row[0] for row in rows] == ["acme", "acme", "other"]  # b had its own before the pause
    assert lease_of(7) == "watchfolder:7"


async def test_the_migration_installs_the_machine_that_is_declared(office: Office) -> None:
    stored = await office.lab.value("select definition from ostinato_data.machine where name = 'watchfolder_duplicate'")

    assert stored == json.loads(DUPLICATE.definition())


async def test_a_tenant_cannot_write_what_the_workers_saw(office: Office) -> None:
    rows = await office.lab.rows(
        "select has_table_privilege('ostinato_tenant', t, p)"
        " from unnest(array['watchfolder.job', 'watchfolder.duplicate']) t,"
        " unnest(array['insert', 'delete', 'truncate']) p"
    )

    assert not any(row[0] for row in rows)


def walks(machine: Machine, states: list[str]) -> bool:
    """Whether each state can follow the one before."""
    return all(
        any(before in listed.sources and listed.target == after for listed in machine.transitions)
        for before, after in itertools.pairwise(states)
    )


def test_the_machine_of_a_job_knows_every_state() -> None:
    from ostinato.apps.watchfolder.model import STATES  # noqa: PLC0415 - beside its machine

    assert set(JOB.states) == set(STATES)
    assert walks(JOB, ["INGESTING", "DISCOVERED", "PREP_SUBMITTED"])
    assert not walks(JOB, ["DISCOVERED", "DONE"])


async def _gone(path: Path) -> bool:
    return not path.exists()  # noqa: ASYNC240 - a test may wait a moment
