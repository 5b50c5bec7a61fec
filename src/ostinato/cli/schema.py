"""The whole schema of this installation: the engine's, and that of every application.

Functions, because most commands need none of it, and the applications take long to import.
"""

from functools import cache
from importlib import import_module
from typing import cast

from ostinato.db.bundle import Component
from ostinato.engine.schema import ENGINE

__all__ = ["app_components", "components"]


@cache
def app_components() -> tuple[Component, ...]:
    """The schemas of the applications in the catalog."""
    from ostinato.catalog import APPS

    return tuple(_component(app.sql) for app in APPS if app.sql is not None)


def components() -> tuple[Component, ...]:
    """All of them, the engine's first."""
    return (ENGINE, *app_components())


def _component(place: str) -> Component:
    module, _, name = place.partition(":")
    return cast("Component", getattr(import_module(module), name))
