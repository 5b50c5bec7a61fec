"""Every page, as people see it: in both languages, light and dark, wide and narrow, with and without scripts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser

from ostinato._core.runtime.installed import installed_apps
from tests.browser.desk import ROLES, furnish_apps
from tests.browser.place import NARROW, WIDE, Looker, Place, looking, needs_chromium

pytestmark = [needs_chromium, pytest.mark.proof, pytest.mark.timeout(1800)]

LISTS = (
    *("/", "/jobs", "/dead-letters", "/queues", "/workers", "/schedules", "/events", "/webhooks", "/trail"),
    *(
        "/alerts",
        "/leases",
        "/machines",
        "/access",
        "/access/audit",
        "/access/audit?verb=look",
        "/find?q=tour",
        "/trail/order%207%2Fa",
        "/bulk",
        "/bulk/new?verb=cancel&kind=tour.greet",
        "/enqueue",
        "/enqueue/tour.count",
        "/jobs?kind=tour.book",
        "/jobs?state=scheduled",
        "/schedules/demo/digest/move",
        "/schedules/demo/digest/catch-up",
        "/schedules/demo/digest/change",
        "/schedules-new",
        "/queues/default/limits",
        "/cells",
    ),
)
DETAILS = (
    *("/jobs/", "/dead-letters/", "/schedules/", "/events/", "/webhooks/", "/apps/", "/queues/"),
    *("/workers/", "/subscriptions/", "/bulk/"),
)
APPS = {f"/apps/{app.name}" for app in installed_apps() if app.panels}
SOME = 3
UNSAFE = re.compile(r"unsafe-(inline|eval)")


@dataclass(frozen=True)
class Manner:
    """A way to look."""

    language: str
    scheme: str
    width: int
    scripts: bool = True

    def __str__(self) -> str:
        return f"{self.language} {self.scheme} {self.width}{'' if self.scripts else ' without scripts'}"


MANNERS = (
    Manner("en-GB", "light", WIDE),
    Manner("fr-FR", "dark", NARROW),
    Manner("fr-FR", "light", WIDE),
    Manner("en-GB", "dark", WIDE),
    Manner("fr-FR", "light", NARROW),
    Manner("fr-FR", "light", WIDE, scripts=False),
    Manner("en-GB", "light", NARROW, scripts=False),
)


@pytest.fixture(scope="module")
def key(place: Place) -> str:
    furnish_apps(place)
    return place.key("lea", *ROLES, "installation")


@pytest.fixture(scope="module", params=MANNERS, ids=str)
def seen(request: pytest.FixtureRequest, browser: Browser, place: Place, key: str) -> Iterator[tuple[Manner, Looker]]:
    manner: Manner = request.param
    options = {"color_scheme": manner.scheme, "locale": manner.language, "java_script_enabled": manner.scripts}
    with looking(browser, place, width=manner.width, **options) as looker:
        looker.sign_in(key)
        yield manner, looker


@pytest.fixture(scope="module")
def pages(browser: Browser, place: Place, key: str) -> list[str]:
    """The lists, and what they lead to: a few of each."""
    with looking(browser, place) as looker:
        looker.sign_in(key)
        found = list(LISTS)
        for path in LISTS:
            looker.go(path)
            found += [each for start in DETAILS for each in looker.paths(start)[:SOME]]
        found.append("/inbox")
        looker.go("/jobs?kind=tour.book")
        book = looker.paths("/jobs/")[0]
        looker.go(book)
        found.append(looker.paths(f"{book}/children")[0])
        menu = looker.page.eval_on_selector_all("nav a[href]", "all => all.map(a => a.getAttribute('href'))")
        found += [link.removeprefix("/console") for link in menu]
        found += pages_of_apps(looker, [path for path in found if path.startswith("/apps/")])
    return sorted({path for path in found if path})


def pages_of_apps(looker: Looker, fronts: list[str]) -> list[str]:
    """The pages that applications bring, and what they lead to: a few of each; files are no pages."""
    found: list[str] = []
    for _ in range(2):
        reached: list[str] = []
        for path in fronts:
            looker.go(path)
            by_page: dict[str, list[str]] = {}
            for each in looker.paths("/apps/"):
                if "/file/" not in each:
                    by_page.setdefault(each.partition("?")[0], []).append(each)
            reached += [each for some in by_page.values() for each in some[:2]]
        found += reached
        fronts = sorted(set(reached) - set(fronts))
    return found


def test_a_page_is_readable(seen: tuple[Manner, Looker], pages: list[str]) -> None:
    manner, looker = seen
    wrong: list[str] = []
    for path in pages:
        answer = looker.go(path)
        policy = answer.headers.get("content-security-policy", "")
        if answer.status != 200:
            wrong.append(f"{path}: status {answer.status}")
        if not policy or UNSAFE.search(policy):
            wrong.append(f"{path}: content policy {policy!r}")
        if looker.page.get_attribute("html", "lang") != manner.language[:2]:
            wrong.append(f"{path}: not in {manner.language}")
        if manner.scripts:
            wrong += [f"{path}: {each}" for each in looker.violations()]
            if looker.is_too_wide():
                wrong.append(f"{path}: wider than {manner.width}")
            if manner.width == WIDE:
                wrong += [f"{path}: the table {each} is cut off" for each in looker.cut_off()]

    assert wrong + looker.wrong == []
    # A list that leads nowhere would leave pages out, and nothing would be wrong with what is left.
    assert [start for start in DETAILS if not any(path.startswith(start) for path in pages)] == []
    assert {path for path in pages if path.count("/") == 2 and path.startswith("/apps/")} >= APPS


def test_what_is_wrong_with_a_page_is_found(browser: Browser, place: Place) -> None:
    """A check that cannot fail proves nothing."""
    with looking(browser, place, width=NARROW) as looker:
        looker.page.set_content("<html lang=en><title>x</title><main><img src=/no.png><p style='width:900px'>wide")

        assert any(each.startswith("image-alt") for each in looker.violations())
        assert looker.is_too_wide()
        with looker.page.expect_request("http://127.0.0.2:1/"):
            looker.page.evaluate("fetch('http://127.0.0.2:1/').catch(() => 0)")
        assert any("127.0.0.2" in each for each in looker.wrong)
