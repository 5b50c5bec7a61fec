"""Enriches French companies from official sources: merged, cached, and refreshed."""

from ostinato import App

APP = App(
    "enrichment",
    locale="ostinato.apps.enrichment",
    jobs=("ostinato.apps.enrichment.jobs", "ostinato.apps.enrichment.checking"),
    settings="ostinato.apps.enrichment.settings:EnrichmentSettings",
    secrets="ostinato.apps.enrichment.tokens:SECRETS",
    http="ostinato.apps.enrichment.routes:router",
    commands="ostinato.apps.enrichment.commands:register",
    sql="ostinato.apps.enrichment.schema:COMPONENT",
    demo="ostinato.apps.enrichment.demo:SCENARIO",
    sandbox="ostinato.apps.enrichment.sandbox:Registers",
    panels=(
        "ostinato.apps.enrichment.panel:PANEL",
        "ostinato.apps.enrichment.pages:COMPANIES",
        "ostinato.apps.enrichment.pages:COMPANY",
        "ostinato.apps.enrichment.pages:PARTIAL",
    ),
    doctor="ostinato.apps.enrichment.checkup:CHECKUP",
    alerts="ostinato.apps.enrichment.alerts:ALERTS",
    machines=("ostinato.apps.enrichment.machine:COMPANY",),
)
