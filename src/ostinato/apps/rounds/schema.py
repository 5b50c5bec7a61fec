"""The part of the database schema that rounds have."""

from ostinato.db.bundle import Component

__all__ = ["COMPONENT"]

COMPONENT = Component.of("rounds", "ostinato.apps.rounds", "rounds")
