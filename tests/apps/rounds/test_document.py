"""The OpenAPI document of rounds against the real server: Schemathesis."""

from pathlib import Path

import psycopg
import pytest

from ostinato._core.db.embedded import Server, Urls
from ostinato._core.runtime.database import Database
from ostinato.apps.rounds import APP
from tests.api.fuzz import fuzz, key_for
from tests.apps.rounds.conftest import EMPTY, EMPTY_ROUNDS
from tests.apps.rounds.town import TENANT


@pytest.mark.proof
def test_no_request_that_can_be_made_breaks_the_document(
    shared_server: Server, rounds_urls: Urls, tmp_path: Path
) -> None:
    with psycopg.connect(rounds_urls.admin, autocommit=True) as admin:
        admin.execute(EMPTY)
        admin.execute(EMPTY_ROUNDS)
    urls = rounds_urls
    database = Database(urls.worker, urls.admin, urls.worker, server=shared_server, api_url=urls.api)

    cases = fuzz(
        database,
        APP,
        tmp_path,
        key=key_for(database, TENANT, "fuzz", "admin", "ops"),
        examples=2,
        below="^/api/v1/rounds/",
        # No schema can say what is a zone, what is blank, or that a vote is for one thing.
        without="positive_data_acceptance",
    )

    assert cases > 500
