"""What is needed around the ticks of a folder: the config, the profile, and being the only one."""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping

from ostinato.apps.watchfolder import remote
from ostinato.apps.watchfolder.arrivals import LEAST_FREE_BYTES, STABLE_SECONDS
from ostinato.apps.watchfolder.core import canonical_profile, make_empty_metrics
from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.memory import log
from ostinato.apps.watchfolder.model import Config, Document
from ostinato.apps.watchfolder.stages import FIRST_PAUSE
from ostinato.errors import LeaseHeld

__all__ = ["BUSY_TICK_SECONDS", "TICK_SECONDS", "Profile", "config_of", "locked"]

REFRESH_SECONDS = 60.0
FIRST_SECONDS, AGAIN_SECONDS = 1.0, 5.0
TICK_SECONDS = 2.0
BUSY_TICK_SECONDS = 0.2
POLL_SECONDS = 0.5
"""A job whose service has not written how it ended is asked about so rarely."""


class Profile:
    """What PREP and OCR are made of, asked again from time to time."""

    def __init__(self, config: Config, clock: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._clock = clock
        self._asked = self._answered = float("-inf")
        self._failing, self._said = True, False
        self._known: Document | None = None

    def get(self) -> Document | None:
        """The profile; None as long as a service does not answer: then nothing new is taken."""
        if self._known is None:
            patience = FIRST_SECONDS
        else:
            patience = AGAIN_SECONDS if self._failing else REFRESH_SECONDS
        if self._clock() - self._asked >= patience:
            self._ask()
        away = self._failing and self._clock() - self._answered > 2 * REFRESH_SECONDS
        return None if away else self._known

    def _ask(self) -> None:
        self._asked = self._clock()
        try:
            prep = remote.fetch_info(self._config["prep_url"])
            ocr = remote.fetch_info(self._config["ocr_url"])
        except remote.Unreachable as error:
            if not self._said:  # once, until they have answered again
                log.warning("services_unreachable", error=str(error))
            self._failing = self._said = True
            return
        lang = self._config.get("ocr_lang", "fra+eng")
        self._known = canonical_profile(prep, ocr, lang)
        self._failing, self._said, self._answered = False, False, self._clock()
        _check_beats(self._config, prep, ocr)


def _check_beats(config: Config, *infos: Document) -> None:
    """Say so when services show signs of life too rarely for how long one waits for them."""
    for info in infos:
        least = 2 * float(info.get("beatSeconds") or 0)
        if float(config["job_timeout_s"]) < least:
            log.warning("timeout_too_short", service=info.get("service"), least_seconds=least)


def config_of(environ: Mapping[str, str], work_dir: str, index_dir: str) -> Config:
    """The config of a tick, from the environment."""

    def number(name: str, default: int) -> int:
        return int(environ.get(name, default))

    return {
        "prep_url": environ.get("PREP_URL", "http://127.0.0.1:8101").rstrip("/"),
        "ocr_url": environ.get("OCR_URL", "http://127.0.0.1:8102").rstrip("/"),
        "work_dir": work_dir,
        "max_jobs_in_flight": number("MAX_JOBS_IN_FLIGHT", 10),
        "prep_concurrency": number("PREP_CONCURRENCY", 2),
        "ocr_concurrency": number("OCR_CONCURRENCY", 1),
        "max_attempts_prep": number("MAX_ATTEMPTS_PREP", 3),
        "max_attempts_ocr": number("MAX_ATTEMPTS_OCR", 3),
        "job_timeout_s": number("JOB_TIMEOUT_SECONDS", 120),
        "index_dir": index_dir,
        "metrics": make_empty_metrics(),
        "ocr_lang": environ.get("OCR_LANG", "fra+eng"),
        "stable_s": float(environ.get("STABLE_SECONDS", STABLE_SECONDS)),
        "tick_s": float(environ.get("TICK_SECONDS", TICK_SECONDS)),
        "poll_s": float(environ.get("POLL_SECONDS", POLL_SECONDS)),
        "min_free_bytes": number("MIN_FREE_BYTES", LEAST_FREE_BYTES),
        "retry_s": float(environ.get("RETRY_SECONDS", FIRST_PAUSE)),
    }


@contextlib.contextmanager
def locked(folders: Folders) -> Iterator[None]:
    """Be the only one who tends these folders, or raise `LeaseHeld`."""
    folders.index.mkdir(parents=True, exist_ok=True)
    with folders.lock_file.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = file.read(100).strip() or "another process"
            raise LeaseHeld(
                f"{folders.index.parent} is tended by {holder} already",
                hint="Stop that one first; one folder has one orchestrator.",
            ) from None
        file.truncate(0)
        file.write(f"process {os.getpid()}")
        file.flush()
        yield
