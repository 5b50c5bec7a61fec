"""Machines: rows that change their state by listed transitions only, and remember who did it.

INVOICE = Machine(
"invoice",
transitions=(Transition("send", "draft", "sent"), Transition("pay", "sent", "paid")),
invariants=(Invariant("paid", filled("paid_at")),),
)

await machines.install(conn, INVOICE)
await machines.attach(conn, INVOICE, "invoice", "state")      # the table and its column
await machines.transition(conn, INVOICE, 7, "send")           # refused if it is not listed
"""

from ostinato._core.base.machine import (
    Check,
    Invariant,
    Machine,
    Operator,
    Transition,
    above,
    empty,
    equals,
    filled,
)
from ostinato._core.engine.machines import (
    Fence,
    Gap,
    How,
    Moved,
    Past,
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
