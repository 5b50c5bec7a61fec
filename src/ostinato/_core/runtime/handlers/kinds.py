"""A kind of job is a function of an app: its name, its arguments, and how its jobs run.

Its handler, its policy, and its arguments as the handler's type hints describe them.
"""

import copy
import inspect
import json
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Annotated, Any, Generic, ParamSpec, Union, Unpack, get_args, get_origin

import pydantic
from psycopg import AsyncConnection

from ostinato._core.base.backoff import Retry
from ostinato._core.base.errors import InvalidInput
from ostinato._core.base.jsonio import dump_args
from ostinato._core.base.vault import Secret
from ostinato._core.db.call import call_now
from ostinato._core.db.foreign import SyncTarget, Target, connection_of, sync_connection_of
from ostinato._core.db.sqlstate import translated
from ostinato._core.engine import jobs
from ostinato._core.engine.jobs import MAX_ARGS_BYTES, NewJob
from ostinato._core.runtime.handlers.batches import described, item_of
from ostinato._core.runtime.handlers.options import TEXT, Options, chosen, new_job, refuse_other, refuse_unknown
from ostinato._core.runtime.handlers.structs import storable_hint

__all__ = ["MAX_ARGS_BYTES", "Arguments", "Handler", "JobKind", "Upgrade"]

P = ParamSpec("P")
Handler = Callable[..., Any]
Upgrade = Callable[[int, dict[str, Any]], dict[str, Any]]
"""Takes the version and the arguments of an older job, as JSON has them, and returns those of today."""

SLOT = "scheduled_for"
VERSION = "$v"
"""Where the arguments of a kind of version 2 or later say theirs."""
_SOME_SLOT = {"schedule": "-", "key": None, "local": "2026-01-01T00:00:00", "zone": "UTC", "at": "2026-01-01T00:00:00Z"}
MISSING, UNKNOWN = "missing", "extra_forbidden"
"""Faults of arguments, as pydantic names them."""
DECLARED: Mapping[str, tuple[type, str]] = {
    "queue": TEXT,
    "priority": (Integral, "a whole number"),
    "retry": (Retry, "a policy, such as Retry(max_attempts=3)"),
    "timeout": (Real, "seconds"),
}
LEAST_PRIORITY, MOST_PRIORITY = -32_768, 32_767


@dataclass(frozen=True, slots=True)
class Given(Generic[P]):
    """The arguments of one job by name, as `kind.args(…)` makes them."""

    values: dict[str, object]


def named_values(given: Given[Any] | Mapping[str, object]) -> Mapping[str, object]:
    """Return the arguments by name."""
    return given.values if isinstance(given, Given) else given


class Arguments:
    """The arguments of a handler: checked when a job is enqueued, and again when it runs."""

    def __init__(self, kind: str, handler: Handler, version: int = 1, upgrade: Upgrade | None = None) -> None:
        self.kind = kind
        if version < 1 or (upgrade is not None and version == 1):
            raise InvalidInput(
                f"{kind} cannot have version {version}" + (" and an upgrade" if upgrade else ""),
                hint="Versions start with 1; an upgrade is for a kind of version 2 or later.",
                kind=kind,
            )
        self._version = version
        self._upgrade = upgrade
        self.signature = _signature(kind, handler)
        fields: dict[str, Any] = {}
        for parameter in list(self.signature.parameters.values())[1:]:
            default = ... if parameter.default is parameter.empty else parameter.default
            hint = Any if parameter.annotation is parameter.empty else storable_hint(parameter.annotation)
            # Aliased, because a model refuses fields that start with an underscore or hide its own
            # names.
            fields[f"arg_{parameter.name}"] = (hint, pydantic.Field(default, alias=parameter.name))
        parameters = list(self.signature.parameters.values())[1:]
        self.secrets = frozenset(each.name for each in parameters if _is_secret(kind, each))
        """The names of the arguments that are sealed in the job."""
        self._names = {f"arg_{name}": name for name in list(self.signature.parameters)[1:]}
        config = pydantic.ConfigDict(
            extra="forbid",
            allow_inf_nan=False,
            ser_json_inf_nan="constants",
            ser_json_bytes="base64",
            val_json_bytes="base64",
            arbitrary_types_allowed=False,
        )
        try:
            self._model = pydantic.create_model(kind, __config__=config, **fields)
        except pydantic.errors.PydanticUserError as error:
            raise InvalidInput(
                f"the arguments of {kind} cannot be stored as JSON: {error.message}",
                hint="Use JSON-like types: str, int, float, bool, None, list, dict, datetime, UUID,"
                " Decimal, Enum, bytes, dataclasses, models of pydantic and msgspec.",
                kind=kind,
            ) from error
        self._validator = self._model.__pydantic_validator__
        self._serializer = self._model.__pydantic_serializer__

    def schema(self) -> str:
        """Return the JSON schema of the arguments."""
        return json.dumps(self._model.model_json_schema())

    def dump(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> str:
        """Check the arguments of a call, and write them as JSON text."""
        return self.dump_values(self.by_name(args, kwargs) if args else kwargs)

    def by_name(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments of a call by their names."""
        try:
            bound = self.signature.bind(None, *args, **kwargs)
        except TypeError as error:
            raise InvalidInput(f"{self.kind}: {error}", hint=self._usage(), kind=self.kind) from None
        return dict(list(bound.arguments.items())[1:])

    def dump_values(self, values: Mapping[str, object]) -> str:
        """Check named arguments, and write them as JSON text."""
        try:
            checked = self._validator.validate_python(dict(values))
            raw = self._serializer.to_json(checked, by_alias=True)
            if self.secrets:
                raw = self._with_secrets(raw, checked.__dict__)
        except pydantic.ValidationError as error:
            raise self._invalid(error) from None
        except (pydantic.PydanticUserError, ValueError, TypeError):
            return dump_args(dict(values), MAX_ARGS_BYTES)  # names the place that cannot be stored
        if self._version > 1:
            raw = b'{"%s":%d%s' % (VERSION.encode(), self._version, b"," + raw[1:] if len(raw) > 2 else b"}")  # noqa: PLR2004 - more than {}
        if len(raw) > MAX_ARGS_BYTES or b"\\u0000" in raw or b"NaN" in raw or b"Infinity" in raw:
            dump_args(json.loads(raw), MAX_ARGS_BYTES)
        return str(raw, "utf-8")

    def dump_scheduled(self, values: Mapping[str, object]) -> str:
        """Check the arguments of a schedule, and write them as JSON text; the slot is added when it fires."""
        if SLOT not in self.signature.parameters:
            return self.dump_values(values)
        whole: dict[str, Any] = json.loads(self.dump_values({**values, SLOT: _SOME_SLOT}))
        return dump_args({name: whole[name] for name in whole if name != SLOT}, MAX_ARGS_BYTES)

    def _with_secrets(self, raw: bytes, values: Mapping[str, Any]) -> bytes:
        """Return the arguments with those that pydantic hides: they are sealed where the job is added."""
        whole = json.loads(raw)
        for name in self.secrets:
            value = values[f"arg_{name}"]
            whole[name] = value.get_secret_value() if isinstance(value, pydantic.SecretStr) else value
        return json.dumps(whole).encode()

    def load(self, text: str) -> dict[str, Any]:
        """Read the keyword arguments of the handler from JSON text."""
        return self._read(self._today(text) if self._version > 1 or text.startswith(f'{{"{VERSION}"') else text)

    def _read(self, text: str) -> dict[str, Any]:
        try:
            values: dict[str, Any] = self._validator.validate_json(text).__dict__
        except pydantic.ValidationError as error:
            plain = None if SLOT in self.signature.parameters else _without_slot(text)
            if plain is None:
                raise self._invalid(error) from None
            return self._read(plain)
        return {name: values[field] for field, name in self._names.items()}

    def _today(self, text: str) -> str:
        """Return the arguments without their version, upgraded if they are older than the handler."""
        values = json.loads(text)
        written = values.pop(VERSION, 1)
        if type(written) is not int or written > self._version:
            raise InvalidInput(
                f"a job of {self.kind} has arguments of version {written!r:.20}, this worker knows up to"
                f" {self._version}",
                hint="Start workers with the newer code, then retry the job.",
                kind=self.kind,
            )
        if written < self._version and self._upgrade is not None:
            values = self._upgrade(written, values)
        return dump_args(values, MAX_ARGS_BYTES)

    def _invalid(self, error: pydantic.ValidationError) -> InvalidInput:
        found = error.errors(include_input=False, include_url=False)
        faults = [_said(fault["type"], ".".join(str(part) for part in fault["loc"]), fault["msg"]) for fault in found]
        hint = self._usage()
        extra = {str(fault["loc"][-1]) for fault in found if fault["type"] == UNKNOWN}
        if misplaced := sorted(extra & Options.__annotations__.keys()):
            name = misplaced[0]
            hint += f" Options stand apart: {self.kind.rpartition('.')[2]}.options({name}=…).enqueue(…)."
        return InvalidInput(
            f"{self.kind} got bad arguments: {'; '.join(faults[:5])}", hint=hint, kind=self.kind, faults=faults[:20]
        )

    def _usage(self) -> str:
        parameters = list(self.signature.parameters.values())[1:]
        return f"It takes: {', '.join(str(parameter) for parameter in parameters) or 'no arguments'}."


@dataclass
class JobKind(Generic[P]):
    """A kind of job. `enqueue` takes the handler's own arguments, without the context."""

    name: str
    handler: Handler
    queue: str = "default"
    priority: int = 0
    retry: Retry = field(default_factory=Retry)
    timeout: float | None = None
    open: bool = False
    """Whether a tenant may start such jobs itself, with whatever arguments the handler takes."""
    aliases: tuple[str, ...] = ()
    """The names that it had before: jobs of these names, and callers who still use them, reach this handler."""
    version: int = 1
    upgrade: Upgrade | None = field(default=None, repr=False)
    batch: int | None = None
    """How many of its jobs one call of the handler works on at the most (`batches`)."""
    item: type[Any] | None = field(init=False, default=None, repr=False)
    arguments: Arguments = field(init=False, repr=False)
    is_async: bool = field(init=False, repr=False)
    is_event: bool = field(init=False, default=False, repr=False)
    """Its jobs are events, made by the engine (`handlers.events`)."""
    chosen: Options = field(default_factory=Options, repr=False)
    reporters: list[Callable[[BaseException], object]] = field(default_factory=list, repr=False)
    """What is called with each error of its handler: that of its app (`App.on_error`)."""

    def __post_init__(self) -> None:
        given: object = self.aliases
        if isinstance(given, str):
            raise InvalidInput(f"aliases of {self.name} is one text, not several", hint=f"Write: aliases=({given!r},)")
        self.aliases = tuple(self.aliases)
        for name, (wanted, said) in DECLARED.items():
            refuse_other(f"{name} of {self.name}", getattr(self, name), wanted, said)
        if self.timeout is not None and self.timeout <= 0:
            raise InvalidInput(
                f"timeout of {self.name} must be positive, got {self.timeout}", hint="Leave it out for no limit."
            )
        if not LEAST_PRIORITY <= self.priority <= MOST_PRIORITY:
            raise InvalidInput(
                f"priority of {self.name} must be from -32768 to 32767, got {self.priority}",
                hint="Lower runs first; 0 is usual.",
            )
        taking = self.handler
        if self.batch is not None:
            self.item = item_of(self.name, self.handler, self.batch)
            taking = described(self.item)
        self.arguments = Arguments(self.name, taking, self.version, self.upgrade)
        self.is_async = inspect.iscoroutinefunction(inspect.unwrap(self.handler))

    def __call__(self, ctx: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401
        """Call the handler directly, as a test does."""
        return self.handler(ctx, *args, **kwargs)

    def options(self, **options: Unpack[Options]) -> "JobKind[P]":
        """Return the same kind with other options for the next jobs: when, where, for whom."""
        refuse_unknown(self.name, options)
        changed = copy.copy(self)
        changed.chosen = self.chosen | options
        return changed

    async def enqueue(self, to: Target, /, *args: P.args, **kwargs: P.kwargs) -> int:
        """Add a job and return its id.

        In the transaction of a connection, or through a client in one of its own.
        """
        opening = connection_of(to)  # first: a call without the connection gave the arguments in its place
        text = self.arguments.dump(args, kwargs)
        async with opening as conn:
            return await jobs.enqueue(conn, await self.new(conn, text))

    def enqueue_sync(self, to: SyncTarget, /, *args: P.args, **kwargs: P.kwargs) -> int:
        """Add a job in sync code: in the transaction of psycopg, SQLAlchemy or Django that it is given."""
        conn = sync_connection_of(to)
        text = self.arguments.dump(args, kwargs)
        now = None
        if self.chosen.get("delay") is not None:
            with translated():
                ((now,),) = call_now(conn, "now")
        return jobs.enqueue_sync(conn, chosen(self._plain(text), self.chosen, now))

    def args(self, *args: P.args, **kwargs: P.kwargs) -> Given[P]:
        """Return arguments of this kind, checked by type checkers: for `enqueue_many`, and for schedules."""
        return Given(self.arguments.by_name(args, kwargs))

    async def enqueue_many(
        self, to: Target, arguments: Iterable[Given[P]] | Iterable[Mapping[str, object]]
    ) -> list[int]:
        """Add a job for each set of named arguments, in one statement; returns the ids in order.

        A type checker checks what `kind.args(…)` makes; a mapping is checked here only.
        """
        texts = [self.arguments.dump_values(named_values(values)) for values in arguments]
        async with connection_of(to) as conn:
            job = await self.new(conn, "{}")
            return await jobs.enqueue_many(conn, [replace(job, args=text) for text in texts])

    async def new(self, conn: AsyncConnection[Any], args: str) -> NewJob:
        """Return a job of this kind with its options; `args` is JSON text that was checked."""
        job = self._plain(args)
        return await new_job(conn, job, self.chosen) if self.chosen else job

    def _plain(self, args: str) -> NewJob:
        return NewJob(self.name, args, self.queue, self.priority, secret_args=self.arguments.secrets)


def _said(fault: str, name: str, message: str) -> str:
    """Return what is wrong with an argument; the value may be a secret, and is not repeated."""
    if fault == MISSING:
        return f"{name} is missing"
    if fault == UNKNOWN:
        return f"there is no argument {name}"
    return f"{name or 'args'}: {message}"


def _without_slot(text: str) -> str | None:
    """Return the arguments without the slot that a schedule put at their end; None: there is none."""
    head, found, tail = text.rpartition(f'"{SLOT}":')
    try:
        alone = bool(found) and len(json.loads(f'{{"{SLOT}":{tail}')) == 1
    except ValueError:
        alone = False
    return f"{head.rstrip().removesuffix(',')}}}" if alone else None


def _is_secret(kind: str, parameter: inspect.Parameter) -> bool:
    """Return whether an argument is marked as secret; then it must be text, because text is what is sealed."""
    hint = parameter.annotation
    plain, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    marked = any(each is Secret or isinstance(each, Secret) for each in marks)
    kinds = set(get_args(plain) if get_origin(plain) in (Union, types.UnionType) else (plain,)) - {types.NoneType}
    if not marked and pydantic.SecretStr not in kinds:
        return False
    if not kinds <= {str, pydantic.SecretStr} or type(parameter.default) is str:
        raise InvalidInput(
            f"the secret argument {parameter.name} of {kind} must be text, without a text for a default",
            hint="Write: token: Annotated[str, Secret()], or: token: Annotated[str | None, Secret()] = None.",
            kind=kind,
        )
    return True


def _signature(kind: str, handler: Handler) -> inspect.Signature:
    """Return the handler's signature with its hints resolved; the first parameter is the context."""
    try:
        signature = inspect.signature(handler, eval_str=True)
    except NameError as error:
        raise InvalidInput(
            f"a type hint of {kind} cannot be resolved: {error}",
            hint="Import the type at module level, outside `if TYPE_CHECKING`.",
        ) from error
    parameters = list(signature.parameters.values())
    odd = [
        p.name
        for p in parameters
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) or (p.kind is p.POSITIONAL_ONLY and p is not parameters[0])
    ]
    if not parameters or odd:
        raise InvalidInput(
            f"{kind} must take the context first and then named arguments only"
            + (f", not {', '.join(odd)}" if odd else ""),
            hint="Write: async def handler(ctx, invoice_id: int, …).",
            kind=kind,
        )
    return signature


def name_of(handler: Handler) -> str:
    """Return the name of a function that is to be a handler."""
    name = getattr(handler, "__name__", "")
    if not name or name == "<lambda>":
        raise InvalidInput(f"{handler!r} has no name", hint='Use @app.job(name="app.verb").')
    return str(name)
