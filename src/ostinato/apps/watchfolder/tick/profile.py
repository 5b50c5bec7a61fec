"""Asks the two services for their tools, again from time to time."""

import time
from collections.abc import Callable

from ostinato.apps.watchfolder.core import canonical_profile
from ostinato.apps.watchfolder.model import Document
from ostinato.apps.watchfolder.station import client
from ostinato.apps.watchfolder.tick.context import log
from ostinato.apps.watchfolder.tick.options import Options

REFRESH_SECONDS = 60.0
FIRST_SECONDS, AGAIN_SECONDS = 1.0, 5.0


class Profile:
    """What PREP and OCR are made of, as far as they answer."""

    def __init__(self, options: Options, clock: Callable[[], float] = time.monotonic) -> None:
        self._options = options
        self._clock = clock
        self._asked = self._answered = float("-inf")
        self._failing, self._said = True, False
        self._known: Document | None = None
        self.trouble: str | None = None
        """What a service said that does not answer as it should."""

    def get(self) -> Document | None:
        """Return the profile; None while a service does not answer: nothing new is taken then."""
        known = AGAIN_SECONDS if self._failing else REFRESH_SECONDS
        if self._clock() - self._asked >= (FIRST_SECONDS if self._known is None else known):
            self._ask()
        away = self._failing and self._clock() - self._answered > 2 * REFRESH_SECONDS
        return None if away else self._known

    def _ask(self) -> None:
        self._asked = self._clock()
        try:
            prep = client.fetch_info(self._options.prep_url)
            ocr = client.fetch_info(self._options.ocr_url)
        except client.Unreachable as error:
            if not self._said:  # once, until they have answered again
                log.warning("services_unreachable", error=str(error))
            self._failing = self._said = True
            self.trouble = str(error)
            return
        self._known = canonical_profile(prep, ocr, self._options.ocr_lang)
        self.trouble = None
        self._failing, self._said, self._answered = False, False, self._clock()
        for info in (prep, ocr):
            self._check_heartbeats(info)

    def _check_heartbeats(self, info: Document) -> None:
        """Log when a service beats too rarely for how long a heartbeat is waited for."""
        least = 2 * float(info.get("beatSeconds") or 0)
        if self._options.job_timeout_s < least:
            log.warning("timeout_too_short", service=info.get("service"), least_seconds=least)
