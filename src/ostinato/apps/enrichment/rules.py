"""This module decides, from plain values: retries, how a run ended, what is fresh, which key.

The rules that it cites stand in docs/specs/enrichment.md.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from ostinato.apps.enrichment.model import REQUIRED, ErrorCode, Fetched, SourceError, Status, Trigger, Verdict
from ostinato.idempotency import canonical, sha256

LONGEST_ERROR: Final = 2000
MOST_BYTES: Final = 1_000_000
"""Of a payload that is kept."""
MOST_RECEIVED: Final = 4 * MOST_BYTES
"""Of an answer that is read at all."""
PASSING: Final = frozenset(
    {ErrorCode.TIMEOUT, ErrorCode.RATE_LIMIT, ErrorCode.UPSTREAM_5XX, ErrorCode.SOURCE_UNAVAILABLE}
)
"""What is over in a minute, and says nothing about the company."""
_VOLATILE: Final = frozenset({"score", "meta", "execution_time"})

TOO_MANY, SERVER_ERROR = 429, 500
_CODES: Final = {
    401: ErrorCode.AUTH_ERROR,
    403: ErrorCode.FORBIDDEN,
    404: ErrorCode.NOT_FOUND,
    TOO_MANY: ErrorCode.RATE_LIMIT,
    451: ErrorCode.FORBIDDEN,
}


def lock_name(siren: str) -> str:
    """Name the lock of a company (M3C-lock-1)."""
    return f"company_enrichment:{siren}"


def idempotency_key(siren: str, trigger: Trigger, now: datetime) -> str:
    """Return `company_siren + trigger + date_bucket`; the tenant is the engine's part of every key.

    The bucket is the UTC day, the minute for what somebody asked for by hand (M3C-gap-9).
    """
    style = "%Y-%m-%dT%H:%M" if trigger is Trigger.MANUAL_REFRESH else "%Y-%m-%d"
    return f"{siren}:{trigger}:{now.astimezone(UTC).strftime(style)}"


def opens_again(status: str, last_run_at: datetime | None, now: datetime, *, fresh: bool) -> bool:
    """Return whether opening a request asks for its company: if that is stale, or was never found.

    A run of today that failed was the run of the bucket: who opens the request is shown FAILED
    and why, and not PENDING again.
    """
    failed_today = (
        status == Status.FAILED
        and last_run_at is not None
        and last_run_at.astimezone(UTC).date() == now.astimezone(UTC).date()
    )
    return not fresh and not failed_today


def key_is_free(  # noqa: PLR0917 - what is known of the last run
    trigger: Trigger, status: str, failed_for: str | None, last_run_at: datetime | None, now: datetime, seconds: float
) -> bool:
    """Return whether a run may start although its key was used: what that led to is no effect.

    A run that never ended; or, for a new request, one in which the required source was not well: a
    bad minute must not cost a day. Not sooner than the breaker lets anybody through, and not for
    who opens a request: that is polled.
    """
    if status in (Status.PENDING, Status.RUNNING):
        return True
    return (
        trigger is Trigger.REQUEST_CREATED
        and status == Status.FAILED
        and failed_for in PASSING
        and last_run_at is not None
        and (now - last_run_at).total_seconds() >= seconds
    )


def cooldown_left(refreshed_at: datetime | None, now: datetime, seconds: float) -> float:
    """Return the seconds until a company may be refreshed by hand again; 0: now."""
    if refreshed_at is None:
        return 0.0
    return max(0.0, seconds - (now - refreshed_at).total_seconds())


def error_of_status(status: int, own: Mapping[int, ErrorCode]) -> ErrorCode:
    """Return the canonical code of an HTTP status that is no success (M3C-retry-6).

    `own`: statuses that mean something else at this source.
    """
    usual = ErrorCode.UPSTREAM_5XX if status >= SERVER_ERROR else ErrorCode.INTERNAL_ERROR
    return {**_CODES, **own}.get(status, usual)


def is_retryable(code: ErrorCode, status: int | None) -> bool:
    """Return whether a call is worth another try: timeouts, 429 and 5xx (M3C-retry-4, 5).

    Nothing else is, refused connections included.
    """
    if status is not None:
        return status == TOO_MANY or status >= SERVER_ERROR
    return code is ErrorCode.TIMEOUT


def next_pause(error: SourceError, tries: int, backoff: Sequence[float], longest_retry_after: float) -> float | None:
    """Return the seconds until the next try of a source; None: give it up.

    A Retry-After wins over the backoff, unless it is longer than a run should wait (M3C-gap-6):
    then the source is left alone until another run.
    """
    if not error.retryable or tries > len(backoff):
        return None
    if error.retry_after is None:
        return backoff[tries - 1]
    return error.retry_after if error.retry_after <= longest_retry_after else None


def core_identity(siren: str, values: Mapping[str, object], masked: Sequence[str] = ()) -> bool:
    """Return whether a SIREN, a legal name and an address field are known (M3C-merge-3).

    What is masked is known, too.
    """
    known = {name for name, value in values.items() if value} | set(masked)
    place = known & {"address_line1", "postal_code", "city"}
    return bool(siren and "legal_name" in known and place)


def evaluate(fetched: Sequence[Fetched], *, core: bool, optional_not_found_fails: bool = True) -> Verdict:
    """Evaluate the state that a run leads to, with its counters (M3C-sources-1 to 3)."""
    failed = [one for one in fetched if one.error is not None]
    required = sum(one.source_api in REQUIRED for one in failed)
    counted = [one for one in failed if optional_not_found_fails or one.error is None or not _is_not_found(one.error)]
    optional = sum(one.source_api not in REQUIRED for one in counted)
    error = enrichment_error([one.error for one in failed if one.error is not None])
    if required or not core:
        status = Status.FAILED
        # Every source may have answered and still have said nothing: that, too, has a reason.
        if not required:
            error = _joined([error, *(f"{source}:200:NOT_FOUND" for source in REQUIRED)])
    elif optional:
        status = Status.PARTIAL
    else:
        status = Status.SUCCESS
    return Verdict(status, core, len(fetched) - len(failed), required, optional, error)


def enrichment_error(errors: Sequence[SourceError]) -> str | None:
    """Format errors as `SOURCE:HTTP:ERROR_CODE|…`, `-` where there was no status; cut between two of them."""
    return _joined([f"{e.source_api}:{e.http_status or '-'}:{e.error_code}" for e in errors])


def stable_checksum(payload: object, volatile: Collection[str] = ()) -> str:
    """Hash the canonical JSON (RFC 8785) without what changes from call to call (M3C-gap-12).

    `volatile`: fields of this source that do, beside those of all.
    """
    dropped = _VOLATILE.union(volatile)
    return sha256(canonical(_without(payload, dropped), max_bytes=2 * MOST_RECEIVED))


def _joined(parts: Sequence[str | None]) -> str | None:
    whole = ""
    for part in parts:
        longer = f"{whole}|{part}" if whole else part
        if part and longer and len(longer) <= LONGEST_ERROR:
            whole = longer
    return whole or None


def _is_not_found(error: SourceError) -> bool:
    return error.error_code is ErrorCode.NOT_FOUND


def _without(value: Any, dropped: frozenset[str]) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {name: _without(item, dropped) for name, item in value.items() if name not in dropped}
    return [_without(item, dropped) for item in value] if isinstance(value, list) else value
