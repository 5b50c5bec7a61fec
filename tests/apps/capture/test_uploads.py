"""Uploads: an address that is signed for one object, announcements, and how little a wait costs."""

import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, urlsplit

import httpx
import obstore
import psycopg
import pytest

from ostinato._core.db.call import call
from ostinato.apps.capture import APP, keyring, objects, rules, sigv4, uploads
from ostinato.apps.capture.device import Kek, Prepared
from ostinato.apps.capture.objects import S3, ObjectMissing, StoreUnavailable
from ostinato.apps.capture.sandbox import KEK_ID, CaptureWorld
from ostinato.apps.capture.settings import CaptureSettings
from ostinato.errors import InvalidInput
from ostinato.lab.sandbox.running import Running
from tests.apps.capture.conftest import EMPTY, Api
from tests.apps.capture.test_jobs import put
from tests.apps.capture.vault import TENANT, Vault, captured

CONTENT = b"what was seen " * 100
DAY = timedelta(days=1)


def chosen(world: Running, monkeypatch: pytest.MonkeyPatch, **values: str) -> CaptureSettings:
    """Settings that this process and the stand-in share."""
    for name, value in values.items():
        monkeypatch.setenv(f"OSTINATO_CAPTURE_{name.upper()}", value)
    (stand_in,) = world.sandbox.standing
    assert isinstance(stand_in, CaptureWorld)
    stand_in._chosen = CaptureSettings.load()
    return stand_in._chosen


def on_store() -> Prepared:
    """A capture whose key is in the keyring of the stand-in."""
    known = keyring.read_keys(Path(CaptureSettings.load().keyring_file))
    return captured(CONTENT, kek=Kek(KEK_ID, known[KEK_ID]))


async def sent(world: Running, url: str, headers: dict[str, str], content: bytes) -> httpx.Response:
    """A PUT as a device makes it, to whichever host the address names."""
    place = urlsplit(url)
    async with httpx.AsyncClient(base_url=world.url, timeout=60, trust_env=False) as http:
        return await http.put(f"{place.path}?{place.query}", headers={"Host": place.netloc, **headers}, content=content)


async def upload_of(api: Api, prepared: Prepared, **options: Any) -> httpx.Response:  # noqa: ANN401 - as call
    return await api.call("POST", f"/documents/capture/{prepared.fields.capture_id}/upload", **options)


# ── an address for an upload ─────────────────────────────────────────────────────────────


async def test_a_device_uploads_to_the_address_it_was_given_and_the_capture_is_sealed(
    vault: Vault, api: Api, world: Running
) -> None:
    prepared = on_store()
    taken = await vault.receive(prepared.fields)
    await vault.run()

    answer = await upload_of(api, prepared)
    made = answer.json()
    done = await sent(world, made["url"], made["headers"], prepared.blob)

    assert (answer.status_code, made["method"], done.status_code) == (200, "PUT", 200)
    await api.call("POST", f"/documents/capture/{prepared.fields.capture_id}/uploaded")
    await vault.run()
    assert await vault.state(taken) == ("SEALED", None)
    assert (await upload_of(api, prepared)).status_code == 409, "its object has come"
    assert (await upload_of(api, prepared, user="ben")).status_code == 404
    assert (await upload_of(api, prepared, tenant="other")).status_code == 404


async def test_an_address_is_good_for_one_object_in_its_size_and_in_its_time(
    vault: Vault, api: Api, world: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = on_store()
    await vault.receive(prepared.fields)
    made = (await upload_of(api, prepared)).json()
    url, headers = made["url"], made["headers"]

    refused = {
        "another key": (url.replace(".enc?", ".other?"), headers, prepared.blob),
        "another size": (url, {"If-None-Match": "*"}, prepared.blob + b"x"),
        "over another": (url, {name: value for name, value in headers.items() if name != "If-None-Match"}, b""),
        "a longer time": (url.replace("X-Amz-Expires=900", "X-Amz-Expires=9000"), headers, prepared.blob),
    }
    for what, (where, with_, content) in refused.items():
        answer = await sent(world, where, {**with_, "Content-Length": str(len(content))}, content)
        assert answer.status_code == 403, what
    assert (await sent(world, url, headers, prepared.blob)).status_code == 200
    assert (await sent(world, url, headers, prepared.blob)).status_code == 412, "it is there: nobody writes over it"
    settings = CaptureSettings.load()
    old = sigv4.presign(
        "PUT",
        f"{objects.bucket_url(settings)}/old",
        {},
        credentials=sigv4.Credentials(settings.s3_access_key_id or "", settings.s3_secret_access_key or ""),
        region=settings.s3_region,
        at=datetime.now(UTC) - timedelta(seconds=901),
        seconds=900,
    )
    assert (await sent(world, old, {}, b"")).status_code == 403


def test_a_presigned_address_is_that_of_the_specification() -> None:
    """The example of AWS's own document, "Authenticating Requests: Using Query Parameters"."""
    found = sigv4.presign(
        "GET",
        "https://examplebucket.s3.amazonaws.com/test.txt",
        {},
        credentials=sigv4.Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        region="us-east-1",
        at=datetime(2013, 5, 24, tzinfo=UTC),
        seconds=86400,
    )

    assert found.endswith("X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")


async def test_what_is_uploaded_is_encrypted_by_the_store_as_the_settings_ask(
    vault: Vault, api: Api, world: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = chosen(world, monkeypatch, s3_encryption="aws:kms", s3_kms_key_id="kms-7")
    prepared = on_store()
    made = uploads.presigned(settings, TENANT, prepared.fields.upload_object_key, len(prepared.blob))

    assert made.headers["x-amz-server-side-encryption"] == "aws:kms"
    plain = {name: value for name, value in made.headers.items() if not name.startswith("x-amz-")}
    other = made.headers | {"x-amz-server-side-encryption": "AES256"}
    assert (await sent(world, made.url, plain, prepared.blob)).status_code == 403
    assert (await sent(world, made.url, other, prepared.blob)).status_code == 403
    done = await sent(world, made.url, made.headers, prepared.blob)
    assert done.status_code == 200
    assert done.headers["x-amz-server-side-encryption-aws-kms-key-id"] == "kms-7"


async def test_a_temporary_key_has_its_token_with_it(world: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = chosen(world, monkeypatch, s3_session_token="token-of-an-hour")
    made = uploads.presigned(settings, TENANT, "a", 1)
    assert (await sent(world, made.url, made.headers, b"x")).status_code == 200

    assert (await objects.load(settings).find("acme/a")).size == 1
    with pytest.raises(StoreUnavailable):
        await objects.load(replace(settings, s3_session_token=None)).find("acme/a")
    bare = uploads.presigned(replace(settings, s3_session_token=None), TENANT, "b", 1)
    assert (await sent(world, bare.url, bare.headers, b"x")).status_code == 403


@contextmanager
def forwarding(port: int) -> Iterator[str]:
    """A proxy that leads every host name to the stand-in: the name of a bucket's host may be in no DNS."""

    def serve(client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", port)) as server:
            head = b""
            while b"\r\n\r\n" not in head:
                got = client.recv(65536)
                if not got:
                    return
                head += got
            method, target, rest = head.split(b" ", 2)
            place = urlsplit(target.decode())
            path = f"{place.path}?{place.query}" if place.query else place.path
            rest = rest.replace(b"\r\n", b"\r\nconnection: close\r\n", 1)
            server.sendall(b" ".join([method, path.encode(), rest]))
            while got := server.recv(65536):
                client.sendall(got)

    listening = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


async def test_a_bucket_may_be_the_first_part_of_the_hosts_name(
    world: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = chosen(world, monkeypatch, s3_style="virtual", s3_endpoint="http://localhost/s3-virtual")
    made = uploads.presigned(settings, TENANT, "captures/é à.enc", 3)
    assert urlsplit(made.url).netloc == "captures.localhost"
    done = await sent(world, made.url, made.headers, b"abc")
    assert done.status_code == 200, done.text

    with forwarding(world.port) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        store = objects.load(settings)
        assert (await store.find("acme/captures/é à.enc")).size == 3
        assert b"".join([piece async for piece in store.read("acme/captures/é à.enc")]) == b"abc"
        with pytest.raises(ObjectMissing):
            await objects.load(replace(settings, s3_bucket="other")).find("acme/captures/é à.enc")
    assert objects.bucket_url(CaptureSettings(s3_style="virtual")) == "https://captures.s3.eu-west-3.amazonaws.com"


async def test_where_no_address_can_be_signed_that_is_said(vault: Vault, api: Api, store: Path) -> None:
    prepared = captured(CONTENT)
    await vault.receive(prepared.fields)

    answer = await upload_of(api, prepared)

    assert answer.status_code == 409
    assert "OSTINATO_CAPTURE_STORE" in answer.text


# ── what waits, and what wakes it ────────────────────────────────────────────────────────


async def test_an_announced_object_is_looked_for_at_once(vault: Vault, api: Api, store: Path) -> None:
    prepared = captured(CONTENT)
    taken = await vault.receive(prepared.fields)
    await vault.run(move_clock=False)
    await vault.engine.clock.move(timedelta(hours=3))
    await vault.run()
    assert await vault.state(taken) == ("UPLOADING", None)
    put(store, prepared)

    path = f"/documents/capture/{prepared.fields.capture_id}/uploaded"
    answer = await api.call("POST", path)
    await vault.run()

    assert (answer.status_code, answer.json()) == (202, {"woken": 1})
    assert await vault.state(taken) == ("SEALED", None)
    assert (await api.call("POST", path)).json() == {"woken": 0}, "nothing waits any more"
    assert (await api.call("POST", path, user="ben")).status_code == 404


async def test_an_announcement_in_the_middle_of_a_look_is_not_lost(
    vault: Vault, api: Api, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look has found nothing; then the object comes and is announced, before the job leaves its worker."""
    prepared = captured(CONTENT)
    taken = await vault.receive(prepared.fields)
    find, announced = objects.Folder.find, list[Any]()

    async def late(self: objects.Folder, key: str, version: str | None = None) -> objects.Found:
        try:
            return await find(self, key, version)
        except ObjectMissing:
            put(store, prepared)
            announced.append(await api.call("POST", f"/documents/capture/{prepared.fields.capture_id}/uploaded"))
            raise

    monkeypatch.setattr(objects.Folder, "find", late)
    await vault.run()

    assert len(announced) == 1
    assert await vault.state(taken) == ("SEALED", None)


async def test_announcements_of_what_is_not_there_are_counted_and_then_ignored(
    vault: Vault, api: Api, store: Path
) -> None:
    prepared = captured(CONTENT)
    await vault.receive(prepared.fields)
    path = f"/documents/capture/{prepared.fields.capture_id}/uploaded"

    woken = [(await api.call("POST", path)).json()["woken"] for _ in range(22)]

    assert woken == [1] * 20 + [0] * 2


def notice(*keys: str, bucket: str = "captures", event: str = "ObjectCreated:Put") -> dict[str, Any]:
    """A notification as S3 sends it."""
    return {
        "Records": [
            {
                "eventVersion": "2.1",
                "eventSource": "aws:s3",
                "eventName": event,
                "s3": {"bucket": {"name": bucket}, "object": {"key": quote_plus(key), "size": 1, "versionId": "v"}},
            }
            for key in keys
        ]
    }


async def test_the_store_tells_what_was_uploaded(vault: Vault, api: Api, store: Path) -> None:
    prepared = captured(CONTENT)
    fields = replace(prepared.fields, upload_object_key="captures/é à+b.enc")
    prepared = Prepared(fields, prepared.blob)
    taken = await vault.receive(fields)
    await vault.run()
    put(store, prepared)

    answer = await api.call(
        "POST",
        "/documents/capture-events",
        user="minio",
        role="capture_store",
        json=notice("acme/captures/é à+b.enc", "acme/other"),
    )
    await vault.run()

    assert (answer.status_code, answer.json()) == (202, {"woken": 1})
    assert await vault.state(taken) == ("SEALED", None)


def bridged(key: str, *, bucket: str = "captures", kind: str = "Object Created") -> dict[str, Any]:
    """The same as EventBridge sends it to an address with a key: of AWS's destinations the one that can."""
    return {
        "version": "0",
        "detail-type": kind,
        "source": "aws.s3",
        "resources": [f"arn:aws:s3:::{bucket}"],
        "detail": {
            "version": "0",
            "bucket": {"name": bucket},
            "object": {"key": key, "size": 1, "etag": "e", "version-id": "v"},
            "reason": "PutObject",
        },
    }


async def test_eventbridge_tells_what_was_uploaded(vault: Vault, api: Api, store: Path) -> None:
    """It does not encode keys: a plus is one."""
    prepared = captured(CONTENT)
    fields = replace(prepared.fields, upload_object_key="captures/é à+b.enc")
    prepared = Prepared(fields, prepared.blob)
    taken = await vault.receive(fields)
    await vault.run()
    put(store, prepared)
    key, told = "acme/captures/é à+b.enc", list[int]()

    for notified in (bridged(key, kind="Object Deleted"), bridged(key, bucket="other"), bridged(key)):
        answer = await api.call("POST", "/documents/capture-events", user="bridge", role="capture_store", json=notified)
        assert answer.status_code == 202, answer.text
        told.append(answer.json()["woken"])
    await vault.run()

    assert told == [0, 0, 1]
    assert await vault.state(taken) == ("SEALED", None)


async def test_a_notice_reaches_no_other_tenant_bucket_or_event(vault: Vault, api: Api, store: Path) -> None:
    prepared = captured(CONTENT)
    await vault.receive(prepared.fields)
    key = f"acme/{prepared.fields.upload_object_key}"
    told: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (notice(key), {"tenant": "globex"}),
        (notice(key.removeprefix("acme/")), {}),
        (notice(key, bucket="other"), {}),
        (notice(key, event="ObjectRemoved:Delete"), {}),
        ({"Service": "Amazon S3", "Event": "s3:TestEvent"}, {}),
    ]

    for body, options in told:
        answer = await api.call(
            "POST", "/documents/capture-events", json=body, **({"user": "minio", "role": "capture_store"} | options)
        )
        assert (answer.status_code, answer.json()) == (202, {"woken": 0})

    many = {"Records": notice("k" * 8192)["Records"] * 101}
    assert (await api.call("POST", "/documents/capture-events", json=many, role="capture_store")).status_code == 422
    refused = await api.call("POST", "/documents/capture-events", json=notice(key))
    assert refused.status_code == 403, "a user is no store"
    anybody = await api.http.post("/documents/capture-events", json=notice(key))
    assert anybody.status_code == 401


async def test_a_tenants_session_announces_nothing_for_another(vault: Vault) -> None:
    """It runs with the rights of its owner, and a setting says whose the session is."""
    prepared = captured(CONTENT)
    await vault.receive(prepared.fields)

    with pytest.raises(InvalidInput, match="tenant of the transaction"):
        async with vault.transaction(tenant="globex") as conn:
            await call(
                conn, "vault_secure.announce_uploads", tenant_id="acme", capture_id=None,
                object_keys=[prepared.fields.upload_object_key],
            )  # fmt: skip

    assert await vault.value("select announced from vault_secure.capture_events") == 0


def test_the_ladder_is_that_of_the_document() -> None:
    at, seen = 0.0, list[float]()
    while at < DAY.total_seconds():
        seen.append(delay := rules.look_delay(timedelta(seconds=at), 15.0))
        at += delay

    assert seen[:6] == [15, 75, 375, 1875, 9375, 28800]
    assert set(seen[6:]) == {28800}
    assert rules.look_delay(timedelta(seconds=40), 15.0) == 75, "by the time: one look more puts nothing off"


# What a worker does by the clock, however much there is to do; here it is done after every job.
BY_THE_CLOCK = (
    "heartbeat_worker",
    "poll_jobs",
    "sequence_events",
    "dispatch_events",
    "fan_out_webhooks",
    "next_time",
    "open_waits",
)


async def day_of_waiting(vault: Vault, monkeypatch: pytest.MonkeyPatch, count: int) -> tuple[int, Counter[str]]:
    """Statements of a day in which so many captures wait in vain, and the looks of each."""
    await vault.admin.execute(EMPTY)
    taken = [await vault.receive(captured(bytes([number])).fields) for number in range(count)]
    execute, find = psycopg.AsyncCursor.execute, objects.Folder.find
    sent, looked = 0, Counter[str]()

    async def counted(self: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as psycopg
        nonlocal sent
        sent += self.connection is not vault.admin and not any(each in str(args[0]) for each in BY_THE_CLOCK)
        return await execute(self, *args, **options)

    async def looking(self: objects.Folder, key: str, version: str | None = None) -> objects.Found:
        looked[key] += 1
        return await find(self, key, version)

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.AsyncCursor, "execute", counted)
        patch.setattr(objects.Folder, "find", looking)
        await vault.run(move_clock=True)
    assert [await vault.state(each) for each in taken] == [("FAILED", "OBJECT_MISSING")] * count
    return sent, looked


@pytest.mark.slow
async def test_a_thousand_that_wait_cost_less_than_a_statement_a_second(
    vault: Vault, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A day by the clock that is moved, to its end: what each capture more costs."""
    few, _ = await day_of_waiting(vault, monkeypatch, 1)
    many, looked = await day_of_waiting(vault, monkeypatch, 6)

    assert max(looked.values()) <= 9
    assert (many - few) / 5 * 1000 / DAY.total_seconds() <= 1, f"{few} and {many} statements"


async def test_a_sealed_version_is_kept_and_read_back(vault: Vault, api: Api, world: Running) -> None:
    """What is put over it later is another version."""
    prepared = on_store()
    key = f"{TENANT}/{prepared.fields.upload_object_key}"
    store = objects.load(CaptureSettings.load())
    assert isinstance(store, S3)
    await obstore.put_async(store._store, key, prepared.blob)
    version = (await store.find(key)).version
    taken = await vault.receive(prepared.fields)
    await vault.run()
    await obstore.put_async(store._store, key, b"something else")

    view = (await api.call("GET", f"/documents/capture/{prepared.fields.capture_id}")).json()

    assert await vault.state(taken) == ("SEALED", None)
    assert version is not None
    assert view["object_version"] == version
    assert (await store.find(key)).version != version
    assert b"".join([piece async for piece in store.read(key, version)]) == prepared.blob
    sealed = await vault.value(
        "select event_payload ->> 'object_version' from vault_secure.capture_audit_log"
        " where event_type = 'CAPTURE_SEALED'"
    )
    assert sealed == version
    assert (await vault.verified()).breaks == ()
    await vault.engine.clock.move(31 * DAY)
    await APP["capture.recheck"].enqueue(vault.client)
    await vault.run()
    assert await vault.rows("select rechecked_at > verified_at, changed_at from vault_secure.capture_events") == [
        (True, None)
    ]
