"""Defines the enumerations of the specification, and the values between the parts.

docs/specs/enrichment.md names the rules that are cited here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final


class Status(StrEnum):
    """`enrichment_status`."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    PARTIAL = "PARTIAL"
    FAILED = "FAILED"
    STALE = "STALE"


class SourceApi(StrEnum):
    """`source_api`: the sources that the specification names; `sources/` has a file for each."""

    SEARCH = "API_RECHERCHE_ENTREPRISES"
    INPI = "INPI_RNE"
    RCS = "API_ENTREPRISE_RCS"


class ErrorCode(StrEnum):
    """`error_code`."""

    MISSING_COMPANY_IDENTIFIER = "MISSING_COMPANY_IDENTIFIER"
    INVALID_SIREN_FORMAT = "INVALID_SIREN_FORMAT"
    INVALID_SIRET_FORMAT = "INVALID_SIRET_FORMAT"
    SIREN_SIRET_MISMATCH = "SIREN_SIRET_MISMATCH"
    AUTH_ERROR = "AUTH_ERROR"
    FORBIDDEN = "FORBIDDEN"
    NOT_FOUND = "NOT_FOUND"
    RATE_LIMIT = "RATE_LIMIT"
    TIMEOUT = "TIMEOUT"
    UPSTREAM_5XX = "UPSTREAM_5XX"
    SOURCE_UNAVAILABLE = "SOURCE_UNAVAILABLE"
    INTERNAL_ERROR = "INTERNAL_ERROR"


class Trigger(StrEnum):
    """The cause of a run. The specification has the first three; the last two are ours, and emit no event."""

    REQUEST_CREATED = "REQUEST_CREATED"
    REQUEST_OPENED = "REQUEST_OPENED"
    MANUAL_REFRESH = "MANUAL_REFRESH"
    CATCH_UP = "CATCH_UP"
    RERUN = "RERUN"


REQUIRED: Final = frozenset({SourceApi.SEARCH})
"""The sources without which a run has failed; any other is optional (M3C-sources-1, 2)."""


@dataclass(frozen=True, slots=True)
class Identifiers:
    """A company as a request names it, normalised, and as it was typed."""

    siren: str | None
    siret: str | None
    company_siren: str
    siren_raw: str | None = None
    siret_raw: str | None = None


@dataclass(frozen=True, slots=True)
class SourceError:
    """What went wrong with a source, in the internal error format of the specification."""

    error_code: ErrorCode
    source_api: SourceApi
    http_status: int | None
    message: str
    retryable: bool
    retry_after: float | None = None
    """Seconds that the source asks to be left alone for."""

    def to_json(self) -> dict[str, Any]:
        """Return exactly the five fields."""
        return {
            "error_code": str(self.error_code),
            "source_api": str(self.source_api),
            "http_status": self.http_status,
            "message": self.message,
            "retryable": self.retryable,
        }


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came of one source, retries included: a result that a step can keep."""

    source_api: SourceApi
    http_status: int | None
    duration_ms: int
    error: SourceError | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    """Of the company's fields, those that the source knows."""
    masked: tuple[str, ...] = ()
    """Fields that the source withholds."""
    payload: Any = None
    """What it answered; None also when that is larger than what may be kept."""
    checksum: str | None = None
    """Of the answer without what changes from call to call."""
    called: bool = True
    """Whether it was called at all; not while it is paused."""
    configured: bool = True
    """Whether it has credentials; without them it is not part of the pipeline."""

    def to_json(self) -> dict[str, Any]:
        """Write it as a step keeps it: how the call went, without the answer."""
        return {
            "source_api": str(self.source_api),
            "http_status": self.http_status,
            "duration_ms": self.duration_ms,
            "error": None if self.error is None else self.error.to_json(),
            "checksum": self.checksum,
            "called": self.called,
            "configured": self.configured,
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Fetched":
        """Read what a step gives back; one of an earlier release has the answer in it."""
        failure = kept["error"]
        error = failure and SourceError(
            ErrorCode(failure["error_code"]),
            SourceApi(failure["source_api"]),
            failure["http_status"],
            failure["message"],
            failure["retryable"],
        )
        return cls(
            SourceApi(kept["source_api"]),
            kept["http_status"],
            kept["duration_ms"],
            error,
            kept.get("values", {}),
            tuple(kept.get("masked", ())),
            kept.get("payload"),
            kept["checksum"],
            kept["called"],
            kept.get("configured", True),
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a run ended: the state machine's input."""

    status: Status
    core_identity_present: bool
    sources_success_count: int
    required_sources_failed_count: int
    optional_sources_failed_count: int
    error: str | None

    @property
    def sources_failed_count(self) -> int:
        """How many sources failed, required and optional ones (M3C-sources-3)."""
        return self.required_sources_failed_count + self.optional_sources_failed_count
