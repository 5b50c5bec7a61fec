"""A machine lets rows change their state by listed transitions only, and logs who did it.

    from ostinato import machines
    from ostinato.machines import Invariant, Machine, Transition, filled

    INVOICE = Machine(
        "invoice",
        states=("draft", "sent", "paid"),
        initial="draft",
        terminal=("paid",),
        transitions=(Transition("draft", "send", "sent"), Transition("sent", "pay", "paid")),
        invariants=(Invariant("paid", (filled("paid_at"),)),),
    )

    await machines.install(conn, INVOICE)                               # in a migration
    await machines.attach(conn, INVOICE, "billing.invoice")
    await machines.transition(conn, INVOICE, "billing.invoice", 7, "send", by="ana")

A change that the machine does not list is refused by the database, also from `psql`. The guide is
`docs/machines.md`.
"""

from ostinato._core.base.machine import Check, Invariant, Machine, Operator, Transition, above, empty, equals, filled
from ostinato._core.engine.machines import (
    Fence,
    Gap,
    How,
    Moved,
    Past,
    Standing,
    attach,
    gaps,
    history,
    install,
    transition,
    transition_all,
    transition_now,
)

__all__ = [
    "Check",
    "Fence",
    "Gap",
    "How",
    "Invariant",
    "Machine",
    "Moved",
    "Operator",
    "Past",
    "Standing",
    "Transition",
    "above",
    "attach",
    "empty",
    "equals",
    "filled",
    "gaps",
    "history",
    "install",
    "transition",
    "transition_all",
    "transition_now",
]
