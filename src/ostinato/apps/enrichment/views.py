"""What the routes of enrichment take and show."""

from datetime import datetime
from typing import Any, Final

from psycopg import AsyncConnection
from pydantic import BaseModel, ConfigDict, Field

from ostinato.apps.enrichment.extract import directors
from ostinato.apps.enrichment.merge import FIELDS
from ostinato.apps.enrichment.model import SourceApi, Status
from ostinato.apps.enrichment.queries import QUERIES
from ostinato.apps.enrichment.rules import stale_fields

__all__ = [
    "Body",
    "Company",
    "Created",
    "ErrorBody",
    "Opened",
    "RequestView",
    "Seen",
    "company_view",
    "look",
    "request_view",
    "whole_view",
]

EXAMPLE: Final = "b7d1c7f2-4d6f-4a3c-9a54-1f6b2b6f2f10"


class Body(BaseModel):
    """Which company is meant: a SIREN, a SIRET, or both."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": False})

    # Taken as they come, and refused with the error body of the contract.
    siren: Any = Field(
        default=None,
        description="9 digits.",
        examples=["999 000 003"],
        json_schema_extra={"type": ["string", "null"]},
    )
    siret: Any = Field(
        default=None,
        description="14 digits.",
        examples=["99900000300015"],
        json_schema_extra={"type": ["string", "null"]},
    )
    metadata: Any = Field(
        default=None,
        description="An object: whatever you keep with it.",
        examples=[{"dossier": "2026-117"}],
        json_schema_extra={"type": ["object", "null"]},
    )

    def odd(self) -> "list[Detail]":
        """What is no part of a request: unknown fields, and metadata that is no object."""
        found = [
            Detail(field=name[:100], reason="unknown_field")
            for name in sorted(self.model_extra or {})
        ]
        if self.metadata is not None and not isinstance(self.metadata, dict):
            found.append(Detail(field="metadata", reason="expected_object"))
        return found


class RequestView(BaseModel):
    """A request."""

    id: str = Field(examples=[EXAMPLE])
    created_at: datetime
    siren: str | None
    siret: str | None
    company_siren: str = Field(examples=["999000003"])
    enrichment_status: Status
    enrichment_last_run_at: datetime | None
    enrichment_error: str | None = Field(examples=["INPI_RNE:-:TIMEOUT"])


class Origin(BaseModel):
    """Who said so, and when."""

    source_api: SourceApi
    observed_at: datetime


class Company(BaseModel):
    """A company, consolidated."""

    siren: str = Field(examples=["999000003"])
    legal_name: str | None
    trade_name: str | None
    brand_name: str | None
    legal_form: str | None
    creation_date: str | None
    active_status: str | None
    address_line1: str | None
    address_line2: str | None
    postal_code: str | None
    city: str | None
    country_code: str | None
    naf_code: str | None
    naf_label: str | None
    headcount_range: str | None
    rcs_city: str | None
    registry_name: str | None
    updated_at: datetime
    data_masked: bool = Field(description="Whether the source withholds some of it.")
    masked_fields: list[str]
    stale_fields: list[str] = Field(description="Fields past a time to live of their own.")
    provenance: dict[str, Origin] = Field(description="Who said what.")


class Document(BaseModel):
    """An answer of a source that is kept; its content is not shown."""

    id: str
    doc_type: str
    source_api: SourceApi
    retrieved_at: datetime
    checksum: str


class Retrieval(BaseModel):
    """What came last of a source."""

    source_api: SourceApi
    last_retrieved_at: datetime
    last_status: str
    last_http_status: int | None
    last_error: str | None


class Created(BaseModel):
    """A request, and what is known."""

    request: RequestView
    company: Company | None
    enrichment_running: bool


class Director(BaseModel):
    """A director: no more than the name and the role."""

    nom: str | None
    qualite: str | None
    type_dirigeant: str
    siren: str | None


class Opened(Created):
    """A request with all that belongs to it."""

    documents: list[Document]
    source_retrievals: list[Retrieval]
    dirigeants: list[Director] | None = Field(
        default=None, description="Only if asked for with include=dirigeants, by who may see them."
    )


class Detail(BaseModel):
    """What is wrong with a field."""

    field: str = Field(examples=["siret"])
    reason: str = Field(examples=["expected_14_digits"])


class ErrorBody(BaseModel):
    """The error body that the specification fixes (docs/specs/enrichment.md, M3C-api-1)."""

    error: str = Field(examples=["validation_error"])
    code: str = Field(examples=["INVALID_SIRET_FORMAT"])
    message: str
    details: list[Detail]
    correlation_id: str | None
    request_id: str | None
    timestamp: datetime


class Seen(BaseModel):
    """A request and its company as they stand in the database."""

    row: dict[str, Any]
    fresh: bool
    running: bool
    created_by: str

    @property
    def siren(self) -> str:
        """The company's."""
        return str(self.row["company_siren"])


async def look(conn: AsyncConnection[Any], request_id: str, days: int) -> Seen | None:
    """A request of the transaction's tenant; None: it has none of this id."""
    row = await QUERIES.first(conn, "show_request", request_id=request_id, days=days)
    if row is None:
        return None
    return Seen(row=row, fresh=row["fresh"], running=row["running"], created_by=row["created_by"])


def request_view(seen: Seen) -> RequestView:
    """The request."""
    return RequestView.model_validate(seen.row)


async def company_view(conn: AsyncConnection[Any], seen: Seen) -> Company | None:
    """The company; None before its first consolidation. What is masked is not shown."""
    if seen.row["updated_at"] is None:
        return None
    rows = await QUERIES.rows(conn, "show_provenance", siren=seen.siren)
    told: dict[str, Any] = seen.row["company"]
    masked: list[str] = seen.row["masked_fields"]
    known = [row for row in rows if row["field"] in FIELDS]
    return Company.model_validate(
        {field: None if field in masked else told[field] for field in FIELDS}
        | {
            "siren": seen.siren,
            "updated_at": seen.row["updated_at"],
            "data_masked": bool(masked),
            "masked_fields": masked,
            "stale_fields": stale_fields(
                {row["field"]: row["observed_at"] for row in known}, seen.row["at"]
            ),
            "provenance": {
                row["field"]: Origin(source_api=row["source_api"], observed_at=row["observed_at"])
                for row in known
            },
        }
    )


async def whole_view(
    conn: AsyncConnection[Any], seen: Seen, *, limited: bool, with_directors: bool
) -> Opened:
    """All of it; `limited` leaves out the documents and what the sources answered."""
    documents: list[dict[str, Any]] = []
    retrievals: list[dict[str, Any]] = []
    if not limited:
        documents = await QUERIES.rows(conn, "show_documents", siren=seen.siren)
        retrievals = await QUERIES.rows(conn, "show_retrievals", siren=seen.siren)
    named = None
    if with_directors:
        answers = await QUERIES.rows(conn, "newest_payloads", siren=seen.siren)
        found = directors(
            {SourceApi(row["source_api"]): row["payload"] for row in answers},
            hidden=bool(seen.row["masked_fields"]),
        )
        named = [Director.model_validate(one) for one in found]
    return Opened(
        request=request_view(seen),
        company=await company_view(conn, seen),
        enrichment_running=seen.running,
        documents=[Document.model_validate(row) for row in documents],
        source_retrievals=[Retrieval.model_validate(row) for row in retrievals],
        dirigeants=named,
    )
