"""The OpenAPI document of captures against the real server: Schemathesis."""

from pathlib import Path

import pytest

from ostinato._core.runtime.database import Database
from ostinato.apps.capture import APP
from tests.api.fuzz import fuzz, key_for
from tests.apps.capture.vault import TENANT, USER


@pytest.mark.proof
def test_no_request_that_can_be_made_breaks_the_document(database: Database, tmp_path: Path) -> None:
    cases = fuzz(
        database,
        APP,
        tmp_path,
        key=key_for(database, TENANT, USER, "capture", "capture_store"),
        examples=10,
        below="^/documents/",
        # No schema can say that base64 ends in zero bits, or what time it is.
        without="positive_data_acceptance",
    )

    assert cases > 50
