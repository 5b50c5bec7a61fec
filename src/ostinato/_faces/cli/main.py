"""The command `ostinato`: all commands in one place."""

import platform
import sys
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Annotated, Any

import psycopg
import typer

from ostinato._faces.cli.frame.command import Group, callback, own_version
from ostinato._faces.cli.frame.document import to_json
from ostinato._faces.cli.places import GROUPS, SINGLE, Listed, in_panels, listed, single


class Root(Group):
    """The program. A command is imported when it is asked for; with --json a wrong one is answered in JSON too."""

    _given: Sequence[str] = ()
    _is_whole = False
    _is_listing = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - as Typer has it
        """Return all commands, those that applications bring included."""
        self._complete()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - as Typer has it
        """Return one command; applications are asked only for a name that the engine has not."""
        known = self.commands.get(cmd_name)
        if cmd_name in SINGLE and (known is None or (isinstance(known, Listed) and not self._is_listing)):
            self.commands[cmd_name] = single(cmd_name)
        elif known is None:
            self._complete()
        return super().get_command(ctx, cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as Typer has it
        """Write the help: of the engine's commands it needs a line each, and no module."""
        self._is_listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._is_listing = False

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:  # noqa: ANN401 - as Typer has it
        """Complete the name of a command, as quickly as the help lists them."""
        self._is_listing = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._is_listing = False

    def _complete(self) -> None:
        if not self._is_whole:
            from ostinato._faces.cli.brought import bring

            self._is_whole = True
            self.commands = {**listed(), **self.commands}
            bring(self.commands, list(_apps_in(self._given)), json=self.answers_in_json)
            self.commands = in_panels(self.commands)

    @property
    def answers_in_json(self) -> bool:
        """Whether --json was given, before or after whatever else."""
        return "--json" in self._given

    def main(self, args: Sequence[str] | None = None, *more: Any, **options: Any) -> Any:  # noqa: ANN401
        """Run the command, as `TyperGroup.main` does."""
        self._given = given = list(sys.argv[1:] if args is None else args)
        if not self.answers_in_json or not options.get("standalone_mode", True):
            return super().main(given, *more, **options)
        try:
            code = super().main(given, *more, **(options | {"standalone_mode": False}))
        except typer.TyperException as error:
            hint = "`--help` after any command explains it."
            usage = {"code": "usage", "message": error.format_message(), "hint": hint, "values": {}}
            sys.stdout.write(f"{to_json({'error': usage})}\n")
            code = error.exit_code
        except typer.Abort:
            code = 1
        sys.exit(code or 0)


def _apps_in(given: Sequence[str]) -> Iterator[str]:
    """Yield the values of --app, wherever they stand: before or after the name of the command."""
    for word, following in zip_longest(given, given[1:], fillvalue=""):
        if word == "--app" and following:
            yield following
        elif word.startswith("--app="):
            yield word.removeprefix("--app=")


app = typer.Typer(
    name="ostinato", cls=Root, no_args_is_help=True, rich_markup_mode="markdown", pretty_exceptions_enable=False
)


def _say_version(ctx: typer.Context, wanted: bool) -> None:  # noqa: FBT001 - Typer hands it over so
    if not wanted:
        return
    whole = isinstance(ctx.command, Root) and ctx.command.answers_in_json
    typer.echo(to_json(_versions()) if whole else own_version())
    raise typer.Exit


def _versions() -> dict[str, object]:
    """Return what a report of an error should say; nothing is asked of a database."""
    from ostinato._core.engine.workers import CONTRACT

    return {
        "version": own_version(),
        "contract": CONTRACT,
        "python": platform.python_version(),
        "psycopg": psycopg.__version__,
        "libpq": psycopg.pq.version_pretty(psycopg.pq.version()),
    }


def ostinato(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_say_version,
            is_eager=True,
            help="Say the version; with --json, also what it runs on.",
        ),
    ] = False,
) -> None:
    """Durable jobs in PostgreSQL: run them, look at them, and ask why one waits.

    Start with `ostinato up`; nothing needs to be configured.
    """


callback(app, ostinato)
for _name, _group in GROUPS.items():
    app.add_typer(_group.made(), name=_name, help=_group.about)


def main() -> None:
    """Run the command line."""
    app(prog_name="ostinato")
