"""`POST /documents/capture` and `GET /documents/capture/{capture_id}`, over HTTP."""

import dataclasses
import json
from dataclasses import asdict
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.engine import keys
from ostinato._faces.api.parts import Parts
from ostinato._faces.api.server import build
from ostinato.apps.capture import APP, acquire_lock_and_check_idempotence
from ostinato.web import Caller
from tests.api.live import serving
from tests.apps.capture.conftest import Api, serving_api
from tests.apps.capture.vault import SEED, TENANT, USER, Vault

PATH = "/documents/capture"
SHORTEST_TOLD = 6
CONFLICT = {"error": "CONFLICT", "message": "capture_id already used with different payload"}


async def body(vault: Vault, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of a request
    fields = asdict(SEED)
    fields["hash_sha3_256"] = fields.pop("content_hash")
    return fields | {"timestamp_device": (await vault.now()).isoformat()} | more


async def test_a_new_capture_is_202(api: Api, vault: Vault) -> None:
    answer = await api.call("POST", PATH, json=await body(vault))

    assert answer.status_code == 202
    told = answer.json()
    assert (told["capture_id"], told["state"], told["replayed"]) == (SEED.capture_id, "RECEIVED", False)


async def test_a_replay_is_200_with_the_existing_id_and_state(api: Api, vault: Vault) -> None:
    first = (await api.call("POST", PATH, json=await body(vault))).json()
    upper = await body(vault, capture_id=SEED.capture_id.upper(), hash_sha3_256=SEED.content_hash.upper())
    again = await api.call("POST", PATH, json=upper)

    assert again.status_code == 200
    assert again.json() == first | {"replayed": True}


async def test_what_is_not_refused_is_one_statement(api: Api, vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = await body(vault)
    with monkeypatch.context() as closed:
        closed.delattr(Caller, "transaction")
        first = await api.call("POST", PATH, json=sent)
        again = await api.call("POST", PATH, json=sent)

    assert (first.status_code, again.status_code) == (202, 200)
    assert await vault.audited() == ["CAPTURE_ACCEPTED", "CAPTURE_REPLAYED"]
    told = await vault.rows(
        "select type, producer, payload ->> 'state', occurred_at is not null from ostinato_data.event"
    )
    assert told == [("capture.received", "capture", "RECEIVED", True)]
    assert await vault.value("select count(*) from ostinato_data.job where kind = 'capture.verify'") == 1


async def test_a_different_payload_is_409_with_the_body_of_the_contract(api: Api, vault: Vault) -> None:
    """TC-ERR-13, ER-103-13."""
    await api.call("POST", PATH, json=await body(vault))
    answer = await api.call("POST", PATH, json=await body(vault, size_bytes=999999))

    assert (answer.status_code, answer.json()) == (409, CONFLICT)
    assert await vault.audited() == ["CAPTURE_ACCEPTED", "CAPTURE_CONFLICT"]


async def test_a_replay_that_differs_in_ocr_only_is_a_replay_and_the_first_ocr_stays(api: Api, vault: Vault) -> None:
    first = await body(vault, ocr_text="premier", ocr_confidence=0.5, ocr_language="fr")
    await api.call("POST", PATH, json=first)
    other = await body(vault, ocr_text="second", ocr_confidence=1, ocr_language="en")
    again = await api.call("POST", PATH, json=other)
    shown = (await api.call("GET", f"{PATH}/{SEED.capture_id}")).json()

    assert again.status_code == 200
    assert (shown["ocr_text"], shown["ocr_confidence"], shown["ocr_language"]) == ("premier", 0.5, "fr")


async def test_the_canonical_name_of_the_hash_is_taken_too(api: Api, vault: Vault) -> None:
    sent = await body(vault)
    sent["content_hash"] = sent.pop("hash_sha3_256")
    assert (await api.call("POST", PATH, json=sent)).status_code == 202
    both = await body(vault, content_hash=SEED.content_hash)
    assert (await api.call("POST", PATH, json=both)).status_code == 422


BAD_FIELDS: list[tuple[str, object]] = [
    ("capture_id", "a1b2c3d4-e5f6-1a7b-8c9d-0e1f2a3b4c5d"),  # not of version 4
    ("capture_id", "a1b2c3d4e5f64a7b8c9d0e1f2a3b4c5d"),
    ("capture_id", "a1b2c3d4-e5f6-4a7b-8c9d-0e1f2a3b4c5d\n"),
    ("capture_id", 7),
    ("hash_sha3_256", "abc"),
    ("hash_sha3_256", "g" * 64),
    ("aes_gcm_nonce_b64", "dGVzdG5vbmNlMTI="),  # 11 bytes
    ("aes_gcm_nonce_b64", "dGVzdG5vbmNlMTIzNA=="),
    ("aes_gcm_nonce_b64", "dGVzdG5vbmNl-TIz"),
    ("aes_gcm_tag_b64", "dGVzdHRhZzEyMzQ1Njc4OR=="),  # the same bytes, written otherwise
    ("aes_gcm_tag_b64", "dGVzdHRhZzEyMzQ1Njc4OQ"),
    ("aes_gcm_tag_b64", "dGVzdHRhZzEyMzQ1Njc="),
    ("dek_wrapped_b64", ""),
    ("dek_wrapped_b64", "ZGVr d3Jh"),
    ("kek_id", ""),
    ("kek_id", "kek\u0007"),
    ("kek_id", "kek-\u202e2026"),
    ("mime_type", "image/PNG"),
    ("mime_type", "image/png; charset=x"),
    ("mime_type", "image"),
    ("size_bytes", -1),
    ("size_bytes", True),
    ("size_bytes", "524288"),
    ("size_bytes", 1.5),
    ("size_bytes", 104_857_601),
    ("upload_object_key", "../../etc/passwd"),
    ("upload_object_key", "a\tb"),
    ("timestamp_device", "2026-04-03T10:00:00"),
    ("timestamp_device", 1781510400),
    ("timestamp_device", "yesterday"),
    ("timestamp_device", "1781510400"),
    ("device_id", "phone"),
    ("ocr_confidence", 1.1),
    ("ocr_language", "<fr>"),
    ("unknown", "field"),
]


async def test_a_bad_field_is_422_and_named_without_its_value(api: Api, vault: Vault) -> None:
    good = await body(vault)
    for name, value in BAD_FIELDS:
        answer = await api.call("POST", PATH, json=good | {name: value})

        assert answer.status_code == 422, (name, value, answer.text)
        told = answer.json()
        assert name in json.dumps(told["errors"]) or name in told["detail"], (name, value)
        if isinstance(value, str) and len(value) >= SHORTEST_TOLD:
            assert value not in answer.text
    assert await vault.value("select count(*) from vault_secure.capture_events") == 0


async def test_a_missing_field_is_422(api: Api, vault: Vault) -> None:
    for name in ("capture_id", "dek_wrapped_b64", "size_bytes", "timestamp_device"):
        sent = await body(vault)
        del sent[name]
        assert (await api.call("POST", PATH, json=sent)).status_code == 422, name


async def test_a_body_that_is_not_plain_json_is_400(api: Api) -> None:
    for text in (b"{", b'{"a": NaN}', b'{"a": 1, "a": 2}', b'{"a": 9007199254740993}'):
        answer = await api.call("POST", PATH, content=text, headers={"Content-Type": "application/json"})
        assert answer.status_code == 400, text


async def test_a_clock_that_is_off_is_refused_and_audited(api: Api, vault: Vault) -> None:
    """INV-103-12."""
    for seconds, status in ((-290, 202), (290, 202), (-310, 422), (310, 422)):
        name = f"a1b2c3d4-e5f6-4a7b-8c9d-{seconds + 1000:012d}"
        at = (await vault.now()) + timedelta(seconds=seconds)
        sent = await body(vault, capture_id=name, timestamp_device=at.isoformat())
        assert (await api.call("POST", PATH, json=sent)).status_code == status, seconds
    assert await vault.audited() == ["CAPTURE_ACCEPTED"] * 2 + ["CAPTURE_REFUSED"] * 2
    skews = await vault.rows("select skew_ms from vault_secure.capture_events order by 1")
    assert [round(row[0] / 10_000) for row in skews] == [-29, 29]


async def test_a_replay_is_answered_however_late_it_comes(api: Api, vault: Vault) -> None:
    sent = await body(vault)
    await api.call("POST", PATH, json=sent)
    await vault.engine.clock.move(timedelta(days=3))

    assert (await api.call("POST", PATH, json=sent)).status_code == 200
    late = await api.call("POST", PATH, json=sent | {"size_bytes": 1})
    assert late.status_code == 409


async def test_the_largest_size_is_that_of_new_captures(
    api: Api, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = await body(vault)
    await api.call("POST", PATH, json=sent)
    monkeypatch.setenv("OSTINATO_CAPTURE_MAX_OBJECT_BYTES", "1000")

    async with serving_api(vault, Settings()) as strict:
        again = await strict.call("POST", PATH, json=sent)
        other = await strict.call("POST", PATH, json=sent | {"size_bytes": 999_999})
        new = await body(vault, capture_id="a1b2c3d4-e5f6-4a7b-8c9d-000000000001")
        refused = await strict.call("POST", PATH, json=new)
    assert again.status_code == 200, "it was taken in"
    assert other.status_code == 409
    assert (refused.status_code, refused.json()["values"]["refusal"]) == (422, "TOO_LARGE")
    assert (await vault.audited())[-1] == "CAPTURE_REFUSED"


async def test_offsets_of_the_device_are_understood(api: Api, vault: Vault) -> None:
    at = (await vault.now()).replace(tzinfo=None) + timedelta(hours=2)
    sent = await body(vault, timestamp_device=f"{at.isoformat()}+02:00")
    assert (await api.call("POST", PATH, json=sent)).status_code == 202


async def test_captures_of_others_are_not_there(api: Api, vault: Vault) -> None:
    await api.call("POST", PATH, json=await body(vault))

    mine = await api.call("GET", f"{PATH}/{SEED.capture_id.upper()}")
    assert mine.status_code == 200
    for tenant, user in ((TENANT, "ben"), ("zeta", USER)):
        path = f"{PATH}/{SEED.capture_id}"
        assert (await api.call("GET", path, tenant=tenant, user=user)).status_code == 404
    assert (await api.call("GET", f"{PATH}/nothing")).status_code == 422


async def test_nothing_that_opens_a_capture_is_shown(api: Api, vault: Vault) -> None:
    await api.call("POST", PATH, json=await body(vault))
    shown = await api.call("GET", f"{PATH}/{SEED.capture_id}")
    for secret in (SEED.dek_wrapped_b64, SEED.aes_gcm_tag_b64, SEED.kek_id):
        assert secret not in shown.text


async def test_only_who_may_capture_does(api: Api, vault: Vault) -> None:
    sent = await body(vault)
    assert (await api.call("POST", PATH, json=sent, role="ops")).status_code == 403
    assert (await api.call("GET", f"{PATH}/{SEED.capture_id}", role="ops")).status_code == 403
    assert (await api.http.post(PATH, json=sent)).status_code == 401


async def test_the_source_and_the_request_are_on_record(api: Api, vault: Vault) -> None:
    await api.call("POST", PATH, json=await body(vault))
    rows = await vault.rows(
        "select source_ip, http_status, capture_id, event_payload ->> 'correlation_id' is not null"
        " from vault_secure.capture_audit_log"
    )
    assert rows == [("192.0.2.7", 202, SEED.capture_id, True)]


@pytest.mark.parametrize(
    ("trusted", "expected"),
    [("", ["127.0.0.1"] * 3), ("127.0.0.1", ["127.0.0.1", "2001:db8::1", "192.0.2.99"])],
    ids=["nobody", "a proxy"],
)
async def test_what_is_said_of_an_address_is_kept_only_if_a_trusted_proxy_says_it(
    vault: Vault, trusted: str, expected: list[str]
) -> None:
    """Whoever came from this machine was taken for a proxy, and its header for the truth."""
    async with vault.client.connection() as conn:
        made = await keys.create(conn, tenant_id=TENANT, subject=USER, roles=["capture"])
    sent = await body(vault)
    parts = Parts(vault.database, Settings(api_trusted_proxies=trusted), apps=(APP,))
    with serving(parts) as url:
        async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as http:
            for told in ("<script>", "2001:DB8::1", "192.0.2.99"):
                headers = {"Authorization": f"Bearer {made.key}", "X-Forwarded-For": told}
                answer = await http.post(PATH, json=sent, headers=headers)
                assert answer.is_success
    kept = await vault.rows("select source_ip from vault_secure.capture_audit_log order by seq")
    assert [row[0] for row in kept] == expected


async def test_who_comes_from_no_address_is_kept_without_one(vault: Vault) -> None:
    """By a socket of the machine, or a server that names its peers."""
    async with vault.client.connection() as conn:
        made = await keys.create(conn, tenant_id=TENANT, subject=USER, roles=["capture"])
    app = build(Parts(vault.database, Settings(), apps=(APP,)))
    transport = httpx.ASGITransport(app, client=("a peer", 1))
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://api") as http:
        headers = {"Authorization": f"Bearer {made.key}"}
        assert (await http.post(PATH, json=await body(vault), headers=headers)).status_code == 202
    assert await vault.rows("select source_ip from vault_secure.capture_audit_log") == [(None,)]


@pytest.fixture
def api_settings(request: pytest.FixtureRequest) -> Settings:
    return Settings(**getattr(request, "param", {}))


@pytest.mark.parametrize("api_settings", [{"api_rate_per_minute": 2}], indirect=True)
async def test_who_asks_too_often_is_429(api: Api, vault: Vault) -> None:
    sent = await body(vault)
    answers = [await api.call("POST", PATH, json=sent) for _ in range(4)]
    assert [each.status_code for each in answers][:2] == [202, 200]
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["Retry-After"]) > 0


async def test_a_capture_that_stays_locked_is_503_and_may_be_tried_again(vault: Vault) -> None:
    options = quote("-c lock_timeout=200ms")
    sign = "&" if "?" in vault.database.url else "?"
    impatient = dataclasses.replace(vault.database, api_url=f"{vault.database.api_url}{sign}options={options}")
    parts = Parts(impatient, Settings(), apps=(APP,))
    app = build(parts)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://api.test") as http,
    ):
        async with vault.client.connection() as conn:
            made = await keys.create(conn, tenant_id=TENANT, subject=USER, roles=["capture"])
        headers = {"Authorization": f"Bearer {made.key}"}
        sent = await body(vault)
        async with vault.transaction() as conn:
            await acquire_lock_and_check_idempotence(conn, USER, SEED)
            answer = await http.post(PATH, json=sent, headers=headers)
        assert answer.status_code == 503
        assert answer.headers["Retry-After"]
        assert answer.json()["retryable"] is True
        assert (await http.post(PATH, json=sent, headers=headers)).status_code == 202


@pytest.mark.parametrize("letter", ["\u00e9", "\U0001f600"])
async def test_200_000_letters_of_ocr_are_taken_however_they_are_escaped(api: Api, vault: Vault, letter: str) -> None:
    headers = {"Content-Type": "application/json"}
    longest, longer = [json.dumps(await body(vault, ocr_text=letter * n)).encode() for n in (200_000, 200_001)]

    refused = await api.call("POST", PATH, content=longer, headers=headers)
    answer = await api.call("POST", PATH, content=longest, headers=headers)

    assert answer.status_code == 202
    assert refused.status_code == 422
