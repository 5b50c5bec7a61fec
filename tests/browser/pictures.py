"""`python -m tests.browser.pictures`: takes the pictures of the console that the documentation shows.

Starts everything on a database of its own, runs the demo and adds something of everything, and takes each page once:
at 1,280 pixels in the light, Now also in the dark and at 390 pixels in French.
"""

import sys
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser

from ostinato._core.db import embedded
from tests.browser.desk import ROLES, furnish_apps
from tests.browser.place import NARROW, Looker, Place, chromium, looking, running_place
from tests.waiting import until

FOLDER = Path(__file__).parents[2] / "docs" / "console"
PAGES = {
    "now": "/",
    "jobs": "/jobs",
    "dead-letters": "/dead-letters",
    "queues": "/queues",
    "workers": "/workers",
    "schedules": "/schedules",
    "events": "/events",
    "webhooks": "/webhooks",
    "trail": "/trail/order%207%2Fa",
    "alerts": "/alerts",
    "leases": "/leases",
    "machines": "/machines",
    "access": "/access",
    "audit": "/access/audit",
    "bulk-preview": "/bulk/new?verb=cancel&kind=tour.greet",
    "add-a-job": "/enqueue/tour.count",
    "schedule-move": "/schedules/demo/digest/move",
    "find": "/find?q=tour",
    "app-watchfolder": "/apps/watchfolder/scans",
    "app-outbound": "/apps/outbound/consents?subject=contact-7&tenant=demo",
    "app-capture": "/apps/capture",
    "app-enrichment": "/apps/enrichment/companies",
    "app-rounds": "/apps/rounds",
}
DUPLICATE = ("/inbox", "/inbox?item=watchfolder")
FIRST_OF = {
    "job": ("/jobs?kind=billing.nobody_runs_it", "/jobs/"),
    "job-children": ("/jobs?kind=tour.book", "/jobs/"),
    "cause": ("/dead-letters", "/dead-letters/cause"),
    "bulk": ("/bulk", "/bulk/"),
    "worker": ("/workers", "/workers/"),
    "event": ("/events", "/events/"),
    "subscription": ("/events", "/subscriptions/"),
    "webhook": ("/webhooks", "/webhooks/demo/till"),
    "schedule": ("/schedules", "/schedules/"),
    "inbox": DUPLICATE,
    "app-scan": ("/apps/watchfolder/scans", "/apps/watchfolder/scan?"),
    "app-message": ("/apps/outbound/messages", "/apps/outbound/message?"),
    "app-certificate": ("/apps/capture", "/apps/capture/capture?"),
    "app-company": ("/apps/enrichment/companies", "/apps/enrichment/company?"),
    "app-calendar": ("/apps/rounds", "/apps/rounds/calendar?"),
}


def main() -> int:
    """Take them all."""
    with (
        tempfile.TemporaryDirectory(prefix="ostinato-pictures-") as folder,
        embedded.start(Path(folder) / "pg") as server,
        running_place(server.create_database("pictures"), Path(folder)) as place,
        chromium() as browser,
    ):
        take(browser, place)
    return 0


def take(browser: Browser, place: Place) -> None:
    """Take each page in each manner."""
    FOLDER.mkdir(exist_ok=True)
    furnish_apps(place)
    key = place.key("lea", *ROLES, "installation")
    with looking(browser, place, locale="en-GB") as looker:
        looker.sign_in(key)
        until(lambda: looker.go("/") is not None and looker.page.inner_text("[data-figure=done]") != "0")
        for name, path in PAGES.items():
            keep(looker, name, path)
        for name, place_of in FIRST_OF.items():
            keep_first(looker, name, *place_of)
    take_portal(browser, place)
    with looking(browser, place, locale="en-GB", color_scheme="dark") as looker:
        looker.sign_in(key)
        keep(looker, "now-dark", "/")
        keep_first(looker, "inbox-dark", *DUPLICATE)
    with looking(browser, place, locale="fr-FR", width=NARROW) as looker:
        looker.sign_in(key)
        keep(looker, "now-phone-fr", "/")
        keep_first(looker, "inbox-phone-fr", *DUPLICATE)


def take_portal(browser: Browser, place: Place) -> None:
    """Take what a customer sees who comes by a link."""
    with looking(browser, place, locale="en-GB") as olga:
        olga.sign_in(place.key("olga", "ops"))
        olga.go("/webhooks")
        olga.press(olga.page.get_by_role("button", name="Link for a customer"))
        link = olga.page.inner_text("#link")
    with looking(browser, place, locale="en-GB") as customer:
        customer.page.goto(link)
        customer.press(customer.page.locator("button.primary"))
        customer.page.wait_for_selector("#endpoints")
        keep(customer, "portal", "/portal")
        keep(customer, "portal-endpoint", "/portal/endpoints/till")


def keep_first(looker: Looker, name: str, listed: str, start: str) -> None:
    """Write a picture of the first page that a list leads to."""
    looker.go(listed)
    for path in looker.paths(start)[:1]:
        keep(looker, name, path)


def keep(looker: Looker, name: str, path: str) -> None:
    """Write one picture."""
    looker.go(path)
    looker.page.evaluate("Promise.all([...document.images].map((each) => each.decode().catch(() => 0)))")
    with Image.open(BytesIO(looker.page.screenshot())) as taken:  # 128 colours are enough, for a third of the bytes
        taken.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True)
    sys.stdout.write(f"{name}.png {path}\n")


if __name__ == "__main__":
    sys.exit(main())
