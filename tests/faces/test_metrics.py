"""`ostinato metrics`: figures of the engine and of the applications."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.faces.conftest import Place, Shell


def test_the_figures_of_the_engine_and_the_applications_are_shown(shell: Shell, place: Place) -> None:
    place.enqueue()

    found = {(each["name"], each["label"]): each["value"] for each in shell.json("metrics")["figures"]}

    assert found["queue_ready_jobs", "default"] == 1
    assert found["outbound_queue_size", "SMS"] == 0
    assert ("rounds_runs", "create") in found


@pytest.mark.usefixtures("place")
def test_the_page_for_prometheus_has_them_too(shell: Shell) -> None:
    families = list(text_string_to_metric_families(shell("metrics", "--prometheus")))

    found = {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}
    assert found["ostinato_workers",] == 0
    assert found["ostinato_outbound_queue_size", "SMS"] == 0
    failures = {key: value for key, value in found.items() if "figure_failures" in key[0]}
    assert failures
    assert set(failures.values()) == {0}


@pytest.mark.usefixtures("place")
def test_an_app_of_the_users_own_is_asked_too(shell: Shell) -> None:
    page = shell("metrics", "--prometheus", "--app", "tests.api.figures:TILL")

    assert 'ostinato_till_open{floor="first"} 3.0' in page
