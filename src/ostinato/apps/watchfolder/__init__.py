"""Watchfolder: scans in, searchable PDFs out. The files are the truth; the engine observes.

`main` alone needs no database, and `prep` and `ocr` are services of their own.
"""

from ostinato import App

__all__ = ["APP"]

APP = App(
    "watchfolder",
    http="ostinato.apps.watchfolder.http:router",
    sql="ostinato.apps.watchfolder.schema:COMPONENT",
    demo="ostinato.apps.watchfolder.demo:SCENARIO",
)

from ostinato.apps.watchfolder import jobs  # noqa: E402, F401 - registers kinds and schedules
