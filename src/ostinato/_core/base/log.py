"""Structured logs: one event per line, bound to the job it is about, free of secrets.

    log = get_logger("worker")
    log.info("claimed", jobs=12, queue="mail")

    with bound(job_id=7, attempt=2):     # everything logged inside carries these, awaits included
        ...

Lines of libraries that log through `logging` have the same shape. As JSON, every line has all of
`FIELDS`, null where one does not apply, so that a collector can rely on the columns.
"""

import logging
import sys
from contextlib import AbstractContextManager
from typing import TextIO, cast

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

from ostinato._core.base import flow
from ostinato._core.base.redact import redact_value

__all__ = ["FIELDS", "FilteringBoundLogger", "be_quiet", "bound", "configure", "get_logger"]

FIELDS = (
    "timestamp",
    "level",
    "event_type",
    "correlation_id",
    "tenant_id",
    "request_id",
    "job_id",
    "http_status",
    "error_code",
    "error_message",
    "duration_ms",
)
"""The fields that every JSON line has, in this order, before the fields of its own event."""


def be_quiet() -> None:
    """Log warnings to stderr and nothing else, for programs that set up no logging.

    structlog by itself would print everything to stdout.
    """
    structlog.configure(
        # with plain tracebacks: the default ones print local variables, secrets included
        processors=[*_shared_processors(), *_renderer("console", sys.stderr)],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def configure(
    log_format: str = "auto", level: str = "info", *, stream: TextIO | None = None
) -> None:
    """Set up logging for this process; commands call it once, libraries never do.

    "auto" writes for people on a terminal and JSON anywhere else.
    """
    out = stream or sys.stderr
    threshold = logging.getLevelNamesMapping()[level.upper()]
    shared = _shared_processors()
    renderer = _renderer(log_format, out)
    structlog.configure(
        processors=[*shared, *renderer],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(out),
        # cached loggers would keep writing to the old stream after a second configure()
        cache_logger_on_first_use=False,
    )
    _route_stdlib(out, threshold, shared, renderer)


def get_logger(name: str, **values: object) -> FilteringBoundLogger:
    """A logger of the named part of Ostinato; `values` go with every line."""
    return cast("FilteringBoundLogger", structlog.get_logger(source=name, **values))


def bound(**values: object) -> AbstractContextManager[None]:
    """Add these values to every line logged in this block, in this task or thread."""
    return cast("AbstractContextManager[None]", structlog.contextvars.bound_contextvars(**values))


def _shared_processors() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        _flow_of,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="timestamp"),
        structlog.processors.StackInfoRenderer(),
        # as plain text: the structured tracebacks would print local variables, secrets included
        structlog.processors.format_exc_info,
        _redact_event,
    ]


def _renderer(log_format: str, out: TextIO) -> list[Processor]:
    for_people = log_format == "console" or (log_format == "auto" and out.isatty())
    if for_people:
        return [
            structlog.dev.ConsoleRenderer(
                colors=out.isatty(),
                timestamp_key="timestamp",
                exception_formatter=structlog.dev.plain_traceback,
            )
        ]
    return [_complete, structlog.processors.JSONRenderer()]


def _flow_of(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Add the tenant and the correlation id of the flow, unless the line has its own."""
    tenant_id, correlation_id = flow.current()
    if tenant_id is not None:
        event.setdefault("tenant_id", tenant_id)
    if correlation_id is not None:
        event.setdefault("correlation_id", correlation_id)
    return event


def _complete(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    event["event_type"] = event.pop("event", None)
    return {**dict.fromkeys(FIELDS), **event}


def _name_source(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    return {**event, "source": event["_record"].name}


def _redact_event(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    return {name: redact_value(name, value) for name, value in event.items()}


def _route_stdlib(
    out: TextIO, threshold: int, shared: list[Processor], renderer: list[Processor]
) -> None:
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[_name_source, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # other people's debug and info lines are noise unless someone asked for everything
    root.setLevel(threshold if threshold == logging.DEBUG else max(threshold, logging.WARNING))
    logging.captureWarnings(capture=True)


if not structlog.is_configured():  # a program's own set-up, made before or after, takes precedence
    be_quiet()
