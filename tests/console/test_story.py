"""What a person on call reads off the pages: trees, waits, workers, last slots, and where an alert leads."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from ostinato._core.base.alerts import ENGINE_ALERTS
from ostinato._core.engine import keys, schedules
from ostinato._core.engine.inspect import QueueSummary
from ostinato._core.engine.schedules import Schedule
from ostinato._faces.console import draw
from ostinato._faces.console.alert_texts import PAGES
from ostinato._faces.console.draw import Bar
from ostinato._faces.console.mount import MENU
from ostinato._faces.console.pages.now import state_of
from tests.api.conftest import Api
from tests.console.conftest import Console
from tests.sql.engine import Held, Session, arrays
from tests.sql.test_children import spawned

KIND = "shop.ship"


def held(db: Session, tenant: str = "acme", name: str = "w") -> Held:
    """A job of the shop that a worker holds."""
    job = db.enqueue(kind=KIND, tenant_id=tenant)
    (found,) = [each for each in db.claim(db.worker(name, kinds=[KIND]), 1000) if each.id == job or db.release(each)]
    return found


async def test_a_job_shows_its_children_as_a_tree_and_a_child_its_parent(console: Console, db_session: Session) -> None:
    parent = held(db_session, "default")
    group, kids = spawned(db_session, parent, 25)
    visitor, other = await console.visitor("default", "reader"), await console.visitor("globex", "admin")

    page = (await visitor.get(f"/jobs/{parent.id}")).text
    tree = page[page.index('id="tree"') :]

    assert [int(kid) for kid in re.findall(r'/console/jobs/(\d+)"', tree)][:20] == kids[:20]
    assert "0 of 25 done" in page
    assert f"/console/jobs/{parent.id}/children?group={group}" in page
    assert f'/console/jobs/{parent.id}"' in (await visitor.get(f"/jobs/{kids[0]}")).text
    listed = (await visitor.get(f"/jobs/{parent.id}/children", group=group)).text
    assert all(f"/console/jobs/{kid}" in listed for kid in kids)
    assert (await other.get(f"/jobs/{parent.id}/children", group=group)).status_code == 404
    assert (await visitor.get(f"/jobs/{parent.id}/children", group="x")).status_code == 422


async def test_a_job_that_waits_says_what_for_in_the_list_and_on_its_page(
    console: Console, db_session: Session
) -> None:
    failed, waiting, asleep = held(db_session), held(db_session), held(db_session)
    db_session.fail(failed, delay=600)
    wait = arrays([waiting])
    db_session.call("wait_jobs", **wait, positions=[1], events=["paid"], keys=["k"], timeouts=[None])
    db_session.call("sleep_jobs", **arrays([asleep]), positions=[1], seconds=[3600.0])
    visitor = await console.visitor("acme", "reader")

    listed = await visitor.text("/jobs", kind=KIND)

    for job, words in ((failed, "waits for its retry"), (waiting, "waits for an event"), (asleep, "sleeps")):
        assert words in listed
        assert words in await visitor.text(f"/jobs/{job.id}")
    assert re.search(r">sleeps (\d+\smin|1\sh)", (await visitor.get(f"/jobs/{asleep.id}")).text)


async def test_a_worker_shows_what_it_holds_its_release_and_its_places(console: Console, db_session: Session) -> None:
    worker = db_session.worker("busy", kinds=[KIND], release="9.8.7", places=31)
    job = db_session.enqueue(kind=KIND, tenant_id="acme")
    assert job in [each.id for each in db_session.claim(worker, 1000) if each.id == job or db_session.release(each)]
    visitor, other = await console.visitor("acme", "reader"), await console.visitor("globex", "reader")

    shown = await visitor.text(f"/workers/{worker}")

    assert all(text in shown for text in ("busy", "9.8.7", "31", str(job), KIND))
    assert "9.8.7" in await visitor.text("/workers")
    assert str(job) not in await other.text(f"/workers/{worker}")
    assert (await visitor.get("/workers/00000000-0000-4000-8000-000000000000")).status_code == 404
    assert (await visitor.get("/workers/nobody")).status_code == 422


FIRED = """
    insert into ostinato_data.schedule_fire
        (day_id, schedule_id, slot_at, slot_local, fired_at, lateness, job_id, missed, tenant_id, zone)
    select greatest(0, floor(extract(epoch from t.at) / 86400)::bigint - 20454) * 10000000000, %s, t.at,
           t.at at time zone 'UTC', t.at + interval '2 minutes', 120, 77, 0, 'acme', 'UTC'
    from (select date_trunc('minute', ostinato.now()) as at) t returning job_id
"""


async def test_a_schedule_shows_its_last_slot_in_the_list_and_in_the_calendar(
    console: Console, api: Api, db_session: Session
) -> None:
    async with api.worker.connection() as conn:
        made = Schedule("yearly", KIND, {"card": "c"}, cron="0 8 1 1 *", tenant_id="acme")
        schedule = (await schedules.upsert(conn, made)).id
    visitor = await console.visitor("acme", "reader")
    before = (await visitor.get("/schedules")).text
    db_session.rows(FIRED, schedule)

    listed = (await visitor.get("/schedules")).text
    shown = await visitor.text("/schedules/acme/yearly")

    assert "/console/jobs/77" not in before
    assert "/console/jobs/77" in listed
    assert re.search(r"late</span>\s*2\smin", listed)
    assert re.search(r"\d\d:\d\d fired", shown)


async def test_an_administrator_makes_a_key_that_is_shown_once(console: Console, api: Api) -> None:
    admin, operator = await console.visitor("acme", "admin"), await console.visitor("acme", "ops")
    boss = await console.visitor("acme", "admin", "installation")

    made = await admin.send("/access/keys", subject="nora", role="reader", days="30")
    refused = await operator.send("/access/keys", subject="nora", role="reader")
    beyond = await admin.send("/access/keys", subject="nora", role="reader", roles="installation")
    strange = await admin.send("/access/keys", subject="nora", role="reader", days="soon")
    other = await boss.send("/access/keys", subject="oto", role="ops", tenant="globex")

    found = re.search(r'id="key">(ost_[^<]+)<', made.text)
    assert found is not None
    assert [answer.status_code for answer in (refused, beyond, strange, other)] == [403, 422, 422, 200]
    async with api.worker.connection() as conn:
        listed = await keys.list_keys(conn, tenant_id="acme", most=200)
        elsewhere = await keys.list_keys(conn, tenant_id="globex", most=200)
    (nora,) = [key for key in listed if key.subject == "nora"]
    assert (nora.roles, nora.expires_at is not None) == (["reader"], True)
    assert [key.roles for key in elsewhere if key.subject == "oto"] == [["ops"]]
    signed_in = await console.stranger().http.post("/console/sign-in", data={"key": found[1]})
    assert signed_in.status_code == 303


def test_every_page_that_an_alert_leads_to_is_in_the_menu() -> None:
    assert set(PAGES.values()) <= {entry.path for entry in MENU}
    assert set(PAGES) <= {alert.name for alert in ENGINE_ALERTS}


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"paused": True, "ready": 3}, "paused"),
        ({"ready": 3, "workers": 0}, "nobody serves it"),
        ({"workers": 0}, "nobody serves it"),
        ({"ready": 3, "running": 10, "concurrency": 10, "oldest_wait": 300.0}, "at its limit"),
        ({"ready": 1, "running": 1, "oldest_wait": 61.0}, "behind"),
        ({"ready": 1, "running": 1, "oldest_wait": 3.0}, "flowing"),
        ({}, "quiet"),
    ],
)
def test_a_queue_says_in_a_word_how_it_stands(given: dict[str, object], word: str) -> None:
    blank: dict[str, object] = dict.fromkeys(QueueSummary.__dataclass_fields__)
    counted = {"name": "q", "paused": False, "ready": 0, "scheduled": 0, "running": 0, "dead": 0, "workers": 1}
    queue = QueueSummary(**blank | counted | {"capped": []} | given)  # type: ignore[arg-type]

    assert state_of(queue)[0] == word


@pytest.mark.parametrize("apart", [0.0, 1.0, 3.0])
def test_no_dot_of_a_time_line_lies_on_a_note(apart: float) -> None:
    """Dots close to each other are one cluster, whose note stands beside all of them."""
    start = datetime(2026, 3, 1, tzinfo=UTC)
    dots = [Bar("events", start + timedelta(seconds=50 + apart * i), None, "ok", "order.paid") for i in range(3)]
    rest = Bar("attempt", start, start + timedelta(seconds=100), "ok")

    drawn = str(draw.timeline("Time line", [rest, *dots], lambda moment, _: f"{moment:%S}"))

    circles = [float(x) for x in re.findall(r'<circle[^>]*cx="([0-9.]+)"', drawn)]
    (note,) = re.findall(r'<text x="([0-9.]+)"[^>]*>order.paid \+2<', drawn)
    assert len(circles) == 3
    assert float(note) > max(circles)
