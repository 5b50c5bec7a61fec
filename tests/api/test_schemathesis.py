"""The whole OpenAPI document against the real server: Schemathesis, all checks, stateful."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from ostinato.api.parts import Parts
from ostinato.base.settings import Settings
from ostinato.db.embedded import Server, Urls
from ostinato.engine import keys
from ostinato.runtime.client import Client
from ostinato.runtime.database import Database
from tests.api import shop
from tests.api.conftest import EMPTY
from tests.api.live import serving

# Ten thousand and more: OSTINATO_TEST_EXAMPLES=200
EXAMPLES = int(os.environ.get("OSTINATO_TEST_EXAMPLES", "10"))
SEED = 1
ROOT = Path(__file__).parents[2]


async def key_of(database: Database) -> str:
    async with Client(database) as client, client.connection() as conn:
        made = await keys.create(
            conn, tenant_id="acme", subject="fuzz", roles=["admin", "customer"]
        )
    return made.key


@pytest.mark.timeout(600)
def test_no_request_that_can_be_made_breaks_the_document(
    shared_server: Server, api_urls: Urls, tmp_path: Path
) -> None:
    shop.may_end.set()
    with psycopg.connect(api_urls.admin, autocommit=True) as admin:
        admin.execute(EMPTY)
    database = Database(api_urls.worker, api_urls.admin, api_urls.worker, server=shared_server)
    key = asyncio.run(key_of(database))
    config = tmp_path / "schemathesis.toml"
    config.write_text(f'[auth.openapi.key]\nbearer = "{key}"\n')
    settings = Settings(api_rate_per_minute=10_000_000)
    with serving(Parts(database, settings, apps=(shop.APP,))) as url:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config)),
                *("run", f"{url}/openapi.json"),
                *("--checks", "all"),
                *(
                    "--phases",
                    "examples,coverage,fuzzing,stateful",
                    "--max-examples",
                    str(EXAMPLES),
                ),
                *("--seed", str(SEED), "--no-color", "--continue-on-failure"),
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
    cases = re.search(r"([\d,]+) generated", done.stdout)
    assert cases is not None, done.stdout[-2000:]
    assert int(cases[1].replace(",", "")) > 500
