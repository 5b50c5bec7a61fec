"""Leases: one holder of a name at a time, with a token that refuses a holder who wakes up late.

    async with leases.hold(client, "import:acme", seconds=60) as lease:     # renewed meanwhile
        async with lease.guarded() as conn:                                 # refused if it was lost
            await conn.execute("insert into imported …")

`hold` keeps a lease for the length of a block; `acquire`, `renew`, `guard` and `release` are the
single verbs below it.
"""

from ostinato._core.engine.leases import (
    Attached,
    Lease,
    LeaseLine,
    acquire,
    force_release,
    guard,
    list_leases,
    release,
    renew,
    show_lease,
)
from ostinato._core.runtime.handlers.leases import HeldLease, enqueue_or_attach, hold, hold_now

__all__ = [
    "Attached",
    "HeldLease",
    "Lease",
    "LeaseLine",
    "acquire",
    "enqueue_or_attach",
    "force_release",
    "guard",
    "hold",
    "hold_now",
    "list_leases",
    "release",
    "renew",
    "show_lease",
]
