import re

import prometheus_client
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from ostinato._core.base import metrics
from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.metrics import (
    BUFFER_JOBS,
    JOB_RUN_SECONDS,
    JOBS_FINISHED,
    METRICS,
    RESCUED_JOBS,
    Metric,
    Recorder,
)
from ostinato._core.base.prometheus import Collector, render


def samples(*recorders: Recorder) -> dict[tuple[str, tuple[str, ...]], float]:
    families = text_string_to_metric_families(render(recorders).decode())
    return {
        (sample.name, tuple(sample.labels.values())): sample.value for family in families for sample in family.samples
    }


def test_a_counter_counts_by_its_labels() -> None:
    recorder = Recorder()

    recorder.add(JOBS_FINISHED, "billing.send", "done")
    recorder.add(JOBS_FINISHED, "billing.send", "done", by=4)
    recorder.add(JOBS_FINISHED, "billing.send", "failed")

    assert recorder.value(JOBS_FINISHED, "billing.send", "done") == 5
    assert recorder.value(JOBS_FINISHED, "billing.send", "failed") == 1
    assert recorder.value(JOBS_FINISHED, "billing.send", "dead") == 0


def test_a_gauge_shows_the_last_value() -> None:
    recorder = Recorder()

    recorder.set(BUFFER_JOBS, 10)
    recorder.set(BUFFER_JOBS, 3)

    assert samples(recorder)[("ostinato_worker_buffer_jobs", ())] == 3


@given(st.lists(st.floats(0, 10_000), max_size=50))
def test_a_histogram_counts_each_value_in_every_bucket_that_holds_it(values: list[float]) -> None:
    recorder = Recorder()
    reference = prometheus_client.Histogram(
        "reference", "The same by prometheus_client.", buckets=JOB_RUN_SECONDS.buckets, registry=None
    )

    for value in values:
        recorder.observe(JOB_RUN_SECONDS, value, "k")
        reference.observe(value)

    [expected] = reference.collect()
    counted = {
        float(labels[1]): count
        for (name, labels), count in samples(recorder).items()
        if name == "ostinato_job_run_seconds_bucket"
    }
    if values:
        assert counted == {
            float(sample.labels["le"]): sample.value for sample in expected.samples if sample.name == "reference_bucket"
        }
    assert recorder.value(JOB_RUN_SECONDS, "k") == len(values)


def test_the_recorders_of_several_threads_are_added_up() -> None:
    loop, beat = Recorder(), Recorder()
    for recorder, seconds in ((loop, 0.5), (beat, 2.0)):
        recorder.add(RESCUED_JOBS, by=2)
        recorder.observe(JOB_RUN_SECONDS, seconds, "k")

    page = samples(loop, beat)

    assert page[("ostinato_rescued_jobs_total", ())] == 4
    assert page[("ostinato_job_run_seconds_count", ("k",))] == 2
    assert page[("ostinato_job_run_seconds_sum", ("k",))] == 2.5


@pytest.mark.parametrize("labels", [(), ("kind",), ("kind", "done", "extra")])
def test_a_wrong_number_of_labels_is_refused(labels: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput, match="has labels"):
        Recorder().add(JOBS_FINISHED, *labels)


def test_every_metric_of_the_module_is_declared_for_export() -> None:
    declared = [value for value in vars(metrics).values() if isinstance(value, Metric)]

    assert declared == list(METRICS)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: str(metric.name))
def test_every_metric_is_named_as_prometheus_asks(metric: Metric) -> None:
    assert re.fullmatch(r"ostinato_[a-z0-9_]+", metric.name)
    assert metric.help.endswith(".")
    assert isinstance(metric, metrics.Counter) == metric.name.endswith("_total")


def test_every_metric_is_announced_before_anything_happened() -> None:
    families = Collector([Recorder()]).collect()

    assert len(list(families)) == len(METRICS)


def test_the_collector_fits_into_a_registry_of_the_users_own() -> None:
    recorder = Recorder()
    recorder.add(RESCUED_JOBS)
    registry = prometheus_client.CollectorRegistry()

    registry.register(Collector([recorder]))

    assert registry.get_sample_value("ostinato_rescued_jobs_total") == 1
