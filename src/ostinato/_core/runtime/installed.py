"""The applications that are installed: each names itself as an entry point of `ostinato.apps`.

    [project.entry-points."ostinato.apps"]
    billing = "acme.billing:APP"

Ours come the same way (`pyproject.toml`). An application that is not installed is run with `--app`.

The extra of an application has its name: where the distribution that brings `billing` has an extra
`billing`, and something of it is missing, the application is not installed. Nothing of it runs
then; `ostinato doctor` names it, and its commands say how to install it.
"""

from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint
from typing import NamedTuple

from ostinato._core.base import extras
from ostinato._core.base.errors import InvalidInput, NotConfigured
from ostinato._core.base.sections import Section
from ostinato._core.base.settings import Settings, declared
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.named import named


class Absent(NamedTuple):
    """An application that something is missing for."""

    point: EntryPoint
    missing: list[str]
    """The distributions of its extra that are not there."""

    @property
    def error(self) -> NotConfigured:
        """That it is not installed, and the command that installs it."""
        name = self.point.name
        return extras.refusal(name, self.missing, name, _distribution(self.point))


@cache
def installed_apps() -> tuple[App, ...]:
    """Return the installed applications by name, those whose extra is missing left out."""
    absent = {each.point for each in absent_apps()}
    return tuple(load_point(each) for each in extras.points(extras.APPS) if each not in absent)


@cache
def absent_apps() -> tuple[Absent, ...]:
    """Return the applications whose extra is missing; none of them is imported."""
    found = ((each, _missing(each)) for each in extras.points(extras.APPS))
    return tuple(Absent(each, missing) for each, missing in found if missing)


def load_point(point: EntryPoint) -> App:
    """Return the application that an entry point names."""
    try:
        found = point.load()
    except Exception as error:  # whatever a module does while it is imported
        raise NotConfigured(
            f"the application {point.name!r} ({point.value}) cannot be imported: {type(error).__name__}: {error}",
            hint=f"Fix it, or uninstall {_distribution(point)}.",
        ) from error
    if not isinstance(found, App) or found.name != point.name:
        raise NotConfigured(
            f"the entry point {point.name!r} of {extras.APPS} is not an App of that name, but {found!r}",
            hint=f'Write it as {point.name} = "package.module:APP" with APP = App("{point.name}").',
        )
    return found


def section_of(app: App) -> type[Section] | None:
    """Return the class of an application's settings, if it has some."""
    if app.settings is None:
        return None
    found: type[object] = named(app.settings, type)
    taken = [name for name in declared() if name == app.name or name.startswith(f"{app.name}_")]
    if not issubclass(found, Section) or found.name != app.name or taken:
        why = f"Ostinato's own {taken[0]} has that name" if taken else "it must have its name"
        raise InvalidInput(
            f"{app.settings} cannot be the settings of the app {app.name!r}: {why}",
            hint=f'Declare it with @section("{app.name}"), under a name that is not taken.',
        )
    return found


def check_settings(settings: Settings, apps: Iterable[App]) -> None:
    """Read the settings of some applications: a mistake in them is said before anything runs."""
    for app in apps:
        if (of := section_of(app)) is not None:
            settings.section(of)


def _missing(point: EntryPoint) -> list[str]:
    return [] if point.dist is None else extras.missing(point.name, point.dist.name)


def _distribution(point: EntryPoint) -> str:
    return point.name if point.dist is None else point.dist.name
