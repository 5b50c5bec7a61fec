"""The part of the database schema that captures have."""

from ostinato.database import Component

__all__ = ["COMPONENT"]

COMPONENT = Component.of("capture", "ostinato.apps.capture", "vault_secure")
