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
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar, get_type_hints

from ostinato._core.base.errors import InvalidInput, SettingsError
from ostinato._core.base.extras import app_names
from ostinato._core.base.proxies import Proxies
from ostinato._core.base.redact import MASK
from ostinato._core.base.safeurl import parse_allowed
from ostinato._core.base.sections import (
    CONFIG,
    ENV_PREFIX,
    FILE_NAME,
    Section,
    checked,
    fields_of,
    from_environ,
    from_table,
    read_file,
    setting,
    shown,
    unknown,
)
from ostinato._core.base.vault import Vault, parse_keys

__all__ = ["CONFIG", "ENV_PREFIX", "FILE_NAME", "Settings", "declared", "load"]

S = TypeVar("S", bound=Section)

# The test suite and the benchmarks have switches of their own, which are no settings.
_RESERVED: Final = ("test_", "bench_")
_CONFIG: Final = CONFIG.removeprefix(ENV_PREFIX).lower()
_DAY = 86_400.0
_PREFIX: Final = re.compile(r"(/[A-Za-z0-9_-][A-Za-z0-9._~-]{0,99}){0,8}")


SECRETS = frozenset({"secret_key", "oidc_client_secret", "rabbitmq_url", "nats_url", "kafka_url"})
"""Settings that are not shown."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Settings:
    """How this process runs. Checked when made: an instance is always usable."""

    database_url: str | None = setting(
        None, "PostgreSQL 15 to 18 as a URL, several hosts included. Unset: the embedded server."
    )
    admin_url: str | None = setting(None, "URL that migrations use, of a role that may create. Unset: `database_url`.")
    api_database_url: str | None = setting(
        None, "URL that the API uses, of the role ostinato_api. Unset: `database_url`, whose role sees every tenant."
    )
    listen_url: str | None = setting(
        None, "Direct URL for the one LISTEN connection. Unset: `database_url`; if pooled, only polling."
    )
    read_url: str | None = setting(
        None,
        "Standby that the console, lists of the API and metrics are read from, such as postgresql://replica:5432; what"
        " it does not name (role, password, database) is as in the other URLs. Unset: the primary.",
    )
    read_lag_seconds: float = setting(
        10.0, "A standby that is further behind is not read until it has caught up.", low=0, high=_DAY
    )
    cells_file: str | None = setting(
        None, "File that lists the cells, one database each, that tenants live in. Unset: there is one database."
    )
    pooled: bool = setting(default=False, description="`database_url` leads to a transaction-mode pooler (PgBouncer).")
    data_dir: str = setting(".ostinato", "Folder of the embedded server.")
    backup_dir: str | None = setting(None, "Folder of the backups, on another disk: `ostinato backup init` makes it.")
    backup_url: str | None = setting(
        None, "URL that backups and standbys use, of a role with REPLICATION, direct. Unset: `admin_url`."
    )
    secret_key: str | None = setting(
        None, "Keys that seal secrets at rest, the newest first: `ostinato secrets new-key` makes one."
    )
    secret_key_file: str | None = setting(
        None, "File of mode 600 with these keys, one in a line. Unset: `secret.key` in `data_dir`."
    )
    beat_seconds: float = setting(5.0, "Time between two heartbeats of a worker.", low=0.01, high=_DAY)
    expiry_seconds: float = setting(15.0, "A worker that was not heard of for this long is dead.", low=0.03, high=_DAY)
    poll_seconds: float = setting(
        1.5, "Longest time between two looks for work when no doorbell rings.", low=0.01, high=3600
    )
    concurrency: int = setting(100, "Jobs that one worker process runs at the same time.", low=1, high=100_000)
    handler_connections: int = setting(
        0,
        "Connections that the handlers of one worker process share. 0: as many as `concurrency`, at"
        " most a quarter of what the server allows. Opened when needed.",
        low=0,
        high=10_000,
    )
    prefetch: int = setting(500, "Jobs that one worker process claims ahead at most.", low=1, high=100_000)
    drain_seconds: float = setting(30.0, "Time that running jobs get to finish after SIGTERM.", low=0, high=_DAY)
    cancel_grace_seconds: float = setting(
        10.0, "Time between asking a running job to stop and stopping it.", low=0, high=_DAY
    )
    max_crashes: int = setting(
        3,
        "Processes that a job may take down, running alone, before it is a dead letter; three times"
        " as many while other processes die too. It runs alone after it was there when two died.",
        low=1,
        high=1000,
    )
    retention_days: int = setting(14, "Days that finished jobs stay in the history.", low=1, high=36_500)
    audit_retention_days: int = setting(
        400, "Days that the audit keeps what operators did: whole weeks are dropped.", low=1, high=36_500
    )
    archive_url: str | None = setting(
        None, "Where `ostinato archive` puts what is past retention: a folder, or s3://bucket/prefix."
    )
    call_timeout_seconds: float = setting(
        10.0, "Longest time that one call to the database may take.", low=0.1, high=3600
    )
    transaction_idle_seconds: float = setting(
        0.0,
        "Longest time that `ctx.transaction()` may wait for its next statement. 0: as the role of"
        " the database says, which is 30 s.",
        low=0,
        high=_DAY,
    )
    statement_seconds: float = setting(
        60.0, "Longest time that one statement of a handler may take in a transaction of its job.", low=0.1, high=_DAY
    )
    webhooks_allow_private: str = setting(
        "",
        "Inner addresses and other ports that webhooks may be sent to: networks, addresses or names"
        " with a port, such as `10.1.0.0/16, 127.0.0.1:8080`.",
    )
    api_host: str = setting("127.0.0.1", "Address that the API listens on.")
    api_port: int = setting(8080, "Port of the API; 0: any free one.", low=0, high=65_535)
    api_workers: int = setting(
        0, "Processes of the API, which share its address. 0: one for each core, at most 8.", low=0, high=64
    )
    api_max_body_bytes: int = setting(
        1_048_576, "Largest body of a request to the API.", low=1024, high=1024 * 1024 * 1024
    )
    api_rate_per_minute: int = setting(
        6000, "Requests a minute that one key may make of one API process.", low=1, high=10_000_000
    )
    api_public_rate_per_minute: int = setting(
        30_000,
        "Requests a minute that one address may make of the public routes of one API process: callbacks of providers,"
        " unsubscribing, documentation.",
        low=1,
        high=10_000_000,
    )
    api_trusted_proxies: str = setting(
        "",
        "Proxies whose X-Forwarded-For the API believes: networks or addresses, such as `10.1.0.0/16,"
        " 127.0.0.1`. Empty: none, and a caller is who is connected.",
    )
    api_path_prefix: str = setting(
        "",
        "Path below which a proxy shows the API and the console, such as `/ostinato`; whether it takes the prefix"
        " away before it passes a request on does not matter.",
    )
    api_metrics_host: str = setting("127.0.0.1", "Address that the API's metrics page listens on.")
    api_metrics_port: int = setting(
        9464, "Port of the API's metrics page; the next free one from there on. 0: no page.", low=0, high=65_535
    )
    oidc_issuer: str | None = setting(None, "Issuer whose tokens (JWT) the API takes. Unset: none.")
    oidc_audience: str | None = setting(None, "Audience that those tokens must be for.")
    oidc_client_id: str | None = setting(
        None, "What the issuer calls the console: people sign in there. Unset: with keys and tokens only."
    )
    oidc_client_secret: str | None = setting(None, "Secret of that client. Unset: it is a public one (PKCE).")
    oidc_scope: str = setting("openid profile", "Scopes to ask the issuer for; openid is one of them.")
    oidc_keys_url: str | None = setting(
        None, "Where the issuer's keys are (JWKS). Unset: as its discovery document says."
    )
    oidc_tenant_claim: str = setting("tenant", "Claim of a token that names the tenant.")
    oidc_roles_claim: str = setting("roles", "Claim of a token that lists the roles.")
    rabbitmq_url: str | None = setting(
        None, "RabbitMQ that events are relayed to and messages come from: amqp://user:password@host/, or amqps://."
    )
    nats_url: str | None = setting(
        None, "NATS, with JetStream: nats://host:4222 or tls://host:4222; several addresses by commas."
    )
    nats_credentials_file: str | None = setting(None, "File with the credentials of a NATS user (JWT and seed).")
    kafka_url: str | None = setting(
        None, "Kafka: kafka://host:9092,other:9092, or kafkas://user:password@host:9093 with TLS and SASL."
    )
    cloudevents_source: str | None = setting(
        None,
        "What stands before the producer in the source of events that are relayed, such as //eu-1.example."
        " Installations that share a broker need one each, because events of both have the same ids.",
    )
    metrics_port: int = setting(
        0, "Port of a worker's metrics page; the next free one from there on. 0: no page.", low=0, high=65_535
    )
    metrics_host: str = setting("127.0.0.1", "Address that the metrics page listens on.")
    traces: bool = setting(
        False,  # noqa: FBT003 - the default, beside its description
        "A span of OpenTelemetry for each attempt.",
    )
    log_format: str = setting(
        "auto", "Log lines for people, for machines, or whichever fits the output.", choices=("auto", "json", "console")
    )
    log_level: str = setting(
        "info", "Least severe level that is logged.", choices=("debug", "info", "warning", "error")
    )

    _sections: dict[Any, Any] = dataclasses.field(default_factory=dict, compare=False)
    """What `section` has read: kept also by `dataclasses.replace`."""
    _source: tuple[Mapping[str, str] | None, Path | None] = dataclasses.field(default=(None, None), compare=False)
    """The environment and the file that `load` was given, for the settings of applications."""

    def __post_init__(self) -> None:
        types = get_type_hints(Settings)
        for name, field in declared().items():
            value = checked(field, types[name], getattr(self, name), name)
            object.__setattr__(self, name, value)
        _check_pairs(self)

    def __repr__(self) -> str:
        values = ", ".join(
            f"{name}={shown(MASK if name in SECRETS else value)}"
            for name, field in declared().items()
            if (value := getattr(self, name)) != field.default
        )
        return f"Settings({values})"

    def section(self, of: type[S]) -> S:
        """Return the settings of an application: read when they are first asked for, then kept.

        The code that has these settings hands them down, so that a process reads its own once:
        `ctx.settings(Billing)` in a handler, `caller.settings(Billing)` in a route.
        """
        found: S | None = self._sections.get(of)
        if found is None:
            environ, file = self._source
            loaded = of.load(environ=environ, file=file)
            found = self._sections[of] = dataclasses.replace(loaded, **self._in_data_folder(loaded))  # type: ignore[type-var]  # every section is one
        return found

    def _in_data_folder(self, loaded: Section) -> dict[str, str]:
        """Return where files go whose default is below `.ostinato`: into the data folder that is in use.

        One that stands at the default's own place, and not there, stays: it was made before.
        """
        usual = declared()["data_dir"].default
        moved = {}
        for name, field in fields_of(type(loaded)).items():
            value = getattr(loaded, name)
            if isinstance(value, str) and value == field.default and value.startswith(f"{usual}/"):
                there = Path(self.data_dir) / value.removeprefix(f"{usual}/")
                if there.expanduser().exists() or not Path(value).exists():
                    moved[name] = str(there)
        return moved

    @property
    def vault(self) -> Vault:
        """What seals and opens secrets in this process: made when it is first asked for, then kept.

        The code that has these settings hands it down: `ctx.vault` in a handler, `caller.vault` in a
        route, `cli.settings.vault` in a command.
        """
        of = (Vault, self.secret_key, self.secret_key_file, self.data_dir)
        found: Vault | None = self._sections.get(of)
        if found is None:
            found = self._sections[of] = Vault.load(self)
        return found


class _Owners:
    """The applications that may have settings here, looked up when a name is nobody else's."""

    def __init__(self, apps: Callable[[], Iterable[str]]) -> None:
        self._apps = apps
        self._names: set[str] | None = None

    def __iter__(self) -> Iterator[str]:
        if self._names is None:
            declaring = (getattr(cls, "name", None) for cls in Section.__subclasses__())
            self._names = app_names() | set(filter(None, declaring)) | set(self._apps())
        return iter(sorted(self._names))

    def has(self, name: str) -> bool:
        """Return whether a table of the file is that of an application."""
        return name in list(self)

    def has_variable(self, name: str) -> bool:
        """Return whether a variable, without its prefix, is that of an application, or no setting."""
        if name == _CONFIG or name.startswith(_RESERVED):
            return True
        return any(name.startswith(f"{owner}_") for owner in self)


def declared() -> "dict[str, dataclasses.Field[Any]]":
    """Return the settings as they are declared, by name."""
    return fields_of(Settings)


def load(
    flags: Mapping[str, object] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
    apps: Callable[[], Iterable[str]] = tuple,
) -> Settings:
    """Return the settings of this process, from file, environment and flags (None: flag not given).

    `file` must exist when it is named; otherwise `ostinato.toml` of the working directory is
    read if there is one. What belongs to an application is left to it: to one that is installed,
    that declared its settings in this process, or that `apps` names; they are looked for only when
    a name is not Ostinato's own.
    """
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    for name in given:
        if name not in declared():
            raise unknown(Settings, name, f"flag {name!r}")
    around = os.environ if environ is None else environ
    path, table = read_file(file, around)
    owners = _Owners(apps)
    values = from_table(Settings, table, path, others=owners.has, near=owners)
    values |= from_environ(
        Settings, around, ENV_PREFIX, others=owners.has_variable, near=(f"{name}_…" for name in owners)
    )
    return Settings(**values | given, _source=(environ, file))


def _check_pairs(settings: Settings) -> None:
    if settings.beat_seconds > settings.expiry_seconds / 3 * (1 + 1e-9):  # 0.2 is a third of 0.6
        raise SettingsError(
            f"beat_seconds ({settings.beat_seconds:g}) must be at most a third of expiry_seconds "
            f"({settings.expiry_seconds:g}), or one late heartbeat would kill a healthy worker",
            hint=f"Set expiry_seconds to {3 * settings.beat_seconds:g} or more.",
        )
    if settings.secret_key is not None:
        parse_keys(settings.secret_key, "secret_key")
    for name, parse in (("webhooks_allow_private", parse_allowed), ("api_trusted_proxies", Proxies.parse)):
        try:
            parse(getattr(settings, name))
        except InvalidInput as error:
            raise SettingsError(f"{name}: {error.message}", hint=error.hint) from None
    if not _PREFIX.fullmatch(settings.api_path_prefix):
        raise SettingsError(
            f"api_path_prefix {settings.api_path_prefix!r} is no path", hint="Write it as /ostinato, or leave it out."
        )
    if settings.pooled and settings.database_url is None:
        raise SettingsError(
            "pooled is set, but database_url is not: the embedded server has no pooler",
            hint="Set database_url to the pooler's address, or leave pooled out.",
        )
    for name in ("admin_url", "api_database_url"):
        if getattr(settings, name) is not None and settings.database_url is None:
            raise SettingsError(
                f"{name} is set, but database_url is not: workers would use the embedded server",
                hint="Set database_url as well.",
            )
