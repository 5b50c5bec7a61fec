"""Laundry: an application that is none of ours, with everything that an application may bring.

It imports the public surface only, and is found by an entry point or named with --app.
"""

from ostinato import App
from ostinato.alerts import Alert

__all__ = ["APP"]

HERE = "tests.faces.laundry"

HEAPED = Alert(
    "laundry.heaped",
    function="laundry.heap",
    above=100,
    message="{value} baskets wait to be washed",
    remedy="Start another machine.",
)

APP = App(
    "laundry",
    locale=HERE,
    jobs=f"{HERE}.jobs",
    settings=f"{HERE}.settings:LaundrySettings",
    commands=f"{HERE}.commands:register",
    http=f"{HERE}.http:router",
    sql=f"{HERE}.database:COMPONENT",
    metrics=f"{HERE}.observe:FIGURES",
    panels=(f"{HERE}.pages:PANEL", f"{HERE}.pages:PAGE"),
    doctor=f"{HERE}.observe:CHECKUP",
    machines=(f"{HERE}.machine:BASKET",),
    sandbox=f"{HERE}.world:Mains",
    demo=f"{HERE}.demo:SCENARIO",
    alerts=(HEAPED,),
)
