"""Now: the last whole minute, the one that runs, and what is usual."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.engine import series, webhooks
from ostinato._core.engine.series import Step
from ostinato._core.runtime.testing import KEY
from ostinato._faces.console.live import Snapshot
from ostinato._faces.console.pages.now import _running, _shape, figures
from ostinato._faces.console.text import language
from tests.api.conftest import Api
from tests.console.conftest import Console

AT = datetime(2026, 11, 17, 12, 30, 20, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def api_settings() -> Settings:
    """The secrets of endpoints are sealed."""
    return Settings(secret_key=KEY)


def step(ago: int, done: int, failed: int = 0, p99: float | None = None) -> Step:
    """What happened in the minute that began so many minutes before the one that runs."""
    at = AT.replace(second=0) - ago * MINUTE
    return Step(at, done, done, failed, 0, 1.0, p99, p99, p99)


def snapshot(*steps: Step) -> Snapshot:
    found = Snapshot(AT)
    found.hour = sorted(steps, key=lambda each: each.at)
    return found


def test_the_minute_that_runs_is_told_apart_from_the_last_whole_one() -> None:
    told = figures(language("en"), snapshot(step(0, 7, 2), step(1, 40, 1)))

    assert (told["done"], told["failing"]) == ("40", "1")
    assert (told["done-now"], told["failing-now"]) == ("7", "2")


def test_what_is_usual_leaves_out_the_last_minute_and_the_one_that_runs() -> None:
    usual = [step(ago, 10, p99=0.004) for ago in range(2, 60)]
    found = snapshot(step(0, 900, p99=9.0), step(1, 800, p99=9.0), *usual)

    assert found.usually(lambda each: each.done) == 10
    assert found.usual_p99 == 0.004


def test_the_line_of_the_minute_that_runs_grows_and_the_page_is_not_drawn_anew_for_it() -> None:
    before, after = (snapshot(step(0, done), step(1, 40), step(2, 38)) for done in (3, 21))

    assert _shape(before) == _shape(after)
    assert _running(before)["running-b"] != _running(after)["running-b"]
    assert set(_running(before)) == {"running-a", "running-b", "running-c"}


def test_a_scale_that_no_longer_fits_draws_the_page_anew() -> None:
    before, after = (snapshot(step(0, done), step(1, 40)) for done in (3, 400))

    assert _shape(before) != _shape(after)


async def test_a_tenant_is_told_which_of_its_endpoints_fail_and_of_no_other(console: Console, api: Api) -> None:
    async with api.worker.connection() as conn:
        for tenant, name in (("ailing", "partner"), ("ailing", "sound"), ("globex", "theirs")):
            await webhooks.create_endpoint(conn, name, "https://example.com/hook", tenant_id=tenant)
            if name != "sound":
                await webhooks.pause(conn, name, tenant_id=tenant)
    tenant = await (await console.visitor("ailing", "ops")).text("/")
    everything = await (await console.visitor("ailing", "admin", "installation")).text("/")

    assert "1 unhealthy" in tenant
    assert "partner" in tenant
    assert "sound" not in tenant
    assert "theirs" not in tenant
    assert "globex" not in tenant
    assert "theirs" in everything


async def test_what_workers_told_in_the_minute_that_runs_is_on_the_page_before_it_is_over(
    console: Console, api: Api
) -> None:
    row = series.Row(
        queue="default", kind="shop.ship", tenant="moves", first=7, done=7, failed=2, dead=0, run=1.0, latency=[7] * 32
    )
    async with api.worker.connection() as conn:
        await series.record(conn, [row])
    page = (await (await console.visitor("moves", "admin")).get("/")).text

    # Where the minute ended between the two, it is the last whole one.
    assert {"7", "2"} <= set(re.findall(r'data-figure="(?:done|failing)(?:-now)?">([^<]+)<', page))
    assert {f"running-{look}" for look in "abc"} == set(re.findall(r'id="(running-\w)"', page))
    assert "usually 0" in page
