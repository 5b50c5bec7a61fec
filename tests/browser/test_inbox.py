"""What waits for a person, decided in a browser: by one key, and by buttons where no script runs."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Dialog, expect

from tests.browser.desk import ROLES, furnish_apps, scan_badly, scan_twice
from tests.browser.place import NARROW, TENANT, Looker, Place, asking, looking, needs_chromium
from tests.waiting import until

pytestmark = [needs_chromium, pytest.mark.proof, pytest.mark.timeout(1800)]

OPEN = "select count(*) from watchfolder.duplicate where state = 'DUPLICATE_PENDING'"
FAILED = "select count(*) from watchfolder.job where file_name = 'coupe.png' and state = 'ERROR'"
DECIDED = "select decided_by || ' ' || action from watchfolder.duplicate order by decided_at desc nulls last limit 1"


@pytest.fixture(scope="module")
def key(place: Place) -> str:
    furnish_apps(place)
    return place.key("carla", *ROLES)


@pytest.fixture
def carla(browser: Browser, place: Place, key: str) -> Iterator[Looker]:
    with looking(browser, place, locale="en-GB") as looker:
        looker.sign_in(key)
        yield looker
        assert looker.wrong == []


def to_the_duplicate(looker: Looker) -> None:
    """Go on by the key, or by the link, until a duplicate is shown."""
    looker.go("/inbox")
    page = looker.page
    while "came again" not in page.inner_text("#decision") and "arrivé" not in page.inner_text("#decision"):
        expect(page.get_by_role("link", name=re.compile("Next one|Suivante"))).to_be_visible()
        with looker.leaving():
            page.keyboard.press("j")


def test_a_duplicate_is_decided_by_one_key_with_both_pages_in_sight(carla: Looker, place: Place) -> None:
    page = carla.page
    carla.go("/")
    expect(page.locator("nav .badge").last).to_be_visible()
    to_the_duplicate(carla)
    expect(page.locator("#decision img")).to_have_count(2)
    until(lambda: page.evaluate("[...document.querySelectorAll('#decision img')].every(i => i.naturalWidth > 100)"))

    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.accept() if len(asked) > 1 else dialog.dismiss()

    page.on("dialog", answer)
    page.keyboard.press("2")
    until(lambda: page.evaluate("true") and len(asked) == 1)  # it deletes a file: one key alone does not
    assert place.value(DECIDED) is None
    with carla.leaving():
        page.keyboard.press("2")

    expect(page.get_by_role("status")).to_contain_text("Decided")
    assert asked == ["Delete what came again? It cannot be had back; what came first is kept."] * 2
    assert place.value(DECIDED) == "carla DISCARD"
    noted = (
        "select actor from ostinato_data.audit_entry where noun = 'watchfolder' and verb = 'decide' and tenant_id = %s"
    )
    assert place.value(noted, TENANT) == "carla"


def test_without_scripts_the_same_is_done_by_buttons_on_a_telephone(browser: Browser, place: Place, key: str) -> None:
    with asking(place.url, key) as http:
        if not place.value(OPEN):  # the one that was there is decided
            scan_twice(http, "lettre.png", "lettre-2.png", "Une lettre que personne n'attendait.")
    with looking(browser, place, width=NARROW, locale="fr-FR", java_script_enabled=False) as looker:
        looker.sign_in(key)
        looker.go("/inbox")
        while "est arrivé de nouveau" not in looker.page.inner_text("#decision"):
            looker.press(looker.page.get_by_role("link", name="Suivante"))

        looker.press(looker.page.get_by_role("button", name="Utiliser le résultat existant"))

        expect(looker.page.get_by_role("status")).to_contain_text("Décidé")
    assert place.value(DECIDED) == "carla USE_EXISTING_RESULT"


def test_a_scan_that_failed_is_tried_again_by_one_key(carla: Looker, place: Place, key: str) -> None:
    with asking(place.url, key) as http:
        scan_badly(http, "coupe.png")
    page = carla.page
    carla.go("/inbox?item=watchfolder")
    while "coupe.png could not be read" not in page.inner_text("#decision"):
        expect(page.get_by_role("link", name="Next one")).to_be_visible()
        with carla.leaving():
            page.keyboard.press("j")
    expect(page.locator("#decision")).to_contain_text("The file is damaged.")
    assert carla.violations() == []

    with carla.leaving():
        page.keyboard.press("1")

    expect(page.get_by_role("status")).to_contain_text("It goes through again")
    sent = "select decided_by from watchfolder.job where file_name = 'coupe.png' and sent_at is not null"
    until(lambda: place.value(sent) == "carla")
    until(lambda: place.value(FAILED) == 2)  # the same bytes fail again, as a job of its own, which waits anew


def test_a_scan_is_found_by_its_words_and_opened(carla: Looker, place: Place) -> None:
    page = carla.page
    carla.go("/apps/watchfolder/scans")
    page.get_by_label("Words in the text or the name").fill("toiture")
    carla.press(page.get_by_role("button", name="Find"))

    carla.press(page.get_by_role("link", name="facture-0412.jpg"))

    expect(page.locator("pre")).to_contain_text("FACTURE")
    expect(page.get_by_role("link", name="Download the PDF")).to_have_attribute("href", re.compile("."))


def test_a_reader_sees_neither_scans_nor_messages_nor_consents(browser: Browser, place: Place, key: str) -> None:
    with looking(browser, place) as rita:
        rita.sign_in(place.key("rita", "reader"))
        for path in ("watchfolder/scans", "outbound/messages", "outbound/consents", "enrichment/companies", "rounds"):
            assert rita.go(f"/apps/{path}").status == 403, path
        rita.go("/inbox")
        assert "ana@example.test" not in rita.page.content()
        expect(rita.page.locator("#decision")).to_have_count(0)
