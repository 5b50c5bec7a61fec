"""Lists requests and companies of a tenant: pages by keyset, filters, and all of it as CSV.

A tenant sees its requests and the companies that they speak of; a `client_user` those of the
requests that it made. The last row of a page is the cursor of the next one, so that rows that come
meanwhile move nothing.
"""

import base64
import csv
import io
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from typing import Annotated, Any, Final, Literal, NamedTuple
from uuid import UUID

from fastapi import Depends, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, BeforeValidator, Field

from ostinato.apps.enrichment.answers import fixed, refuse
from ostinato.apps.enrichment.http import EVERYBODYS, READ
from ostinato.apps.enrichment.logs import LINE
from ostinato.apps.enrichment.model import Status
from ostinato.apps.enrichment.queries import QUERIES
from ostinato.apps.enrichment.views import Detail, Fields, RequestView, Row
from ostinato.web import Caller, Router, Who

MOST: Final = 200
EXPORTED_AT_ONCE: Final = 1000
CSV: Final[dict[int | str, dict[str, Any]]] = {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}
MARK: Final = "\ufeff"
"""By this a spreadsheet knows UTF-8."""
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""How a cell begins that a spreadsheet would run; the last four are the wide forms of the first."""

router = Router(prefix="/v1", tags=["enrichment"], line=LINE)


class ListedRequest(RequestView):
    """A request, with the name of its company."""

    legal_name: str | None
    city: str | None


class ListedCompany(Fields):
    """A company, without who said what."""

    enrichment_status: Status
    enrichment_last_run_at: datetime | None
    enrichment_error: str | None
    updated_at: datetime | None
    masked_fields: list[str]


class RequestPage(BaseModel):
    """Requests, newest first."""

    items: list[ListedRequest]
    next_cursor: str | None = Field(description="Of the next page; null: there is none.")


class CompanyPage(BaseModel):
    """Companies, by SIREN."""

    items: list[ListedCompany]
    next_cursor: str | None = Field(description="Of the next page; null: there is none.")


class Filter(NamedTuple):
    """What is asked for."""

    status: Status | None
    siren: str | None
    name: str | None
    since: datetime | None
    until: datetime | None


def _written_out(value: object) -> object:
    """Refuse a number, which Pydantic takes for seconds or milliseconds since 1970."""
    if isinstance(value, str) and "-" not in value[1:]:
        raise ValueError("expected a date and a time, such as 2026-01-31T12:00:00Z")
    return value


Moment = Annotated[datetime, BeforeValidator(_written_out)]


def _filter(
    status: Status | None = None,
    siren: Annotated[str | None, Query(pattern="^[0-9]{9}$", description="Of the company.")] = None,
    name: Annotated[
        str | None, Query(min_length=2, max_length=100, description="A part of a name of the company, in any case.")
    ] = None,
    since: Annotated[Moment | None, Query(description="Requests made, companies changed, from then on.")] = None,
    until: Annotated[Moment | None, Query(description="And before then.")] = None,
) -> Filter:
    return Filter(status, siren, name, _zoned(since), _zoned(until))


Filtered = Annotated[Filter, Depends(_filter)]
Cursor = Annotated[str | None, Query(max_length=200, description="`next_cursor` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=MOST)]
Separator = Annotated[
    Literal[",", ";"],
    Query(description="`;` for spreadsheets in French, whose numbers have the comma; then with the mark of UTF-8."),
]


@router.get("/requests", needs=READ, response_model=RequestPage, responses={**fixed(400)})
async def list_requests(caller: Who, asked: Filtered, cursor: Cursor = None, limit: Limit = 50) -> RequestPage:
    """Return the requests of the tenant, newest first."""
    rows = await _requests(caller, asked, await _read(caller, cursor, _request_place), limit + 1)
    items = [ListedRequest.model_validate(row) for row in rows[:limit]]
    return RequestPage(items=items, next_cursor=_cursor(_request_key(rows[limit - 1])) if len(rows) > limit else None)


@router.get("/companies", needs=READ, response_model=CompanyPage, responses={**fixed(400)})
async def list_companies(caller: Who, asked: Filtered, cursor: Cursor = None, limit: Limit = 50) -> CompanyPage:
    """Return the companies that the requests of the tenant speak of, by SIREN."""
    rows = await _companies(caller, asked, await _read(caller, cursor, _company_place), limit + 1)
    items = [ListedCompany.model_validate(row) for row in rows[:limit]]
    return CompanyPage(items=items, next_cursor=_cursor([rows[limit - 1]["siren"]]) if len(rows) > limit else None)


@router.get("/requests.csv", needs=READ, responses=CSV, response_class=Response)
async def export_requests(caller: Who, asked: Filtered, separator: Separator = ",") -> StreamingResponse:
    """Return all requests that the filters let through, as CSV."""

    async def pages() -> AsyncIterator[list[Row]]:
        place: Sequence[object] = (None, None)
        while rows := await _requests(caller, asked, place, EXPORTED_AT_ONCE):
            yield rows
            place = (rows[-1]["created_at"], rows[-1]["id"])

    return _csv("requests", list(ListedRequest.model_fields), pages(), separator)


@router.get("/companies.csv", needs=READ, responses=CSV, response_class=Response)
async def export_companies(caller: Who, asked: Filtered, separator: Separator = ",") -> StreamingResponse:
    """Return all companies that the filters let through, as CSV."""

    async def pages() -> AsyncIterator[list[Row]]:
        place: Sequence[object] = ("",)
        while rows := await _companies(caller, asked, place, EXPORTED_AT_ONCE):
            yield rows
            place = (rows[-1]["siren"],)

    return _csv("companies", list(ListedCompany.model_fields), pages(), separator)


async def _requests(caller: Caller, asked: Filter, place: Sequence[object], most: int) -> list[Row]:
    before_at, before_id = place
    async with caller.transaction() as conn:
        return await QUERIES.rows(
            conn, "list_requests", **_known(caller, asked), before_at=before_at, before_id=before_id, most=most
        )


async def _companies(caller: Caller, asked: Filter, place: Sequence[object], most: int) -> list[Row]:
    async with caller.transaction() as conn:
        rows = await QUERIES.rows(conn, "list_companies", **_known(caller, asked), after=place[0], most=most)
    return [row.pop("company") | row for row in rows]


def _known(caller: Caller, asked: Filter) -> dict[str, object]:
    own = caller.roles.isdisjoint(EVERYBODYS)
    return asked._asdict() | {"tenant_id": caller.tenant_id, "created_by": caller.subject if own else None}


def _csv(name: str, columns: Sequence[str], pages: AsyncIterator[list[Row]], separator: str) -> StreamingResponse:
    async def lines() -> AsyncIterator[str]:
        yield ("" if separator == "," else MARK) + _written([columns], separator)
        async for rows in pages:
            yield _written(([_cell(row[column]) for column in columns] for row in rows), separator)

    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return StreamingResponse(lines(), media_type="text/csv; charset=utf-8", headers=headers)


def _written(rows: Iterable[Sequence[str]], separator: str) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=separator).writerows(rows)
    return out.getvalue()


def _cell(value: object) -> str:
    """Format a value as a cell; what a spreadsheet would take for a formula begins with an apostrophe."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    text = "" if value is None else " ".join(value) if isinstance(value, list) else str(value)
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA) else text


def _zoned(at: datetime | None) -> datetime | None:
    """Read a time without a zone as one of UTC."""
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at


def _request_key(row: Row) -> list[str]:
    return [row["created_at"].isoformat(), str(row["id"])]


def _request_place(words: list[str]) -> Sequence[object]:
    if not words:
        return None, None
    at, last = words
    return datetime.fromisoformat(at).astimezone(UTC), str(UUID(last))


def _company_place(words: list[str]) -> Sequence[object]:
    (siren,) = words or [""]
    if words and not (siren.isascii() and siren.isdigit()):
        raise ValueError(siren)
    return (siren,)


def _cursor(words: Sequence[str]) -> str:
    return base64.urlsafe_b64encode(" ".join(words).encode()).decode()


async def _read(caller: Caller, cursor: str | None, place: Callable[[list[str]], Sequence[object]]) -> Sequence[object]:
    try:
        return place([] if cursor is None else base64.urlsafe_b64decode(cursor.encode()).decode().split(" "))
    except (ValueError, OverflowError):
        async with caller.transaction() as conn:
            said = "Ce curseur n'est pas le nôtre."
            details = [Detail(field="cursor", reason="expected_next_cursor")]
            await refuse(conn, 400, "validation_error", "INVALID_REQUEST", said, details)
