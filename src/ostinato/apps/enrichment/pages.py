"""Shows companies: a card with who said each field and what is stale, and those that a person should look at."""

import re
from collections.abc import Sequence
from math import ceil
from typing import Any

from ostinato.apps.enrichment import service
from ostinato.apps.enrichment.http import DIRECTORS, EVERYBODYS, READ, REFRESH, WHOLE
from ostinato.apps.enrichment.merge import FIELDS
from ostinato.apps.enrichment.model import Trigger
from ostinato.apps.enrichment.panel import unwrapped
from ostinato.apps.enrichment.queries import QUERIES, Connection
from ostinato.apps.enrichment.service import Cooling
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.apps.enrichment.views import Company, Opened, Retrieval, Row, look, whole_view
from ostinato.errors import Conflict, NotFound
from ostinato.observe import (
    N_,
    Action,
    Actions,
    Block,
    Facts,
    Field,
    Form,
    Item,
    Link,
    Look,
    Note,
    Panel,
    State,
    Table,
    Tone,
    Verb,
)

MOST = 50
REQUEST = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
SIREN = re.compile(r"[0-9]{9}")
TONES: dict[str, Tone] = {"SUCCESS": "ok", "PARTIAL": "warn", "FAILED": "bad", "STALE": "warn", "RUNNING": "accent"}
STATES = (
    N_("PENDING"),
    N_("RUNNING"),
    N_("SUCCESS"),
    N_("PARTIAL"),
    N_("FAILED"),
    N_("STALE"),
    N_("OK"),
    N_("SKIPPED"),
)
NAMES = {
    "legal_name": N_("legal name"),
    "trade_name": N_("trade name"),
    "brand_name": N_("brand name"),
    "legal_form_code": N_("code of the legal form"),
    "legal_form": N_("legal form"),
    "creation_date": N_("created on"),
    "active_status": N_("activity"),
    "address_line1": N_("address"),
    "address_line2": N_("address, second line"),
    "postal_code": N_("postal code"),
    "city": N_("city"),
    "country_code": N_("country"),
    "naf_code": N_("NAF code"),
    "naf_label": N_("NAF label"),
    "headcount_range": N_("headcount"),
    "rcs_city": N_("RCS city"),
    "registry_name": N_("registry"),
}
LISTED = (N_("asked"), N_("SIREN"), N_("legal name"), N_("state"), N_("last run"))
CARD = (N_("field"), N_("value"), N_("said by"), N_("seen at"), N_("freshness"))
ANSWERS = (N_("source"), N_("state"), N_("time"), N_("answer"), N_("error"))
KEPT = (N_("document"), N_("source"), N_("time"), N_("checksum"))
DIRECTOR = (N_("name"), N_("role"))
NONE_MATCHES = N_("No request is about this SIREN.")
NO_REQUEST = N_("Nobody has asked for a company yet: POST /v1/requests asks for one.")


async def companies(conn: Connection, who: Look) -> Sequence[Block]:
    """Show the newest requests, and their companies."""
    siren = who.text("siren").replace(" ", "")
    rows = await QUERIES.rows(
        conn,
        "page_requests",
        tenant_id=who.tenant_id,
        created_by=who.subject if _sees_own_only(who) else None,
        siren=siren or None,
        before=who.moment("before"),
        most=MOST + 1,
    )
    last = rows[MOST - 1]["created_at"].isoformat() if len(rows) > MOST else None
    older = Link(who.words("Older"), "companies", {"siren": siren, "before": last}) if last else None
    shown = [
        [
            row["created_at"],
            Link(row["company_siren"], "company", _asked(row)),
            row["legal_name"],
            _state(row["enrichment_status"]),
            row["enrichment_last_run_at"],
        ]
        for row in rows[:MOST]
    ]
    return [
        Form("Find", (Field("siren", "SIREN", siren, most=20),), "companies"),
        Table("Requests", LISTED, shown, older, NONE_MATCHES if siren or who.text("before") else NO_REQUEST),
    ]


async def company(conn: Connection, who: Look) -> Sequence[Block]:
    """Show a company: each field with who said it and when, and what is past its time."""
    seen = await _mine(conn, who)
    with_directors = not who.roles.isdisjoint(DIRECTORS)
    limited = who.roles.isdisjoint(WHOLE)
    whole = await whole_view(conn, seen, limited=limited, with_directors=with_directors)
    request = {
        N_("SIREN"): seen["company_siren"],
        N_("state"): _state(seen["enrichment_status"]),
        N_("asked"): seen["created_at"],
        N_("asked by"): seen["created_by"],
        N_("last run"): seen["enrichment_last_run_at"],
        N_("error"): seen["enrichment_error"],
    }
    again = Action("Look it up again", "refresh", {"id": seen["id"]}, who.tenant_id or who.text("tenant") or None)
    name = (whole.company and whole.company.legal_name) or seen["company_siren"]
    blocks: list[Block] = [Actions((again,)), Facts("Request", request, name)]
    if whole.company is None:
        blocks.append(Note("Nothing is known yet", who.words("No run has ended.")))
    else:
        blocks.append(Table("Company", CARD, _card(whole.company, who)))
    return blocks if limited else [*blocks, *_sources(whole)]


async def partial(conn: Connection, who: Look) -> Sequence[Item]:
    """Find companies that a source said nothing about."""
    rows = await QUERIES.rows(conn, "partial_companies")
    mine = [row for row in rows if not _sees_own_only(who) or row["created_by"] == who.subject]
    return [_item(row, who) for row in mine]


async def count(conn: Connection) -> int:
    """Count them."""
    return int(await QUERIES.value(conn, "count_partial"))


async def refresh(conn: Connection, who: Look) -> str:
    """Look up a company again; not twice in a minute."""
    seen = await _mine(conn, who)
    try:
        settings = who.settings(EnrichmentSettings)
        await service.ask(conn, seen["id"], seen["siret"], Trigger.MANUAL_REFRESH, settings)
    except Cooling as cooling:
        raise Conflict(f"it was refreshed a moment ago; again in {ceil(cooling.seconds)} s", hint="Wait.") from None
    return who.words("It is looked up again.")


async def accept(conn: Connection, who: Look) -> str:
    """Take a company as it is, of the snapshot that was shown."""
    named = {"tenant_id": who.tenant_id, "siren": who.one_of("siren", SIREN), "by": who.subject}
    taken = await QUERIES.first(conn, "accept_partial", **named, snapshot_at=who.moment("snapshot"))
    if taken is None:
        raise NotFound("the company is not partial any more, or has changed", hint="Look at it again.")
    return who.words("Taken as it is, until it changes.")


async def _mine(conn: Connection, who: Look) -> Row:
    """Return a request that the viewer may see; any other is not there."""
    days = who.settings(EnrichmentSettings).freshness_ttl_days
    seen = await look(conn, who.one_of("id", REQUEST), days)
    if seen is None or (_sees_own_only(who) and seen["created_by"] != who.subject):
        raise NotFound("there is no such request")
    return seen


def _sees_own_only(who: Look) -> bool:
    return who.roles.isdisjoint(EVERYBODYS)


def _card(found: Company, who: Look) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for name in FIELDS:
        origin = found.provenance.get(name)
        fresh = State("stale", "warn") if name in found.stale_fields else State("fresh", "ok")
        if name in found.masked_fields:
            fresh = State("withheld", "soft")
        said = (None, None, None) if origin is None else (str(origin.source_api), origin.observed_at, fresh)
        rows.append([who.words(NAMES[name]), getattr(found, name), *said])
    return rows


def _answer(each: Retrieval) -> tuple[Any, ...]:
    return str(each.source_api), _state(each.last_status), each.last_retrieved_at, each.last_http_status


def _sources(whole: Opened) -> list[Block]:
    answers: list[list[Any]] = [[*_answer(each), unwrapped(each.last_error)] for each in whole.source_retrievals]
    kept: list[list[Any]] = [
        [each.doc_type, str(each.source_api), each.retrieved_at, each.checksum[:16]] for each in whole.documents
    ]
    blocks: list[Block] = [Table("What the sources answered last", ANSWERS, answers), Table("Documents", KEPT, kept)]
    if whole.dirigeants is not None:
        blocks.append(Table("Directors", DIRECTOR, [[each.nom, each.qualite] for each in whole.dirigeants]))
    return blocks


def _item(row: Row, who: Look) -> Item:
    values = {"siren": row["siren"], "snapshot": row["updated_at"].isoformat(), "id": row["id"]}
    return Item(
        f"{row['tenant_id']}-{row['siren']}",
        who.words("%(name)s is known in part", name=row["legal_name"] or row["siren"]),
        who.words("An optional source did not answer: %(error)s", error=row["enrichment_error"] or "-"),
        row["updated_at"],
        (
            Action("Look it up again", "refresh", values, row["tenant_id"], "primary"),
            Action("Take it as it is", "accept", values, row["tenant_id"]),
        ),
        row["tenant_id"],
        facts={N_("SIREN"): row["siren"], N_("last run"): row["updated_at"]},
        links=(Link(who.words("The company"), "company", _asked(row)),),
    )


def _asked(row: Row) -> dict[str, str | int]:
    return {"id": row["id"], "tenant": row["tenant_id"]}


def _state(state: str) -> State:
    return State(state, TONES.get(state, "info"))


COMPANIES = Panel("Companies", companies, name="companies", needs=READ, search="siren")
COMPANY = Panel("Company", company, name="company", listed=False, needs=READ)
PARTIAL = Panel(
    "Companies known in part",
    needs=READ,
    items=partial,
    count=count,
    verbs={"refresh": Verb(refresh, REFRESH), "accept": Verb(accept, REFRESH)},
)
