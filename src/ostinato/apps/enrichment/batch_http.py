"""Takes batches over HTTP, as JSON or CSV: at most 1,000 lines, each with a verdict of its own."""

import csv
import io
from collections.abc import Iterable
from typing import Annotated, Any, Final, NoReturn

from fastapi import Header, Request, Response
from pydantic import BaseModel, Field

from ostinato.apps.enrichment import batch
from ostinato.apps.enrichment.answers import fixed, refuse, refuse_key
from ostinato.apps.enrichment.http import CREATE, warn_luhn
from ostinato.apps.enrichment.identifiers import Refused, read
from ostinato.apps.enrichment.logs import LINE
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.apps.enrichment.views import Body, Detail
from ostinato.errors import MediaTypeRefused
from ostinato.idempotency import sha256
from ostinato.web import Caller, IdempotencyKey, Router, Who

MOST_LINES: Final = 1000
JSON, TEXT = "application/json", "text/csv"
COLUMNS: Final = ("siren", "siret")
PATH: Final = "/requests/batch"

router = Router(prefix="/v1", tags=["enrichment"], line=LINE)


class Verdict(BaseModel):
    """What came of a line."""

    line: int = Field(description="From 1; of CSV without its head.", examples=[1])
    accepted: bool
    request_id: str | None = None
    company_siren: str | None = None
    decision: str | None = Field(
        default=None, description="cached, attached, started, or repeated.", examples=["started"]
    )
    code: str | None = Field(default=None, description="Why it was refused.", examples=["INVALID_SIREN_FORMAT"])
    details: list[Detail] = []


class Batch(BaseModel):
    """What came of a batch."""

    accepted: int
    refused: int
    lines: list[Verdict]


_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            JSON: {
                # Any item: one that is no object is a line that is refused.
                "schema": {"type": "array", "minItems": 1, "maxItems": MOST_LINES, "items": {}},
                "example": [{"siren": "999 000 003"}, {"siret": "99900001100018", "metadata": {"dossier": "7"}}],
            },
            TEXT: {"schema": {"type": "string"}, "example": "siren;siret\n999000003;\n;99900001100018\n"},
        },
    }
}


@router.post(
    PATH,
    needs=CREATE,
    status_code=202,
    responses={202: {"model": Batch, "description": "What came of each line."}, **fixed(400, 409, 422)},
    openapi_extra=_BODY,
)
async def create_batch(
    request: Request,
    caller: Who,
    idempotency_key: Annotated[
        str | None, Header(max_length=200, pattern=r"^[\x21-\x7e]+$", description="As of POST /v1/requests.")
    ] = None,
) -> Response:
    """Ask for many companies: those that are known are cached, a run starts for each of the others."""
    settings = caller.settings(EnrichmentSettings)
    raw = await request.body()
    bodies = await _bodies(request, caller, raw)
    verdicts = [_judged(number, body, settings) for number, body in enumerate(bodies, 1)]
    lines = [one for one in verdicts if isinstance(one, batch.Line)]
    payload = {"body": sha256(raw), "type": _kind(request)}
    key = IdempotencyKey(idempotency_key, f"POST {router.prefix}{PATH}", payload)
    async with key.once(caller, refuse=refuse_key) as once:
        if once.is_new:
            taken = {
                each.line.number: each
                for each in await batch.ask_many(once.conn, lines, created_by=caller.subject, settings=settings)
            }
            for each in taken.values():
                warn_luhn(caller, each.request_id, each.line.found, settings)
            shown = [one if isinstance(one, Verdict) else _accepted(taken[one.number]) for one in verdicts]
            once.reply(202, Batch(accepted=len(lines), refused=len(shown) - len(lines), lines=shown))
    return once.response()


def _accepted(each: batch.Taken) -> Verdict:
    return Verdict(
        line=each.line.number,
        accepted=True,
        request_id=each.request_id,
        company_siren=each.line.found.company_siren,
        decision=each.decision,
    )


def _judged(number: int, given: object, settings: EnrichmentSettings) -> "batch.Line | Verdict":
    """Return a line that can be taken, or why not: by the rules of a single request."""
    body = Body.model_validate(given)
    if odd := body.odd():
        return Verdict(line=number, accepted=False, code="INVALID_REQUEST", details=odd)
    found = read(body.siren, body.siret, settings.identifier_luhn)
    if isinstance(found, Refused):
        details = [Detail(field=found.field, reason=found.reason)]
        return Verdict(line=number, accepted=False, code=str(found.code), details=details)
    return batch.Line(number, found, body.metadata or {})


async def _bodies(request: Request, caller: Caller, raw: bytes) -> list[object]:
    """Return the lines of a batch, before they are judged."""
    kind = _kind(request)
    found: object = None
    if kind == TEXT:
        found = _of_csv(raw)
    elif kind == JSON or not raw:
        found = await request.json() if raw else None
    else:
        raise MediaTypeRefused(f"the content type is {kind[:100] or 'missing'}, not {JSON} or {TEXT}")
    if isinstance(found, str):
        await _refused(caller, found)
    if not isinstance(found, list) or not found:
        await _refused(caller, "expected_list")
    if len(found) > MOST_LINES:
        await _refused(caller, f"more_than_{MOST_LINES}_lines")
    return found


def _of_csv(raw: bytes) -> list[object] | str:
    """Return the lines of a CSV file with a head, as spreadsheets write it; or why it is none."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "expected_utf_8"
    head, _, _ = text.partition("\n")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=";" if ";" in head else ",", strict=True)
    try:
        columns = [name.strip().lower() for name in next(rows, [])]
        if not columns or set(columns) - set(COLUMNS) or len(set(columns)) < len(columns):
            return "expected_columns_siren_siret"
        return _cells(columns, rows)
    except csv.Error:
        return "expected_csv"


def _cells(columns: list[str], rows: Iterable[list[str]]) -> list[object] | str:
    found: list[object] = []
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) > len(columns):
            return "expected_columns_siren_siret"
        if any("\0" in cell for cell in row):
            return "expected_csv"
        found.append(dict(zip(columns, row, strict=False)))
        if len(found) > MOST_LINES:
            break
    return found


def _kind(request: Request) -> str:
    return request.headers.get("content-type", "").split(";")[0].strip().lower()


async def _refused(caller: Caller, reason: str) -> NoReturn:
    async with caller.transaction() as conn:
        said = "Le lot n'a pas la forme attendue."
        details = [Detail(field="body", reason=reason)]
        await refuse(conn, 400, "validation_error", "INVALID_REQUEST", said, details)
