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
    "queue-limits": "/queues/default/limits",
    "queue-tenants": "/queues/default/tenants",
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
    "bulk-list": "/bulk",
    "bulk-preview": "/bulk/new?verb=cancel&kind=tour.greet",
    "kinds": "/enqueue",
    "add-a-job": "/enqueue/tour.count",
    "schedule-new": "/schedules-new",
    "schedule-change": "/schedules/demo/digest/change",
    "schedule-move": "/schedules/demo/digest/move",
    "schedule-catch-up": "/schedules/demo/digest/catch-up",
    "trail-ask": "/trail",
    "cells": "/cells",
    "find": "/find?q=tour",
    "app-watchfolder-front": "/apps/watchfolder",
    "app-watchfolder": "/apps/watchfolder/scans",
    "app-outbound-front": "/apps/outbound",
    "app-messages": "/apps/outbound/messages",
    "app-templates": "/apps/outbound/templates",
    "app-senders": "/apps/outbound/senders",
    "app-outbound": "/apps/outbound/consents?subject=contact-7&tenant=demo",
    "app-capture": "/apps/capture",
    "app-enrichment-front": "/apps/enrichment",
    "app-enrichment": "/apps/enrichment/companies",
    "app-rounds": "/apps/rounds",
}
PORTAL = {"portal": "/portal", "portal-endpoint": "/portal/endpoints/till"}
AFTER_A_FORM = ("sign-in", "look", "key-once")
"""What no address leads to, or nobody who is signed in sees."""
OTHER_MANNERS = ("now-dark", "inbox-dark", "now-phone-fr", "inbox-phone-fr")
DUPLICATE = ("/inbox", "/inbox?item=watchfolder")
FIRST_OF = {
    "job": ("/jobs?kind=billing.nobody_runs_it", "/jobs/"),
    "job-children": ("/jobs?kind=tour.book", "/jobs/"),
    "job-every-child": ("/jobs?kind=tour.book", "/jobs/", "/children"),
    "cause": ("/dead-letters", "/dead-letters/cause"),
    "bulk": ("/bulk", "/bulk/"),
    "worker": ("/workers", "/workers/"),
    "event": ("/events", "/events/"),
    "subscription": ("/events", "/subscriptions/"),
    "subscription-replay": ("/events", "/subscriptions/", "/replay?since=1"),
    "webhook": ("/webhooks", "/webhooks/demo/till"),
    "schedule": ("/schedules", "/schedules/demo/"),
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
        take_forms(looker)
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
        customer.open(link)
        customer.press(customer.page.locator("button.primary"))
        customer.page.wait_for_selector("#endpoints")
        for name, path in PORTAL.items():
            keep(customer, name, path)


def take_forms(looker: Looker) -> None:
    """Take what is shown once, after a form was sent; and at last the page that asks for a key."""
    page = looker.page
    looker.go("/jobs?kind=tour.book")
    looker.go(looker.paths("/jobs/")[0])
    looker.press(page.get_by_role("button", name="Show"))
    shoot(looker, "look")
    looker.go("/access")
    form = page.locator("form[action$='/access/keys']")
    for field, value in (("tenant", "demo"), ("subject", "till-7")):
        form.locator(f"input[name={field}]").fill(value)
    looker.press(form.get_by_role("button"))
    shoot(looker, "key-once")
    page.context.clear_cookies()
    keep(looker, "sign-in", "/sign-in")


def keep_first(looker: Looker, name: str, listed: str, start: str, then: str = "") -> None:
    """Write a picture of the first page that a list leads to, or of one below it."""
    looker.go(listed)
    path = looker.paths(start)[0]
    if then:
        looker.go(path)
        path = next(iter(looker.paths(path + then)), path + then)
    keep(looker, name, path)


def keep(looker: Looker, name: str, path: str) -> None:
    """Write one picture, of a page and not of an error."""
    if not looker.go(path).ok:
        raise RuntimeError(f"{path}: {looker.page.inner_text('main')}")
    shoot(looker, name)


def shoot(looker: Looker, name: str) -> None:
    """Write a picture of the page that is open."""
    looker.page.evaluate("Promise.all([...document.images].map((each) => each.decode().catch(() => 0)))")
    with Image.open(BytesIO(looker.page.screenshot())) as taken:  # 128 colours are enough, for a third of the bytes
        taken.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True)
    sys.stdout.write(f"{name}.png {looker.page.url.removeprefix(looker.place.url)}\n")


if __name__ == "__main__":
    sys.exit(main())
