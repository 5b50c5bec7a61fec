"""Declares the settings of watchfolder; `main` reads the variables of the specification."""

import hashlib
import re
from pathlib import Path

from ostinato.apps.watchfolder.folders import Folders
from ostinato.apps.watchfolder.tick.options import Options
from ostinato.settings import Section, section, setting

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def _segment(tenant_id: str) -> str:
    """Return the name of a tenant's folder: an id can be any text, such as `../other`."""
    if PLAIN.fullmatch(tenant_id) and not tenant_id.startswith("t-"):
        return tenant_id
    return f"t-{hashlib.sha256(tenant_id.encode()).hexdigest()[:16]}"


@section("watchfolder")
class WatchfolderSettings(Section):
    """How folders are watched."""

    root: str = setting("", "Where the folders of tenants are made. Empty: `watch` in the data folder.")
    prep_url: str = setting("", "PREP to use for all folders. Empty: one is started beside the worker.")
    ocr_url: str = setting("", "OCR to use for all folders. Empty: one is started beside the worker.")
    ocr_engine: str = setting("auto", "What reads: auto, tesseract or rapid.", choices=("auto", "tesseract", "rapid"))
    ocr_lang: str = setting("fra+eng", "Languages of what is scanned.")
    stable_seconds: float = setting(5.0, "A file that has not changed for this long is finished.", low=0, high=3600)
    tick_seconds: float = setting(1.0, "Longest time between two ticks.", low=0.05, high=600)
    job_timeout_seconds: int = setting(
        120,
        "A service that was silent for this long is retried. Those that are started beside the"
        " worker give a sign of life four times in it, at least every five seconds.",
        low=1,
        high=86_400,
    )
    renew_seconds: float = setting(
        10.0, "Watching that went well for so long after a worker died is no suspect.", low=0.1, high=3600
    )
    max_folders: int = setting(20, "Folders that a tenant may have: each is watched all the time.", low=1, high=10_000)
    max_jobs_in_flight: int = setting(10, "Jobs in flight at once.", low=1, high=10_000)
    prep_concurrency: int = setting(2, "Jobs that PREP has at once.", low=1, high=1000)
    ocr_concurrency: int = setting(
        0, "Jobs that OCR has at once. 0: as many as there are cores, and memory for the models.", low=0, high=1000
    )
    max_attempts: int = setting(3, "Attempts of each step.", low=1, high=100)
    keep_readings: bool = setting(
        default=True,
        description="Keep the text and a picture of each first page in the database, for the console and its search.",
    )
    min_free_bytes: int = setting(1 << 30, "Nothing new is taken when less than this is free.", low=0, high=1 << 50)

    def folders(self, data_dir: str, tenant_id: str, name: str) -> Folders:
        """Return where the folder of a tenant is; `data_dir` counts when there is no `root`."""
        root = Path(self.root or Path(data_dir) / "watch").absolute()
        return Folders.below(root / _segment(tenant_id) / name)

    def options(self, lang: str, *, prep_url: str, ocr_url: str) -> Options:
        """Return the options of a tick, with the services at these URLs."""
        return Options(
            prep_url=prep_url,
            ocr_url=ocr_url,
            ocr_lang=lang or self.ocr_lang,
            stable_s=self.stable_seconds,
            tick_s=self.tick_seconds,
            job_timeout_s=self.job_timeout_seconds,
            max_jobs_in_flight=self.max_jobs_in_flight,
            prep_concurrency=self.prep_concurrency,
            **({"ocr_concurrency": self.ocr_concurrency} if self.ocr_concurrency else {}),
            max_attempts_prep=self.max_attempts,
            max_attempts_ocr=self.max_attempts,
            min_free_bytes=self.min_free_bytes,
        )
