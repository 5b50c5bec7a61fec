"""The audit records who did what to the engine, when, to how much, and why.

    from ostinato import audit, jobs

    async with client.transaction() as conn:
        await audit.act_as(conn, "ann@host", reason="the order was withdrawn")
        await jobs.cancel(conn, 3190000000042)

    for entry in await audit.list_entries(conn, verb="cancel"):
        print(entry.at, entry.actor, entry.verb, entry.target, entry.reason)

Every verb for operators leaves one entry in its own transaction; `note` records actions of an
application. The guide is `docs/audit.md`.
"""

from ostinato._core.engine.audit import AuditFilter, Entry, act_as, list_entries, note

__all__ = ["AuditFilter", "Entry", "act_as", "list_entries", "note"]
