"""Rounds: one round per group and local day, opened and closed at the right local time."""

from ostinato import App
from ostinato.apps.rounds.alerts import ALERTS

__all__ = ["APP"]

APP = App(
    "rounds",
    http="ostinato.apps.rounds.http:router",
    sql="ostinato.apps.rounds.schema:COMPONENT",
    demo="ostinato.apps.rounds.demo:SCENARIO",
    metrics="ostinato.apps.rounds.metrics:FIGURES",
    alerts=ALERTS,
)

from ostinato.apps.rounds import jobs  # noqa: E402, F401 - registers kinds and schedules
