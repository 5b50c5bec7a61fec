"""Declares the part of the database schema that outbound messages have."""

from ostinato.database import Component

COMPONENT = Component.of("outbound", "ostinato.apps.outbound", "outbound")
