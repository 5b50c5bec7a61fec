"""The whole schema of some applications, and the engine's."""

from collections.abc import Iterable

from ostinato._core.db.bundle import Component
from ostinato._core.engine.schema import ENGINE
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.named import named


def app_components(apps: Iterable[App]) -> tuple[Component, ...]:
    """Return the schemas of some applications."""
    return tuple(named(app.sql, Component) for app in apps if app.sql is not None)


def components(apps: Iterable[App]) -> tuple[Component, ...]:
    """Return all of them, the engine's first."""
    return (ENGINE, *app_components(apps))
