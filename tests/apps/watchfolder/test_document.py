"""The OpenAPI document of the watchfolder against the real server: Schemathesis."""

from pathlib import Path

import pytest

from ostinato._core.db.embedded import Server, Urls
from ostinato._core.runtime.database import Database
from ostinato.apps.watchfolder import APP
from tests.api.fuzz import fuzz, key_for


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_request_that_can_be_made_breaks_the_document(
    shared_server: Server, watchfolder_urls: Urls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    urls = watchfolder_urls
    database = Database(urls.worker, urls.admin, urls.worker, server=shared_server, api_url=urls.api)

    cases = fuzz(
        database,
        APP,
        tmp_path,
        key=key_for(database, "acme", "fuzz", "admin"),
        examples=3,
        phases="examples,fuzzing",  # all phases are in tests/faults/test_ten_thousand.py
        below="^/api/v1/watchfolder/",
        without="positive_data_acceptance",
    )

    assert cases > 20
