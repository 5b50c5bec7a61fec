"""Appends to the audit log, and verifies it.

Appending is in the caller's transaction, so that there is no decision without its entry. The chain
is held until that transaction ends; it is always the last lock that is taken.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ostinato import tenants
from ostinato.apps.capture.chain import Break, Entry, Follower, chain_of, moment
from ostinato.apps.capture.heads import Head
from ostinato.apps.capture.model import AuditEvent
from ostinato.apps.capture.queries import QUERIES, Connection, Row
from ostinato.errors import NotFound
from ostinato.idempotency import canonical

PAGE = 1000
NO_CHAIN = "Check both names; a chain begins with the first capture."

Told = str | int | None


@dataclass(frozen=True, slots=True)
class Appended:
    """Where an entry stands in its chain."""

    seq: int
    entry_hash: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a verification found."""

    chains: int
    entries: int
    heads: int
    """Signed heads that were found in their place."""
    breaks: tuple[Break, ...]
    """The first break of each chain that has one."""


async def append(
    conn: Connection, user_id: str, event: AuditEvent, capture_id: str, *, tenant_id: str, **more: Told
) -> Appended:
    """Append an entry to the chain of a user."""
    found = await QUERIES.one(
        conn, "append_audit", user_id=user_id, event_type=event.value, payload=_payload(capture_id, tenant_id, more)
    )
    return Appended(**found)


async def append_many(
    conn: Connection, user_id: str, event: AuditEvent, capture_ids: Iterable[str], *, tenant_id: str, **more: Told
) -> list[Appended]:
    """Append an entry for each of some captures, in their order and in one statement."""
    found = await QUERIES.rows(
        conn,
        "append_audits",
        user_id=user_id,
        event_type=event.value,
        payloads=[_payload(each, tenant_id, more) for each in capture_ids],
    )
    return [Appended(**row) for row in found]


async def events_of(conn: Connection, tenant_id: str, user_id: str, capture_id: str) -> list[AuditEvent]:
    """Return what the log has about a capture, in order."""
    found = await QUERIES.rows(conn, "events_of", tenant_id=tenant_id, user_id=user_id, capture_id=capture_id.lower())
    return [AuditEvent(row["event_type"]) for row in found]


async def verify(
    conn: Connection,
    *,
    tenant_id: str | None = None,
    user_id: str | None = None,
    kept: Sequence[Head] = (),
    public_keys: Collection[str] | None = None,
) -> Report:
    """Recompute chains, all or some, and compare them with the signed heads.

    `kept` are heads that were exported and stayed elsewhere: against them even an owner of the
    database who writes everything anew is found out. With `public_keys` (base64), only heads that
    one of these keys signed are valid. Raises `NotFound` when a tenant or a user was named who has
    no chain: nothing was verified then.
    """
    chain_id = None if user_id is None else chain_of(user_id)
    found = await QUERIES.rows(conn, "chains", tenant_id=tenant_id, chain_id=chain_id)
    places: dict[tuple[str, str], list[Head]] = {(row["tenant_id"], row["chain_id"]): [] for row in found}
    for head in kept:
        places.setdefault((head.tenant_id, head.chain_id), []).append(head)
    named = [t for t, c in places if tenant_id in (None, t) and chain_id in (None, c)]
    if not named and not (tenant_id is None and user_id is None):
        raise NotFound(
            "the audit log has no chain of"
            f" {'any user' if user_id is None else f'user {user_id!r}'} of"
            f" {'any tenant' if tenant_id is None else f'tenant {tenant_id!r}'}",
            hint=NO_CHAIN,
        )
    entries = heads = 0
    breaks: list[Break] = []
    for tenant, chain in sorted(places):
        own = [Head(**row) for row in await _heads(conn, tenant, chain)] + places[tenant, chain]
        checked = [(head, head.is_signed(public_keys)) for head in own]
        valid = [(head.seq, head.entry_hash) for head, good in checked if good]
        follower = Follower(tenant, chain, valid)
        broken = await _follow(conn, follower)
        entries += follower.seq
        # A head that is not valid says nothing of the entries; they are followed all the same.
        forged = min((head.seq for head, good in checked if not good), default=None)
        if forged is not None and (broken is None or forged < broken.seq):
            broken = Break(tenant, chain, forged, "the signature of a head is not valid")
        if broken is None:
            heads += len(own)
        else:
            breaks.append(broken)
    return Report(len(places), entries, heads, tuple(breaks))


def _payload(capture_id: str, tenant_id: str, more: dict[str, Told]) -> str:
    payload: dict[str, str | int] = {"capture_id": capture_id, "tenant_id": tenant_id}
    payload |= {name: value for name, value in more.items() if value is not None}
    if (correlation := tenants.current_correlation()) is not None:
        payload["correlation_id"] = correlation
    return canonical(payload).decode()


async def _heads(conn: Connection, tenant_id: str, chain_id: str) -> list[dict[str, Any]]:
    found = await QUERIES.rows(conn, "heads", tenant_id=tenant_id, chain_id=chain_id)
    names = ("tenant_id", "chain_id", "seq", "entry_hash", "public_key", "signature")
    return [{name: row[name] for name in names} | {"signed_at": moment(row["signed_at"])} for row in found]


def _entry(row: Row) -> Entry:
    return Entry(**(row | {"event_payload": json.loads(row["event_payload"])}))


async def _follow(conn: Connection, follower: Follower) -> Break | None:
    while True:
        page = await QUERIES.rows(
            conn, "entries", tenant_id=follower.tenant_id, chain_id=follower.chain_id, after=follower.seq, most=PAGE
        )
        broken = follower.follow(_entry(row) for row in page)
        if broken is not None:
            return broken
        if len(page) < PAGE:
            return follower.end()
