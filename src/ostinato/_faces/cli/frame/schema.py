"""The whole schema of this installation: the engine's, and that of every application.

These are functions, because most commands do not need it, and applications take long to import.
"""

from functools import cache

from ostinato._core.db.bundle import Component
from ostinato._core.engine.schema import ENGINE
from ostinato._core.runtime.installed import installed_apps
from ostinato._core.runtime.named import named

__all__ = ["app_components", "components"]


@cache
def app_components() -> tuple[Component, ...]:
    """The schemas of the installed applications."""
    return tuple(named(app.sql, Component) for app in installed_apps() if app.sql is not None)


def components() -> tuple[Component, ...]:
    """All of them, the engine's first."""
    return (ENGINE, *app_components())
