"""What people come to the console for, done in a browser from the first click to the last."""

import json
import re
from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest
from playwright.sync_api import Browser, Dialog, expect

from tests.browser.place import NARROW, TENANT, Looker, Place, asking, looking, needs_chromium
from tests.slow import first_only
from tests.sql.engine import Held, Session, arrays
from tests.waiting import until

pytestmark = [needs_chromium, pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def keys(place: Place) -> dict[str, str]:
    """Keys of people who may do more and less."""
    return {
        "installation": place.key("lea", "admin", "installation"),
        "admin": place.key("ada", "admin"),
        "ops": place.key("olga", "ops"),
        "reader": place.key("rita", "reader"),
        "other": place.key("otto", "admin", tenant="globex"),
    }


@pytest.fixture
def lea(browser: Browser, place: Place, keys: dict[str, str]) -> Iterator[Looker]:
    """An operator of the installation."""
    with looking(browser, place) as looker:
        looker.sign_in(keys["installation"])
        looker.page.on("dialog", Dialog.accept)
        yield looker
        assert looker.wrong == []


def test_find_why_a_job_waits_and_free_it(lea: Looker, place: Place) -> None:
    page = lea.page
    lea.go("/queues")
    lea.press(page.get_by_role("row", name=re.compile(r"^default ")).get_by_role("button", name="Pause"))
    job = place.add("tour.greet", name="Ada")

    lea.go(f"/jobs/{job}")
    expect(page.locator(".why")).to_contain_text("paused")
    lea.go("/queues")
    lea.press(page.get_by_role("row", name=re.compile(r"^default ")).get_by_role("button", name="Resume"))

    place.until(job, "done")
    lea.go(f"/jobs/{job}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("done")


def test_a_job_is_found_by_the_search_box_and_the_key_that_leads_there(lea: Looker, place: Place) -> None:
    job = place.until(place.add("tour.greet", name="Ada"), "done")

    lea.go("/queues")
    lea.page.keyboard.press("/")
    lea.page.keyboard.type(str(job))
    with lea.leaving():
        lea.page.keyboard.press("Enter")

    expect(lea.page).to_have_url(re.compile(rf"/console/jobs/{job}$"))


def test_a_reader_cannot_act_and_sees_no_arguments(browser: Browser, place: Place, keys: dict[str, str]) -> None:
    job = place.add("tour.greet", run_at="2126-01-01T08:00:00Z", name="Grace Hopper")
    with looking(browser, place) as rita:
        rita.sign_in(keys["reader"])
        for path in ("/", "/jobs", f"/jobs/{job}", "/dead-letters", "/queues", "/schedules"):
            rita.go(path)
            expect(rita.page.locator("main form[method=post]"), path).to_have_count(0)
            assert "Grace Hopper" not in rita.page.content()
        token = rita.page.eval_on_selector("input[name=token]", "input => input.value")
        refused = rita.send(f"/jobs/{job}/cancel", token=token)

    assert refused == 403
    assert place.state(job) == "scheduled"


def test_a_tenant_sees_nothing_of_another(browser: Browser, place: Place, keys: dict[str, str]) -> None:
    job = place.add("tour.greet", run_at="2126-01-01T08:00:00Z", name="Grace")
    with looking(browser, place) as otto:
        otto.sign_in(keys["other"])
        for path in ("/", "/jobs", "/dead-letters", "/schedules", "/events", "/webhooks", "/access", "/trail/order-7"):
            otto.go(path)
            shown = otto.page.inner_text("main")
            assert TENANT not in shown, path
            assert "digest" not in shown, path
        assert otto.go(f"/jobs/{job}").status == 404


def test_bad_input_gets_a_page_that_says_what_to_do(lea: Looker) -> None:
    for path in (
        "/jobs?state=nonsense",
        "/jobs?before=elsewhere",
        "/jobs/99999999999999999999",
        "/jobs/-1",
        "/alerts?before=elsewhere",
        "/access/audit?since=yesterday",
        "/access/audit?before=0",
        f"/access/audit?actor={'x' * 10_000}",
        "/portal",
        f"/find?q={'x' * 10_000}",
        "/schedules/nobody%2F..%01",
        "/events/0",
        "/apps/%ff",
        "/nowhere",
    ):
        answer = lea.go(path)
        shown = lea.page.inner_text("main")
        assert 400 <= answer.status < 500, (path, answer.status)
        assert "Traceback" not in shown
        assert len(shown) > 20, path
    lea.wrong.clear()  # the browser itself notes each answer of 4xx


def test_an_alert_is_silenced_from_its_page(lea: Looker, place: Place) -> None:
    place.value("select count(*) from ostinato.evaluate_alerts('0')")
    lea.go("/alerts")
    row = lea.page.locator("#open .item").filter(has_text="ostinato.dead_letters").first
    # An alert that fires can be acknowledged, too, with a reason of its own; one that is about to cannot yet.
    ask = row.locator("details", has=lea.page.locator("form[action$='/silence']"))
    ask.locator("summary").click()
    ask.locator("input[name=reason]").fill("known since this morning")
    lea.press(ask.get_by_role("button", name="Silence", exact=True))

    expect(lea.page.get_by_role("status")).to_contain_text("Nothing is sent")
    expect(lea.page.locator("main")).to_contain_text("known since this morning")


def test_a_customer_comes_by_a_link(browser: Browser, place: Place, keys: dict[str, str]) -> None:
    """Every page of the portal keeps the rules of the others: readable, no error, nothing from elsewhere."""
    with looking(browser, place) as olga:
        olga.sign_in(keys["ops"])
        olga.go("/webhooks")
        olga.press(olga.page.get_by_role("button", name="Link for a customer"))
        link = olga.page.inner_text("#link")
    with looking(browser, place, width=NARROW, locale="fr-FR", color_scheme="dark") as customer:
        customer.open(link)
        assert customer.violations() == []
        customer.press(customer.page.locator("button.primary"))
        customer.page.wait_for_selector("#endpoints")
        for path in ("/portal", "/portal/endpoints/partner"):
            answer = customer.go(path)
            assert "unsafe" not in answer.headers["content-security-policy"]
            assert customer.violations() == []
            assert not customer.is_too_wide()
        assert customer.wrong == []
        assert customer.go("/jobs").status == 403


def test_now_moves_by_itself(lea: Looker, place: Place) -> None:
    lea.go("/")
    before = lea.page.inner_text("[data-figure=scheduled]")

    place.add("tour.greet", run_at="2126-01-01T08:00:00Z", name="Later")

    expect(lea.page.locator("[data-figure=scheduled]").first).not_to_have_text(before)


@pytest.fixture(params=first_only([True, False]), ids=["with scripts", "without scripts"])
def olga(request: pytest.FixtureRequest, browser: Browser, place: Place, keys: dict[str, str]) -> Iterator[Looker]:
    """An operator of the installation, with scripts and without."""
    with looking(browser, place, java_script_enabled=request.param) as looker:
        looker.sign_in(keys["installation"])
        looker.page.on("dialog", Dialog.accept)
        yield looker
        assert looker.wrong == []


def test_revoke_a_key_and_see_its_caller_refused(olga: Looker, place: Place, request: pytest.FixtureRequest) -> None:
    eve = f"eve{len(request.node.name)}"
    key = place.key(eve, "ops")

    def status() -> int:
        with asking(place.url, key) as http:
            return http.get("/api/v1/engine/queues").status_code

    assert status() == 200

    olga.go("/access")
    olga.press(olga.page.get_by_role("row", name=re.compile(eve)).get_by_role("button", name="Revoke"))

    expect(olga.page.get_by_role("status")).to_be_visible()
    until(lambda: status() == 401)


def test_arguments_are_shown_after_a_look_that_is_recorded(olga: Looker, place: Place) -> None:
    job = place.add("tour.greet", run_at="2126-01-01T08:00:00Z", name="Grace Hopper")
    olga.go(f"/jobs/{job}")
    assert "Grace Hopper" not in olga.page.content()
    olga.press(olga.page.locator("main").get_by_role("button", name="Show"))
    expect(olga.page.locator("main")).to_contain_text("Grace Hopper")

    olga.go("/access/audit?verb=look")

    expect(olga.page.locator("main")).to_contain_text(str(job))


BURY = """
    with s as (delete from ostinato_data.scheduled where job_id = %(job)s returning *),
    o as (insert into ostinato_data.outcome (job_id, attempt, finished_at, outcome, error)
          select s.job_id, s.attempt, now(), 'dead', %(error)s::json from s)
    insert into ostinato_data.dead_letter (job_id, attempt, died_at, kind, queue, tenant_id, reason, signature, error)
    select s.job_id, s.attempt, now(), s.kind, s.queue, s.tenant_id, 'permanent', %(signature)s, %(error)s::json from s
    returning job_id
"""


def bury(place: Place, count: int, signature: str) -> list[int]:
    """Dead letters whose cause is gone."""
    jobs = [place.add("tour.greet", run_at="2126-01-01T08:00:00Z", name="Ada") for _ in range(count)]
    error = json.dumps({"type": signature, "message": "the mail server is away"})
    with psycopg.connect(place.urls.worker, autocommit=True) as conn:
        for job in jobs:
            conn.execute(BURY, {"job": job, "error": error, "signature": signature})
    return jobs


def follow(looker: Looker, state: str) -> None:
    """Look at the page of a bulk action until it stands there, once the click has led to that page."""
    expect(looker.page).to_have_url(re.compile(r"/bulk/\d+$"))
    until(lambda: looker.again().ok and state in looker.page.inner_text("h1"))


def test_redrive_a_signature_by_canary(olga: Looker, place: Place, request: pytest.FixtureRequest) -> None:
    signature = f"MailAway{len(request.node.name)}"
    jobs = bury(place, 13, signature)

    olga.go("/dead-letters")
    olga.press(olga.page.get_by_role("row", name=re.compile(signature)).get_by_role("link").first)
    olga.press(olga.page.get_by_role("button", name="Start a canary"))

    follow(olga, "done")  # which says that the last stage was added, not that it has run
    for job in jobs:
        place.until(job, "done")
    olga.again()
    expect(olga.page.locator(".figure", has_text="Sent to run again")).to_contain_text("13")


def test_a_canary_of_what_is_not_fixed_stops_by_itself(olga: Looker, place: Place) -> None:
    olga.go("/dead-letters")
    olga.press(olga.page.get_by_role("row", name=re.compile("no such customer")).get_by_role("link").first)
    olga.press(olga.page.get_by_role("button", name="Start a canary"))

    follow(olga, "halted")
    expect(olga.page.locator(".why")).to_contain_text("no such customer")
    expect(olga.page.locator(".figure", has_text="Sent to run again")).to_contain_text("1")


def test_bulk_cancel_by_filter_with_preview(olga: Looker, place: Place) -> None:
    word = f"Withdrawn{place.add('tour.greet', run_at='2126-01-01T08:00:00Z', name='other')}"
    gone = [place.add("tour.greet", run_at="2126-01-01T08:00:00Z", name=word) for _ in range(7)]
    kept = place.add("tour.greet", run_at="2126-01-01T08:00:00Z", name="kept")

    olga.go("/jobs")
    olga.page.fill("input[name=args]", word.lower())
    olga.press(olga.page.get_by_role("button", name="Filter"))
    olga.press(olga.page.get_by_role("link", name="Cancel …"))
    expect(olga.page.locator(".figure")).to_contain_text("7")
    expect(olga.page.locator("main a[href*='/jobs/']")).to_have_count(5)
    olga.page.fill("input[name=reason]", "the orders were withdrawn")
    olga.press(olga.page.get_by_role("button", name=re.compile("Cancel jobs")))

    follow(olga, "done")
    assert {place.state(job) for job in gone} == {"cancelled"}
    assert place.state(kept) == "scheduled"
    olga.go(f"/jobs/{gone[0]}")
    expect(olga.page.locator("main")).to_contain_text("the orders were withdrawn")


def test_a_job_is_added_by_the_form_of_its_kind_and_found_by_its_arguments(olga: Looker, place: Place) -> None:
    page, word = olga.page, f"Ada {place.add('tour.greet', run_at='2126-01-01T08:00:00Z', name='Ada')}"
    olga.go("/enqueue")
    olga.press(page.get_by_role("link", name="tour.greet"))
    page.fill("input[name='arg.name']", word)
    page.fill("main input[name=tenant]", TENANT)
    olga.press(page.get_by_role("button", name="Add the job"))
    expect(page).to_have_url(re.compile(r"/jobs/\d+$"))
    job = int(page.url.rpartition("/")[2])

    olga.go("/jobs")
    page.fill("input[name=args]", json.dumps({"name": word}))
    olga.press(page.get_by_role("button", name="Filter"))

    expect(page.locator("main table tbody tr")).to_have_count(1)
    expect(page.locator(f"main tbody a[href$='/jobs/{job}']").first).to_be_visible()
    place.until(job, "done")


def take(desk: Session, worker: UUID, job: int) -> Held:
    """Hold one job, and give back all others; a claim may come while another one is on."""
    found: list[Held] = []

    def taken() -> bool:
        for each in desk.claim(worker, 1000):
            if each.id == job:
                found.append(each)
            else:
                desk.release(each)
        return bool(found)

    until(taken)
    return found[0]


def test_a_wait_is_signalled_and_a_job_restarted_from_one_of_its_steps(olga: Looker, place: Place) -> None:
    page, kind = olga.page, "billing.nobody_runs_it"
    desk = Session.open(place.urls.worker)
    worker = desk.worker("by hand", kinds=[kind], expiry_seconds=3600)  # it never beats
    try:
        job = place.add(kind)
        held = take(desk, worker, job)
        for position, name in enumerate(("reserve", "charge", "ship"), start=1):
            desk.call("save_steps", **arrays([held]), positions=[position], names=[name])
        desk.call("wait_jobs", **arrays([held]), positions=[4], events=["paid"], keys=["k"], timeouts=[None])

        olga.go(f"/jobs/{job}")
        page.locator("details.ask summary", has_text="More actions").click()
        page.fill("input[name=payload]", '{"euros": 900}')
        olga.press(page.get_by_role("button", name="Signal"))
        expect(page.get_by_role("status")).to_contain_text("goes on")
        desk.fail(take(desk, worker, job))

        olga.go(f"/jobs/{job}")
        page.locator("details.ask summary", has_text="More actions").click()
        page.locator("select[name=step]").select_option(label="2 · charge")
        olga.press(page.get_by_role("button", name="Restart"))
        expect(page.get_by_role("status")).to_be_visible()

        assert [row["name"] for row in desk.call("job_steps", job_id=job)] == ["reserve"]
        assert place.state(job) == "ready"
    finally:
        desk.get("unregister_worker", worker_id=worker)
        desk.close()


def test_replay_a_subscription(olga: Looker, place: Place) -> None:
    place.value("select ostinato.subscribe('mirror', start => 'now')")
    until(lambda: place.value("select count(*) from ostinato.list_events() where position is not null") > 0)

    olga.go("/events")
    olga.press(olga.page.get_by_role("link", name="mirror"))
    olga.page.fill("input[name=since]", "1")
    olga.press(olga.page.get_by_role("button", name="Count them …"))
    expect(olga.page.locator("main")).to_contain_text(re.compile(r"[1-9].* would be delivered again"))
    olga.press(olga.page.get_by_role("button", name="Replay"))

    expect(olga.page.get_by_role("status")).to_contain_text(re.compile(r"[1-9].* replayed"))


def test_move_a_schedule_and_see_its_slots_across_a_clock_change(olga: Looker, place: Place) -> None:
    page = olga.page
    olga.go(f"/schedules/{TENANT}/digest")
    olga.press(page.get_by_role("link", name="Another rule …"))
    page.fill("input[name=cron]", "15 2 * * *")
    page.fill("main input[name=zone]:visible", "Europe/Paris")
    olga.press(page.get_by_role("button", name="Preview"))

    expect(page.locator("#coming .item")).to_have_count(10)
    expect(page.locator("#change .item")).to_have_count(10)
    offsets = set(page.locator("#change .item .soft").all_inner_texts())
    assert offsets == {"+01:00", "+02:00"}
    expect(page.locator("#change .pill").first).to_be_visible()
    olga.press(page.get_by_role("button", name="Use this rule"))

    expect(page.get_by_role("status")).to_be_visible()
    found = "select cron from ostinato_data.schedule where name = 'digest' and tenant_id = %s"
    assert place.value(found, TENANT) == "15 2 * * *"
    olga.go(f"/schedules/{TENANT}/digest")
    olga.press(page.get_by_role("button", name="Run now"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("tour.greet")
