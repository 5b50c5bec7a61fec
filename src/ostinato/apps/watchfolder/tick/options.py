"""Declares how one folder is watched: typed options, each with its default.

The specification hands `process_tick` a dict; `Options.of` reads it once for every tick.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple


class Service(NamedTuple):
    """What the options say about PREP, or about OCR."""

    url: str
    concurrency: int
    max_attempts: int


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of an orchestrator, under the names of the specification's config."""

    prep_url: str = "http://127.0.0.1:8101"
    ocr_url: str = "http://127.0.0.1:8102"
    max_jobs_in_flight: int = 10
    prep_concurrency: int = 2
    ocr_concurrency: int = field(default_factory=lambda: os.cpu_count() or 1)
    max_attempts_prep: int = 3
    max_attempts_ocr: int = 3
    job_timeout_s: float = 120
    """A job whose heartbeat is older than this is retried."""
    ocr_lang: str = "fra+eng"
    stable_s: float = 5.0
    """A file that has not changed for so long is finished."""
    empty_s: float = 600.0
    """A file that stays empty for so long is refused."""
    tick_s: float = 2.0
    poll_s: float = 0.5
    """A job whose service has not written how it ended is asked about so rarely."""
    retry_s: float = 1.0
    """The first pause before a retry; each further one is twice as long."""
    min_free_bytes: int = 1 << 30
    """Nothing new is taken when less than this is free."""
    inline_bytes: int = 8 << 20
    """A larger file is hashed in a thread of its own, so that no tick waits for it."""
    infra_max: int = 20
    """So many failures that are not the file's fault end a job."""

    def __post_init__(self) -> None:
        for name in ("prep_url", "ocr_url"):
            object.__setattr__(self, name, getattr(self, name).rstrip("/"))

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Options":
        """Read the dict of the specification, which polls in every tick; other keys are ignored."""
        given = {"poll_s": 0.0} | dict(config)
        names = [each.name for each in fields(cls) if given.get(each.name) is not None]
        return cls(**{name: given[name] for name in names})

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> "Options":
        """Read the variables of the specification, such as `PREP_URL` and `STABLE_SECONDS`."""
        usual = cls()
        named = {name: re.sub("_S$", "_SECONDS", name.upper()) for name in IN_ENVIRONMENT}
        return cls(
            **{
                name: type(getattr(usual, name))(environ[variable])
                for name, variable in named.items()
                if environ.get(variable)
            }
        )

    @property
    def prep(self) -> Service:
        """PREP: where it is, how much it may have at once, how often it is tried."""
        return Service(self.prep_url, self.prep_concurrency, self.max_attempts_prep)

    @property
    def ocr(self) -> Service:
        """OCR, likewise."""
        return Service(self.ocr_url, self.ocr_concurrency, self.max_attempts_ocr)


IN_ENVIRONMENT = (
    *("prep_url", "ocr_url", "prep_concurrency", "ocr_concurrency", "ocr_lang"),
    *("max_jobs_in_flight", "max_attempts_prep", "max_attempts_ocr", "job_timeout_s"),
    *("stable_s", "tick_s", "poll_s", "retry_s", "min_free_bytes"),
)
