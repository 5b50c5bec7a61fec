"""Follows the hash chain of the audit log: what is hashed, and where a chain breaks.

    entry_hash = SHA-256(JCS({chain_id, event_type, occurred_at, payload, prev_hash, seq}))

The first entry has 64 zeros before it. `sql/functions/audit.sql` writes the same text; a test
compares both. A chain shows that nothing inside it was changed, taken out or put in. That its end
was not cut off, or all of it written anew, is shown by a signed head that was kept elsewhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ostinato.idempotency import canonical, sha256

GENESIS = "0" * 64


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry, as it is stored."""

    tenant_id: str
    user_id: str
    chain_id: str
    seq: int
    prev_hash: str
    entry_hash: str
    occurred_at: datetime
    event_type: str
    event_payload: Mapping[str, Any]
    canonical: str


@dataclass(frozen=True, slots=True)
class Break:
    """The first place at which a chain is not what it should be."""

    tenant_id: str
    chain_id: str
    seq: int
    problem: str


def chain_of(user_id: str) -> str:
    """Return the name of a user's chain."""
    return f"capture:{user_id}"


def moment(at: datetime) -> str:
    """Format a time as entries have it: UTC, to the millisecond."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def canonical_entry(  # noqa: PLR0917 - the fields of an entry, in their order
    chain_id: str, event_type: str, occurred_at: str, payload: Mapping[str, Any], prev_hash: str, seq: int
) -> str:
    """Return the text of an entry that is hashed."""
    said = {
        "chain_id": chain_id,
        "event_type": event_type,
        "occurred_at": occurred_at,
        "payload": dict(payload),
        "prev_hash": prev_hash,
        "seq": seq,
    }
    return canonical(said).decode()


class Follower:
    """Follows one chain from its first entry on, and remembers what signed heads must find."""

    def __init__(self, tenant_id: str, chain_id: str, heads: Iterable[tuple[int, str]] = ()) -> None:
        self.tenant_id = tenant_id
        self.chain_id = chain_id
        self.seq = 0
        self.hash = GENESIS
        self._heads: dict[int, set[str]] = {}
        for seq, signed in heads:
            self._heads.setdefault(seq, set()).add(signed)

    def follow(self, entries: Iterable[Entry]) -> Break | None:
        """Return the first break among the next entries."""
        for entry in entries:
            problem = self._problem(entry)
            if problem is not None:
                return self._broken(self.seq + 1, problem)
            self.seq, self.hash = entry.seq, entry.entry_hash
        return None

    def end(self) -> Break | None:
        """Check the end of the chain: a signed head beyond it means that entries are gone."""
        missing = min((seq for seq in self._heads if seq > self.seq), default=None)
        if missing is None:
            return None
        return self._broken(self.seq + 1, f"a head was signed at {missing}, but the chain ends at {self.seq}")

    def _problem(self, entry: Entry) -> str | None:
        if entry.seq != self.seq + 1:
            return f"entry {self.seq + 1} is missing: the next one is {entry.seq}"
        if entry.prev_hash != self.hash:
            return "it does not follow from the entry before it"
        if sha256(entry.canonical.encode()) != entry.entry_hash:
            return "its text does not have its hash"
        text = canonical_entry(
            entry.chain_id, entry.event_type, moment(entry.occurred_at), entry.event_payload, entry.prev_hash, entry.seq
        )
        whose = (entry.tenant_id, entry.chain_id)
        named = (entry.event_payload.get("tenant_id"), chain_of(entry.user_id))
        if text != entry.canonical or whose != named or entry.chain_id != self.chain_id:
            return "its columns do not say what was hashed"
        if self._heads.get(entry.seq, {entry.entry_hash}) != {entry.entry_hash}:
            return "a head was signed here that has another hash: the chain was written anew"
        return None

    def _broken(self, seq: int, problem: str) -> Break:
        return Break(self.tenant_id, self.chain_id, seq, problem)
