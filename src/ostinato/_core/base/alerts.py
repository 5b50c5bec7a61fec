"""Alerts declare a watched value, the threshold from which it is bad, and the remedy.

    FAILING = Alert(
        "billing.failing",
        function="billing.failure_rates",         # returns (label text, value double precision)
        parameters={"window": "1 hour"},           # its arguments, by name
        above=0.1, clear=0.05, for_seconds=300,
        severity="critical",
        message="{label}: {value} of the payments of the last {window} failed",
        remedy="`ostinato alerts show billing.failing`; see the bank's status page.",
    )
    APP = App("billing", alerts=(FAILING,))

A value comes from a figure of the engine (`ostinato.observe()`, declared in `base.metrics`) or from
a function of the application in SQL. Each label that it returns is evaluated by itself. The engine
evaluates (`engine.alerts`); nothing here touches a database.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, get_args

from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.metrics import (
    ENGINE_GAUGES,
    EXPIRED_WORKERS,
    FAULTS,
    QUARANTINED,
    QUEUE_DEAD,
    QUEUE_OLDEST,
    SUBSCRIPTION_LAG,
    WORKERS,
    Gauge,
)

Severity = Literal["info", "warning", "critical"]
"""How bad it is when an alert fires."""
Parameter = str | int | float | bool
"""A value that an alert hands to its SQL function."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""All severities, the mildest first."""
FIRED, RESOLVED = "alert.fired", "alert.resolved"
"""The type of the event that is emitted when an alert fires, or when it is resolved."""

ENGINE_OWNER = "ostinato"
"""The owner of the engine's own alerts."""
LONGEST_NAME = 80
LONGEST_TEXT = 500
PREFIX = "ostinato_"

_NAME = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+")
_FUNCTION = re.compile(r"[a-z_][a-z0-9_]{0,62}\.[a-z_][a-z0-9_]{0,62}")
_PARAMETER = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_PLACE = re.compile(r"\{([^{}]*)\}")
_OWN_PLACES = frozenset({"label", "value", "threshold"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A watched value; events report when it was bad for a while, and when it is good again."""

    name: str = field(kw_only=False)
    """Such as "billing.failing": the app's name, a dot, and what is wrong."""
    message: str
    """What is wrong, for people; {label}, {value}, {threshold} and parameters are filled in."""
    remedy: str
    """What to do about it."""
    message_one: str | None = None
    """The message when the value is exactly 1, such as "1 dead letter"; None means `message`."""
    severity: Severity = "warning"
    figure: Gauge | None = None
    """The figure of the engine that is measured; one of `ENGINE_GAUGES`."""
    function: str | None = None
    """Or the function that measures, as "schema.name"; it returns (label text, value double
    precision), one row for each thing that is judged by itself."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict, hash=False)
    """Arguments of the function, by name."""
    labels: tuple[str, ...] = ()
    """Only these labels, such as the queues of the application; empty means all."""
    above: float | None = None
    """It is bad above this value (and not at it)."""
    below: float | None = None
    """Or it is bad below this value."""
    clear: float | None = None
    """It is good again when the value is back at this one; None means at the threshold."""
    for_seconds: float = 0.0
    """It fires when it has been bad for this long; 0 means at once."""
    clear_seconds: float = 0.0
    """It is resolved when it has been good for this long; 0 means at once."""
    tenant: str | None = "default"
    """The tenant that gets the alert's events and sees it over HTTP. None means that each label is
    the name of a tenant, which gets the events of its own label."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or len(self.name) > LONGEST_NAME:
            raise InvalidInput(
                f"an alert cannot be named {self.name!r}",
                hint="Use the app's name, a dot, and lower-case words: billing.failing.",
            )
        if self.severity not in SEVERITIES:
            raise self._wrong(f"severity {self.severity!r}", f"Use one of {', '.join(SEVERITIES)}.")
        self._check_source()
        self._check_condition()
        self._check_texts()
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "labels", tuple(self.labels))

    @property
    def owner(self) -> str:
        """The app that declares it."""
        return self.name.partition(".")[0]

    @property
    def threshold(self) -> float:
        """The value beyond which it is bad."""
        return self.above if self.above is not None else self.below or 0.0

    @property
    def clears_at(self) -> float:
        """The value at which it is good again."""
        return self.threshold if self.clear is None else self.clear

    @property
    def comparison(self) -> Literal[">", "<"]:
        """On which side of the threshold it is bad."""
        return "<" if self.above is None else ">"

    @property
    def figure_name(self) -> str | None:
        """The name of the figure in `ostinato.observe()`."""
        return None if self.figure is None else self.figure.name.removeprefix(PREFIX)

    @property
    def condition(self) -> str:
        """What is measured and when it is bad, in one line."""
        lasting = f" for {self.for_seconds:g} s" if self.for_seconds else ""
        return f"{self.figure_name or self.function} {self.comparison} {self.threshold:g}{lasting}"

    def _check_source(self) -> None:
        if (self.figure is None) is (self.function is None):
            raise self._wrong("no source, or two", "Give figure= or function=, one of them.")
        if self.figure is not None and (self.figure not in ENGINE_GAUGES or self.parameters):
            raise self._wrong(
                f"figure {self.figure.name} and parameters {dict(self.parameters)}",
                "Use a gauge of base.metrics.ENGINE_GAUGES; parameters are for functions.",
            )
        if self.function is not None and not _FUNCTION.fullmatch(self.function):
            raise self._wrong(f"function {self.function!r}", 'Name it as "schema.name".')
        for name, value in self.parameters.items():
            if not _PARAMETER.fullmatch(name) or not isinstance(value, str | int | float):
                raise self._wrong(
                    f"parameter {name!r} = {value!r}",
                    "Parameters are the function's own, by name; values are text or numbers.",
                )

    def _check_condition(self) -> None:
        if (self.above is None) is (self.below is None):
            raise self._wrong("no threshold, or two", "Give above= or below=, one of them.")
        if not all(math.isfinite(number) for number in (self.threshold, self.clears_at)):
            raise self._wrong("a threshold without end", "Use plain numbers.")
        side = 1 if self.comparison == ">" else -1
        if side * self.clears_at > side * self.threshold:
            raise self._wrong(
                f"clear {self.clears_at:g} on the bad side of {self.threshold:g}",
                "It clears at the threshold, or on the good side of it.",
            )
        for seconds in (self.for_seconds, self.clear_seconds):
            if not 0 <= seconds < math.inf:
                raise self._wrong(f"a duration of {seconds:g} s", "Use seconds, 0 or more.")

    def _check_texts(self) -> None:
        messages = [text for text in (self.message, self.message_one) if text is not None]
        for text in (*messages, self.remedy):
            if not 1 <= len(text) <= LONGEST_TEXT:
                raise self._wrong(f"a text of {len(text)} characters", f"Message and remedy have 1 to {LONGEST_TEXT}.")
        known = _OWN_PLACES | self.parameters.keys()
        unknown = [place for text in messages for place in _PLACE.findall(text) if place not in known]
        if unknown:
            raise self._wrong(
                f"{{{unknown[0]}}} in its message", f"Known are {', '.join(f'{{{place}}}' for place in sorted(known))}."
            )

    def _wrong(self, what: str, hint: str) -> InvalidInput:
        return InvalidInput(f"alert {self.name} has {what}", hint=hint, alert=self.name)


ENGINE_ALERTS: tuple[Alert, ...] = (
    Alert(
        "ostinato.dead_letters",
        figure=QUEUE_DEAD,
        above=0,
        message="queue {label} has {value} dead letters",
        message_one="queue {label} has {value} dead letter",
        remedy="`ostinato jobs dead` says what killed them; `ostinato jobs redrive` retries.",
    ),
    Alert(
        "ostinato.no_workers",
        figure=WORKERS,
        below=1,
        for_seconds=60,
        severity="critical",
        message="no worker is alive: nothing runs",
        remedy="Start one: `ostinato worker`; `ostinato workers` lists who was heard of.",
    ),
    Alert(
        "ostinato.silent_workers",
        figure=EXPIRED_WORKERS,
        above=0,
        for_seconds=30,
        message="{value} workers are silent, and nobody took back their jobs",
        message_one="{value} worker is silent, and nobody took back its jobs",
        remedy="`ostinato workers` names them; a living worker takes their jobs back by itself.",
    ),
    Alert(
        "ostinato.queue_age",
        figure=QUEUE_OLDEST,
        above=900,
        clear=300,
        for_seconds=60,
        message="the oldest ready job of queue {label} has waited for {value} s",
        remedy="`ostinato why JOB` says why; add workers, or raise the queue's limits.",
    ),
    Alert(
        "ostinato.outbox_lag",
        figure=SUBSCRIPTION_LAG,
        above=300,
        clear=60,
        for_seconds=60,
        message="subscription {label} is {value} s behind",
        remedy="`ostinato events subscriptions` shows who is behind and what is buried.",
    ),
    Alert(
        "ostinato.quarantine",
        figure=QUARANTINED,
        above=0,
        severity="critical",
        message="{value} jobs are set aside: their rows are missing or damaged",
        message_one="{value} job is set aside: its row is missing or damaged",
        remedy="`ostinato doctor` names them; repair the rows, then `ostinato.restore_job`.",
    ),
    Alert(
        "ostinato.faults",
        figure=FAULTS,
        above=0,
        for_seconds=60,
        message="{value} parts of the workers' polls fail",
        message_one="{value} part of the workers' polls fails",
        remedy="`ostinato doctor` has the errors; the other parts go on meanwhile.",
    ),
    Alert(
        "ostinato.unrun_kinds",
        function="ostinato.unrun_kind_jobs",
        above=0,
        for_seconds=300,
        message="no worker runs the kind {label}: {value} of its jobs wait",
        message_one="no worker runs the kind {label}: {value} of its jobs waits",
        remedy="Start a worker that declares it, or rename its jobs: an alias, or `ostinato jobs rekind`.",
    ),
    Alert(
        "ostinato.alert_source",
        function="ostinato.alert_failures",
        above=0,
        message="alert {label} cannot be measured: its source failed {value} times in a row",
        message_one="alert {label} cannot be measured: its source failed once",
        remedy="`ostinato alerts show NAME` has the error; fix its function.",
    ),
)
"""What the engine watches by itself."""
