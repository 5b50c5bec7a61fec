"""The site that `make docs` builds: whole, and without anything from other hosts."""

import functools
import http.server
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.place import PATIENCE_MS, chromium
from tests.house.source import ROOT
from tests.waiting import until

LOADS = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "object": "data",
    "link": "href",
}
IN_CSS = re.compile(r"url\(\s*[\"']?((?:https?:)?//[^)\"']+)|@import")
PARTS = (
    "tutorial/tutorial",
    "howto/deploy",
    "concepts/comparison",
    "reference/python",
    "reference/sql",
    "reference/http",
    "reference/cli",
    "reference/settings",
    "reference/errors",
    "reference/metrics",
    "reference/machines",
    "fr/outbound",
)


class Loads(HTMLParser):
    """Collects what a browser would load with a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        address = given.get(LOADS.get(tag, "")) or ""
        if address.startswith(("http:", "https:", "//")) and given.get("rel") not in ("canonical", "alternate"):
            self.found.append(address)
        if "mermaid" in (given.get("class") or "").split():
            self.found.append("Mermaid, which is not here")


def foreign(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".css":
        return [found[0] for found in IN_CSS.finditer(text)]
    loads = Loads()
    loads.feed(text)
    return loads.found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built where nothing can be fetched: every proxy leads nowhere."""
    folder = tmp_path_factory.mktemp("site")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | nowhere | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


def test_the_site_has_its_parts_and_a_page_for_every_document(site: Path) -> None:
    written = {page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")}

    assert [str(page) for page in written if not (site / page).is_file()] == []
    assert [part for part in PARTS if not (site / f"{part}.html").is_file()] == []
    assert (site / "index.html").is_file()
    assert '<svg class="machine"' in (site / "reference" / "machines.html").read_text()


def test_every_cell_of_the_comparison_has_a_source_or_a_command() -> None:
    """A figure has the command of its row; whatever else is said of a peer leads to the peer's own words."""
    page = (ROOT / "docs" / "concepts" / "comparison.md").read_text()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| ")
    ]
    known = set(re.findall(r"^\[([\w-]+)\]: https://", page, re.MULTILINE))
    named = set(re.findall(r"\]\[([\w-]+)\]", page))

    assert len(rows) > 15
    for what, *said, command in rows[1:]:
        figures = "**m**" in what and "`" in command
        assert [cell for cell in said if cell and "](" not in cell and "][" not in cell and not figures] == [], what
    assert named == known


def test_a_page_loads_nothing_from_another_host(site: Path) -> None:
    pages = [*site.rglob("*.html"), *site.rglob("*.css")]

    assert len(pages) > 80
    assert {page.relative_to(site).as_posix(): found for page in pages if (found := foreign(page))} == {}


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def opened(browser: Browser) -> Page:
    """A page as wide as a laptop, which waits as long as a busy machine takes."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE_MS)
    return page


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@pytest.mark.slow
def test_a_browser_asks_no_other_host(address: str) -> None:
    asked: list[str] = []
    with chromium() as browser:
        page = opened(browser)
        page.on("request", lambda request: asked.append(request.url))
        for part in ("index", *PARTS):
            page.goto(f"{address}/{part}.html", wait_until="networkidle")
        search = page.locator("input.md-search__input")

        def opens() -> bool:
            """Press the key until the script of the page takes it."""
            page.keyboard.press("/")
            return bool(search.evaluate("box => box === document.activeElement"))

        until(opens)
        search.fill("")
        search.press_sequentially("outbox")
        page.wait_for_selector(".md-search-result__item")

    assert len(asked) > 10
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


@pytest.mark.slow
def test_the_comparison_shows_every_peer_at_the_width_of_a_laptop(address: str) -> None:
    with chromium() as browser:
        page = opened(browser)
        page.goto(f"{address}/concepts/comparison.html")
        table = page.locator(".md-typeset__scrollwrap").first.bounding_box()  # a script makes it: what is below moves
        hatchet = page.get_by_role("columnheader", name="Hatchet").bounding_box()

    assert hatchet is not None
    assert table is not None
    assert hatchet["x"] + hatchet["width"] <= table["x"] + table["width"]


def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    for name in ("tools", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("# Page\n\n[gone](nowhere.md)\n")
    (tmp_path / "mkdocs.yml").write_text((ROOT / "mkdocs.yml").read_text())

    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"],
        cwd=tmp_path,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert built.returncode != 0
    assert "nowhere.md" in built.stderr
