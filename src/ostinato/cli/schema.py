"""The whole schema of this installation: the engine's, and that of every application."""

from importlib import import_module
from typing import cast

from ostinato.catalog import APPS
from ostinato.db.bundle import Component
from ostinato.engine.schema import ENGINE

__all__ = ["APP_COMPONENTS", "COMPONENTS"]


def _component(place: str) -> Component:
    module, _, name = place.partition(":")
    return cast("Component", getattr(import_module(module), name))


APP_COMPONENTS = tuple(_component(app.sql) for app in APPS if app.sql is not None)
COMPONENTS = (ENGINE, *APP_COMPONENTS)
