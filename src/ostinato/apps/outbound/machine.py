"""Declares the states of a message (rule 3.1) and of a consent, and what leads to the next.

`sql/tables/0001_outbound.sql` installs the same; a test compares them.
"""

from ostinato.machines import Invariant, Machine, Transition, filled

MESSAGE_ENTITY = "outbound.message"
CONSENT_ENTITY = "outbound.consent"

MESSAGE = Machine(
    "outbound_message",
    about="A message to one recipient, from the accepted request to what its provider said last.",
    states=("QUEUED", "SENDING", "SENT", "DELIVERED", "FAILED", "CANCELLED"),
    initial="QUEUED",
    terminal=("DELIVERED", "CANCELLED"),
    transitions=(
        Transition("QUEUED", "send", "SENDING", guard="policy allows it, and the attempt is noted"),
        Transition(("QUEUED", "SENDING"), "accept", "SENT", guard="the provider has it, by answer or call"),
        Transition("FAILED", "accept", "SENT", guard="its outcome was unknown until now"),
        Transition(("SENDING", "SENT"), "requeue", "QUEUED", guard="another attempt is due"),
        Transition(("QUEUED", "SENDING", "SENT", "FAILED"), "deliver", "DELIVERED", guard="it arrived"),
        Transition(("QUEUED", "SENDING", "SENT"), "fail", "FAILED", guard="no attempt is left, or none helps"),
        Transition(("QUEUED", "SENDING"), "cancel", "CANCELLED", guard="it may not be sent any more"),
        Transition("FAILED", "retry", "QUEUED", guard="an operator asks for it"),
    ),
    invariants=(
        Invariant(("SENT", "DELIVERED"), (filled("sent_at"),)),
        Invariant("DELIVERED", (filled("delivered_at"),)),
        Invariant("FAILED", (filled("failed_at"), filled("error_code"))),
        Invariant("CANCELLED", (filled("cancel_reason"),)),
    ),
)

CONSENT = Machine(
    "outbound_consent",
    about="What a person allowed for a channel and purpose. Nothing is sent unless it is GRANTED.",
    states=("PENDING", "GRANTED", "DENIED", "REVOKED", "EXPIRED"),
    initial="PENDING",
    terminal=(),
    transitions=(
        Transition(("PENDING", "DENIED", "REVOKED", "EXPIRED"), "grant", "GRANTED", guard="with a proof"),
        Transition(("PENDING", "EXPIRED"), "deny", "DENIED"),
        Transition(("PENDING", "GRANTED", "EXPIRED"), "revoke", "REVOKED"),
        Transition("GRANTED", "expire", "EXPIRED", guard="its time is over"),
    ),
    invariants=(Invariant("GRANTED", (filled("granted_at"),)), Invariant("REVOKED", (filled("revoked_at"),))),
)
