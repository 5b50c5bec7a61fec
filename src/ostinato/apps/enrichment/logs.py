"""Names the fields that every line of enrichment has (M3C-logs-1), null where there is nothing to say."""

from typing import Any, Final

from ostinato import Context

Fields = dict[str, Any]
LINE: Final = ("request_id", "job_id", "company_siren", "source_api", "error_message")
"""Those that the line of an HTTP request has only if somebody says so."""


def line_fields(**known: object) -> Fields:
    """Return the thirteen fields but time, level and event, which every line has anyway."""
    names = (
        "correlation_id",
        "tenant_id",
        "request_id",
        "job_id",
        "company_siren",
        "source_api",
        "http_status",
        "error_code",
        "error_message",
        "duration_ms",
    )
    return dict.fromkeys(names) | known


def job_fields(ctx: Context, siren: str | None = None, request_id: str | None = None) -> Fields:
    """Return the fields of the lines of a job."""
    return line_fields(
        correlation_id=ctx.correlation_id,
        tenant_id=ctx.job.tenant_id,
        request_id=request_id,
        job_id=ctx.job.id,
        company_siren=siren,
    )
