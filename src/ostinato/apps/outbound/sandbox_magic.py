"""What the stand-in of the providers does with whom, if nothing else is scripted.

The last four digits of +33 6 39 98 xx xx say what happens (domain.md, appendix A):

    0001 delivered and read      0005 131056 once             0009 131050, opted out
    0002 fails later, 131026     0006 taken, but no answer    0010 read, never delivered
    0003 130429 twice, then ok   0007 delivered before sent   0011 sent for ever
    0004 131047 for free text    0008 callbacks twice         0012 190, until released
"""

from typing import Final

__all__ = [
    "HANG",
    "HELD",
    "HELD_SECONDS",
    "LOST",
    "MAGIC",
    "OK",
    "SCRIPTS",
    "SILENT",
    "STATUSES",
    "USUAL",
    "WA_ID",
]

MAGIC: Final = "+3363998"
OK: Final = "ok"
LOST: Final = "lost"
"""Taken, but the answer never comes, nor a callback."""
SILENT: Final = "silent"
"""Taken, but the answer never comes; callbacks do."""
WA_ID: Final = "wa_id:"
"""Taken, of somebody whom WhatsApp knows by another number: "wa_id:5215512345678"."""
HELD: Final = "held:"
"""Answered when the gate is opened: "held:131016"."""
HELD_SECONDS: Final = 30
HANG: Final = "hang"
"""Not taken, and no answer."""

SCRIPTS: Final[dict[str, tuple[str, ...]]] = {
    "0003": ("130429", "130429"),
    "0005": ("131056",),
    "0006": (SILENT,),
    "0009": ("131050",) * 100,
    "0012": ("190",) * 100,
}
STATUSES: Final[dict[str, tuple[str, ...]]] = {
    "0001": ("sent", "delivered", "read"),
    "0002": ("sent", "failed:131026"),
    "0007": ("delivered", "sent"),
    "0008": ("sent", "sent", "delivered", "delivered"),
    "0010": ("sent", "read"),
    "0011": ("sent",),
}
USUAL: Final = ("sent", "delivered")
