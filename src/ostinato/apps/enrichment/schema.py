"""The part of the database schema that enrichment has."""

from ostinato.db.bundle import Component

__all__ = ["COMPONENT"]

COMPONENT = Component.of("enrichment", "ostinato.apps.enrichment", "enrichment")
