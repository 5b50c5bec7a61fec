"""Your tests get a fresh engine on the embedded database, with a clock to move.

    import pytest

    from ostinato import testing

    @pytest.fixture
    async def engine():
        async with testing.engine() as engine:
            yield engine

    async def test_an_invoice_is_sent(engine):
        await send_invoice.enqueue(engine.client, invoice_id=7)
        report = await engine.run_until_idle(app)       # a day of retries in milliseconds
        assert report.done == 1

Under pytest the fixtures `ostinato_engine` and `ostinato_sync` are there by themselves, with a fresh
engine for each test in milliseconds (docs/development.md).

It is the real PostgreSQL and the real engine: only the clock is ours. Many tests are quick when
they share a server: `start_server(folder)` around all of them, `engine(folder, name="test_7")` in
each. A `Scenario` is what `ostinato demo` shows of an application.
"""

from ostinato._core.db.embedded import Server
from ostinato._core.db.embedded import start as start_server
from ostinato._core.runtime.observe.scenario import Scenario, ScenarioFailed, System
from ostinato._core.runtime.testing import Clock, Engine, OpenWait, Report, engine, engine_on, template_on

__all__ = [
    "Clock",
    "Engine",
    "OpenWait",
    "Report",
    "Scenario",
    "ScenarioFailed",
    "Server",
    "System",
    "engine",
    "engine_on",
    "start_server",
    "template_on",
]
