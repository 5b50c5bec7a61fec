"""Names the captures' part of the database schema."""

from ostinato.database import Component

COMPONENT = Component.of("capture", "ostinato.apps.capture", "vault_secure")
