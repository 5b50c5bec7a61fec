"""The part of the database schema that enrichment has."""

from ostinato.database import Component

__all__ = ["COMPONENT"]

COMPONENT = Component.of("enrichment", "ostinato.apps.enrichment", "enrichment")
