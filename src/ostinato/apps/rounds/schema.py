"""The part of the database schema that rounds have."""

from ostinato.database import Component

__all__ = ["COMPONENT"]

COMPONENT = Component.of("rounds", "ostinato.apps.rounds", "rounds")
