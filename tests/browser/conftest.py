"""One place and one browser for the tests of a file."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from ostinato._core.db.embedded import Server
from tests.browser.place import Place, chromium, running_place
from tests.conftest import copy_of_engine


@pytest.fixture(scope="module")
def place(
    request: pytest.FixtureRequest, shared_server: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    name = f"browser_{request.module.__name__.rsplit('_', 1)[-1]}"
    with running_place(copy_of_engine(shared_server, name), tmp_path_factory.mktemp("browser")) as made:
        yield made


@pytest.fixture(scope="module")
def browser(place: Place) -> Iterator[Browser]:
    with chromium() as made:
        yield made
