"""The OpenAPI document of enrichment against a running server, with Schemathesis."""

from pathlib import Path

import psycopg
import pytest

from ostinato._core.db.embedded import Server, Urls
from ostinato._core.runtime.database import Database
from ostinato.apps.enrichment import APP
from tests.api.fuzz import fuzz, key_for
from tests.apps.enrichment.conftest import EMPTY
from tests.apps.enrichment.place import PARTITIONS


@pytest.mark.proof
@pytest.mark.usefixtures("sources")
def test_no_request_that_can_be_made_breaks_the_document(
    shared_server: Server, enrichment_urls: Urls, tmp_path: Path
) -> None:
    urls = enrichment_urls
    with psycopg.connect(urls.admin, autocommit=True) as admin:
        admin.execute(EMPTY)
        admin.execute(PARTITIONS)
    database = Database(urls.worker, urls.admin, urls.worker, server=shared_server, api_url=urls.api)

    cases = fuzz(
        database,
        APP,
        tmp_path,
        key=key_for(database, "acme", "fuzz", "admin"),
        examples=10,
        below="^/v1/",
        # A SIREN is typed in many ways, which no schema can say; the path of a request, to which
        # GET is allowed, is also that of its refresh.
        without="positive_data_acceptance,allow_header_conformance",
    )

    assert cases > 50
