"""Tells `ostinato doctor` what of the sandbox for worker processes this machine cannot give."""

from ostinato.apps.watchfolder.settings import WatchfolderSettings
from ostinato.apps.watchfolder.station.sandbox import level, missing
from ostinato.observe import Checkup, Trouble

HINT = "Use Linux 6.12 or later, with Landlock and user namespaces; or run PREP and OCR elsewhere."


def troubles(settings: WatchfolderSettings) -> list[Trouble]:
    """Find what is missing, unless PREP and OCR run elsewhere."""
    if settings.prep_url and settings.ocr_url:
        return []
    return [Trouble(sentence, HINT) for sentence in missing(level())]


CHECKUP = Checkup(lambda settings: troubles(settings.section(WatchfolderSettings)))
