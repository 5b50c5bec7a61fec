"""Structured logs: one event per line, bound to the job it is about, free of secrets.

    log = get_logger("worker")
    log.info("claimed", jobs=12, queue="mail")

    with bound(job_id=7, attempt=2):     # everything logged inside carries these, awaits included
        ...

Libraries that log through `logging` come out in the same shape. As JSON, every line has all of
`FIELDS`, null where it has nothing to say: a collector of the lines can count on the columns.

structlog is imported with the first line that is logged: it brings rich along, and is a third of
what `import ostinato` would cost.
"""

import json
import logging
import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, TextIO, cast

from ostinato._core.base import flow
from ostinato._core.base.redact import redact_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger
else:
    FilteringBoundLogger = Any  # for annotations only

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

PLAIN = frozenset({int, float, bool})
"""Of these no value is a secret."""
LONGEST_TEXT = 16_384
"""The characters of a field that a line has: more is what a caller sent, and would cost every reader."""


class _Logger:
    """A logger that imports structlog when it has something to say."""

    __slots__ = ("_made", "_values")

    def __init__(self, values: dict[str, object]) -> None:
        self._values = values
        self._made: Any = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the logger has it
        if self._made is None:
            self._made = _structlog().get_logger(**self._values)
        return getattr(self._made, name)


def _structlog() -> ModuleType:
    """Return the library. A program's own set-up of it, made before or after, wins over our quiet one."""
    import structlog  # noqa: PLC0415 - see above

    if not structlog.is_configured():
        _configure_quietly(structlog)
    return structlog


def be_quiet() -> None:
    """Log warnings to stderr and nothing else, for programs that set up no logging.

    structlog by itself would print everything to stdout.
    """
    _configure_quietly(_structlog())


def _configure_quietly(structlog: ModuleType) -> None:
    structlog.configure(
        # with plain tracebacks: the default ones print local variables, secrets included
        processors=[*_shared_processors(structlog), *_renderer(structlog, "console", sys.stderr)],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=_printing(structlog, None),
    )


def configure(log_format: str = "auto", level: str = "info", *, stream: TextIO | None = None) -> None:
    """Set up logging for this process; commands call it once, libraries never do.

    "auto" writes for people on a terminal and JSON anywhere else.
    """
    structlog = _structlog()
    out = stream or sys.stderr
    threshold = logging.getLevelNamesMapping()[level.upper()]
    shared = _shared_processors(structlog)
    renderer = _renderer(structlog, log_format, out)
    structlog.configure(
        processors=[*shared, *renderer],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=_printing(structlog, stream),
        # cached loggers would keep writing to the old stream after a second configure()
        cache_logger_on_first_use=False,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[_name_source, *shared],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderer],
    )
    _route_stdlib(out, threshold, formatter)


def _printing(structlog: ModuleType, stream: TextIO | None) -> "Callable[..., WrappedLogger]":
    """Return a function that prints lines to a stream; None means stderr, looked up at each line.

    A test that runs a command in its own process replaces stderr, and closes the replacement afterwards.
    """
    return lambda *_: structlog.PrintLogger(stream or sys.stderr)


def get_logger(name: str, **values: object) -> "FilteringBoundLogger":
    """Return a logger of the named part of Ostinato; `values` go with every line."""
    return cast("FilteringBoundLogger", _Logger({"source": name, **values}))


def bound(**values: object) -> AbstractContextManager[None]:
    """Add these values to every line that this task or thread logs in the block."""
    found: AbstractContextManager[None] = _structlog().contextvars.bound_contextvars(**values)
    return found


def _shared_processors(structlog: ModuleType) -> "list[Processor]":
    return [
        structlog.contextvars.merge_contextvars,
        _flow_of,
        structlog.processors.StackInfoRenderer(),
        # as plain text: the structured tracebacks would print local variables, secrets included
        structlog.processors.format_exc_info,
        _redact_event,
        # behind it: what these two add is our own, and need not be searched
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="timestamp"),
    ]


def _renderer(structlog: ModuleType, log_format: str, out: TextIO) -> "list[Processor]":
    for_people = log_format == "console" or (log_format == "auto" and out.isatty())
    if for_people:
        return [
            structlog.dev.ConsoleRenderer(
                colors=out.isatty(), timestamp_key="timestamp", exception_formatter=structlog.dev.plain_traceback
            )
        ]
    return [_complete, structlog.processors.JSONRenderer(_dumps)]


@lru_cache
def _encoder(default: "Callable[[Any], Any]") -> json.JSONEncoder:
    return json.JSONEncoder(default=default)


def _dumps(event: "EventDict", *, default: "Callable[[Any], Any]") -> str:
    """Write a line as JSON, with one encoder: `json.dumps` makes another one for each."""
    return _encoder(default).encode(event)


def _flow_of(_: "WrappedLogger", __: str, event: "EventDict") -> "EventDict":
    """Return whose work it is, and what it belongs to, unless the line says so itself."""
    tenant_id, correlation_id, _ = flow.current()
    if tenant_id is not None:
        event.setdefault("tenant_id", tenant_id)
    if correlation_id is not None:
        event.setdefault("correlation_id", correlation_id)
    return event


def _complete(_: "WrappedLogger", __: str, event: "EventDict") -> "EventDict":
    event["event_type"] = event.pop("event", None)
    return {**dict.fromkeys(FIELDS), **event}


def _name_source(_: "WrappedLogger", __: str, event: "EventDict") -> "EventDict":
    return {**event, "source": event["_record"].name}


def _redact_event(_: "WrappedLogger", __: str, event: "EventDict") -> "EventDict":
    return {
        name: value if value is None or type(value) in PLAIN else redact_value(name, value, LONGEST_TEXT)
        for name, value in event.items()
    }


def _route_stdlib(out: TextIO, threshold: int, formatter: logging.Formatter) -> None:
    handler = logging.StreamHandler(out)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # other people's debug and info lines are noise unless someone asked for everything
    root.setLevel(threshold if threshold == logging.DEBUG else max(threshold, logging.WARNING))
    logging.captureWarnings(True)  # noqa: FBT003 - its only argument
