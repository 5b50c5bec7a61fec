"""A page in French shows no English sentence of the engine: not of `why`, not of an alert, not of an application."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from ostinato._core.base.alerts import ENGINE_ALERTS, Alert
from ostinato._core.base.metrics import QUEUE_DEAD
from ostinato._core.engine import alerts, inspect, leases, queues
from ostinato._core.runtime.handlers.app import App
from tests.api.conftest import Api
from tests.console.conftest import Console, Visitor
from tests.sql.engine import Session

DEAD = ENGINE_ALERTS[0]
APPLES = Alert(
    "rounds.apples",
    figure=QUEUE_DEAD,
    above=0,
    tenant="acme",
    message="a round opened, or still waits to be, {value} s after its time",
    remedy="Start workers for the queue `rounds`; `ostinato queues list` shows how it is served.",
)


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    """An application that brings the catalogue of another folder, as ours bring theirs."""
    return (App("rounds", locale="ostinato.apps.rounds", alerts=(APPLES,)),)


async def french(console: Console, *roles: str) -> Visitor:
    visitor = await console.visitor("acme", *(roles or ("admin", "installation")))
    await visitor.http.post("/console/prefer", data={"language": "fr"})
    return visitor


async def bury(api: Api, count: int) -> None:
    """Dead letters of the default queue."""
    db = Session.open(api.parts.database.url)
    try:
        worker = db.worker("digger")
        for _ in range(count):
            db.enqueue(tenant_id="acme")
            db.fail(db.claim_one(worker))
    finally:
        db.close()


async def evaluated(api: Api, *declared: Alert) -> None:
    async with api.worker.connection() as conn:
        await alerts.declare(conn, ["ostinato", "rounds"], declared)
        await alerts.evaluate(conn, timedelta(0))


async def test_the_answer_of_why_is_french(console: Console, api: Api) -> None:
    later = datetime.now(UTC) + timedelta(days=1)
    client = api.parts.client.for_tenant("acme")
    jobs = [await client.enqueue("shop.ship", {}), await client.enqueue("shop.ship", {}, run_at=later)]
    async with api.worker.connection() as conn:
        await queues.pause(conn, "default")
    visitor = await french(console)

    for job in jobs:
        async with api.worker.connection() as conn:
            english = await inspect.why(conn, job)
        page = await visitor.text(f"/jobs/{job}")
        assert english
        for reason in english:
            assert reason.message not in page
            assert reason.hint not in page
        assert "La file default est en pause" in page


@pytest.mark.parametrize(("count", "said"), [(1, "la file default a 1 lettre morte"), (2, "a 2 lettres mortes")])
async def test_an_alert_and_its_remedy_are_french_and_count_well(
    console: Console, api: Api, count: int, said: str
) -> None:
    await bury(api, count)
    await evaluated(api, DEAD)
    visitor = await french(console)

    for path in ("/", "/alerts"):
        page = await visitor.text(path)
        assert said in page
        assert "dead letter" not in page
    assert DEAD.remedy not in await visitor.text("/alerts")


async def test_one_dead_letter_is_one_in_english(console: Console, api: Api) -> None:
    await bury(api, 1)
    await evaluated(api, DEAD)

    page = await (await console.visitor("acme", "admin", "installation")).text("/alerts")

    assert "queue default has 1 dead letter" in page
    assert "1 dead letters" not in page


async def test_an_application_says_its_alerts_in_french_from_its_own_folder(console: Console, api: Api) -> None:
    await bury(api, 2)
    await evaluated(api, APPLES)

    page = await (await french(console)).text("/alerts")

    assert "ou attend encore, 2\xa0s après son heure" in page
    assert "la page Files montre comment elle est servie" in page
    assert "a round opened" not in page


async def test_an_error_says_what_and_what_to_do_in_french(console: Console) -> None:
    visitor = await french(console)

    page = await visitor.get("/jobs/1")

    assert page.status_code == 404
    assert "Rien ne porte ce nom ou cet identifiant" in page.text
    assert '<span lang="en">' in page.text  # what the engine said exactly, marked as English


async def test_an_alert_is_acknowledged_silenced_and_woken_on_its_page(console: Console, api: Api) -> None:
    await bury(api, 1)
    await evaluated(api, DEAD)
    visitor = await console.visitor("acme", "ops", "installation", subject="olga")
    path = f"/alerts/{DEAD.name}"

    await visitor.send(f"{path}/ack", one="1", label="default")
    seen = await visitor.text("/alerts")
    await visitor.send(f"{path}/silence", one="1", label="default", lasting="4h", reason="the mail server moves")
    silent = await visitor.text("/alerts")
    await visitor.send(f"{path}/unsilence", one="1", label="default")
    woken = await visitor.text("/alerts")

    assert "seen by olga" in seen
    assert "the mail server moves" in silent
    assert "nothing is sent until" in silent
    assert "queue default has 1 dead letter" in silent  # still shown
    assert "nothing is sent until" not in woken


@pytest.mark.parametrize("form", [{"lasting": "4h", "reason": ""}, {"lasting": "forever", "reason": "x"}])
async def test_a_silence_without_a_reason_or_an_end_is_refused(
    console: Console, api: Api, form: dict[str, str]
) -> None:
    await evaluated(api, DEAD)
    visitor = await console.visitor("acme", "ops", "installation")

    answer = await visitor.send(f"/alerts/{DEAD.name}/silence", **form)

    assert answer.status_code == 422


async def test_a_reader_or_another_tenant_silences_nothing(console: Console, api: Api) -> None:
    await evaluated(api, APPLES)
    form = {"lasting": "4h", "reason": "x"}

    reader = await (await console.visitor("acme", "reader")).send("/alerts/rounds.apples/silence", **form)
    other = await (await console.visitor("globex", "admin")).send("/alerts/rounds.apples/silence", **form)

    assert (reader.status_code, other.status_code) == (403, 404)


async def test_words_with_two_meanings_have_the_right_one(console: Console, api: Api) -> None:
    """Who has a lease is no tenant, and a session of all tenants is one of all organisations."""
    async with api.worker.connection() as conn:
        await leases.acquire(conn, "bail", holder="host-7", ttl=3600, tenant="acme")
    visitor = await french(console)

    heads = re.findall(r'<th scope="col"[^>]*>([^<]+)</th>', (await visitor.get("/leases")).text)
    access = await visitor.text("/access")

    assert "titulaire" in heads
    assert "tenant" not in heads
    assert "toutes les organisations" in access[access.index("Connectés") :]
