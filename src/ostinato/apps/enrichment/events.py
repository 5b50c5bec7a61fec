"""Emits the four events of enrichment, with their minimum payloads, as producer `M3`."""

import dataclasses
from collections.abc import Iterable
from typing import Any, Final, Literal, TypeVar

from psycopg import AsyncConnection
from pydantic.dataclasses import dataclass

from ostinato import outbox
from ostinato.apps.enrichment import APP
from ostinato.apps.enrichment.model import ErrorCode, SourceApi
from ostinato.outbox import EventKind

M = TypeVar("M")
PRODUCER: Final = "M3"


@dataclass(frozen=True)
class Requested:
    """Somebody asked for a company."""

    request_id: str
    company_siren: str
    company_siret: str | None
    trigger: Literal["REQUEST_CREATED", "REQUEST_OPENED", "MANUAL_REFRESH"]


@dataclass(frozen=True)
class Started:
    """The lock of a company was acquired."""

    job_id: int
    company_siren: str
    attempt: int


@dataclass(frozen=True)
class SourceFetched:
    """A call to a source has ended."""

    job_id: int
    company_siren: str
    source_api: SourceApi
    status: Literal["SUCCESS", "FAILED"]
    http_status: int | None
    error_code: ErrorCode | None
    duration_ms: int


@dataclass(frozen=True)
class Completed:
    """A run has ended, and what came of it is kept."""

    job_id: int
    company_siren: str
    enrichment_status: Literal["SUCCESS", "PARTIAL", "FAILED"]
    sources_success_count: int
    sources_failed_count: int
    core_identity_present: bool
    required_sources_failed_count: int
    optional_sources_failed_count: int


REQUESTED: Final = APP.event("CompanyEnrichmentRequested", payload=Requested)
STARTED: Final = APP.event("CompanyEnrichmentStarted", payload=Started)
FETCHED: Final = APP.event("CompanyEnrichmentSourceFetched", payload=SourceFetched)
COMPLETED: Final = APP.event("CompanyEnrichmentCompleted", payload=Completed)


async def emit(conn: AsyncConnection[Any], kind: EventKind[M], payload: M, siren: str) -> None:
    """Emit an event in the transaction of a connection, in the order of its company."""
    await emit_each(conn, kind, siren, [(None, None, payload)])


async def emit_each(
    conn: AsyncConnection[Any], kind: EventKind[M], siren: str, to: Iterable[tuple[str | None, str | None, M]]
) -> None:
    """Emit an event to several tenants, to each its own payload as part of what it asked for."""
    await outbox.emit_many(
        conn,
        [
            dataclasses.replace(kind.new(payload, siren, tenant, correlation_id, None), producer=PRODUCER)
            for tenant, correlation_id, payload in to
        ],
    )


async def emit_all(conn: AsyncConnection[Any], kind: EventKind[M], about: Iterable[tuple[str, M]]) -> None:
    """Emit events about many companies in one statement, each in the order of its own."""
    await outbox.emit_many(
        conn,
        [
            dataclasses.replace(kind.new(payload, siren, None, None, None), producer=PRODUCER)
            for siren, payload in about
        ],
    )
