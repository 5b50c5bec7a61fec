"""Enrichment: what official sources say about a French company, merged and kept."""

from ostinato import App
from ostinato.apps.enrichment.alerts import ALERTS

__all__ = ["APP"]

APP = App(
    "enrichment",
    http="ostinato.apps.enrichment.http:router",
    sql="ostinato.apps.enrichment.schema:COMPONENT",
    demo="ostinato.apps.enrichment.demo:SCENARIO",
    sandbox="ostinato.apps.enrichment.sandbox:Registers",
    panels=("ostinato.apps.enrichment.panel:PANEL",),
    alerts=ALERTS,
)

from ostinato.apps.enrichment import jobs  # noqa: E402, F401 - registers kinds and schedules
