"""Opens and closes one round per group and local day, at the right local time."""

from ostinato import App
from ostinato.apps.rounds.alerts import ALERTS

APP = App(
    "rounds",
    locale="ostinato.apps.rounds",
    jobs="ostinato.apps.rounds.jobs",
    settings="ostinato.apps.rounds.settings:RoundsSettings",
    commands="ostinato.apps.rounds.commands:register",
    http="ostinato.apps.rounds.http:router",
    sql="ostinato.apps.rounds.schema:COMPONENT",
    demo="ostinato.apps.rounds.demo:SCENARIO",
    metrics="ostinato.apps.rounds.metrics:FIGURES",
    panels=("ostinato.apps.rounds.pages:FRONT", "ostinato.apps.rounds.pages:CALENDAR"),
    alerts=ALERTS,
    machines=("ostinato.apps.rounds.machine:ROUND",),
)
