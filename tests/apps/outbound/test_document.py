"""The OpenAPI document of outbound against the real server: Schemathesis."""

from pathlib import Path

import psycopg
import pytest

from ostinato._core.runtime.database import Database
from ostinato.apps.outbound import APP
from tests.api.fuzz import fuzz, key_for
from tests.apps.outbound.conftest import EMPTY


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_request_that_can_be_made_breaks_the_document(outbound_database: Database, tmp_path: Path) -> None:
    with psycopg.connect(outbound_database.admin_url, autocommit=True) as admin:
        admin.execute(EMPTY)

    cases = fuzz(
        outbound_database,
        APP,
        tmp_path,
        key=key_for(outbound_database, "acme", "fuzz", "admin"),
        examples=3,
        phases="examples,fuzzing",  # all phases are in tests/faults/test_ten_thousand.py
        below="^/api/v1/outbound/",
        # No schema can say what is a telephone number, or that a text fits a template.
        without="positive_data_acceptance",
    )

    assert cases > 50
