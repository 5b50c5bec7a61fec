"""Reruns companies whose last run ended PARTIAL or FAILED, many in one statement.

What passes (a timeout, a limit, a source that is not well, credentials that are refused) says
nothing about the company: it is run again by itself, after 5 and 15 minutes, 1, 4, 12 and 24 hours,
and then left to an operator, who names what is to be run again by its status and its error.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal

from psycopg import AsyncConnection
from pydantic import BaseModel, ConfigDict, Field

from ostinato import audit
from ostinato.apps.enrichment.model import ErrorCode, Fetched, Status, Trigger
from ostinato.apps.enrichment.queries import QUERIES, Connection
from ostinato.apps.enrichment.rules import PASSING
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.jobs import wake_after_commit

QUEUE: Final = "enrichment"
MOST: Final = 10_000
"""Companies that one call runs again, at most."""
AGAIN: Final = PASSING | {ErrorCode.AUTH_ERROR}
"""Errors that are run again without being asked to."""
STATUSES: Final = (Status.FAILED, Status.PARTIAL)


class Selection(BaseModel):
    """Which companies are to be run again."""

    model_config = ConfigDict(extra="forbid")

    status: list[Literal["FAILED", "PARTIAL"]] = Field(
        default=["FAILED", "PARTIAL"], min_length=1, max_length=2, description="How their last run ended."
    )
    error: list[ErrorCode] = Field(
        default=sorted(AGAIN),
        min_length=1,
        max_length=len(ErrorCode),
        description="What a source said in it; by default everything that passes.",
    )
    most: Annotated[int, Field(strict=True, ge=1, le=MOST, description="So many companies.")] = 1000


class Rerun(BaseModel):
    """What came of it."""

    companies: int = Field(description="Companies that are run again.")
    more: bool = Field(description="Whether more of them match: ask again.")


def next_rerun(
    fetched: Sequence[Fetched], trigger: Trigger, reruns: int, settings: EnrichmentSettings, now: datetime
) -> dict[str, object]:
    """Say when a company whose run ends now is run again, and how often it was: for its row.

    Any run but a rerun begins the count anew.
    """
    made = reruns + 1 if trigger is Trigger.RERUN else 0
    passes = any(one.error is not None and one.error.error_code in AGAIN for one in fetched)
    pauses = settings.rerun_seconds
    if not passes or made >= len(pauses):
        return {"rerun_at": None, "reruns": made if passes else 0}
    return {"rerun_at": (now + timedelta(seconds=pauses[made])).isoformat(), "reruns": made}


async def rerun_due(conn: Connection, settings: EnrichmentSettings) -> Rerun:
    """Run again what is due, so many at once."""
    return await _run(
        conn,
        "rerun_companies",
        statuses=[str(status) for status in STATUSES],
        errors=None,
        tenant=None,
        due=True,
        trigger=str(Trigger.RERUN),
        most=settings.catch_up_most,
    )


async def rerun_own(conn: Connection, chosen: Selection) -> Rerun:
    """Run again companies that requests of the transaction's tenant speak of."""
    found = await _run(
        conn, "rerun_own", statuses=chosen.status, errors=[str(each) for each in chosen.error], most=chosen.most
    )
    await _note(conn, chosen, found)
    return found


async def rerun_all(conn: AsyncConnection[object], chosen: Selection, tenant: str | None = None) -> Rerun:
    """Run companies again for an operator of the installation: those of all tenants, or of one."""
    async with conn.transaction():
        found = await _run(
            conn,
            "rerun_companies",
            statuses=chosen.status,
            errors=[str(each) for each in chosen.error],
            tenant=tenant,
            due=False,
            trigger=str(Trigger.CATCH_UP),
            most=chosen.most,
        )
        await _note(conn, chosen, found)
    return found


async def _run(conn: Connection, name: str, **values: object) -> Rerun:
    found = Rerun(**await QUERIES.one(conn, name, **values))
    if found.companies:
        wake_after_commit(QUEUE)
    return found


async def _note(conn: Connection, chosen: Selection, found: Rerun) -> None:
    await audit.note(conn, "rerun", "companies", count=found.companies, detail=chosen.model_dump(mode="json"))
