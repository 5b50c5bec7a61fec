"""The audit log: append to it, verify it, sign its heads.

Appending is in the caller's transaction, so that there is no decision without its entry. The chain
is held until that transaction ends; it is always the last thing that is taken.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from ostinato.apps.capture.chain import Break, Entry, Follower, chain_of, moment
from ostinato.apps.capture.events import tell
from ostinato.apps.capture.machine import CAPTURE, ENTITY
from ostinato.apps.capture.model import AuditEvent, State
from ostinato.apps.capture.queries import Connection, Row, one, rows
from ostinato.base import flow
from ostinato.base.canonical import canonical
from ostinato.base.errors import InvalidInput, NotFound
from ostinato.engine import clock, machines

__all__ = ["Appended", "Head", "Report", "append", "read_head", "sign_head", "verify"]

PAGE = 1000
ALGORITHM = "Ed25519"


@dataclass(frozen=True, slots=True)
class Appended:
    """Where an entry stands in its chain."""

    seq: int
    entry_hash: str


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain at some time, signed."""

    tenant_id: str
    chain_id: str
    seq: int
    entry_hash: str
    signed_at: str
    public_key: str
    signature: str

    def canonical(self) -> bytes:
        """What is signed."""
        return canonical(
            {
                "chain_id": self.chain_id,
                "entry_hash": self.entry_hash,
                "seq": self.seq,
                "signed_at": self.signed_at,
                "tenant_id": self.tenant_id,
            }
        )

    def is_signed(self, by: str | None = None) -> bool:
        """Whether the signature is that of its public key, and that key the expected one."""
        if by is not None and self.public_key != by:
            return False
        try:
            key = Ed25519PublicKey.from_public_bytes(base64.b64decode(self.public_key))
            key.verify(base64.b64decode(self.signature), self.canonical())
        except (InvalidSignature, ValueError):
            return False
        return True

    def document(self) -> dict[str, Any]:
        """The head as it is exported."""
        return {
            "algorithm": ALGORITHM,
            "chain_id": self.chain_id,
            "entry_hash": self.entry_hash,
            "public_key": self.public_key,
            "seq": self.seq,
            "signature": self.signature,
            "signed_at": self.signed_at,
            "tenant_id": self.tenant_id,
        }


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
    conn: Connection,
    user_id: str,
    event: AuditEvent,
    capture_id: str,
    *,
    tenant_id: str,
    **more: str | int | None,
) -> Appended:
    """Append an entry to the chain of a user."""
    payload: dict[str, str | int] = {"capture_id": capture_id, "tenant_id": tenant_id}
    payload |= {name: value for name, value in more.items() if value is not None}
    if (correlation := flow.current_correlation()) is not None:
        payload["correlation_id"] = correlation
    found = await one(
        conn,
        "append_audit",
        user_id=user_id,
        event_type=event.value,
        payload=canonical(payload).decode(),
    )
    assert found is not None  # noqa: S101 - the function returns a row or raises
    return Appended(**found)


async def verify(
    conn: Connection,
    *,
    tenant_id: str | None = None,
    user_id: str | None = None,
    kept: Sequence[Head] = (),
    public_key: str | None = None,
) -> Report:
    """Recompute chains, all or some, and compare them with the signed heads.

    `kept` are heads that were exported and stayed elsewhere: against them even an owner of the
    database who writes everything anew is found out. With `public_key` (base64), only heads that
    this key signed are valid.
    """
    chain_id = None if user_id is None else chain_of(user_id)
    found = await rows(conn, "chains", tenant_id=tenant_id, chain_id=chain_id)
    places = {(row["tenant_id"], row["chain_id"]) for row in found}
    places |= {(head.tenant_id, head.chain_id) for head in kept}
    entries = heads = 0
    breaks: list[Break] = []
    for tenant, chain in sorted(places):
        own = [Head(**row) for row in await _heads(conn, tenant, chain)]
        own += [head for head in kept if (head.tenant_id, head.chain_id) == (tenant, chain)]
        forged = next((head for head in own if not head.is_signed(public_key)), None)
        if forged is not None:
            breaks.append(Break(tenant, chain, forged.seq, "the signature of a head is not valid"))
            continue
        follower = Follower(tenant, chain, {head.seq: head.entry_hash for head in own})
        broken = await _follow(conn, follower)
        entries += follower.seq
        if broken is None:
            heads += len(own)
        else:
            breaks.append(broken)
    return Report(len(places), entries, heads, tuple(breaks))


async def sign_head(
    conn: Connection, tenant_id: str, user_id: str, key: Ed25519PrivateKey
) -> tuple[Head, int]:
    """Sign the end of a user's chain, and anchor the sealed captures that it covers.

    In the caller's transaction. Returns the head, and how many captures were anchored.
    """
    at = await clock.now(conn)
    end = await one(conn, "head", tenant_id=tenant_id, user_id=user_id)
    if end is None:
        raise NotFound(
            f"the audit log has no entry of user {user_id!r} of tenant {tenant_id!r}",
            hint="Check both names; a chain begins with the first capture.",
        )
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    bare = Head(tenant_id, **end, signed_at=moment(at), public_key=public, signature="")
    signature = base64.b64encode(key.sign(bare.canonical())).decode()
    head = Head(tenant_id, **end, signed_at=bare.signed_at, public_key=public, signature=signature)
    await rows(
        conn,
        "keep_head",
        tenant_id=tenant_id,
        user_id=user_id,
        **end,
        signed_at=head.signed_at,
        canonical=head.canonical().decode(),
        public_key=public,
        signature=signature,
    )
    return head, await _anchor(conn, user_id, head, at.isoformat())


def read_head(document: Mapping[str, Any]) -> Head:
    """A head from its exported document."""
    names = ("tenant_id", "chain_id", "seq", "entry_hash", "signed_at", "public_key", "signature")
    given = {name: document.get(name) for name in names}
    good = all(type(value) is (int if name == "seq" else str) for name, value in given.items())
    if not good or document.get("algorithm") != ALGORITHM:
        raise InvalidInput(
            "this is not the document of a signed head",
            hint="Pass the file that `ostinato capture sign-head` wrote.",
        )
    return Head(**given)  # type: ignore[arg-type]  # was just looked through


async def _anchor(conn: Connection, user_id: str, head: Head, at: str) -> int:
    count = 0
    while found := await rows(
        conn, "to_anchor", tenant_id=head.tenant_id, user_id=user_id, seq=head.seq, most=PAGE
    ):
        await machines.transition_all(
            conn,
            CAPTURE,
            ENTITY,
            [row["capture_event_id"] for row in found],
            "anchor",
            by="capture.sign_head",
            tenant_id=head.tenant_id,
            changes={"anchored_at": at, "signature_status": "SIGNED"},
        )
        for row in found:
            await tell(conn, State.ANCHORED, **row, tenant_id=head.tenant_id)
            await append(
                conn,
                user_id,
                AuditEvent.ANCHORED,
                row["capture_id"],
                tenant_id=head.tenant_id,
                head_seq=head.seq,
            )
        count += len(found)
    return count


async def _heads(conn: Connection, tenant_id: str, chain_id: str) -> list[dict[str, Any]]:
    found = await rows(conn, "heads", tenant_id=tenant_id, chain_id=chain_id)
    names = ("tenant_id", "chain_id", "seq", "entry_hash", "public_key", "signature")
    return [
        {name: row[name] for name in names} | {"signed_at": moment(row["signed_at"])}
        for row in found
    ]


def _entry(row: Row) -> Entry:
    return Entry(**(row | {"event_payload": json.loads(row["event_payload"])}))


async def _follow(conn: Connection, follower: Follower) -> Break | None:
    while True:
        page = await rows(
            conn,
            "entries",
            tenant_id=follower.tenant_id,
            chain_id=follower.chain_id,
            after=follower.seq,
            most=PAGE,
        )
        broken = follower.follow(_entry(row) for row in page)
        if broken is not None:
            return broken
        if len(page) < PAGE:
            return follower.end()
