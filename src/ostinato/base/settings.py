"""Every setting of Ostinato, declared once.

A value comes from the first of these that has one:

    1. a flag of the command            --concurrency 200
    2. the environment                  OSTINATO_CONCURRENCY=200
    3. the file `ostinato.toml`         concurrency = 200
    4. the default declared below

Unset is not the same as default: a flag that was not given never hides what the file says.
Nothing here is global: a command calls `load` once and hands the result down.
"""

import dataclasses
import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_type_hints

from ostinato.base.errors import InvalidInput, SettingsError
from ostinato.base.redact import redact
from ostinato.base.safeurl import parse_allowed

__all__ = ["ENV_PREFIX", "FILE_NAME", "Settings", "load"]

ENV_PREFIX: Final = "OSTINATO_"
FILE_NAME: Final = "ostinato.toml"
# the test suite and the benchmarks have switches of their own, which are no settings
_RESERVED_PREFIXES = ("OSTINATO_TEST_", "OSTINATO_BENCH_")

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
_DAY = 86_400.0


def _setting(
    default: Any,  # noqa: ANN401 - the field's own annotation says the type
    description: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:  # noqa: ANN401 - as above
    metadata = {"description": description, "low": low, "high": high, "choices": choices}
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Settings:
    """How this process runs. Checked when made: an instance is always usable."""

    database_url: str | None = _setting(
        None, "PostgreSQL 15 to 18 as a URL, several hosts included. Unset: the embedded server."
    )
    admin_url: str | None = _setting(
        None, "URL that migrations use, of a role that may create. Unset: `database_url`."
    )
    listen_url: str | None = _setting(
        None,
        "Direct URL for the one LISTEN connection. Unset: `database_url`; if pooled, only polling.",
    )
    pooled: bool = _setting(
        default=False, description="`database_url` leads to a transaction-mode pooler (PgBouncer)."
    )
    data_dir: str = _setting(".ostinato", "Folder of the embedded server.")
    beat_seconds: float = _setting(
        5.0, "Time between two heartbeats of a worker.", low=0.01, high=_DAY
    )
    expiry_seconds: float = _setting(
        15.0, "A worker that was not heard of for this long is dead.", low=0.03, high=_DAY
    )
    poll_seconds: float = _setting(
        1.5, "Longest time between two looks for work when no doorbell rings.", low=0.01, high=3600
    )
    concurrency: int = _setting(
        100, "Jobs that one worker process runs at the same time.", low=1, high=100_000
    )
    handler_connections: int = _setting(
        10, "Connections that the handlers of one worker process share.", low=1, high=10_000
    )
    prefetch: int = _setting(
        500, "Jobs that one worker process claims ahead at most.", low=1, high=100_000
    )
    drain_seconds: float = _setting(
        30.0, "Time that running jobs get to finish after SIGTERM.", low=0, high=_DAY
    )
    cancel_grace_seconds: float = _setting(
        10.0, "Time between asking a running job to stop and stopping it.", low=0, high=_DAY
    )
    max_crashes: int = _setting(
        3, "Times a job may take its process down before it is a dead letter.", low=1, high=1000
    )
    max_args_bytes: int = _setting(
        262_144, "Largest arguments of one job, as JSON.", low=2, high=64 * 1024 * 1024
    )
    retention_days: int = _setting(
        14, "Days that finished jobs stay in the history.", low=1, high=36_500
    )
    call_timeout_seconds: float = _setting(
        10.0, "Longest time that one call to the database may take.", low=0.1, high=3600
    )
    webhooks_allow_private: str = _setting(
        "",
        "Inner addresses and other ports that webhooks may be sent to: networks, addresses or names"
        " with a port, such as `10.1.0.0/16, 127.0.0.1:8080`.",
    )
    api_host: str = _setting("127.0.0.1", "Address that the API listens on.")
    api_port: int = _setting(8080, "Port of the API; 0: any free one.", low=0, high=65_535)
    api_max_body_bytes: int = _setting(
        1_048_576, "Largest body of a request to the API.", low=1024, high=1024 * 1024 * 1024
    )
    api_rate_per_minute: int = _setting(
        6000, "Requests a minute that one key may make of one API process.", low=1, high=10_000_000
    )
    oidc_issuer: str | None = _setting(
        None, "Issuer whose tokens (JWT) the API takes. Unset: none."
    )
    oidc_audience: str | None = _setting(None, "Audience that those tokens must be for.")
    oidc_keys_url: str | None = _setting(
        None, "Where the issuer's keys are (JWKS). Unset: as its discovery document says."
    )
    oidc_tenant_claim: str = _setting("tenant", "Claim of a token that names the tenant.")
    oidc_roles_claim: str = _setting("roles", "Claim of a token that lists the roles.")
    metrics_port: int = _setting(
        0,
        "Port of a worker's metrics page; the next free one from there on. 0: no page.",
        low=0,
        high=65_535,
    )
    metrics_host: str = _setting("127.0.0.1", "Address that the metrics page listens on.")
    traces: bool = _setting(
        False,  # noqa: FBT003 - the default, beside its description
        "A span of OpenTelemetry for each attempt.",
    )
    log_format: str = _setting(
        "auto",
        "Log lines for people, for machines, or whichever fits the output.",
        choices=("auto", "json", "console"),
    )
    log_level: str = _setting(
        "info", "Least severe level that is logged.", choices=("debug", "info", "warning", "error")
    )

    def __post_init__(self) -> None:
        types = get_type_hints(Settings)
        for field in dataclasses.fields(self):
            value = _checked(field, types[field.name], getattr(self, field.name), field.name)
            object.__setattr__(self, field.name, value)
        _check_pairs(self)

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{field.name}={_shown(value)}"
            for field in dataclasses.fields(self)
            if (value := getattr(self, field.name)) != field.default
        )
        return f"Settings({shown})"


def load(
    flags: Mapping[str, object] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Settings:
    """The settings of this process, from file, environment and flags (None: flag not given).

    `file` must exist when it is named; otherwise `ostinato.toml` of the working directory is
    read if there is one.
    """
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    for name in given:
        _field(name, f"flag {name!r}")
    values = _from_file(file) | _from_environ(os.environ if environ is None else environ) | given
    return Settings(**values)  # type: ignore[arg-type]  # Settings checks every value


def _from_file(file: Path | None) -> dict[str, object]:
    path = file or Path(FILE_NAME)
    if file is None and not path.exists():
        return {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(
            f"cannot read the settings file {path}: {error.strerror}",
            hint="Check the path and its permissions, or leave the option out.",
            path=str(path),
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{path} is not valid TOML: {error}",
            hint="Each line reads name = value; text is quoted.",
            path=str(path),
        ) from error
    types = get_type_hints(Settings)
    return {
        name: _checked(_field(name, f"{name!r} in {path}"), types[name], value, f"{name} in {path}")
        for name, value in values.items()
    }


def _from_environ(environ: Mapping[str, str]) -> dict[str, object]:
    types = get_type_hints(Settings)
    values: dict[str, object] = {}
    for variable, text in environ.items():
        if variable.startswith(ENV_PREFIX) and not variable.startswith(_RESERVED_PREFIXES):
            name = variable.removeprefix(ENV_PREFIX).lower()
            field = _field(name, f"environment variable {variable}", ENV_PREFIX)
            # an empty variable is an unset one: shells and compose files have no other way
            if text:
                value = _parsed(types[name], text)
                values[name] = _checked(field, types[name], value, variable)
    return values


def _field(name: str, what: str, prefix: str = "") -> "dataclasses.Field[Any]":
    fields = {field.name: field for field in dataclasses.fields(Settings)}
    if name in fields:
        return fields[name]
    near = difflib.get_close_matches(name, fields, n=1, cutoff=0.5)
    nearest = near[0] if near else None
    shown = f"{prefix}{nearest}".upper() if prefix else nearest
    raise SettingsError(
        f"unknown setting: {what}",
        hint=f"Did you mean {shown}?" if nearest else f"Known: {', '.join(fields)}.",
        name=name,
        nearest=nearest,
    )


def _parsed(kind: object, text: str) -> object:
    """The text of an environment variable as the type of the field, or as it is."""
    if kind is bool and text.lower() in _TRUE + _FALSE:
        return text.lower() in _TRUE
    try:
        if kind is int:
            return int(text)
        if kind is float:
            return float(text)
    except ValueError:
        pass
    return text


def _checked(field: "dataclasses.Field[Any]", kind: object, value: object, source: str) -> object:
    """The value, if it has the type and range of the field."""
    if value is None and kind == str | None:
        return None
    wanted: type = str if kind == str | None else kind  # type: ignore[assignment]
    if wanted is float and type(value) is int:
        value = float(value)
    # `type() is`, because bool is an int to Python, and nobody means concurrency = true
    if type(value) is not wanted:
        raise _invalid(source, value, f"must be {_KINDS[wanted]}")
    choices, low, high = (field.metadata[name] for name in ("choices", "low", "high"))
    if choices and value not in choices:
        raise _invalid(source, value, f"must be one of {', '.join(choices)}")
    if low is not None and not low <= value <= high:
        raise _invalid(source, value, f"must be from {low:,g} to {high:,g}")
    return value


def _invalid(source: str, value: object, rule: str) -> SettingsError:
    shown = _shown(value)
    return SettingsError(f"{source} {rule}, got {shown}", source=source, value=shown)


def _shown(value: object) -> str:
    return repr(redact(value) if isinstance(value, str) else value)


def _check_pairs(settings: Settings) -> None:
    if settings.beat_seconds > settings.expiry_seconds / 3 * (1 + 1e-9):  # 0.2 is a third of 0.6
        raise SettingsError(
            f"beat_seconds ({settings.beat_seconds:g}) must be at most a third of expiry_seconds "
            f"({settings.expiry_seconds:g}), or one late heartbeat would kill a healthy worker",
            hint=f"Set expiry_seconds to {3 * settings.beat_seconds:g} or more.",
        )
    try:
        parse_allowed(settings.webhooks_allow_private)
    except InvalidInput as error:
        raise SettingsError(f"webhooks_allow_private: {error.message}", hint=error.hint) from None
    if settings.pooled and settings.database_url is None:
        raise SettingsError(
            "pooled is set, but database_url is not: the embedded server has no pooler",
            hint="Set database_url to the pooler's address, or leave pooled out.",
        )
    if settings.admin_url is not None and settings.database_url is None:
        raise SettingsError(
            "admin_url is set, but database_url is not: workers would use the embedded server",
            hint="Set database_url as well.",
        )
