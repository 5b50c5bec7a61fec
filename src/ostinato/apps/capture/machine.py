"""Declares the eight states of a capture (INV-103-28), and the transitions.

`sql/tables/0001_captures.sql` installs the same; a test compares them.
"""

from ostinato.machines import Invariant, Machine, Transition, filled

ENTITY = "vault_secure.capture_events"
"""The table that obeys it."""

_BEFORE_SEAL = ("RECEIVED", "UPLOADING", "UPLOADED", "VERIFYING")

CAPTURE = Machine(
    "capture",
    about="A capture, from the accepted request to content that was checked and signed for.",
    states=("RECEIVED", "UPLOADING", "UPLOADED", "VERIFYING", "SEALED", "ANCHORED", "REJECTED", "FAILED"),
    initial="RECEIVED",
    terminal=("ANCHORED", "REJECTED", "FAILED"),
    transitions=(
        Transition("RECEIVED", "await_upload", "UPLOADING", guard="its check has begun"),
        Transition("UPLOADING", "arrive", "UPLOADED", guard="the object is in the store"),
        Transition("UPLOADED", "examine", "VERIFYING"),
        Transition("VERIFYING", "seal", "SEALED", guard="size, tag and hash are as declared"),
        Transition("VERIFYING", "reject", "REJECTED", guard="key, size, tag or hash is not"),
        Transition("SEALED", "anchor", "ANCHORED", guard="a signed head covers its seal"),
        Transition((*_BEFORE_SEAL, "SEALED"), "fail", "FAILED", guard="nothing more is tried"),
    ),
    invariants=(
        Invariant(
            ("SEALED", "ANCHORED"),
            (filled("verified_at"), filled("sealed_seq")),
            why="the audit log has the entry of the seal",
        ),
        Invariant("ANCHORED", (filled("anchored_at"),)),
        Invariant(("REJECTED", "FAILED"), (filled("reason"),)),
    ),
)
