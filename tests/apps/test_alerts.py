"""Every alert of an application can be evaluated as it is declared: its function, and the names of its arguments."""

import asyncio
from datetime import timedelta

import psycopg
import pytest

from ostinato import App
from ostinato._core.db import migrate
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.engine import alerts
from ostinato._core.engine.schema import ENGINE
from ostinato._core.runtime.services.alerts import declare
from ostinato._faces.cli.frame.schema import app_components
from ostinato.apps import capture, enrichment, outbound, rounds, watchfolder
from tests.conftest import copy_of_engine

APPS = (capture.APP, enrichment.APP, outbound.APP, rounds.APP, watchfolder.APP)


@pytest.fixture(scope="module")
def all_urls(shared_server: Server) -> Urls:
    """A database with every application."""
    found = copy_of_engine(shared_server, "alerts")
    asyncio.run(migrate.migrate(found.admin, [ENGINE, *app_components(APPS)]))
    return found


@pytest.mark.parametrize("app", APPS, ids=lambda app: app.name)
async def test_no_alert_of_an_application_fails_in_a_worker(all_urls: Urls, app: App) -> None:
    async with await psycopg.AsyncConnection.connect(all_urls.worker, autocommit=True) as conn:
        await declare(conn, [app])

        await alerts.evaluate(conn, timedelta(0))

        lines = [line for line in await alerts.list_alerts(conn) if line.owner == app.name]
    assert len(lines) == len(app.alerts)
    assert {line.name: line.error for line in lines if line.error} == {}
    assert all(line.evaluated_at for line in lines)
