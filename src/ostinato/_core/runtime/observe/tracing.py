"""Traces attempts with OpenTelemetry, if it is installed: one span for each attempt.

A job carries the span that added it (`traceparent`), and the span of each attempt is a child of that
one. Where there was none, the trace id is made from the correlation id, so that everything done for
one request is one trace, in whatever process it ran, without passing a header on. Spans that a
handler starts are children of the span of its attempt. Nothing here runs unless the setting `traces`
is on; the program sets up the exporter, as usual with OpenTelemetry.
"""

import hashlib
import random
import re
from collections.abc import Awaitable, Callable
from typing import Any

from ostinato._core.base.errors import NotConfigured
from ostinato._core.runtime.handlers.context import Context
from ostinato._core.runtime.handlers.kinds import JobKind
from ostinato._core.runtime.worker.execute import Failed, Verdict, execute
from ostinato._core.runtime.worker.threads import Threads

Execute = Callable[[JobKind[Any], Context, Threads, random.Random], Awaitable[Verdict]]

SAMPLED = 1
_TRACE_ID = re.compile(r"[0-9a-f]{32}")


def chosen(*, traces: bool) -> Execute:
    """Return the function that runs attempts: plainly, or each in a span."""
    return _traced() if traces else execute


def trace_id(correlation_id: str) -> int:
    """Return the trace id of a correlation id: itself, if it was taken from a trace."""
    if _TRACE_ID.fullmatch(correlation_id) and int(correlation_id, 16):
        return int(correlation_id, 16)
    return _number(correlation_id, 16)


def _parent(traceparent: str | None) -> tuple[int, int, int] | None:
    """Return the trace, the span and the flags of the span that added a job; None if there was none."""
    if traceparent is None:
        return None
    _, trace, span, flags = traceparent.split("-")
    return int(trace, 16), int(span, 16), int(flags, 16)


def _number(text: str, length: int) -> int:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:length], "big") or 1  # all zeros means "no trace"


def _traced() -> Execute:
    try:
        from opentelemetry import trace  # noqa: PLC0415 - an extra that need not be installed
    except ImportError:
        raise NotConfigured(
            "traces are on, but OpenTelemetry is not installed",
            hint="pip install 'ostinato[traces]', or switch the setting `traces` off.",
        ) from None
    tracer = trace.get_tracer("ostinato")

    async def run(kind: JobKind[Any], ctx: Context, threads: Threads, rng: random.Random) -> Verdict:
        job = ctx.job
        correlation_id = job.correlation_id or f"job-{job.id}"
        ids = _parent(job.traceparent) or (trace_id(correlation_id), _number(f"{correlation_id}/root", 8), SAMPLED)
        parent = trace.SpanContext(ids[0], ids[1], is_remote=True, trace_flags=trace.TraceFlags(ids[2]))
        around = trace.set_span_in_context(trace.NonRecordingSpan(parent))
        attributes: dict[str, str | int] = {
            "messaging.system": "ostinato",
            "messaging.operation.type": "process",
            "messaging.destination.name": job.queue,
            "messaging.message.id": str(job.id),
            "ostinato.kind": job.kind,
            "ostinato.attempt": job.attempt,
            "ostinato.tenant_id": job.tenant_id,
            "ostinato.correlation_id": correlation_id,
        }
        with tracer.start_as_current_span(job.kind, context=around, attributes=attributes) as span:
            verdict = await execute(kind, ctx, threads, rng)
            span.set_attribute("ostinato.verdict", type(verdict).__name__.lower())
            if isinstance(verdict, Failed):
                span.set_status(trace.StatusCode.ERROR, verdict.failure.signature)
            return verdict

    return run
