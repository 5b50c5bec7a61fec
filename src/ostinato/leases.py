"""A lease gives a name one holder at a time, with a token that refuses a holder who wakes up late.

    from ostinato import leases

    async with leases.hold(client, "import:acme", ttl=30) as lease:     # renewed meanwhile
        async with client.transaction() as conn:
            await lease.guard(conn)             # or LeaseLost, and nothing is written

`hold` keeps a lease for the length of a block; `acquire`, `renew`, `guard` and `release` are the
single verbs below it. `enqueue_or_attach` adds a job that holds a name, or joins the one that does.
The guide is `docs/leases.md`.
"""

from ostinato._core.engine.leases import (
    Attached,
    Lease,
    LeaseLine,
    acquire,
    force_release,
    guard,
    guard_now,
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
    "guard_now",
    "hold",
    "hold_now",
    "list_leases",
    "release",
    "renew",
    "show_lease",
]
