"""Watchfolder: scans in, searchable PDFs out. The files are the truth; the engine observes.

`main` alone needs no database, and `prep` and `ocr` are services of their own.
"""

from ostinato import App

APP = App(
    "watchfolder",
    locale="ostinato.apps.watchfolder",
    jobs="ostinato.apps.watchfolder.jobs",
    settings="ostinato.apps.watchfolder.settings:WatchfolderSettings",
    commands="ostinato.apps.watchfolder.commands:register",
    http="ostinato.apps.watchfolder.http:router",
    sql="ostinato.apps.watchfolder.schema:COMPONENT",
    demo="ostinato.apps.watchfolder.demo:SCENARIO",
    metrics="ostinato.apps.watchfolder.metrics:FIGURES",
    panels=(
        "ostinato.apps.watchfolder.panel:PANEL",
        "ostinato.apps.watchfolder.pages:SCANS",
        "ostinato.apps.watchfolder.pages:SCAN",
        "ostinato.apps.watchfolder.pages:DUPLICATES",
        "ostinato.apps.watchfolder.waiting:FAILED",
    ),
    alerts="ostinato.apps.watchfolder.alerts:ALERTS",
    doctor="ostinato.apps.watchfolder.checkup:CHECKUP",
    machines=("ostinato.apps.watchfolder.machine:DUPLICATE", "ostinato.apps.watchfolder.machine:JOB"),
    standing={"watchfolder_job": "ostinato.apps.watchfolder.panel:standing"},
)
