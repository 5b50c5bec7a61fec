"""Writes the pages of docs/reference from what the code declares.

    python -m tools.reference            write them
    python -m tools.reference --check    only say which ones are out of date

Nothing is described here: a page changes when the declaration it comes from changes.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from ostinato._core.base import errortree, metrics, settings
from ostinato._core.runtime.installed import installed_apps, section_of
from ostinato._core.runtime.observe import figures
from ostinato._faces.cli.main import app as commands
from tools import generated, http, machines, python
from tools.generated import one_line, table

FOLDER = Path("docs/reference")

_NOTE = "<!-- Written by `make reference`; edit the declaration it comes from instead. -->\n\n"


def pages() -> dict[str, str]:
    """Return each page's file name and text."""
    for app in installed_apps():
        app.load()  # its errors are on the page too: declared when imported
    written = {
        "errors.md": _errors_page(),
        "settings.md": _settings_page(),
        "metrics.md": _metrics_page(),
        "machines.md": machines.page(),
        "sql.md": _sql_page(),
        "http.md": http.page(),
        "cli.md": _cli_page(),
        "python.md": python.page(),
    }
    return {name: f"{_NOTE}{text}" for name, text in written.items()}


def _errors_page() -> str:
    rows = [
        (
            f"`{cls.__name__}`",
            f"`{cls.code}`",
            f"`{cls.sqlstate}`" if cls.sqlstate else "",
            cls.status or "",
            cls.exit_code,
            _first_line(cls.__doc__),
            cls.hint or "",
        )
        for cls in errortree.tree()
    ]
    return (
        "# Errors\n\n"
        "Every error that Ostinato raises on purpose is an `OstinatoError`. The code and the "
        "SQLSTATE are stable: they are added to, never changed.\n\n"
        + table(("Error", "Code", "SQLSTATE", "HTTP", "Exit", "Meaning", "What to do"), rows)
    )


def _settings_page() -> str:
    own = (
        "# Settings\n\n"
        f"A flag wins over the environment, the environment over `{settings.FILE_NAME}`, the file "
        "over the default. An unknown name is an error.\n\n" + _settings_table(settings.Settings, settings.ENV_PREFIX)
    )
    sections = [cls for app in installed_apps() if (cls := section_of(app)) is not None]
    tables = [
        f"\n## `[{cls.name}]`\n\n" + _settings_table(cls, f"{settings.ENV_PREFIX}{cls.name.upper()}_")
        for cls in sections
    ]
    return own + "".join(tables)


def _settings_table(declared: type, prefix: str) -> str:
    rows = [
        (
            f"`{field.name}`",
            f"`{prefix}{field.name.upper()}`",
            "unset" if field.default in {None, ""} else f"`{field.default}`",
            _range(field),
            field.metadata["description"],
        )
        for field in dataclasses.fields(declared)
        if field.metadata
    ]
    return table(("Setting", "Environment", "Default", "Range", "Meaning"), rows)


def _range(field: "dataclasses.Field[object]") -> str:
    if field.metadata["choices"]:
        return ", ".join(f"`{choice}`" for choice in field.metadata["choices"])
    if field.metadata["low"] is None:
        return ""
    return f"{field.metadata['low']:,.12g} to {field.metadata['high']:,.12g}"


def _metrics_page() -> str:
    own = "# Metrics\n\n" + _metrics_table(metrics.METRICS)
    theirs = [
        f"\n## `{app}`\n\n{_metrics_table(found.metrics)}"
        for app, found in figures.figures_of(installed_apps()).items()
    ]
    return own + "".join(theirs)


def _metrics_table(declared: Iterable[metrics.Metric]) -> str:
    rows = [
        (
            f"`{metric.name}`",
            type(metric).__name__.lower(),
            ", ".join(f"`{label}`" for label in metric.labels),
            metric.help,
        )
        for metric in declared
    ]
    return table(("Metric", "Kind", "Labels", "Meaning"), rows)


def _sql_page() -> str:
    folder = resources.files("ostinato") / "_core" / "engine" / "sql" / "functions"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=str)
    texts = {file.name.removesuffix(".sql"): file.read_text(encoding="utf-8") for file in files}
    sections = [_sql_section(concept, text) for concept, text in texts.items()]
    return (
        "# SQL functions\n\n"
        "The engine is these functions, in schema `ostinato`; any client in any language may "
        "call them in its own transaction. They are stable: `ostinato.contract()` says which "
        "releases of the code they serve. Helpers are in `ostinato_internal` and may change with "
        "every release, tables in `ostinato_data`.\n\n" + "\n".join(filter(None, sections))
    )


def _sql_section(concept: str, text: str) -> str:
    """Return a concept: what it is for, a line for each verb, then the signatures. Empty: no verbs."""
    verbs = list(sql_functions(text))
    if not verbs:
        return ""
    opening = re.split(r"\n(?:--\n|(?!--))", text)[0]
    purpose = one_line(re.sub(r"^--", "", opening, flags=re.MULTILINE))
    rows = [
        (f"`{signature.partition('(')[0]}`", comment.split(". ")[0].rstrip(".") + ".") for signature, comment in verbs
    ]
    details = "\n".join(f"```sql\n{signature}\n```\n\n{comment}\n" for signature, comment in verbs)
    return f"## {concept}\n\n{purpose}\n\n{table(('Verb', 'Purpose'), rows)}\n{details}"


_FUNCTION = re.compile(
    r"(?P<comment>(?:^--.*\n)*)"
    r"^create (?:or replace )?(?:function|procedure) (?P<name>ostinato\.\w+)\(",
    re.MULTILINE | re.IGNORECASE,
)
_END_OF_SIGNATURE = re.compile(
    r"\s*(?P<returns>returns\s.*?)?\s*\b(?:language|as\s+\$|security|set\s+search_path)\b", re.DOTALL | re.IGNORECASE
)


def sql_functions(text: str) -> Iterator[tuple[str, str]]:
    """Yield each function created in the text: its signature, and the comment right above it."""
    for found in _FUNCTION.finditer(text):
        end = _closing(text, found.end()) + 1
        tail = _END_OF_SIGNATURE.match(text, end)
        if tail and tail["returns"]:
            end = tail.end("returns")
        comment = re.sub(r"^--", "", found["comment"], flags=re.MULTILINE)
        yield text[found.start("name") : end], one_line(comment)


def _closing(text: str, start: int) -> int:
    """Return where the parenthesis opened just before `start` is closed."""
    depth = 1
    for position in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position
    return len(text)


def _cli_page() -> str:
    sections = _commands(typer.main.get_command(commands), "ostinato")
    return "# Commands\n\n" + "\n".join(sections)


def _commands(command: object, name: str) -> Iterator[str]:
    if isinstance(command, (TyperCommand, TyperGroup)) and not command.hidden:
        yield _command_section(command, name)
    if isinstance(command, TyperGroup):
        ctx = typer.Context(command)
        for child_name in sorted(command.list_commands(ctx)):
            child = command.get_command(ctx, child_name)
            yield from _commands(child, f"{name} {child_name}")


def _command_section(command: TyperCommand | TyperGroup, name: str) -> str:
    rows = []
    for parameter in command.params:
        if isinstance(parameter, TyperArgument):
            shown = f"`{(parameter.name or '').upper()}`"
        else:
            shown = ", ".join(f"`{opt}`" for opt in (*parameter.opts, *parameter.secondary_opts))
        if not getattr(parameter, "hidden", False):
            rows.append((shown, one_line(getattr(parameter, "help", None) or "")))
    options = "\n" + table(("Parameter", "Meaning"), rows) if rows else ""
    return f"## `{name}`\n\n{one_line(command.help or '')}\n{options}"


def _first_line(doc: str | None) -> str:
    return (doc or "").strip().partition("\n")[0]


if __name__ == "__main__":
    raise SystemExit(generated.write(pages(), FOLDER, None))
