"""Signs the ends of chains, and anchors the sealed captures that a signed head covers.

Signing is one short transaction. Anchoring writes into the chain, on which the intake of its user
waits, so it goes by pages, each in a transaction of its own. What breaks in between is taken up by
the next signing: whatever is still sealed is found again. Two who sign at once anchor once.

Lock order, as everywhere: the captures, then their events, then the chain.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ostinato import database, machines
from ostinato.apps.capture import audit, heads
from ostinato.apps.capture.chain import moment
from ostinato.apps.capture.events import emit_many
from ostinato.apps.capture.heads import Head
from ostinato.apps.capture.machine import CAPTURE, ENTITY
from ostinato.apps.capture.model import AuditEvent, State
from ostinato.apps.capture.queries import QUERIES, Connection, Row
from ostinato.errors import NotFound

PAGE = 200

Opening = Callable[[], AbstractAsyncContextManager[Connection]]
"""Opens a transaction of a worker."""


async def chains_to_sign(
    conn: Connection, key: Ed25519PrivateKey, tenant_id: str | None = None
) -> list[tuple[str, str]]:
    """Return the tenant and user of each chain that went on since this key signed it last.

    Also of those that have captures which a signed head covers and which are not anchored yet.
    """
    public_key = heads.public_text(key)
    found = await QUERIES.rows(conn, "chains_to_sign", public_key=public_key, tenant_id=tenant_id)
    return [(row["tenant_id"], row["user_id"]) for row in found]


async def sign_head(
    opening: Opening, tenant_id: str, user_id: str, key: Ed25519PrivateKey, *, folder: Path | None = None
) -> tuple[Head, int]:
    """Sign the end of a user's chain, and anchor the sealed captures that it covers.

    With a folder the head is exported there before it counts. Returns the head, and how many
    captures were anchored. Raises `NotFound` for a user who has no chain.
    """
    async with opening() as conn:
        head = await _sign(conn, tenant_id, user_id, key)
        if folder is not None:
            await asyncio.to_thread(heads.export, folder, head)
        named = head.document()
        del named["algorithm"]
        text = head.canonical().decode()
        await QUERIES.run(conn, "keep_head", **named, user_id=user_id, canonical=text)
    anchored = 0
    while True:
        async with opening() as conn:
            found, moved = await _anchor_page(conn, user_id, head)
        anchored += moved
        if found < PAGE:
            return head, anchored


async def _sign(conn: Connection, tenant_id: str, user_id: str, key: Ed25519PrivateKey) -> Head:
    end = await QUERIES.first(conn, "head", tenant_id=tenant_id, user_id=user_id)
    if end is None:
        raise NotFound(f"the audit log has no entry of user {user_id!r} of tenant {tenant_id!r}", hint=audit.NO_CHAIN)
    end["signed_at"] = moment(end["signed_at"])
    return heads.signed(key, tenant_id, **end)


async def _anchor_page(conn: Connection, user_id: str, head: Head) -> tuple[int, int]:
    """Anchor the next captures: how many were found, and how many were not anchored meanwhile."""
    tenant_id = head.tenant_id
    found = await QUERIES.rows(conn, "to_anchor", tenant_id=tenant_id, user_id=user_id, seq=head.seq, most=PAGE)
    if not found:
        return 0, 0
    moved = await machines.transition_all(
        conn,
        CAPTURE,
        ENTITY,
        [row["capture_event_id"] for row in found],
        "anchor",
        skip=True,  # another who signs may have been first
        by="capture.sign_head",
        tenant_id=tenant_id,
        changes={"anchored_at": (await database.now(conn)).isoformat(), "signature_status": "SIGNED"},
    )
    ids = {each.id for each in moved}
    anchored: list[Row] = [row for row in found if row["capture_event_id"] in ids]
    if anchored:
        named = [(row["capture_event_id"], row["capture_id"]) for row in anchored]
        await emit_many(conn, State.ANCHORED, named, tenant_id=tenant_id)
        await audit.append_many(
            conn,
            user_id,
            AuditEvent.ANCHORED,
            [row["capture_id"] for row in anchored],
            tenant_id=tenant_id,
            head_seq=head.seq,
        )
    return len(found), len(anchored)
