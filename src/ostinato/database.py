"""An application brings its schema and its named statements, and shares transactions and the clock.

    from ostinato import App, database
    from ostinato.database import Component, Queries

    COMPONENT = Component.of("billing", "acme.billing", "billing")      # acme/billing/sql/…
    app = App("billing", sql="acme.billing.schema:COMPONENT")           # for `ostinato db migrate`
    queries = Queries("acme.billing")                                   # its sql/queries.sql

    async with database.transaction(conn):
        now = await database.now(conn)                  # the engine's time, not the machine's
        await queries.rows(conn, "unpaid", since=now)

A statement is a block of a `.sql` file that begins with `-- name: unpaid`.
"""

from ostinato._core.db.bundle import Component
from ostinato._core.db.foreign import Lender
from ostinato._core.db.pool import transaction
from ostinato._core.db.queries import Queries
from ostinato._core.db.sqlfile import statement
from ostinato._core.db.sqlstate import is_transient, translate, translated
from ostinato._core.engine.clock import now

__all__ = [
    "Component",
    "Lender",
    "Queries",
    "is_transient",
    "now",
    "statement",
    "transaction",
    "translate",
    "translated",
]
