"""Declares the states of a round: `scheduled → open → closed`, and nothing else.

`sql/tables/0001_rounds.sql` installs the same; a test compares them.
"""

from ostinato.machines import Invariant, Machine, Transition, filled

ROUND = Machine(
    "round",
    about="The round of a group for one local day.",
    states=("scheduled", "open", "closed"),
    initial="scheduled",
    terminal=("closed",),
    transitions=(
        Transition("scheduled", "open", "open", guard="now is open_at or later"),
        Transition("open", "close", "closed", guard="now is close_at or later"),
    ),
    invariants=(
        Invariant(("open", "closed"), (filled("opened_at"),)),
        Invariant("closed", (filled("closed_at"),), why="it is an archive from then on"),
    ),
)
