"""The database of an application: its schema, its named statements, its transactions, the clock.

COMPONENT = Component.of("billing", "acme.billing", schema="billing")
app = App("billing", sql="acme.billing.schema:COMPONENT")

QUERIES = Queries("acme.billing")                           # its sql/queries.sql
await QUERIES.rows(conn, "unpaid", customer="acme")         # the block "-- name: unpaid"
await database.now(conn)                                    # the engine's time, not ours
"""

from ostinato._core.db.bundle import Component
from ostinato._core.db.pool import transaction
from ostinato._core.db.queries import Queries
from ostinato._core.db.sqlfile import statement
from ostinato._core.db.sqlstate import is_transient, translate, translated
from ostinato._core.engine.clock import now

__all__ = [
    "Component",
    "Queries",
    "is_transient",
    "now",
    "statement",
    "transaction",
    "translate",
    "translated",
]
