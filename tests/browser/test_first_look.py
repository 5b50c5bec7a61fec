"""What a person sees first: the link that `ostinato up` prints, the pages around signing in, and Now, which moves."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Browser, Locator, expect

from ostinato._core.db.embedded import Server
from tests.browser.place import NARROW, TENANT, Looker, Place, looking, needs_chromium
from tests.conftest import copy_of_engine
from tests.faces.processes import at_terminal

pytestmark = [needs_chromium, pytest.mark.proof, pytest.mark.timeout(1800)]

MANY = 5
"""So many times what was done before is added at once: in whichever minutes it runs, one has more than all before."""


@pytest.fixture
def lea(browser: Browser, place: Place) -> Iterator[Looker]:
    """An administrator of the installation, in the dark and in French."""
    with looking(browser, place, color_scheme="dark", locale="fr-FR") as looker:
        looker.sign_in(place.key("lea", "admin", "installation"))
        yield looker


def test_the_link_that_up_prints_opens_now(browser: Browser, place: Place, shared_server: Server) -> None:
    with ThreadPoolExecutor(1) as thread:  # the browser's loop is at work in this one
        urls = thread.submit(copy_of_engine, shared_server, "browser_link").result()
    env = {"OSTINATO_DATABASE_URL": urls.worker, "OSTINATO_ADMIN_URL": urls.admin, "COLUMNS": "300"}
    with (
        at_terminal(env | {"OSTINATO_API_METRICS_PORT": "0"}, "up", "--only", "api", "--port", "0") as terminal,
        looking(browser, place, locale="en-GB") as looker,
    ):
        said = terminal.reads_until("ready http://")
        link = re.search(r"http://\S+/console/enter\?ticket=[\w-]+", said)
        assert link is not None, said
        page = looker.page
        looker.open(link[0])

        expect(page.get_by_role("heading", level=1)).to_contain_text("Now")
        expect(page).to_have_url(re.compile(r"/console/$"))
        terminal.types("\x03")
        terminal.process.wait()


def test_the_pages_around_signing_in_are_readable(browser: Browser, place: Place, lea: Looker) -> None:
    """Those that no list leads to: the door, an error, a look at arguments, a key that is shown once."""
    page = lea.page
    wrong: list[str] = []

    def check(name: str, says: str) -> None:
        expect(page.locator("main")).to_contain_text(says)
        wrong.extend(f"{name}: {each}" for each in lea.violations())

    job = place.until(place.add("tour.greet", name="Ada"), "done")
    lea.go(f"/jobs/{job}")
    lea.press(page.get_by_role("button", name="Montrer"))
    check("look", "Ce regard est noté")
    lea.go("/access")
    form = page.locator("form[action$='/access/keys']")
    form.locator("input[name=tenant]").fill(TENANT)
    form.locator("input[name=subject]").fill("till-7")
    lea.press(form.get_by_role("button"))
    check("key shown once", "ost_")
    assert lea.wrong == []
    assert lea.go("/jobs/1").status == 404
    check("error", "Rien ne porte ce nom")
    with looking(browser, place, color_scheme="dark", locale="fr-FR") as stranger:
        stranger.go("/sign-in")
        expect(stranger.page.locator("main")).to_contain_text("Clé d")
        wrong += [f"sign-in: {each}" for each in stranger.violations()]

    assert wrong == []


def test_what_is_done_and_fails_is_seen_moving_before_the_minute_is_over(place: Place, lea: Looker) -> None:
    lea.go("/")
    lea.page.evaluate("document.body.dataset.same = 'page'")
    before = int(place.value("select count(*) from ostinato_data.outcome"))
    place.add_many("tour.greet", MANY * before, name="Ada")
    place.add_many("tour.poison", MANY * before, reason="no such customer")

    for whole, running in (("done", "done-now"), ("failing", "failing-now")):
        lea.page.wait_for_function(
            """([names, before]) => Math.max(...names.map((name) => Number(
                 document.querySelector(`[data-figure="${name}"]`).textContent.replace(/\\D/g, "")))) > before""",
            arg=[[whole, running], before],
        )
    assert lea.page.evaluate("document.body.dataset.same") == "page"  # it moved by itself: nobody loaded it again


@pytest.fixture
def workers(lea: Looker) -> Locator:
    """The table of workers, whose ages change with every beat."""
    lea.page.set_viewport_size({"width": NARROW, "height": 860})
    lea.go("/workers")
    return lea.page.locator("#workers")


def loaded_again(part: Locator) -> None:
    """Wait until what stands in a part that is live was replaced."""
    part.evaluate("part => { part.firstElementChild.dataset.old = 'yes' }")
    expect(part.locator("> [data-old]")).to_have_count(0)


def test_what_is_open_stays_open_and_in_its_place_while_it_is_loaded_again(workers: Locator, lea: Looker) -> None:
    kinds = workers.locator("details").first
    kinds.locator("summary").click()
    lea.page.get_by_role("heading", level=1).click()
    table = workers.locator(".scroll")
    table.evaluate("table => { table.scrollLeft = 70 }")

    loaded_again(workers)

    expect(kinds).to_have_attribute("open", "")
    assert table.evaluate("table => table.scrollLeft") == 70
    kinds.locator("summary").click()
    loaded_again(workers)
    expect(kinds).not_to_have_attribute("open", "")


def test_a_link_that_the_keyboard_is_on_stays_the_one_while_it_is_loaded_again(workers: Locator) -> None:
    link = workers.locator("a.target").first
    link.focus()

    loaded_again(workers)

    expect(link).to_be_focused()


def test_nothing_is_replaced_under_a_finger_or_a_reason_that_somebody_types(workers: Locator, lea: Looker) -> None:
    page, asks = lea.page, workers.locator("details.because").first

    def again() -> None:
        """Wait until the page was loaded again, and what came was looked at: the one that follows says so."""
        for _ in range(2):
            with page.expect_response(lambda answer: answer.url.endswith("/console/workers")):
                pass

    workers.locator("a.target").first.hover()
    page.mouse.down()
    workers.evaluate("part => { part.firstElementChild.dataset.old = 'yes' }")
    again()
    expect(workers.locator("> [data-old]")).to_have_count(1)
    page.mouse.move(1, 1)
    page.mouse.up()
    expect(workers.locator("> [data-old]")).to_have_count(0)

    asks.locator("summary").click()
    asks.locator("input[name=reason]").fill("it is too hot")
    page.get_by_role("heading", level=1).click()
    again()
    expect(asks.locator("input[name=reason]")).to_have_value("it is too hot")


def test_a_page_whose_server_is_away_says_of_when_it_is(workers: Locator, lea: Looker) -> None:
    stale = lea.page.get_by_role("alert")
    lea.page.route("**/console/workers", lambda route: route.abort())

    expect(stale).to_contain_text(re.compile(r"Le serveur ne répond pas.*\d\d:\d\d:\d\d"))
    expect(workers).to_be_visible()
    lea.page.unroute("**/console/workers")

    expect(stale).to_be_hidden()


def test_now_that_was_refused_its_stream_says_so_and_listens_again(lea: Looker) -> None:
    state = lea.page.locator("#live-state")
    lea.page.route("**/console/live", lambda route: route.fulfill(status=503))
    lea.go("/")

    expect(state).to_have_text("pas de connexion au serveur")
    expect(state).to_have_class("pill bad")
    lea.page.unroute("**/console/live")

    expect(state).to_have_text("en direct")
    expect(lea.page.locator("#live-at")).to_have_text(re.compile(r"^\d\d:\d\d:\d\d$"))
