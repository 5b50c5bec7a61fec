"""Declares the alert of captures: an object is not what was sealed."""

from ostinato.alerts import Alert

CHANGED = Alert(
    "capture.changed",
    function="vault_secure.changed_captures",
    above=0,
    severity="critical",
    tenant=None,
    message_one="{value} sealed capture of {label} has an object that is gone or is not what was sealed",
    message="{value} sealed captures of {label} have an object that is gone or is not what was sealed",
    remedy="The log lines `capture_changed` name them; put each object back from a copy, or find out who changed it.",
)
ALERTS = (CHANGED,)
