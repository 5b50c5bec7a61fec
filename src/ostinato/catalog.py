"""The applications that come with Ostinato: the only place that lists them."""

from typing import Final

from ostinato.apps import capture, enrichment, outbound, rounds, watchfolder
from ostinato.runtime.app import App

__all__ = ["APPS"]

APPS: Final[tuple[App, ...]] = (
    capture.APP,
    outbound.APP,
    enrichment.APP,
    rounds.APP,
    watchfolder.APP,
)
