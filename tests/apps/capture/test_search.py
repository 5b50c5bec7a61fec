"""A user's captures as a list: in pages, by filters, and nobody else's."""

from typing import Any

import pytest

from ostinato.apps.capture import search
from ostinato.apps.capture.model import Ocr
from tests.apps.capture.conftest import Api
from tests.apps.capture.vault import Vault, captured

DEVICE = "0b9f6a52-3c1e-4a57-9f7b-6f2f0f6f2a11"


async def listed(api: Api, **asked: Any) -> tuple[list[str], str | None]:  # noqa: ANN401 - filters
    who = {name: asked.pop(name) for name in ("user", "tenant", "role") if name in asked}
    answer = await api.call("GET", "/documents/capture", params=asked, **who)
    assert answer.status_code == 200, answer.text
    page = answer.json()
    return [each["capture_id"] for each in page["items"]], page["next_cursor"]


async def several(vault: Vault, count: int) -> list[str]:
    """Captures, the newest first."""
    taken = [await vault.receive(captured(bytes([n])).fields) for n in range(count)]
    return [each.capture_id for each in reversed(taken)]


async def test_pages_follow_one_another_and_nothing_is_left_out(vault: Vault, api: Api) -> None:
    ids = await several(vault, 5)
    # Of the same moment: the id decides.
    await vault.rows("update vault_secure.capture_events set received_at = '2026-01-01T00:00Z'")

    found: list[str] = []
    page, cursor = await listed(api, limit=2)
    while True:
        found += page
        if cursor is None:
            break
        page, cursor = await listed(api, limit=2, cursor=cursor)

    assert sorted(found) == sorted(ids)
    assert len(found) == 5


async def test_the_newest_is_first_and_a_new_one_moves_no_page(vault: Vault, api: Api) -> None:
    ids = await several(vault, 3)
    first, cursor = await listed(api, limit=2)
    await vault.receive(captured(b"new").fields)

    assert first == ids[:2]
    assert await listed(api, limit=2, cursor=cursor) == (ids[2:], None)


async def test_nobody_sees_the_captures_of_another(vault: Vault, api: Api) -> None:
    await several(vault, 2)

    assert (await listed(api, user="ben"))[0] == []
    assert (await listed(api, tenant="globex"))[0] == []
    assert (await api.call("GET", "/documents/capture", role="member")).status_code == 403


async def test_filters_find_what_fits_all_of_them(vault: Vault, api: Api) -> None:
    plain, other = captured(b"a"), captured(b"b", mime_type="image/jpeg")
    await vault.receive(plain.fields, ocr=Ocr("Relevé du compteur 100%"))
    await vault.receive(other.fields, ocr=Ocr("Facture"))
    await vault.rows(
        "update vault_secure.capture_events set device_id = %s, received_at = '2026-01-01T00:00Z'"
        " where capture_id = %s",
        DEVICE,
        plain.fields.capture_id,
    )
    one, two = plain.fields.capture_id, other.fields.capture_id
    expected = [
        ({"state": "RECEIVED"}, [two, one]),
        ({"state": "SEALED"}, []),
        ({"mime_type": "image/jpeg"}, [two]),
        ({"device_id": DEVICE.upper()}, [one]),
        ({"content_hash": other.fields.content_hash.upper()}, [two]),
        ({"text": "COMPTEUR 100%"}, [one]),
        ({"text": "%" * 2}, []),
        ({"since": "2026-01-01T00:00:01Z"}, [two]),
        ({"until": "2026-01-01T00:00:01Z"}, [one]),
        ({"text": "facture", "mime_type": "image/png"}, []),
    ]
    for asked, ids in expected:
        assert (await listed(api, **asked))[0] == ids, asked


async def test_a_page_looks_at_a_bounded_number_and_says_where_to_go_on(
    vault: Vault, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "WINDOW", 2)
    ids = await several(vault, 5)
    oldest = captured(bytes([0])).fields.content_hash

    page, cursor = await listed(api, content_hash=oldest)
    assert page == []
    page, cursor = await listed(api, content_hash=oldest, cursor=cursor)
    assert page == []

    assert await listed(api, content_hash=oldest, cursor=cursor) == (ids[4:], None)


async def test_a_cursor_that_is_none_and_filters_that_make_no_sense_are_422(vault: Vault, api: Api) -> None:
    numbers = ({"since": "0.5"}, {"until": "1767225600"})  # not read as seconds since 1970
    for asked in ({"cursor": "x"}, {"state": "GONE"}, {"since": "2026-01-01"}, {"limit": "0"}, {"text": "a"}, *numbers):
        answer = await api.call("GET", "/documents/capture", params=asked)
        assert answer.status_code == 422, asked
