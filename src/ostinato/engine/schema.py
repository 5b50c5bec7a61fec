"""The engine's part of the database schema, as `db.migrate` takes it."""

from ostinato.db.bundle import Component

__all__ = ["ENGINE"]

ENGINE = Component.of("engine", "ostinato.engine")
