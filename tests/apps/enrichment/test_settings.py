"""Settings: checked when they are read, tried by doctor, and a way out through a proxy and to a private authority."""

import ssl
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from ostinato._core.base.settings import load
from ostinato._core.runtime.installed import check_settings
from ostinato._core.runtime.observe.checkup import examine
from ostinato.apps.enrichment import APP
from ostinato.apps.enrichment.settings import EnrichmentSettings
from ostinato.apps.enrichment.sources.search import Search
from ostinato.apps.enrichment.wire import Wire, pooled
from ostinato.errors import SettingsError
from ostinato.lab.sandbox.running import Running
from tests.apps.enrichment.place import Place
from tests.servers import answering, certificate, listening


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("backoff_ms", "abc"),
        ("backoff_ms", "250,-1"),
        ("backoff_ms", "250;500"),
        ("backoff_ms", "nan"),
        ("backoff_ms", "60001"),
        ("search_url", "not a url"),
        ("inpi_url", "registre.example"),
        ("rcs_url", "ftp://entreprise.example"),
        ("rcs_url", ""),
        ("search_url", "https://host:99999"),
        ("proxy_url", "proxy:3128"),
        ("ca_file", "/nowhere/ca.pem"),
        ("ca_file", __file__),
        ("lock_heartbeat_seconds", 120.0),
    ],
)
def test_settings_that_could_not_work_are_refused_with_value_and_remedy(name: str, value: object) -> None:
    given: dict[str, Any] = {name: value}

    with pytest.raises(SettingsError) as refused:
        EnrichmentSettings(**given)

    shown = f"{value:g}" if isinstance(value, float) else str(value)
    assert f"enrichment.{name} = {shown!r}" in refused.value.message
    assert refused.value.hint


def test_a_password_in_an_address_is_not_shown() -> None:
    with pytest.raises(SettingsError) as refused:
        EnrichmentSettings(proxy_url="socks5://me:hunter2hunter2@proxy.example")

    assert "hunter2" not in str(refused.value)


def test_a_mistake_is_told_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_ENRICHMENT_LOCK_TTL_SECONDS", "10")

    with pytest.raises(SettingsError, match="lock_heartbeat_seconds"):
        check_settings(load(), [APP])


def test_no_pauses_are_no_retries() -> None:
    assert EnrichmentSettings(backoff_ms="").backoff_seconds == ()
    assert EnrichmentSettings(backoff_ms=" 5 , 10,").backoff_seconds == (0.005, 0.01)


async def doctor() -> list[str]:
    found = await examine([APP], load())
    return [f"{trouble.problem} | {trouble.hint}" for trouble in found["enrichment"]]


async def test_doctor_tries_the_credentials(sources: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await doctor() == []
    monkeypatch.setenv("OSTINATO_ENRICHMENT_INPI_PASSWORD", "wrong")
    monkeypatch.setenv("OSTINATO_ENRICHMENT_RCS_TOKEN", "wrong")

    found = await doctor()

    assert [one[:40] for one in found] == [
        "INPI_RNE refuses our credentials: HTTP 4",
        "API_ENTREPRISE_RCS refuses our credentia",
    ]
    assert "enrichment.inpi_username and enrichment.inpi_password" in found[0]
    assert "wrong" not in str(found)
    assert len([call for call in sources.faults.calls if call.path.endswith(("/login", "/privileges"))]) == 4


async def test_doctor_names_what_is_half_set_or_away(sources: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OSTINATO_ENRICHMENT_INPI_PASSWORD")
    monkeypatch.setenv("OSTINATO_ENRICHMENT_RCS_URL", "http://127.0.0.1:1")
    half = await doctor()
    for name in ("INPI_USERNAME", "RCS_TOKEN", "RCS_RECIPIENT"):
        monkeypatch.delenv(f"OSTINATO_ENRICHMENT_{name}")

    assert "INPI_RNE has a part of its credentials only" in half[0]
    assert "API_ENTREPRISE_RCS cannot be reached: ConnectError" in half[1]
    assert await doctor() == []
    assert list(sources.faults.calls) == []


def wire(http: httpx.AsyncClient, **given: Any) -> Wire:  # noqa: ANN401 - settings
    return Wire(http, EnrichmentSettings(**given), cast("Any", None))


async def test_sources_are_asked_through_the_proxy_that_is_set(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []
    async with listening(answering(asked)) as port:
        monkeypatch.setenv("OSTINATO_ENRICHMENT_PROXY_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("OSTINATO_ENRICHMENT_SEARCH_URL", "http://search.example.test")
        await place.enriched()

    assert asked[0].startswith(b"GET http://search.example.test/search?q=999000003&")
    assert any(b"/sso/login HTTP/1.1" in each for each in asked)


async def test_a_private_authority_is_trusted_if_its_certificates_are_named(tmp_path: Path) -> None:
    key_file, ca_file = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ca_file, key_file)
    outcomes = []
    async with listening(answering([]), context) as port:
        for ca in ("", str(ca_file)):
            async with pooled(ca_file=ca) as http:
                asking = wire(http, search_url=f"https://127.0.0.1:{port}", ca_file=ca)
                reply = await Search().ask(asking, "999000003", probe=False)
                outcomes.append(reply.status)

    assert outcomes == [None, 200]
