"""Declares the settings of enrichment; each source adds its own (`sources/`)."""

import dataclasses
from typing import Final

from ostinato.apps.enrichment import checks
from ostinato.apps.enrichment.sources import SourceSettings
from ostinato.settings import section, setting

_DAY: Final = 86_400.0


@section("enrichment")
class EnrichmentSettings(SourceSettings):
    """How enrichment runs."""

    user_agent: str = setting("ostinato-enrichment/1.0", "How we introduce ourselves; the operator asks for it.")
    timeout_ms: int = setting(5000, "How long one call to a source may take.", low=1, high=60_000)
    backoff_ms: str = setting("250,500", "Pauses before the retries of a call; none: no retries.")
    longest_retry_after: float = setting(
        5.0, "Seconds of Retry-After that a run waits for; a longer one ends the source.", low=0,
        high=60,
    )  # fmt: skip
    breaker_failures: int = setting(3, "Fetches in a row that fail until a source is paused.", low=1, high=1000)
    breaker_seconds: float = setting(60.0, "How long it is paused, until one call probes it.", low=0.01, high=_DAY)
    freshness_ttl_days: int = setting(30, "How long a snapshot is fresh.", low=1, high=3650)
    lock_ttl_seconds: float = setting(120.0, "How long a lock lives.", low=0.1, high=3600)
    lock_heartbeat_seconds: float = setting(30.0, "How often a long run renews its lock.", low=0.01, high=3600)
    sync_ms: int = setting(1200, "How long a request waits for its run.", low=0, high=10_000)
    cooldown_seconds: float = setting(60.0, "Between two manual refreshes of a company.", low=0, high=_DAY)
    identifier_luhn: str = setting("warn", "What a wrong check digit means.", choices=("off", "warn", "enforce"))
    optional_not_found_counts_as_failure: bool = setting(
        default=True, description="Whether a company that an optional source does not know is PARTIAL."
    )
    document_days: int = setting(
        396, "How long documents keep their content; then checksum and dates stay.", low=1,
        high=36_500,
    )  # fmt: skip
    catch_up_most: int = setting(500, "Stale companies of one night.", low=1, high=100_000)

    rerun_minutes: str = setting(
        "5,15,60,240,720,1440", "Minutes until a result that passes is run again, one after the other; none: never."
    )

    proxy_url: str = setting("", "An HTTP proxy through which the sources are reached, such as http://proxy:3128.")
    ca_file: str = setting("", "A file of certificates (PEM) that are trusted beside the usual ones.")

    def __post_init__(self) -> None:
        """Check what the sources and the lock could not work with."""
        super().__post_init__()
        checks.pauses("backoff_ms", self.backoff_ms)
        checks.minutes("rerun_minutes", self.rerun_minutes)
        for field in dataclasses.fields(self):
            if field.name.endswith("_url"):
                checks.address(field.name, getattr(self, field.name), needed=field.name != "proxy_url")
        checks.certificates("ca_file", self.ca_file)
        checks.below("lock_heartbeat_seconds", self.lock_heartbeat_seconds, "lock_ttl_seconds", self.lock_ttl_seconds)

    @property
    def rerun_seconds(self) -> tuple[float, ...]:
        """The pauses before the reruns."""
        return checks.minutes("rerun_minutes", self.rerun_minutes)

    @property
    def backoff_seconds(self) -> tuple[float, ...]:
        """The pauses before the retries (M3C-retry-2, M3C-retry-3)."""
        return checks.pauses("backoff_ms", self.backoff_ms)
