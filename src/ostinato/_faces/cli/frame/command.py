"""Makes commands: the options that all share, the settings, and one way to report errors.

    @command(jobs)
    def show(cli: Cli, job: JobId) -> None:
        \"\"\"Everything about one job.\"\"\"

The shared options may stand before or after the command's name. An error that a command raises is
shown as one sentence with its remedy, and sets the exit code; --debug adds the traceback.
"""

import copy
import dataclasses
import functools
import inspect
import os
import pwd
import re
import shlex
import shutil
import socket
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

import psycopg
import typer
from typer.core import TyperCommand, TyperGroup

from ostinato._core.base import settings as base_settings
from ostinato._core.base.errors import InvalidInput, OstinatoError
from ostinato._core.base.release import own_release
from ostinato._core.base.settings import Settings
from ostinato._core.db.sqlstate import translate
from ostinato._faces.cli.frame.files import told
from ostinato._faces.cli.frame.loading import INSTALLED, load_apps
from ostinato._faces.cli.frame.output import Output

if TYPE_CHECKING:  # most commands need no application
    from ostinato._core.runtime.handlers.app import App

F = TypeVar("F", bound=Callable[..., None])

INTERRUPTED = 130
PANEL = "Options of all commands"
HELP = {"help_option_names": ["--help", "-h"]}
EPILOG = "Options of all commands (--json, --data-dir, …): see `ostinato --help`."

_PARSER = re.compile(r"^Value error, |, unable to parse string as an? \w+$")

_OPTIONS: dict[str, tuple[Any, Any]] = {
    "json": (bool, typer.Option("--json", help="Answer in JSON, on stdout.")),
    "data_dir": (str, typer.Option(metavar="FOLDER", help="Folder of the embedded database.")),
    "database_url": (str, typer.Option(metavar="URL", help="A PostgreSQL 15 to 18, instead of the embedded one.")),
    "config": (Path, typer.Option(metavar="FILE", help="Settings; else ostinato.toml, if there.")),
    "app": (
        list[str],
        typer.Option("--app", metavar="MODULE:APP", help="An application that is not installed; repeatable."),
    ),
    "actor": (str, typer.Option("--as", metavar="NAME", help="Who acts, for the audit; else user@host.")),
    "reason": (str, typer.Option(metavar="TEXT", help="Why, for the audit.")),
    "quiet": (bool, typer.Option("--quiet", "-q", help="Say only what was asked for.")),
    "verbose": (bool, typer.Option("--verbose", "-v", help="Say more about what is done.")),
    "debug": (bool, typer.Option("--debug", help="Show the traceback of an error.")),
}


class _Quiet:
    """Shows flags without a type, because a flag takes no value, and what is wrong without the parser's own words."""

    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401 - as Typer has it
        found = super().get_params(ctx)  # type: ignore[misc]
        for each in found:
            if getattr(each, "is_flag", False):  # --help and those of completion too, which Typer adds itself
                each.metavar = ""
        return found

    def parse_args(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - as Typer has it
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc]
        except typer.TyperException as wrong:
            if isinstance(wrong, typer.BadParameter):
                wrong.message = _PARSER.sub("", wrong.message)
            if getattr(wrong, "ctx", ctx) is None:  # an option without its value: which command's, only we know
                wrong.ctx = ctx  # type: ignore[attr-defined]  # that of a usage error
            raise


class Command(_Quiet, TyperCommand):
    """A command whose help shows no type for flags."""


class Group(_Quiet, TyperGroup):
    """A group of commands, likewise."""


@dataclasses.dataclass(frozen=True)
class Cli:
    """The first argument of a command: its streams and the settings of this call."""

    out: Output
    data_dir: str | None = None
    database_url: str | None = None
    config: Path | None = None
    app: tuple[str, ...] = ()
    """Applications that are not installed, each as "module:NAME"."""
    actor: str | None = None
    """Who acts, if not the user of the operating system."""
    reason: str | None = None
    """Why the command is run, for the audit."""
    debug: bool = False

    @cached_property
    def acting(self) -> tuple[str, str | None]:
        """Who acts and why, as the audit records it."""
        return self.actor or os_user(), self.reason

    @cached_property
    def apps(self) -> "list[App]":
        """The applications of this call: those that are installed, and those named with --app."""
        return load_apps([INSTALLED, *self.app])

    @cached_property
    def settings(self) -> Settings:
        """The settings of this call, without flags of a single command."""
        return self.settings_with()

    def settings_with(self, **flags: object) -> Settings:
        """Return the settings with some flags of the command itself; None means not given."""
        if self.data_dir is not None and self.database_url is not None:
            raise InvalidInput("--data-dir and --database-url name two different databases", hint="Give one of them.")
        named = {"data_dir": self.data_dir, "database_url": self.database_url}
        if self.config is not None:  # for the sections of applications, also in processes started
            os.environ[base_settings.CONFIG] = str(self.config)
        loaded = base_settings.load(
            named | self._log_level() | flags, file=self.config, apps=lambda: [app.name for app in load_apps(self.app)]
        )
        if self.data_dir is not None:
            # A folder that is given means the embedded server, whatever the environment has.
            embedded = {"database_url": None, "admin_url": None, "api_database_url": None, "listen_url": None}
            loaded = dataclasses.replace(loaded, **embedded, pooled=False)  # type: ignore[arg-type]
        return loaded

    def try_(self, *words: str) -> str:
        """Return a command to try next, as it must be typed here."""
        folder = [] if self.data_dir is None else ["--data-dir", self.data_dir]
        return " ".join([program(), *words, *(shlex.quote(word) for word in folder)])

    def _log_level(self) -> dict[str, object]:
        if self.out.verbose:
            return {"log_level": "debug"}
        return {"log_level": "warning"} if self.out.quiet else {}


def _refuse_password(url: str | None) -> None:
    """Refuse a password on the command line, which every user of the machine can read."""
    if url is None:
        return
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        given = conninfo_to_dict(url)
    except ProgrammingError:
        return  # the settings refuse it, with the reason
    if given.get("password") or given.get("sslpassword"):
        raise InvalidInput(
            "every user of this machine could read the password in --database-url",
            hint="Set OSTINATO_DATABASE_URL, or leave the password to ~/.pgpass or PGPASSWORD.",
        )


def group(parent: typer.Typer, name: str, about: str) -> typer.Typer:
    """Return a group of commands below another."""
    made = typer.Typer(cls=Group, no_args_is_help=True, rich_markup_mode="markdown", context_settings=HELP)
    parent.add_typer(made, name=name, help=about)
    return made


def command(app: typer.Typer, name: str | None = None) -> Callable[[F], F]:
    """Register a function as a command; it gets a `Cli` if that is its first parameter."""

    def decorate(function: F) -> F:
        made = _adapted(function)
        app.command(name, cls=Command, epilog=EPILOG, context_settings=HELP)(made)
        return function

    return decorate


def callback(app: typer.Typer, function: F) -> None:
    """Register a function that runs before every command, with the shared options added."""
    own = inspect.signature(function, eval_str=True).parameters.values()

    def run(ctx: typer.Context, **values: object) -> None:
        ctx.obj = {name: values.pop(name) for name in _OPTIONS}
        function(**values)

    run.__doc__ = function.__doc__
    _declare(run, [*own, *_shared(hidden=False)])
    app.callback(context_settings=HELP)(run)


def _adapted(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function as Typer sees it: with the shared options beside its own."""
    own = list(inspect.signature(function, eval_str=True).parameters.values())
    takes_cli = bool(own) and own[0].annotation is Cli

    shared = [each for each in _shared(hidden=True) if each.name not in {p.name for p in own}]

    def run(ctx: typer.Context, **values: Any) -> None:  # noqa: ANN401 - as declared below
        before = ctx.find_root().obj or {}
        apps = [before.get("app"), values.get("app")]  # a command may have an --app of its own
        given = {p.name: values.pop(p.name) or before.get(p.name) for p in shared}
        cli = _made(given | {"app": tuple(_flat(apps))})
        _run(cli, functools.partial(function, *([cli] if takes_cli else []), **values))

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    # Listed once, in the help of the program itself: here they would hide the command's own.
    _declare(run, [*own[takes_cli:], *shared])
    return run


def _flat(given: Iterable[str | list[str] | None]) -> Iterator[str]:
    for each in given:
        yield from [each] if isinstance(each, str) else each or ()


def _shared(*, hidden: bool) -> Iterator[inspect.Parameter]:
    for name, (kind, option) in _OPTIONS.items():
        info = copy.copy(option)
        info.hidden, info.rich_help_panel = hidden, PANEL
        default = False if kind is bool else None
        plain = kind if kind is bool else kind | None
        annotation = Annotated[plain, info]  # type: ignore[valid-type]  # made for Typer to read
        yield _parameter(name, annotation, default)


def _declare(run: Callable[..., None], parameters: list[inspect.Parameter]) -> None:
    """Give a function with `**kwargs` the signature that Typer reads."""
    named = [_parameter(p.name, p.annotation, p.default) for p in parameters]
    signature = inspect.Signature([_parameter("ctx", typer.Context, inspect.Parameter.empty), *named])
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {name: p.annotation for name, p in signature.parameters.items()}


def _parameter(name: str, annotation: object, default: object) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    if get_origin(annotation) is Annotated:
        of, info, *_ = get_args(annotation)
        if of is bool and info.metavar is None:
            info = copy.copy(info)
            info.metavar = ""  # a flag takes no value
            annotation = Annotated[bool, info]
    return inspect.Parameter(name, kind, annotation=annotation, default=default)


def _made(given: dict[str, Any]) -> Cli:
    streams = {name: bool(given.pop(name)) for name in ("json", "quiet", "verbose")}
    return Cli(Output(**streams), **(given | {"debug": bool(given["debug"])}))


def os_user() -> str:
    """Return the user of the operating system, and this machine: `ann@host`."""
    number = os.getuid()  # not the environment, which anybody can set
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:
        name = f"uid-{number}"
    return f"{name}@{socket.gethostname()}"[:200]


def own_version() -> str:
    """Return the version of Ostinato."""
    return own_release() or "from its sources"


def program() -> str:
    """Return how this program was called, so that examples can be copied."""
    if shutil.which("ostinato"):
        return "ostinato"
    called = Path(sys.argv[0])
    if called.name != "ostinato":
        return f"{Path(sys.executable).name} -m ostinato"
    return str(called.relative_to(Path.cwd()) if called.is_relative_to(Path.cwd()) else called)


def report(cli: Cli, error: Exception) -> OstinatoError:
    """Report an error, and return it as an error of ours."""
    if cli.debug:
        traceback.print_exception(error, file=sys.stderr)
    known = _known(error)
    cli.out.error(known)
    return known


def _known(error: Exception) -> OstinatoError:
    if isinstance(error, OstinatoError | psycopg.Error):
        return translate(error)
    if isinstance(error, OSError) and (refused := told(error)) is not None:
        return refused
    return OstinatoError(
        f"internal error: {type(error).__name__}: {error}", hint="Run it again with --debug, and report what it prints."
    )


def _run(cli: Cli, work: Callable[[], None]) -> None:
    try:
        _refuse_password(cli.database_url)  # of every command, also of one that needs no database
        work()
    except (typer.Exit, typer.Abort, typer.TyperException, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:  # noqa: BLE001 - shown, and turned into an exit code
        raise typer.Exit(report(cli, error).exit_code) from None


def finish(cli: Cli, code: int) -> None:
    """Say that a command that ran until it was stopped has ended, and with what."""
    cli.out.event({"event": "stopped", "exit_code": code})
    if code:
        raise typer.Exit(code)
