"""An application has a name, and functions that are its jobs.

    app = App("billing")

    @app.job(queue="mail", retry=Retry(delays=(60, 300)), timeout=30)
    async def send_invoice(ctx: Context, invoice_id: int) -> None: ...

    await send_invoice.enqueue(conn, invoice_id=7)      # in the caller's transaction

The decorated name is a `JobKind`. It can still be called like the function, which is how a test
calls it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack, overload

from ostinato._core.base.alerts import Alert
from ostinato._core.base.backoff import Retry
from ostinato._core.base.errors import InvalidInput, NotFound
from ostinato._core.base.events import EventType, OnPoison, Start
from ostinato._core.db.foreign import Target
from ostinato._core.engine.queues import Queue
from ostinato._core.engine.schedules import Schedule
from ostinato._core.runtime.brokers import relays
from ostinato._core.runtime.brokers.broker import Address, Sourced
from ostinato._core.runtime.brokers.intakes import Intake, MessageArguments, delivering
from ostinato._core.runtime.handlers.batches import Batch
from ostinato._core.runtime.handlers.declared import Declared, Times, declared
from ostinato._core.runtime.handlers.events import Envelope, EventArguments, EventKind, Subscriber, Types
from ostinato._core.runtime.handlers.kinds import Given, JobKind, name_of, named_values
from ostinato._core.runtime.named import named

P = ParamSpec("P")
M = TypeVar("M")

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


class App:
    """A named set of kinds of jobs, and the limits of the queues that they use.

    What else an application brings is named as "module:NAME" and imported only by who needs it:
    `settings` the class of its settings, `commands` the function that adds its commands, `http` its
    router, `sql` its part of the schema, `metrics` its figures for Prometheus, `panels` what the
    console shows, `doctor` what it needs on this machine, `machines` its state machines, `standing` the
    function that counts the rows of a machine that no table of the database obeys, `sandbox` its stand-in for
    the outside world, `demo` its scenario, `secrets` a tuple of the columns whose values it seals; `alerts`,
    too, may be the name of a tuple. `locale` is the package whose folder `locale` has its texts in other
    languages, for the console. `jobs` names the modules that declare its kinds, events and schedules, so that
    importing the App itself stays cheap.
    """

    def __init__(
        self,
        name: str,
        *,
        queues: Sequence[Queue] = (),
        alerts: Sequence[Alert] | str = (),
        jobs: str | Sequence[str] = (),
        settings: str | None = None,
        commands: str | None = None,
        http: str | None = None,
        sql: str | None = None,
        sandbox: str | None = None,
        demo: str | None = None,
        metrics: str | None = None,
        panels: Sequence[str] = (),
        doctor: str | None = None,
        machines: Sequence[str] = (),
        standing: Mapping[str, str] | None = None,
        secrets: str | None = None,
        locale: str | None = None,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                f"an app cannot be named {name!r}",
                hint="Use lower-case letters, digits and underscores, starting with a letter.",
            )
        self.name = name
        self.queues = tuple(queues)
        self.settings = settings
        self.commands = commands
        self.http = http
        self.sql = sql
        self.sandbox = sandbox
        self.demo = demo
        self.metrics = metrics
        self.panels = tuple(panels)
        self.doctor = doctor
        self.machines = tuple(machines)
        self.standing = dict(standing or {})
        self.secrets = secrets
        self.locale = locale
        self._jobs = (jobs,) if isinstance(jobs, str) else tuple(jobs)
        self._kinds: dict[str, JobKind[Any]] = {}
        self._aliases: dict[str, JobKind[Any]] = {}
        self._reporters: list[Callable[[BaseException], object]] = []
        self._schedules: dict[str, Schedule] = {}
        self._events: dict[tuple[str, int], EventKind[Any]] = {}
        self._subscribers: dict[str, Subscriber] = {}
        self._intakes: dict[str, Intake] = {}
        self._brokers: set[str] = set()
        self._alerts: dict[str, Alert] = {}
        self._more_alerts = alerts if isinstance(alerts, str) else None
        for alert in () if isinstance(alerts, str) else alerts:
            self.alert(alert)

    def load(self) -> None:
        """Import the modules that declare its jobs; the properties below do so too."""
        # One that is being imported, by this thread, is there already as far as it has come.
        for module in self._jobs:
            import_module(module)

    @property
    def kinds(self) -> Mapping[str, JobKind[Any]]:
        """The kinds by their full names, such as "billing.send_invoice"."""
        self.load()
        return self._kinds

    @property
    def aliases(self) -> Mapping[str, JobKind[Any]]:
        """The kinds by the names that they had before."""
        self.load()
        return self._aliases

    @property
    def schedules(self) -> Sequence[Schedule]:
        """The schedules that are part of the app."""
        self.load()
        return tuple(self._schedules.values())

    def schedule(
        self,
        kind: JobKind[P],
        args: Given[P] | Mapping[str, object] | None = None,
        /,
        *,
        name: str | None = None,
        **times: Unpack[Times],
    ) -> Schedule:
        """Schedule a kind of this app at local times: app.schedule(digest, cron="0 8 * * MON").

        Every worker of the app writes its schedules when it starts, for the tenant "default". One
        that is no longer declared is not deleted: the log of a worker names it, and `ostinato
        schedules delete` removes it. The name is the kind's, unless `name` says otherwise.
        """
        made = declared(self.name, kind, name or kind.name, named_values(args or {}), times)
        if made.name in self._schedules:
            raise InvalidInput(
                f"app {self.name!r} has two schedules named {made.name!r}",
                hint='Give one of them a name: app.schedule(…, name="…").',
            )
        self._schedules[made.name] = made
        return made

    @overload
    def job(self, **options: Unpack[Declared]) -> Callable[[Callable[Concatenate[Any, P], Any]], JobKind[P]]: ...

    @overload
    def job(
        self, *, batch: int, **options: Unpack[Declared]
    ) -> Callable[[Callable[[Batch[Any]], Any]], JobKind[...]]: ...

    def job(
        self, *bare: object, batch: int | None = None, **options: Unpack[Declared]
    ) -> Callable[[Callable[..., Any]], JobKind[Any]]:
        """Make a function a kind of job, named `<app>.<function>` unless `name` says otherwise.

        It goes into `queue`, and is tried again as `retry` says. Lower `priority` runs first. `timeout` in
        seconds ends a handler that takes longer, as a failed attempt. A tenant may start jobs of a kind only
        if it is `open`: by `POST /jobs`, a schedule or plain SQL, with whatever arguments the handler takes,
        for itself. `aliases` are the names that it had before: their jobs run here. When its arguments change
        so that those of waiting jobs do not fit, give it the next `version`, and an `upgrade` that turns older
        ones into today's. With `batch`, the handler gets up to so many jobs at once, as a `Batch`.
        """
        if bare:
            raise InvalidInput(f"@app.job of app {self.name!r} lacks its parentheses", hint="Write: @app.job()")

        def decorate(handler: Callable[..., Any]) -> JobKind[Any]:
            chosen: dict[str, Any] = {option: value for option, value in options.items() if value is not None}
            named_so = chosen.pop("name", None) or f"{self.name}.{name_of(handler)}"
            kind: JobKind[Any] = JobKind(named_so, handler, batch=batch, **chosen)
            kind.reporters = self._reporters
            for each in (kind.name, *kind.aliases):
                if each in self._kinds or each in self._aliases:
                    raise InvalidInput(
                        f"app {self.name!r} has two kinds named {each!r}",
                        hint='Rename one of the functions, or give one a name: @app.job(name="…").',
                    )
                (self._kinds if each == kind.name else self._aliases)[each] = kind
            return kind

        return decorate

    def on_error(self, report: Callable[[BaseException], object]) -> None:
        """Call a function with each exception that ends an attempt: app.on_error(sentry_sdk.capture_exception).

        It runs in the worker, in the flow of the job, and should be quick; what it raises is logged.
        """
        self._reporters.append(report)

    @property
    def alerts(self) -> Sequence[Alert]:
        """The alerts that the app declares."""
        self.load()
        if self._more_alerts is not None:
            place, self._more_alerts = self._more_alerts, None
            for alert in named(place, tuple):
                self.alert(alert)
        return tuple(self._alerts.values())

    def alert(self, alert: Alert) -> Alert:
        """Declare an alert, which the engine evaluates: app.alert(Alert("billing.unpaid", …)).

        Every worker of the app declares its alerts when it starts; one that the app no longer has
        is resolved and forgotten then.
        """
        if alert.owner != self.name or alert.name in self._alerts:
            raise InvalidInput(
                f"app {self.name!r} cannot have the alert {alert.name!r}, or has one of that name",
                hint=f"Name it {self.name}.<what is wrong>, each once.",
            )
        self._alerts[alert.name] = alert
        return alert

    @property
    def events(self) -> Sequence[EventKind[Any]]:
        """The types of events that the app emits."""
        self.load()
        return tuple(self._events.values())

    @property
    def subscribers(self) -> Mapping[str, Subscriber]:
        """The subscriptions that the app handles, by name."""
        self.load()
        return self._subscribers

    @overload
    def event(self, name: str, *, version: int = 1) -> EventKind[Mapping[str, object]]: ...

    @overload
    def event(self, name: str, *, version: int = 1, payload: type[M]) -> EventKind[M]: ...

    def event(self, name: str, *, version: int = 1, payload: type[Any] | None = None) -> EventKind[Any]:
        """Declare a type of event that this app emits, and the shape of its payload."""
        if (name, version) in self._events:
            raise InvalidInput(
                f"app {self.name!r} has two events {name!r} of version {version}",
                hint="Give the changed one the next version.",
            )
        kind: EventKind[Any] = EventKind(self.name, EventType(name, version, payload))
        self._events[name, version] = kind
        return kind

    def on(
        self,
        *types: str,
        name: str | None = None,
        queue: str = "default",
        retry: Retry | None = None,
        timeout: float | None = None,
        tenant: str | None = None,
        on_poison: OnPoison = "skip",
        start: Start = "now",
    ) -> Callable[[Callable[[Any, Any], Any]], Subscriber]:
        """Make a function the handler of a subscription, named `<app>.<function>` unless named.

        It gets the context and the event, at least once, in order for each key. Each event is a job
        of its own, in `queue`. A new subscription begins at `start`.
        """

        def decorate(handler: Callable[[Any, Any], Any]) -> Subscriber:
            subscriber = Subscriber(
                name=name or f"{self.name}.{name_of(handler)}",
                types=types,
                handler=handler,
                known=Types(self._events),
                retry=retry or Retry(),
                timeout=timeout,
                tenant=tenant,
                on_poison=on_poison,
                start=start,
            )
            if subscriber.name in self._subscribers or subscriber.name in self._kinds:
                raise InvalidInput(
                    f"app {self.name!r} has two handlers named {subscriber.name!r}",
                    hint='Give one a name of its own: @app.on("…", name="…").',
                )
            self._subscribers[subscriber.name] = subscriber
            made = self.job(name=subscriber.name, queue=queue, retry=retry, timeout=timeout)
            kind = made(subscriber.deliver)
            kind.arguments, kind.is_event = EventArguments(subscriber), True
            return subscriber

        return decorate

    def relay(
        self,
        *types: str,
        to: Address,
        name: str,
        queue: str = relays.QUEUE.name,
        retry: Retry | None = None,
        tenant: str | None = None,
        on_poison: OnPoison = "skip",
        start: Start = "now",
    ) -> Subscriber:
        """Publish events of these types to a broker, as CloudEvents: at least once, in order for each key.

        It is a subscription, named `<app>.<name>`. While the broker is away its events wait, and use up no
        attempts.
        """
        if queue == relays.QUEUE.name and relays.QUEUE not in self.queues:
            self.queues = (*self.queues, relays.QUEUE)
        made = self.on(
            *types,
            name=f"{self.name}.{name}",
            queue=queue,
            retry=retry,
            tenant=tenant,
            on_poison=on_poison,
            start=start,
        )
        subscriber = made(relays.publishing(to))
        self._brokers.add(to.kind)
        return subscriber

    def on_message(
        self,
        source: Sourced,
        *,
        name: str | None = None,
        queue: str = "default",
        retry: Retry | None = None,
        timeout: float | None = None,
        tenant: str | None = "default",
        payload: type[Any] | None = None,
    ) -> Callable[[Callable[[Any, Any], Any]], JobKind[Any]]:
        """Make a function the handler of messages from a broker, named `<app>.<function>` unless named.

        Each message, a CloudEvent, is one job, however often it comes; the broker gets its acknowledgement after
        the commit that added the job. The handler gets the context and the `Message`. `tenant` says whose the
        messages are; None lets each say so, by its attribute `tenantid`: then its sender chooses.
        `payload` is the type of its data.
        """

        def decorate(handler: Callable[[Any, Any], Any]) -> JobKind[Any]:
            named_so = name or f"{self.name}.{name_of(handler)}"
            deliver = delivering(handler)
            kind = self.job(name=named_so, queue=queue, retry=retry, timeout=timeout)(deliver)
            kind.arguments = MessageArguments(named_so, deliver, payload)
            self._intakes[named_so] = Intake(named_so, source, kind, tenant)
            self._brokers.add(source.kind)
            return kind

        return decorate

    @property
    def intakes(self) -> Sequence[Intake]:
        """Where the app takes messages from."""
        self.load()
        return tuple(self._intakes.values())

    @property
    def brokers(self) -> frozenset[str]:
        """The kinds of brokers that the app needs."""
        self.load()
        return frozenset(self._brokers)

    async def emit(
        self, to: Target, name: str, payload: Mapping[str, object], *, version: int = 1, **envelope: Unpack[Envelope]
    ) -> int:
        """Emit an event by the name of its type, which must be declared, and return its id."""
        self.load()
        kind = self._events.get((name, version))
        if kind is None:
            known = ", ".join(f"{key} ({number})" for key, number in self._events)
            raise NotFound(
                f"app {self.name!r} declares no event {name!r} of version {version}",
                hint=f"Declare it with app.event(…). It has: {known or 'none'}.",
            )
        return await kind.emit(to, payload, **envelope)

    def __getitem__(self, kind: str) -> JobKind[Any]:
        try:
            return self.kinds[kind] if kind in self.kinds else self._aliases[kind]
        except KeyError:
            raise NotFound(
                f"app {self.name!r} has no kind {kind!r}", hint=f"It has: {', '.join(self._kinds) or 'none'}."
            ) from None

    def __repr__(self) -> str:
        return f"<App {self.name}: {', '.join(self._kinds) or 'no kinds'}>"
