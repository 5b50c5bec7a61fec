"""Figures of applications on `/metrics`: each for itself."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ostinato._core.runtime.handlers.app import App
from tests.api.conftest import Api
from tests.api.figures import APPS


@pytest.fixture
def api_apps() -> tuple[App, ...]:
    return APPS


async def read(api: Api) -> dict[tuple[str, ...], float]:
    page = await api.metrics()
    assert page.status_code == 200
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(page.text)
        for sample in family.samples
    }


async def test_an_application_that_cannot_tell_its_figures_hides_no_others(api: Api) -> None:
    found = await read(api)

    assert found["ostinato_till_open", "first"] == 3
    assert found["ostinato_workers",] == 0
    counted = {labels[0]: value for (name, *labels), value in found.items() if name == "ostinato_figure_failures_total"}
    assert counted == {"broken": 1, "slow": 1, "stray": 1, "gone": 1, "unnamed": 1, "till": 0}
    assert not [name for name, *_ in found if name == "ostinato_workers_of_mine"]


async def test_its_failures_add_up(api: Api) -> None:
    await read(api)

    assert (await read(api))["ostinato_figure_failures_total", "broken"] == 2
