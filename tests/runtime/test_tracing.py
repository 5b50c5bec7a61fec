"""Traces: an attempt is a span, and all attempts of one correlation id are one trace."""

from typing import Any

import pytest
import sentry_sdk
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


async def test_a_jobs_span_is_a_child_of_the_span_that_enqueued_it(lab: Lab, spans: InMemorySpanExporter) -> None:
    @lab.app.job()
    async def leaf(ctx: Context) -> None: ...

    @lab.app.job()
    async def work(ctx: Context) -> None:
        await ctx.join(await ctx.spawn(leaf))

    async with lab.worker(traces=True):
        with trace.get_tracer("shop").start_as_current_span("POST /orders") as request:
            one, (two,) = await work.enqueue(lab.client), await leaf.enqueue_many(lab.client, [{}])
        for job_id in (one, two):
            await lab.becomes(job_id, "done")

    named = {span.context.span_id: span.name for span in spans.get_finished_spans()}
    parents = {(span.name, named[span.parent.span_id]) for span in spans.get_finished_spans() if span.parent}
    assert parents == {(work.name, "POST /orders"), (leaf.name, "POST /orders"), (leaf.name, work.name)}
    assert {span.context.trace_id for span in spans.get_finished_spans()} == {request.get_span_context().trace_id}


async def test_a_traceparent_that_is_none_is_not_kept(lab: Lab) -> None:
    for text in ("00-x", "00-" + "0" * 31 + "g-" + "1" * 16 + "-01", "a" * 55):
        await lab.rows("select ostinato.enqueue_job('a.b', '{}', traceparent => %s)", text)

    assert await lab.value("select count(*) from ostinato_data.job where traceparent is not null") == 0


async def test_sentry_gets_the_error_of_an_attempt_and_nothing_else(lab: Lab) -> None:
    sent: list[Any] = []

    class Kept(sentry_sdk.Transport):
        def capture_envelope(self, envelope: Any) -> None:  # noqa: ANN401 - Sentry's
            sent.extend(item.payload.json for item in envelope.items if item.type == "event")

    @lab.app.job(retry=Retry(max_attempts=1))
    async def fail(ctx: Context) -> None:
        await ctx.sleep(0)
        raise ValueError("no such invoice")

    sentry_sdk.init(dsn="http://key@127.0.0.1:1/1", transport=Kept, default_integrations=False)
    try:
        lab.app.on_error(sentry_sdk.capture_exception)
        lab.app.on_error(lambda _: 1 // 0)
        async with lab.worker():
            await lab.becomes(await fail.enqueue(lab.client), "dead")
    finally:
        sentry_sdk.init()

    assert [event["exception"]["values"][0]["value"] for event in sent] == ["no such invoice"]
