"""The whole OpenAPI document against the real server: Schemathesis, all checks, stateful."""

from pathlib import Path

import psycopg
import pytest

from ostinato._core.db.embedded import Server, Urls
from ostinato._core.runtime.database import Database
from tests.api import shop
from tests.api.conftest import EMPTY
from tests.api.fuzz import fuzz, key_for
from tests.opened import OPEN, opened
from tests.slow import first_only


@pytest.mark.parametrize("phases", first_only(["examples,fuzzing", "examples,coverage,fuzzing,stateful"]))
def test_no_request_that_can_be_made_breaks_the_document(
    shared_server: Server, api_urls: Urls, tmp_path: Path, phases: str
) -> None:
    """Values at random; at length also all that are at the edges of the document, and chains of requests."""
    shop.may_end.set()
    with psycopg.connect(api_urls.admin, autocommit=True) as admin:
        admin.execute(EMPTY)
        admin.execute(OPEN, opened("billing.send_invoice", "shop.ship", "shop.count"))
    database = Database(api_urls.worker, api_urls.admin, api_urls.worker, server=shared_server, api_url=api_urls.api)

    cases = fuzz(
        database,
        shop.APP,
        tmp_path,
        key=key_for(database, "acme", "fuzz", "admin", "customer"),
        examples=5,
        phases=phases,
        # No schema tells which zones and rules there are, and PUT of a name with a slash in it is a schedule.
        without="positive_data_acceptance,unsupported_method",
    )

    assert cases > 500


@pytest.mark.slow
def test_what_operators_of_the_installation_ask_for_breaks_the_document_neither(
    shared_server: Server, api_urls: Urls, tmp_path: Path
) -> None:
    """To everybody else these routes are a 403, which says nothing about them."""
    with psycopg.connect(api_urls.admin, autocommit=True) as admin:
        admin.execute(EMPTY)
    database = Database(api_urls.worker, api_urls.admin, api_urls.worker, server=shared_server, api_url=api_urls.api)

    cases = fuzz(
        database,
        shop.APP,
        tmp_path,
        key=key_for(database, "acme", "fuzz", "admin", "installation"),
        examples=10,
        below="/installation/",
        without="positive_data_acceptance,unsupported_method",
    )

    assert cases > 150
