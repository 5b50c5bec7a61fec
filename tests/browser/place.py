"""A place that runs, with jobs, events, schedules and endpoints to look at, and somebody who looks."""

import asyncio
import json
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString

import httpx
import psycopg
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request, Response, expect, sync_playwright

from ostinato._core.db.embedded import Urls
from ostinato._core.engine import keys
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from tests.faces.processes import running
from tests.needs import needs
from tests.waiting import until

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
needs_chromium = needs("chromium", here=Path(CHROMIUM).exists(), reason="no Chromium: the console is not looked at")

# A browser as root has no sandbox of its own, and must not ask its maker's servers for anything.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
TENANT = "demo"
WIDE, NARROW = 1280, 390
# How long a browser waits for a page or a text: longer than any load makes it, within the time of a test.
PATIENCE_MS = 300_000
BUSY = 503
"""What is answered while the database has no room for one more; nothing was done then."""


class Patient(httpx.HTTPTransport):
    """Asks again while the place is too busy to answer."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request until something else than that is answered."""
        answers: list[httpx.Response] = []

        def answered() -> bool:
            answer = super(Patient, self).handle_request(request)
            if answer.status_code == BUSY:
                answer.close()
                return False
            answers.append(answer)
            return True

        until(answered)
        return answers[0]


def asking(url: str, key: str | None = None) -> httpx.Client:
    """Return a client that waits for an answer as long as a browser does."""
    given = {} if key is None else {"Authorization": f"Bearer {key}"}
    return httpx.Client(base_url=url, headers=given, transport=Patient(), trust_env=False, timeout=PATIENCE_MS / 1000)


@dataclass
class Place:
    """A system that runs, and what one does to it from elsewhere."""

    urls: Urls
    url: str
    sandbox: str

    def value(self, query: LiteralString, *values: object) -> Any:  # noqa: ANN401 - what SQL returns
        """Ask the database, as a worker may."""
        with psycopg.connect(self.urls.worker, autocommit=True) as conn:
            found = conn.execute(query, values).fetchone()
        return found[0] if found else None

    def key(self, subject: str, *roles: str, tenant: str = TENANT) -> str:
        """A key for somebody."""

        async def made() -> str:
            async with (
                Client(Database(self.urls.worker, self.urls.admin, self.urls.worker)) as client,
                client.connection() as conn,
            ):
                return (await keys.create(conn, tenant_id=tenant, subject=subject, roles=roles)).key

        with ThreadPoolExecutor(1) as thread:  # the browser's loop is at work in this one
            return thread.submit(asyncio.run, made()).result()

    def add(self, kind: str, tenant: str = TENANT, run_at: str | None = None, **args: object) -> int:
        """Add a job."""
        added = (
            "select ostinato.enqueue_job(%s, %s::json, tenant_id => %s, run_at => %s, correlation_id => 'order 7/a')"
        )
        return int(self.value(added, kind, json.dumps(args), tenant, run_at))

    def add_many(self, kind: str, count: int, **args: object) -> None:
        """Add jobs of a kind, all at once."""
        added = "select count(ostinato.enqueue_job(%s, %s::json, tenant_id => %s)) from generate_series(1, %s)"
        self.value(added, kind, json.dumps(args), TENANT, count)

    def state(self, job: int) -> str:
        return str(self.value("select ostinato.job_state(%s)", job))

    def until(self, job: int, state: str) -> int:
        until(lambda: self.state(job) == state)
        return job


@dataclass
class Looker:
    """Somebody at a browser; what went wrong meanwhile."""

    page: Page
    place: Place
    wrong: list[str] = field(default_factory=list)

    def sign_in(self, key: str) -> None:
        """Sign in with a key, by the form."""
        self.open(f"{self.place.url}/")
        self.page.fill("input[name=key]", key)
        self.press(self.page.locator("button.primary"))
        self.page.wait_for_selector("nav")

    def press(self, target: Locator) -> None:
        """Press a button or a link that leads to a page, and wait for that page.

        A click alone returns before the browser has left: what is read next may be the page before.
        """
        with self.leaving():
            target.click()

    @contextmanager
    def leaving(self) -> Iterator[None]:
        """Wait for the page that the body leads to."""
        with self.page.expect_navigation() as led:
            yield
        self._last(led.value)

    def go(self, path: str) -> Response:
        """Open a page of the console."""
        return self.open(f"{self.place.url}/console{path}")

    def open(self, url: str) -> Response:
        """Open an address."""
        return self._last(self.page.goto(url))

    def again(self) -> Response:
        """Load the page again."""
        return self._last(self.page.reload())

    def send(self, path: str, **form: str) -> int:
        """Send a form that no page here shows; the status that answers it."""
        answers: list[int] = []

        def answered() -> bool:
            sent = self.page.request.post(f"{self.place.url}/console{path}", form=dict(form), timeout=PATIENCE_MS)
            answers.append(sent.status)
            return sent.status != BUSY

        until(answered)
        return answers[-1]

    def _last(self, answer: Response | None) -> Response:
        """Load again what a busy place did not answer."""
        while answer is not None and answer.status == BUSY:
            answer = self.page.reload()
        assert answer is not None
        return answer

    def paths(self, pattern: str) -> list[str]:
        """The links of this page whose path begins so, each once."""
        found = self.page.eval_on_selector_all("main a[href]", "all => all.map(a => a.getAttribute('href'))")
        return sorted({link.removeprefix("/console") for link in found if link.startswith(f"/console{pattern}")})

    def violations(self) -> list[str]:
        """What is against WCAG 2.2 AA on this page."""
        found = Axe().run(self.page, options={"runOnly": {"type": "tag", "values": list(RULES)}})
        return [
            f"{each['id']}: {each['help']}: {[node['html'][:160] for node in each['nodes'][:3]]}"
            for each in found.response["violations"]
        ]

    def is_too_wide(self) -> bool:
        """Whether the page is to be scrolled sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))

    def cut_off(self) -> list[str]:
        """The tables whose last columns are out of sight."""
        found: list[str] = self.page.eval_on_selector_all(
            ".scroll", "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.ariaLabel)"
        )
        return found


@contextmanager
def looking(browser: Browser, place: Place, **options: Any) -> Iterator[Looker]:  # noqa: ANN401 - as Playwright
    """Open a browser of somebody's own; errors and requests to other hosts are noted."""
    size = {"width": options.pop("width", WIDE), "height": 860}
    context = browser.new_context(viewport=size, timezone_id="Europe/Paris", **options)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    try:
        looker = Looker(context.new_page(), place)
        watch(looker, place.url)
        yield looker
    finally:
        context.close()


def watch(looker: Looker, url: str) -> None:
    """Note errors of scripts and requests that leave the place."""

    def asked(request: Request) -> None:
        if not request.url.startswith((url, "data:", "blob:")):
            looker.wrong.append(f"a request to {request.url}")

    def told(said: ConsoleMessage) -> None:
        if said.type == "error" and f"status of {BUSY}" not in said.text:  # a busy place is no error of a page
            looker.wrong.append(f"{page.url}: {said.text}")

    page = looker.page
    page.on("request", asked)
    page.on("pageerror", lambda error: looker.wrong.append(f"{page.url}: {error}"))
    page.on("console", told)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser."""
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS), timeout=PATIENCE_MS)
        try:
            yield browser
        finally:
            browser.close()


def hook(place: Place, name: str, *, receives: bool = True) -> None:
    """Add an endpoint to which the sandbox listens, or answers that there is none."""
    with asking(place.url, place.key("hooks", "admin")) as http:
        made = http.post(f"/api/v1/engine/webhooks/{name}", json={"url": f"{place.sandbox}/hooks/{name}"})
        assert made.status_code == 201, made.text
        if receives:
            http.put(
                f"{place.sandbox}/_sandbox/hooks/{name}", json={"secret": made.json()["secret"]}
            ).raise_for_status()


def furnish(place: Place) -> None:
    """Fill the place with something of everything."""
    place.until(place.add("tour.greet", name="Ada"), "done")
    dead = [place.add("tour.poison", reason="no such customer") for _ in range(3)]
    place.add("tour.flaky", failures=1)
    place.until(place.add("tour.slow", seconds=3600), "running")
    place.add("tour.greet", run_at="2126-01-01T08:00:00Z", name="Grace")
    place.add("billing.nobody_runs_it")
    place.until(place.add("tour.book", pages=24), "done")  # more than its page shows: a link leads to all
    schedule = "select ostinato.upsert_schedule(%s, 'tour.greet', cron => %s, zone => %s, tenant_id => %s)"
    place.value(schedule, "digest", "30 2 * * *", "Europe/Paris", TENANT)
    event = "select ostinato.emit_event('order.paid', '{}', 'order-7', 1, %s, 'order 7/a', now(), 'shop')"
    place.value(event, TENANT)
    hook(place, "partner")
    place.value(event, TENANT)
    for job in dead:
        place.until(job, "dead")


@contextmanager
def running_place(urls: Urls, folder: Path) -> Iterator[Place]:
    """Start everything on a database of its own, furnished."""
    env = {
        "OSTINATO_DATABASE_URL": urls.worker,
        "OSTINATO_ADMIN_URL": urls.admin,
        "OSTINATO_API_DATABASE_URL": urls.api,
        "OSTINATO_API_METRICS_PORT": "0",
        "OSTINATO_API_RATE_PER_MINUTE": "100000",
        # A machine that is busy with other tests is no outage, and its worker does not get another name.
        "OSTINATO_CALL_TIMEOUT_SECONDS": "120",
        "OSTINATO_EXPIRY_SECONDS": "300",
    }
    with running(folder, env, "up", "--demo", "--json", "--drain-seconds", "0") as up:
        ready = up.event("ready")
        place = Place(urls, str(ready["url"]), str(ready["sandbox"]))
        furnish(place)
        yield place
        up.signal(signal.SIGINT)
        assert up.ended() == 0
