"""What a person sees first: the link that `ostinato up` prints, the pages around signing in, and Now, which moves."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Browser, expect

from ostinato._core.db.embedded import Server
from tests.browser.place import TENANT, Looker, Place, looking, needs_chromium
from tests.conftest import copy_of_engine
from tests.faces.processes import at_terminal

pytestmark = [needs_chromium, pytest.mark.proof, pytest.mark.timeout(1800)]

MANY = 200
"""Jobs that are added at once: many more than all that was done before."""


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
        said = terminal.reads_until("ticket=")
        said += terminal.reads_until("\n")
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
    assert before < MANY / 4  # in whichever minute they are done, one of them has more of them than that
    place.add_many("tour.greet", MANY, name="Ada")
    place.add_many("tour.poison", MANY, reason="no such customer")

    for whole, running in (("done", "done-now"), ("failing", "failing-now")):
        lea.page.wait_for_function(
            """([names, before]) => Math.max(...names.map((name) => Number(
                 document.querySelector(`[data-figure="${name}"]`).textContent.replace(/\\D/g, "")))) > before""",
            arg=[[whole, running], before],
        )
    assert lea.page.evaluate("document.body.dataset.same") == "page"  # it moved by itself: nobody loaded it again
