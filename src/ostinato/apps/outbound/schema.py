"""Declares the part of the database schema that outbound messages have."""

from ostinato.database import Component

__all__ = ["COMPONENT"]

COMPONENT = Component.of("outbound", "ostinato.apps.outbound", "outbound")
