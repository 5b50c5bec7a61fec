"""The settings of enrichment: where the sources are, with which keys, and how patient we are."""

import re
from typing import Final

from ostinato.errors import SettingsError
from ostinato.settings import Section, section, setting

__all__ = ["EnrichmentSettings"]

_DAY: Final = 86_400.0
_SIRET: Final = re.compile(r"[0-9]{14}", re.ASCII)
LONGEST_OBJECT: Final = 49


@section("enrichment")
class EnrichmentSettings(Section):
    """How enrichment runs."""

    search_url: str = setting(
        "https://recherche-entreprises.api.gouv.fr", "API Recherche d'entreprises."
    )
    search_api_key: str = setting("", "A key of API Recherche d'entreprises; it needs none today.")
    search_per_second: float = setting(
        6.0, "Calls to it, at most; it allows 7 for an address.", low=0.01, high=100_000
    )
    search_directors: bool = setting(
        default=False,
        description="Whether a second call asks the search for directors, too.",
    )
    user_agent: str = setting(
        "ostinato-enrichment/1.0", "How we introduce ourselves; the operator asks for it."
    )
    inpi_url: str = setting(
        "https://registre-national-entreprises.inpi.fr/api", "INPI, Registre national."
    )
    inpi_username: str = setting("", "The account at INPI; without one it is not called.")
    inpi_password: str = setting("", "Its password.")
    inpi_per_second: float = setting(5.0, "Calls to INPI, at most.", low=0.01, high=100_000)
    inpi_per_day: int = setting(
        10_000, "Files of INPI in a day, at most: its quota.", low=1, high=1_000_000_000
    )
    rcs_url: str = setting("https://entreprise.api.gouv.fr", "API Entreprise.")
    rcs_token: str = setting("", "The token of API Entreprise; without one it is not called.")
    rcs_context: str = setting("Enrichissement de dossier", "Its parameter context.")
    rcs_object: str = setting("M3 enrichissement", "Its parameter object, under 50 characters.")
    rcs_recipient: str = setting(
        "",
        "Its parameter recipient: the SIRET of the public body that asks; without it no call.",
    )
    rcs_per_second: float = setting(
        4.0, "Calls to it, at most; it allows 250 a minute.", low=0.01, high=100_000
    )
    timeout_ms: int = setting(5000, "How long one call to a source may take.", low=1, high=60_000)
    backoff_ms: str = setting("250,500", "Pauses before the retries of a call; none: no retries.")
    longest_retry_after: float = setting(
        5.0, "Seconds of Retry-After that a run waits for; a longer one ends the source.", low=0,
        high=60,
    )  # fmt: skip
    breaker_failures: int = setting(
        3, "Fetches in a row that fail until a source is paused.", low=1, high=1000
    )
    breaker_seconds: float = setting(
        60.0, "How long it is paused, until one call probes it.", low=0.01, high=_DAY
    )
    freshness_ttl_days: int = setting(30, "How long a snapshot is fresh.", low=1, high=3650)
    lock_ttl_seconds: float = setting(120.0, "How long a lock lives.", low=0.1, high=3600)
    lock_heartbeat_seconds: float = setting(
        30.0, "How often a long run renews its lock.", low=0.01, high=3600
    )
    sync_ms: int = setting(1200, "How long a request waits for its run.", low=0, high=10_000)
    cooldown_seconds: float = setting(
        60.0, "Between two manual refreshes of a company.", low=0, high=_DAY
    )
    identifier_luhn: str = setting(
        "warn", "What a wrong check digit means.", choices=("off", "warn", "enforce")
    )
    optional_not_found_counts_as_failure: bool = setting(
        default=True,
        description="Whether a company that an optional source does not know is PARTIAL.",
    )
    document_days: int = setting(
        396, "How long documents keep their content; then checksum and dates stay.", low=1,
        high=36_500,
    )  # fmt: skip
    catch_up_most: int = setting(500, "Stale companies of one night.", low=1, high=100_000)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rcs_recipient and not _SIRET.fullmatch(self.rcs_recipient):
            raise SettingsError(
                "enrichment.rcs_recipient is no SIRET",
                hint="Write the 14 digits of the public body, or nothing.",
                name="rcs_recipient",
            )
        if len(self.rcs_object) > LONGEST_OBJECT:
            raise SettingsError(
                f"enrichment.rcs_object is longer than {LONGEST_OBJECT} characters",
                hint="API Entreprise refuses it: shorten it.",
                name="rcs_object",
            )

    @property
    def backoff_seconds(self) -> tuple[float, ...]:
        """The pauses before the retries (M3C, retry 2 and 3)."""
        return tuple(float(word) / 1000 for word in self.backoff_ms.split(",") if word.strip())
