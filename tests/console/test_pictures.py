"""The pictures of the documentation: every page of the console has one, and every one is shown."""

import re
from collections.abc import Iterator

from ostinato._core.runtime.installed import installed_apps
from ostinato._core.runtime.observe.panels import all_panels
from ostinato._faces.console.routes import PageRoute
from tests.api.conftest import Api
from tests.browser import pictures

NO_PICTURE = {"/live", "/enter", "/oidc", "/oidc/callback", "/portal/enter", "/apps/{name}/file/{file}"}
"""A stream, files, and pages that a browser passes through."""
GUIDE = pictures.FOLDER.with_suffix(".md")


def addresses() -> Iterator[str]:
    """The addresses that pictures are taken of; of one that a list leads to, one like it."""
    yield from pictures.PAGES.values()
    yield from pictures.PORTAL.values()
    yield "/sign-in"
    for _, start, *then in pictures.FIRST_OF.values():
        path = start.partition("?")[0]
        yield (f"{path}1" if path.endswith("/") else path) + "".join(then)


def shown() -> set[str]:
    return {address.partition("?")[0] for address in addresses()}


def test_every_page_has_a_picture(api: Api) -> None:
    paths, missing = shown(), []
    for route in api.app.routes:
        if isinstance(route, PageRoute) and "GET" in (route.methods or ()):
            path = route.path.removeprefix("/console")
            pattern = re.sub(r"{[^}]+}", "[^/]+", path)
            if path not in NO_PICTURE and not any(re.fullmatch(pattern, each) for each in paths):
                missing.append(path)

    assert missing == [], "add it to tests/browser/pictures.py, and run python -m tests.browser.pictures"


def test_every_page_of_an_application_has_a_picture() -> None:
    wanted = {
        f"/apps/{app.name}" + (f"/{panel.name}" if panel.name else "")
        for app in installed_apps()
        for panel in all_panels(app)
    }

    assert wanted - shown() == set()


def test_every_picture_is_there_and_shown_in_the_guide() -> None:
    taken = {*pictures.PAGES, *pictures.FIRST_OF, *pictures.PORTAL, *pictures.AFTER_A_FORM, *pictures.OTHER_MANNERS}

    assert {file.stem for file in pictures.FOLDER.glob("*.png")} == taken
    guide = GUIDE.read_text("utf-8")
    assert {name for name in taken if f"(console/{name}.png)" not in guide} == set()
