"""Schemathesis against a running API: what the document allows, and what it does not.

One process of it for each test: it makes cases for every operation from the document alone, sends
them to a real server, and holds every answer against the document.
"""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import httpx

from ostinato._core.base.settings import Settings
from ostinato._core.engine import keys
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.testing import KEY
from ostinato._faces.api.parts import Parts
from tests.api.live import serving

# Ten thousand and more: OSTINATO_TEST_EXAMPLES=200
EXAMPLES = os.environ.get("OSTINATO_TEST_EXAMPLES", "")
ROOT = Path(__file__).parents[2]
SEED = "1"
STREAMS = r"/jobs/\{job_id\}/events$"
"""They last as long as what they follow: tests/api/test_following.py has their tests."""


async def key_of(database: Database, tenant: str, user: str, roles: Sequence[str]) -> str:
    async with Client(database) as client, client.connection() as conn:
        return (await keys.create(conn, tenant_id=tenant, subject=user, roles=roles)).key


def fuzz(
    database: Database,
    app: App | Sequence[App],
    folder: Path,
    *,
    key: str,
    examples: int,
    phases: str = "examples,coverage,fuzzing",
    below: str | None = None,
    without: str | None = None,
) -> int:
    """Send what can be sent; how many cases that were. Fails if an answer breaks the document.

    `below`: only operations whose path matches; `without`: all checks but these.
    """
    assert database.api_url is not None, "the API would be connected as the worker"
    config = folder / "schemathesis.toml"
    config.write_text(f'[auth.openapi.key]\nbearer = "{key}"\n')
    options = [
        *("--include-path-regex", below if below is not None else "^/"),
        *("--exclude-path-regex", STREAMS),
        *("--checks", "all"),
        *(() if without is None else ("--exclude-checks", without)),
        *("--phases", phases, "--max-examples", EXAMPLES or str(examples)),
        *("--seed", SEED, "--no-color", "--continue-on-failure"),
        *("--generation-allow-x00", "false"),
        *("--request-timeout", "120"),  # a busy machine is no fault of the API
    ]
    settings = Settings(api_rate_per_minute=10_000_000, api_public_rate_per_minute=10_000_000, secret_key=KEY)
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run"]
    hooks = {"SCHEMATHESIS_HOOKS": "tests.api.schemathesis_hooks", "PYTHONPATH": str(ROOT)}
    apps = (app,) if isinstance(app, App) else tuple(app)
    with serving(Parts(database, settings, apps=apps)) as url:
        httpx.get(f"{url}/openapi.json", trust_env=False, timeout=120)  # made once, which may take long
        done = subprocess.run(
            [*command, f"{url}/openapi.json", *options],
            capture_output=True,
            text=True,
            check=False,
            cwd=folder,
            env=os.environ | hooks,
        )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]
    cases = re.search(r"([\d,]+) generated", done.stdout)
    assert cases is not None, done.stdout[-2000:]
    return int(cases[1].replace(",", ""))


def key_for(database: Database, tenant: str, user: str, *roles: str) -> str:
    return asyncio.run(key_of(database, tenant, user, roles))
