"""The figures of every application, read as the API reads them: with a login that sees no tenant's rows."""

import psycopg

from ostinato._core.base.metrics import FIGURE_FAILURES, Recorder
from ostinato._core.db.embedded import Urls
from ostinato._core.runtime.installed import installed_apps
from ostinato._core.runtime.observe import figures


async def test_the_api_reads_the_figures_of_every_application(installed_urls: Urls) -> None:
    """One that reads a table fails for `ostinato_api` alone, and the page lacks its figures."""
    apps, failures = installed_apps(), Recorder()

    async with await psycopg.AsyncConnection.connect(installed_urls.api, autocommit=True) as conn:
        shown = await figures.ask(conn, apps, failures)

    with_figures = [app.name for app in apps if app.metrics is not None]
    assert {name: failures.value(FIGURE_FAILURES, name) for name in with_figures} == dict.fromkeys(with_figures, 0)
    assert len(shown.recorders) == len(with_figures) > 0
