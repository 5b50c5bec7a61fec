"""Declares the alerts on sources that refuse, are left out, paused, or near their quota."""

from typing import Final

from ostinato.alerts import Alert
from ostinato.apps.enrichment.sources import SOURCES

_CREDENTIALS: Final = ", ".join(" and ".join(source.credentials) for source in SOURCES.values() if source.credentials)

ALERTS: Final = (
    Alert(
        "enrichment.source_refuses",
        function="enrichment.refusing_sources",
        above=0,
        severity="critical",
        message="{label} refuses our credentials",
        remedy="Renew the account or the token there, set it in [enrichment], restart the workers.",
    ),
    Alert(
        "enrichment.source_missing",
        function="enrichment.missing_sources",
        above=0,
        severity="info",
        message="{label} has no credentials and is left out: companies lack what only it knows",
        remedy=f"Set {_CREDENTIALS} in [enrichment].",
    ),
    Alert(
        "enrichment.source_paused",
        function="enrichment.paused_sources",
        above=0,
        for_seconds=300,
        message="{label} has been paused, without an answer since, for five minutes",
        remedy="GET /v1/enrichment/overview says why; see the status page of the source.",
    ),
    Alert(
        "enrichment.quota",
        function="enrichment.used_quotas",
        above=0.9,
        message="of the calls that {label} allows today {value} is used up",
        remedy="It is paused at 1 until midnight UTC; ask the operator for a higher quota.",
    ),
)
