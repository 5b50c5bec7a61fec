"""Traces: an attempt is a span, and all attempts of one correlation id are one trace."""

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ostinato import Context, Retry
from ostinato._core.runtime.observe.tracing import trace_id
from tests.runtime.lab import Lab


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    made = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(made))
    trace.set_tracer_provider(provider)  # once for a process: OpenTelemetry allows no other
    return made


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> InMemorySpanExporter:
    exporter.clear()
    return exporter


async def test_jobs_of_one_correlation_id_are_one_trace(lab: Lab, spans: InMemorySpanExporter) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None:
        with trace.get_tracer("mine").start_as_current_span("inner"):
            pass

    async with lab.worker(traces=True):
        job = work.options(correlation_id="order-7")
        for job_id in (await job.enqueue(lab.client), await job.enqueue(lab.client)):
            await lab.becomes(job_id, "done")

    finished = spans.get_finished_spans()
    outer = [span for span in finished if span.name == work.name]
    inner = [span for span in finished if span.name == "inner"]
    assert {span.context.trace_id for span in finished} == {trace_id("order-7")}
    assert {span.parent.span_id for span in inner if span.parent} == {span.context.span_id for span in outer}
    assert outer[0].attributes is not None
    assert outer[0].attributes["ostinato.correlation_id"] == "order-7"


async def test_a_failed_attempt_is_an_error_without_the_message(lab: Lab, spans: InMemorySpanExporter) -> None:
    @lab.app.job(retry=Retry(max_attempts=1))
    async def work(ctx: Context) -> None:
        raise ValueError("bob@example.org is no invoice")

    async with lab.worker(traces=True):
        await lab.becomes(await work.enqueue(lab.client), "dead")

    (span,) = spans.get_finished_spans()
    assert span.status.status_code is trace.StatusCode.ERROR
    assert "bob@" not in span.to_json()


async def test_without_the_setting_there_are_no_spans(lab: Lab, spans: InMemorySpanExporter) -> None:
    @lab.app.job()
    async def work(ctx: Context) -> None: ...

    async with lab.worker():
        await lab.becomes(await work.enqueue(lab.client), "done")

    assert spans.get_finished_spans() == ()
