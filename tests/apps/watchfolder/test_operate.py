"""Folders as people run them: removed, listed page by page, seen in alerts, metrics and a panel."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from ostinato._core.base import flow
from ostinato.alerts import Alert
from ostinato.apps.watchfolder import APP, metrics, pages, panel
from ostinato.apps.watchfolder.alerts import ALERTS
from ostinato.apps.watchfolder.machine import JOB
from ostinato.apps.watchfolder.queries import QUERIES
from ostinato.apps.watchfolder.watcher import Watcher
from ostinato.observe import Table
from tests.apps.watchfolder.engine import PATH, Office
from tests.apps.watchfolder.test_watcher import KEY, document, look, watched


async def waiting(office: Office) -> tuple[int, float | None]:
    """How many twins wait for a decision: by the inbox, and by the metrics."""
    async with office.lab.client.transaction() as conn:
        return await pages.count(conn), (await metrics.record(conn)).value(metrics.HELD)


async def test_a_folder_that_is_removed_is_gone_and_its_name_is_free(office: Office) -> None:
    watcher, folders, _ = await watched(office)
    watcher._hear(document())
    (folders.hold / KEY).mkdir(parents=True)
    (folders.hold / KEY / "20260101T000000000000Z__b.pdf").write_bytes(b"b")
    await look(watcher)
    (folders.incoming / "scan.pdf").write_bytes(b"stays")
    assert await waiting(office) == (1, 1)

    removed = await office.api.call("DELETE", f"{PATH}/courrier")

    assert removed.status_code == 204
    assert await waiting(office) == (0, 0)
    for method, path in (("GET", "courrier"), ("GET", "courrier/jobs"), ("DELETE", "courrier")):
        assert (await office.api.call(method, f"{PATH}/{path}")).status_code == 404
    assert (await office.api.call("GET", PATH)).json() == {"folders": []}
    await office.make("courrier")
    async with office.lab.client.transaction() as conn:
        for name in ("purge_duplicates", "purge_jobs", "purge_folders"):
            await QUERIES.run(conn, name, after=timedelta(0))
    assert await office.lab.rows("select name from watchfolder.folder") == [("courrier",)]
    assert await office.lab.rows("select 1 from watchfolder.job") == []
    assert (folders.incoming / "scan.pdf").read_bytes() == b"stays"


async def test_a_watcher_of_a_removed_folder_stops(office: Office) -> None:
    watcher, _, _ = await watched(office)
    await office.api.call("DELETE", f"{PATH}/courrier")

    with flow.flow(tenant="acme", correlation="test"):
        assert not await watcher._record()  # which ends `run`


async def test_another_tenant_removes_nothing(office: Office) -> None:
    await office.make("courrier")

    assert (await office.api.call("DELETE", f"{PATH}/courrier", tenant="other")).status_code == 404
    assert (await office.get("courrier"))["active"]


async def every_page(office: Office, what: str, **params: Any) -> list[list[str]]:  # noqa: ANN401 - of the query
    """The keys of every page, one page after the other."""
    found, after = [], None
    while True:
        asked = {**params, **({} if after is None else {"after": after})}
        page = await office.get(f"courrier/{what}", params=asked)
        found.append([each["job_key"] for each in page[what]])
        assert len(found) < 10, "the pages do not end"
        after = page["next"]
        if after is None:
            return found


async def test_jobs_and_duplicates_are_listed_page_by_page(office: Office) -> None:
    watcher, folders, _ = await watched(office)
    keys = [f"{number:064x}__{0:016x}" for number in range(5)]
    for key in keys:
        watcher._hear(document(key))
        (folders.hold / key).mkdir(parents=True)
        (folders.hold / key / "20260101T000000000000Z__b.pdf").write_bytes(b"b")
    await look(watcher)

    for what in ("jobs", "duplicates"):
        found = await every_page(office, what, limit=2)
        assert [len(page) for page in found] == [2, 2, 1]
        assert sorted(key for page in found for key in page) == keys
    assert [len(page) for page in await every_page(office, "jobs", limit=5)] == [5, 0]
    strange = await office.api.call("GET", f"{PATH}/courrier/jobs", params={"after": "yesterday"})
    assert strange.status_code == 422, strange.text


async def test_an_unknown_language_is_refused_with_those_that_there_are(office: Office) -> None:
    answer = await office.api.call("POST", PATH, json={"name": "x", "lang": "fra+klingon"})

    assert answer.status_code == 422, answer.text
    assert "klingon" in answer.text
    assert "eng" in answer.text


def hear(watcher: Watcher, keys: Iterable[int], state: str) -> None:
    """Let the watcher hear of jobs that have ended."""
    for number in keys:
        history = [{"seq": 1, "state": state, "at": "now"}]
        watcher._hear(document(f"{number:064x}__{0:016x}", state=state, history=history))


async def measured(office: Office, alert: Alert) -> list[tuple[str, bool]]:
    """What the function of an alert measures, and whether that is bad."""
    given = ", ".join(f"{name} => %s" for name in alert.parameters)
    values = [str(value) for value in alert.parameters.values()]
    rows = await office.lab.rows(f"select label, value from {alert.function}({given})", *values)  # noqa: S608 - ours
    assert alert.above is not None
    return [(label, value > alert.above) for label, value in rows]


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
async def test_a_folder_in_trouble_is_told_of(office: Office, alert: Alert) -> None:
    """And one that is not, with a few files that failed and one that came twice today, is not."""
    watcher, folders, _ = await watched(office)
    hear(watcher, range(15), "DONE")
    hear(watcher, range(15, 20), "ERROR")
    place = folders.hold / f"{99:064x}__{0:016x}"
    place.mkdir(parents=True)
    (place / "20260101T000000000000Z__b.pdf").write_bytes(b"b")
    await look(watcher)
    await office.lab.rows("update watchfolder.duplicate set detected_at = ostinato.now() - interval '1 day'")
    calm = await measured(office, alert)

    hear(watcher, range(20, 40), "ERROR")
    await look(watcher)
    await office.lab.rows(
        "update watchfolder.folder set problem = 'the disk is full', ticked_at = ostinato.now() - interval '1 hour'"
    )
    await office.lab.rows("update watchfolder.duplicate set detected_at = ostinato.now() - interval '9 days'")
    told = await measured(office, alert)

    assert calm == ([] if alert.name == "watchfolder.problem" else [("acme/courrier", False)])
    assert told == [("acme/courrier", True)]


async def test_metrics_and_the_panel_show_how_folders_stand(office: Office) -> None:
    watcher, _, _ = await watched(office)
    watcher._orchestrator.metrics |= {"waiting": 7, "blocked": 3, "running": 1}
    watcher._problem = "scan.pdf cannot be taken"
    watcher._hear(document())
    await look(watcher)

    async with office.lab.client.transaction() as conn:
        recorded = await metrics.record(conn)
        blocks = await panel.blocks(conn)
        standing = {each.state: each.count for each in await panel.standing(conn)}

    figures = [recorded.value(each) for each in (metrics.FOLDERS, metrics.WAITING, metrics.BLOCKED, metrics.TROUBLED)]
    assert figures == [1, 7, 3, 1]
    assert recorded.value(metrics.JOBS, "PREP_ERROR") == 1
    assert standing == dict.fromkeys(JOB.states, 0) | {"PREP_ERROR": 1}
    assert APP.standing == {JOB.name: "ostinato.apps.watchfolder.panel:standing"}
    folders = next(block for block in blocks if isinstance(block, Table) and block.title == "Folders")
    (row,) = folders.rows
    assert row[1:9] == ["courrier", True, row[3], 7, 3, 1, 0, "scan.pdf cannot be taken"]
    seen = await office.api.call("GET", "/api/v1/engine/panels/watchfolder")
    assert seen.status_code == 200, seen.text
