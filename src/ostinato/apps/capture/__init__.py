"""Takes captures: a repeated one has one effect, another under its id is a conflict.

A device sends what it captured as nine fields; the content comes encrypted into an object
store. The intake answers at once, and behind it the content is checked and sealed.
"""

from typing import TYPE_CHECKING

from ostinato import App
from ostinato.apps.capture.alerts import ALERTS

if TYPE_CHECKING:
    from ostinato.apps.capture.service import acquire_lock_and_check_idempotence

__all__ = ["APP", "acquire_lock_and_check_idempotence"]

APP: App = App(
    "capture",
    locale="ostinato.apps.capture",
    jobs="ostinato.apps.capture.jobs",
    settings="ostinato.apps.capture.settings:CaptureSettings",
    commands="ostinato.apps.capture.commands:register",
    http="ostinato.apps.capture.http:router",
    sql="ostinato.apps.capture.schema:COMPONENT",
    sandbox="ostinato.apps.capture.sandbox:CaptureWorld",
    demo="ostinato.apps.capture.demo:SCENARIO",
    panels=(
        "ostinato.apps.capture.pages:FRONT",
        "ostinato.apps.capture.pages:CAPTURE",
        "ostinato.apps.capture.pages:CONFLICTS",
    ),
    doctor="ostinato.apps.capture.setup:CHECKUP",
    alerts=ALERTS,
    machines=("ostinato.apps.capture.machine:CAPTURE",),
)


if not TYPE_CHECKING:  # a type checker would take any name for one that is there

    def __getattr__(name: str) -> object:
        """Import the verb that the specification names here, when somebody asks for it."""
        if name != "acquire_lock_and_check_idempotence":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from ostinato.apps.capture import service  # noqa: PLC0415 - not with every command

        return service.acquire_lock_and_check_idempotence
