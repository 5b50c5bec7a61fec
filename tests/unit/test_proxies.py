"""Who the caller is behind proxies: what a trusted one appended, and nothing that a caller wrote."""

import pytest

from ostinato._core.base.errors import InvalidInput, SettingsError
from ostinato._core.base.proxies import MOST_HOPS, Proxies
from ostinato._core.base.settings import Settings

OURS = Proxies.parse("10.0.0.0/8, 127.0.0.1, 2001:db8::/32")


def test_nobody_is_trusted_by_default() -> None:
    nobody = Proxies.parse(Settings().api_trusted_proxies)

    assert nobody.caller("127.0.0.1", ["198.51.100.1"]) == "127.0.0.1"
    assert not nobody.trusts("127.0.0.1")


@pytest.mark.parametrize(
    ("peer", "forwarded", "caller"),
    [
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
        ("10.0.0.7", [], "10.0.0.7"),
        ("10.0.0.7", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.7", ["1.1.1.1, 198.51.100.1"], "198.51.100.1"),
        ("10.0.0.7", ["1.1.1.1", "198.51.100.1, 10.0.0.8"], "198.51.100.1"),
        ("10.0.0.7", ["10.9.9.9"], "10.9.9.9"),
        ("10.0.0.7", ["198.51.100.1, <script>"], "10.0.0.7"),
        ("10.0.0.7", ["<script>, 10.0.0.8"], "10.0.0.8"),
        ("10.0.0.7", ["198.51.100.1:4711"], "198.51.100.1"),
        ("10.0.0.7", ["[2001:4860::8]:443"], "2001:4860::8"),
        ("10.0.0.7", ["2001:4860::8"], "2001:4860::8"),
        ("::ffff:10.0.0.7", ["::ffff:198.51.100.1"], "198.51.100.1"),
        ("2001:db8::1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.7", [""], "10.0.0.7"),
        ("", ["198.51.100.1"], ""),
    ],
)
def test_the_header_is_read_from_the_right_as_long_as_it_is_trusted(
    peer: str, forwarded: list[str], caller: str
) -> None:
    assert OURS.caller(peer, forwarded) == caller


def test_a_header_without_end_is_read_to_a_bound() -> None:
    hops = ["10.0.0.8, " * 100_000 + "198.51.100.1, " + ", ".join(["10.0.0.9"] * MOST_HOPS)]

    assert OURS.caller("10.0.0.7", hops) == "10.0.0.9"


@pytest.mark.parametrize("text", ["proxy.example", "10.0.0.1/8", "10.0.0.0/99", "*"])
def test_what_is_no_network_is_refused_with_the_settings(text: str) -> None:
    with pytest.raises(InvalidInput, match="no network"):
        Proxies.parse(text)
    with pytest.raises(SettingsError, match="api_trusted_proxies") as caught:
        Settings(api_trusted_proxies=text)
    assert "10.1.0.0/16" in (caught.value.hint or "")
