"""Defines what the routes of enrichment take and show."""

import json
from datetime import datetime
from typing import Any, Final, Literal

from psycopg import AsyncConnection
from pydantic import BaseModel, ConfigDict, Field, model_validator

from ostinato.apps.enrichment.extract import directors
from ostinato.apps.enrichment.merge import FIELD_DAYS
from ostinato.apps.enrichment.model import SourceApi, Status
from ostinato.apps.enrichment.queries import QUERIES

Row = dict[str, Any]

DAYS: Final = json.dumps(FIELD_DAYS)
"""Which fields are shown, and for how long each is good, as `show_view` takes them."""
NO_OBJECT: Final = ""
EXAMPLE: Final = "b7d1c7f2-4d6f-4a3c-9a54-1f6b2b6f2f10"


class Body(BaseModel):
    """Which company is meant: a SIREN, a SIRET, or both."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": False})

    # Taken as they come, and refused with the error body of the contract.
    siren: Any = Field(
        default=None, description="9 digits.", examples=["999 000 003"], json_schema_extra={"type": ["string", "null"]}
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

    @model_validator(mode="before")
    @classmethod
    def _shaped(cls, given: object) -> object:
        """Take what is no object as one without a company, which `odd` names: refused as the contract says."""
        return given if isinstance(given, dict) else {NO_OBJECT: None}

    def odd(self) -> "list[Detail]":
        """Return what is no part of a request: no object, unknown fields, and metadata that is no object."""
        extra = sorted(self.model_extra or {})
        if extra == [NO_OBJECT]:
            return [Detail(field="body", reason="expected_object")]
        found = [Detail(field=name[:100], reason="unknown_field") for name in extra]
        if self.metadata is not None and not isinstance(self.metadata, dict):
            found.append(Detail(field="metadata", reason="expected_object"))
        return found


ABSENT: Final = Body.model_validate(None)
"""An empty body."""


class RequestView(BaseModel):
    """A request."""

    id: str = Field(examples=[EXAMPLE])
    created_at: datetime
    siren: str | None
    siret: str | None
    siret_status: Literal["PENDING", "KNOWN", "UNKNOWN"] | None = Field(
        description="Whether the SIRET is an establishment of the company; PENDING until that was asked.",
        examples=["KNOWN"],
    )
    company_siren: str = Field(examples=["999000003"])
    enrichment_status: Status
    enrichment_last_run_at: datetime | None
    enrichment_error: str | None = Field(examples=["INPI_RNE:-:TIMEOUT"])


class Origin(BaseModel):
    """Who said so, and when."""

    source_api: SourceApi
    observed_at: datetime


class Fields(BaseModel):
    """What is known of a company."""

    siren: str = Field(examples=["999000003"])
    legal_name: str | None
    trade_name: str | None
    brand_name: str | None
    legal_form: str | None
    legal_form_code: str | None = Field(description="INSEE's code of it.", examples=["5710"])
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


class Company(Fields):
    """A company, consolidated."""

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


async def look(conn: AsyncConnection[Any], request_id: str, days: int) -> Row | None:
    """Find a request of the transaction's tenant with its company; None: there is none."""
    return await QUERIES.first(conn, "show_request", request_id=request_id, days=days)


async def created_view(conn: AsyncConnection[Any], seen: Row) -> Created:
    """Show a request, and what is known of its company."""
    shown = await QUERIES.value(conn, "show_view", request_id=seen["id"], field_days=DAYS)
    return Created.model_validate(shown)


async def whole_view(conn: AsyncConnection[Any], seen: Row, *, limited: bool, with_directors: bool) -> Opened:
    """Show all of it; `limited` leaves out the documents and what the sources answered."""
    company = {"siren": seen["company_siren"]}
    documents = [] if limited else await QUERIES.rows(conn, "show_documents", **company)
    retrievals = [] if limited else await QUERIES.rows(conn, "show_retrievals", **company)
    named = None
    if with_directors:
        answers = await QUERIES.rows(conn, "newest_payloads", **company)
        found = directors(
            {SourceApi(row["source_api"]): row["payload"] for row in answers}, hidden=bool(seen["masked_fields"])
        )
        named = [Director.model_validate(one) for one in found]
    return Opened(
        **dict(await created_view(conn, seen)),
        documents=[Document.model_validate(row) for row in documents],
        source_retrievals=[Retrieval.model_validate(row) for row in retrievals],
        dirigeants=named,
    )
