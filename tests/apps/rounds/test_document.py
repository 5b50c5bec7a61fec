"""The OpenAPI document of rounds against the real server: Schemathesis."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ostinato.api.parts import Parts
from ostinato.apps.rounds import APP
from ostinato.base.settings import Settings
from ostinato.db.embedded import Server, Urls
from ostinato.engine import keys
from ostinato.runtime.client import Client
from ostinato.runtime.database import Database
from tests.api.live import serving
from tests.apps.rounds.town import TENANT

EXAMPLES = os.environ.get("OSTINATO_TEST_EXAMPLES", "5")
ROOT = Path(__file__).parents[3]


async def key_of(database: Database) -> str:
    async with Client(database) as client, client.connection() as conn:
        return (await keys.create(conn, tenant_id=TENANT, subject="fuzz", roles=["admin"])).key


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_request_that_can_be_made_breaks_the_document(
    shared_server: Server, rounds_urls: Urls, tmp_path: Path
) -> None:
    urls = rounds_urls
    database = Database(urls.worker, urls.admin, urls.worker, server=shared_server)
    config = tmp_path / "schemathesis.toml"
    config.write_text(f'[auth.openapi.key]\nbearer = "{asyncio.run(key_of(database))}"\n')
    settings = Settings(api_rate_per_minute=10_000_000)
    with serving(Parts(database, settings, apps=(APP,))) as url:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config)),
                *("run", f"{url}/openapi.json", "--include-path-regex", "^/api/v1/rounds/"),
                # No schema can say what is a zone, what is blank, or that a vote is for one thing.
                *("--checks", "all", "--exclude-checks", "positive_data_acceptance"),
                *("--phases", "examples,coverage,fuzzing", "--max-examples", EXAMPLES),
                *("--seed", "1", "--no-color", "--continue-on-failure"),
                *("--generation-allow-x00", "false"),
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=os.environ
            | {"SCHEMATHESIS_HOOKS": "tests.api.schemathesis_hooks", "PYTHONPATH": str(ROOT)},
        )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]
