"""The span that this code runs in, as a text that travels with a job (W3C Trace Context)."""

import sys


def current_traceparent() -> str | None:
    """Return the current span of OpenTelemetry; None where there is none, or where the program does not use it."""
    # A program with spans has imported it; asking costs others a look-up.
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    span = trace.get_current_span().get_span_context()
    if not span.is_valid:
        return None
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{int(span.trace_flags):02x}"
