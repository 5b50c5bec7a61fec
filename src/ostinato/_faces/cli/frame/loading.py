"""Finds an `App` by its name; an error says what was tried."""

import difflib
import importlib
import pkgutil
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ostinato._core.base.errors import NotConfigured

if TYPE_CHECKING:  # imported when an application is loaded: most commands load none
    from ostinato._core.runtime.handlers.app import App

DEFAULT_NAME = "app"
INSTALLED = "installed"
"""All installed applications, where the path of one is expected."""


def load_apps(paths: Iterable[str]) -> "list[App]":
    """Return the apps of all paths, each once."""
    apps = (_installed() if path == INSTALLED else (load_app(path),) for path in paths)
    return list(dict.fromkeys(app for several in apps for app in several))


def _installed() -> "tuple[App, ...]":
    from ostinato._core.runtime.installed import installed_apps

    return installed_apps()


def load_app(path: str) -> "App":
    """Return the app that `package.module:name` names; the working directory is searched first."""
    from ostinato._core.runtime.handlers.app import App
    from ostinato._core.runtime.installed import absent_apps

    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    module_name, _, name = path.partition(":")
    name = name or DEFAULT_NAME
    _check_spelling(path, module_name, name)
    for absent in absent_apps():
        if absent.point.value == f"{module_name}:{name}":
            raise absent.error
    module = _imported(path, module_name)
    found = getattr(module, name, None)
    if isinstance(found, App):
        try:
            found.load()
        except Exception as error:  # as when the module itself is imported
            raise _broken(path, error) from error
        return found
    apps = [key for key, value in vars(module).items() if isinstance(value, App)]
    there = "is not there" if found is None else f"is of type {type(found).__name__}, not an App"
    raise NotConfigured(
        f"--app {path}: {name} {there} in {module.__file__ or module_name}",
        hint=f"It has: {', '.join(f'{module_name}:{app}' for app in apps)}."
        if apps
        else f'Make one in that file: {name} = App("{module_name.rpartition(".")[2]}")',
        app=path,
    )


def _check_spelling(path: str, module_name: str, name: str) -> None:
    is_file = "/" in module_name or module_name.endswith(".py")
    if all(part.isidentifier() for part in [*module_name.split("."), name]) and not is_file:
        return
    hint = "Write it as package.module:name."
    if is_file:
        dotted = module_name.removesuffix(".py").strip("./").replace("/", ".")
        hint = f"Write the file as a module: --app {dotted}:{name}"
    raise NotConfigured(f"--app {path} does not name an app", hint=hint, app=path)


def _imported(path: str, module_name: str) -> ModuleType:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise _missing(path, error.name) from error
        raise _broken(path, error) from error
    except Exception as error:  # whatever the user's module does while it is imported
        raise _broken(path, error) from error


def _missing(path: str, name: str) -> NotConfigured:
    parent, _, last = name.rpartition(".")
    folders = [str(Path.cwd())]
    if parent in sys.modules:
        folders = list(getattr(sys.modules[parent], "__path__", []))
    near = difflib.get_close_matches(last, [m.name for m in pkgutil.iter_modules(folders)], n=3)
    better = ", ".join(f"{parent}.{match}".lstrip(".") for match in near)
    return NotConfigured(
        f"--app {path}: there is no module {name}; "
        + (f"looked in {', '.join(folders)}" if folders else f"{parent} is no package")
        + ("" if parent else " and in the installed packages"),
        hint=f"Did you mean {better}?" if near else "Run it in the folder that holds the package.",
        app=path,
        module=name,
        folders=folders,
    )


def _broken(path: str, error: Exception) -> NotConfigured:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return NotConfigured(
        f"--app {path}: importing it failed: {type(error).__name__}: {error} ({last.filename}, line {last.lineno})",
        hint="Fix the module; --debug shows the whole traceback.",
        app=path,
    )
