"""Check 20: ten thousand generated requests to the API with all applications, none answered wrongly.

A sample of them runs with each application's own tests (`test_document.py`).
"""

import asyncio
import faulthandler
from pathlib import Path

import pytest

from ostinato._core.db import migrate
from ostinato._core.db.embedded import Server
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.installed import installed_apps
from ostinato._faces.cli.frame.schema import components
from tests.api.fuzz import fuzz, key_for

# What no schema can say: a zone, a telephone number, that base64 ends in zero bits; and one path that two routes share.
UNSAYABLE = "positive_data_acceptance,allow_header_conformance,unsupported_method"
EXAMPLES = 60


@pytest.mark.proof
@pytest.mark.timeout(3600)
def test_ten_thousand_requests_to_all_applications_break_no_promise_of_the_document(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulthandler.cancel_dump_traceback_later()  # this many requests take longer than a test may without a word
    monkeypatch.chdir(tmp_path)
    apps = installed_apps()
    urls = server.create_database("ten_thousand")
    asyncio.run(migrate.migrate(urls.admin, components(apps)))
    database = Database(urls.worker, urls.admin, urls.worker, server=server, api_url=urls.api)

    cases = fuzz(
        database,
        apps,
        tmp_path,
        key=key_for(database, "acme", "fuzz", "admin", "ops", "capture"),
        examples=EXAMPLES,
        without=UNSAYABLE,
    )

    assert {app.name for app in apps} == {"capture", "enrichment", "outbound", "rounds", "watchfolder"}
    assert cases >= 10_000
