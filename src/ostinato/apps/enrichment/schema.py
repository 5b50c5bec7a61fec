"""Names enrichment's part of the database schema."""

from ostinato.database import Component

COMPONENT = Component.of("enrichment", "ostinato.apps.enrichment", "enrichment")
