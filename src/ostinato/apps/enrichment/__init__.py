"""Enriches French companies from official sources: merged, cached, and refreshed."""

from ostinato import App

APP = App(
    "enrichment",
    jobs="ostinato.apps.enrichment.jobs",
    settings="ostinato.apps.enrichment.settings:EnrichmentSettings",
    http="ostinato.apps.enrichment.http:router",
    sql="ostinato.apps.enrichment.schema:COMPONENT",
    demo="ostinato.apps.enrichment.demo:SCENARIO",
    sandbox="ostinato.apps.enrichment.sandbox:Registers",
    panels=("ostinato.apps.enrichment.panel:PANEL",),
    alerts="ostinato.apps.enrichment.alerts:ALERTS",
    machines=("ostinato.apps.enrichment.machine:COMPANY",),
)
