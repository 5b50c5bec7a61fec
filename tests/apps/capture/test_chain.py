"""The hash chain, as plain values: golden vectors, and every way in which a chain can break."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ostinato._core.base.canonical import sha256
from ostinato.apps.capture.chain import GENESIS, Entry, Follower, canonical_entry, chain_of, moment

USER = "11111111-1111-4111-8111-111111111111"
CHAIN = f"capture:{USER}"
VECTORS = [
    (1, "CAPTURE_ACCEPTED", 202, "2026-04-03T10:00:00.000Z", "353c8b2d93632352b6d442f413da86ecdd6c95390fa58ce2d3b5a347b820a65a"),  # noqa: E501
    (2, "CAPTURE_REPLAYED", 200, "2026-04-03T10:00:05.000Z", "e35cccf6b6caa416accb95e9175037f741db1d92e2b49e50acded0ccfac969cc"),  # noqa: E501
    (3, "CAPTURE_CONFLICT", 409, "2026-04-03T10:00:09.000Z", "99f4ad0d1d0b941147e5ec1788763eaf074975c7d3ac96e4a71c504dcdfb04c4"),  # noqa: E501
]  # fmt: skip


def test_the_golden_vectors_of_the_chain() -> None:
    prev = GENESIS
    for seq, event, status, at, expected in VECTORS:
        payload = {"capture_id": "a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d", "http_status": status}
        prev = sha256(canonical_entry(CHAIN, event, at, payload, prev, seq).encode())
        assert prev == expected


def test_times_are_utc_to_the_millisecond() -> None:
    assert moment(datetime(2026, 4, 3, 10, tzinfo=UTC)) == "2026-04-03T10:00:00.000Z"


def entry(seq: int, prev: str, capture_id: str) -> Entry:
    """Make an entry of which everything fits together."""
    at = datetime(2026, 4, 3, 10, 0, seq, 123_000, tzinfo=UTC)
    payload = {"capture_id": capture_id, "tenant_id": "acme"}
    text = canonical_entry(chain_of("ana"), "SAID", moment(at), payload, prev, seq)
    return Entry("acme", "ana", chain_of("ana"), seq, prev, sha256(text.encode()), at, "SAID", payload, text)


def chain(*numbers: int) -> list[Entry]:
    made: list[Entry] = []
    for seq in numbers or range(1, 6):
        made.append(entry(seq, made[-1].entry_hash if made else GENESIS, f"c{seq}"))
    return made


def broken_at(entries: list[Entry], heads: dict[int, str] | None = None) -> int | None:
    follower = Follower("acme", chain_of("ana"), (heads or {}).items())
    found = follower.follow(entries) or follower.end()
    return None if found is None else found.seq


def test_a_whole_chain_holds() -> None:
    entries = chain()
    assert broken_at(entries) is None
    assert broken_at(entries, {3: entries[2].entry_hash, 5: entries[4].entry_hash}) is None


@pytest.mark.parametrize("seq", [1, 3, 5])
@pytest.mark.parametrize(
    "change",
    [
        {"event_type": "OTHER"},
        {"event_payload": {"capture_id": "other", "tenant_id": "acme"}},
        {"occurred_at": datetime(2027, 1, 1, tzinfo=UTC)},
        {"entry_hash": "f" * 64},
        {"prev_hash": "f" * 64},
        {"canonical": "{}"},
        {"tenant_id": "other"},
        {"user_id": "other"},
        {"chain_id": "capture:other"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_entry_that_was_changed_is_named(seq: int, change: dict[str, object]) -> None:
    entries = chain()
    entries[seq - 1] = replace(entries[seq - 1], **change)  # type: ignore[arg-type]
    assert broken_at(entries) == seq


def test_an_entry_that_was_written_anew_with_its_hash_is_told_by_the_next_one() -> None:
    entries = chain()
    entries[2] = entry(3, entries[1].entry_hash, "another")
    assert broken_at(entries) == 4


def test_a_number_that_was_left_out_is_named_although_all_entries_follow() -> None:
    assert broken_at(chain(1, 2, 4, 5)) == 3


def test_an_entry_that_is_gone_is_named() -> None:
    entries = chain()
    del entries[2]
    assert broken_at(entries) == 3


def test_entries_that_changed_places_are_named() -> None:
    entries = chain()
    entries[1], entries[2] = entries[2], entries[1]
    assert broken_at(entries) == 2


def test_a_chain_that_was_cut_off_is_told_by_a_signed_head_only() -> None:
    entries = chain()
    assert broken_at(entries[:3]) is None
    assert broken_at(entries[:3], {5: entries[4].entry_hash}) == 4


def test_a_chain_that_was_written_anew_is_told_by_a_signed_head() -> None:
    assert broken_at(chain(), {2: "e" * 64}) == 2


def test_each_head_of_an_entry_must_have_its_hash() -> None:
    entries = chain()
    good, other = (3, entries[2].entry_hash), (3, "f" * 64)
    for heads in ([other, good], [good, other]):
        follower = Follower("acme", chain_of("ana"), heads)
        found = follower.follow(entries)
        assert found is not None
        assert found.seq == 3
