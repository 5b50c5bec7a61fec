"""The part of the database schema that watchfolder has."""

from ostinato.database import Component

__all__ = ["COMPONENT"]

COMPONENT = Component.of("watchfolder", "ostinato.apps.watchfolder", "watchfolder")
