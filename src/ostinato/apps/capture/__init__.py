"""Captures: the same capture twice is one, another under its id is a conflict, all of it on record.

A device sends what it captured as nine fields; the content comes encrypted into an object
store. The intake answers at once, and behind it the content is checked and sealed.
"""

from ostinato import App

__all__ = ["APP", "acquire_lock_and_check_idempotence"]

APP: App = App(
    "capture",
    http="ostinato.apps.capture.http:router",
    sql="ostinato.apps.capture.schema:COMPONENT",
    sandbox="ostinato.apps.capture.sandbox:CaptureWorld",
    demo="ostinato.apps.capture.demo:SCENARIO",
    doctor="ostinato.apps.capture.setup:CHECKUP",
)

# At the end, because they declare what belongs to APP.
from ostinato.apps.capture import jobs as _jobs  # noqa: E402, F401
from ostinato.apps.capture.service import acquire_lock_and_check_idempotence  # noqa: E402
