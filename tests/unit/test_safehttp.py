"""Requests to other people's URLs: where they may go, and that they go nowhere else."""

import shutil
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from ipaddress import ip_address
from pathlib import Path

import pytest

from ostinato._core.base.errors import InvalidInput, NoAnswer, OstinatoError, SettingsError, UnsafeAddress
from ostinato._core.base.safeurl import Allowed, check_address, is_public, parse, parse_allowed
from ostinato._core.base.settings import Settings
from ostinato._core.runtime.services.safehttp import Answer, Resolver, post
from tests.needs import lacking, needs
from tests.runtime.receiver import Receiver, Reply, bomb, dribble, flood, nonsense, pair, reset, silence

# Hosts that lead inside, or may do so for somebody; each is tried where something listens.
INNER_HOSTS = Path(__file__).with_name("inner_hosts.txt").read_text(encoding="utf-8").split()

ODD_URLS = [
    "",
    "127.0.0.1",
    "//127.0.0.1:{port}/",
    "http:/127.0.0.1:{port}/",
    "http:127.0.0.1:{port}/",
    "http:///127.0.0.1:{port}/",
    "http://127.0.0.1:{port}#@example.com/",
    "http://example.com#@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}?@example.com/",
    "http://127.0.0.1:{port}/ HTTP/1.1\r\nx: y",
    "http://127.0.0.1\t:{port}/",
    "http://\n127.0.0.1:{port}/",
    " http://127.0.0.1:{port}/",
    "http://127.0.0.1 :{port}/",
    "http://[::1:{port}/",
    "http://example.com:{port}:80/",
    "http://example.com:-1/",
    "http://example.com:99999999/",
    "http://example.com:٨٠/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:{port}/_x",
    "ftp://127.0.0.1:{port}/",
    "ws://127.0.0.1:{port}/",
    "dict://127.0.0.1:{port}/",
    "unix:/run/docker.sock",
    "javascript:alert(1)",
    "http+unix://127.0.0.1:{port}/",
    "http://127.0.0.1:{port}/<script>",
    "http://" + "a" * 3000 + ".example.com:{port}/",
]


def corpus(port: int) -> list[str]:
    return [
        *(f"http://{host}:{port}/hooks" for host in INNER_HOSTS),
        *(url.replace("{port}", str(port)) for url in ODD_URLS),
    ]


def answers(*addresses: str) -> Resolver:
    async def resolver(host: str, port: int) -> Sequence[str]:
        return addresses

    return resolver


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    with Receiver() as started:
        yield started


def at(receiver: Receiver) -> Allowed:
    """Only this very receiver may be called."""
    return parse_allowed(f"{receiver.host}:{receiver.port}")


async def sent(receiver: Receiver, seconds: float = 20) -> Answer:
    return await post(receiver.url, b"{}", {}, allowed=at(receiver), seconds=seconds)


async def test_no_url_of_the_corpus_leads_to_a_connection(receiver: Receiver) -> None:
    urls = corpus(receiver.port)
    anywhere = parse_allowed(f"*:{receiver.port}")  # the port alone must not be the reason

    for url in urls:
        with pytest.raises(UnsafeAddress):
            await post(url, b"{}", {}, allowed=anywhere, resolver=answers("127.0.0.1"))

    assert len(urls) >= 100
    assert receiver.visit() == 0


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "::127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "ff02::1",
        "fe80::1%lo",
        "192.0.0.192",
        "0.0.0.0",  # noqa: S104
        "168.63.129.16",
    ],
)
async def test_a_name_with_an_inner_address_leads_to_no_connection(receiver: Receiver, address: str) -> None:
    url = f"http://hooks.example.com:{receiver.port}/"
    anywhere = parse_allowed(f"*:{receiver.port}")

    for found in ([address], ["93.184.216.34", address], [address, "93.184.216.34"]):
        with pytest.raises(UnsafeAddress):
            await post(url, b"{}", {}, allowed=anywhere, resolver=answers(*found))

    assert receiver.visit() == 0


@needs("linux", here=sys.platform == "linux", reason="needs a second loopback address")
async def test_a_name_that_changes_its_address_has_no_second_say() -> None:
    """DNS rebinding: the address that was checked is the one that is called."""
    with pair() as (canary, allowed):
        asked = []

        async def rebinding(host: str, port: int) -> Sequence[str]:
            asked.append(host)
            return ["127.0.0.2" if len(asked) % 2 else "127.0.0.1"]

        url = f"http://rebind.example.com:{canary.port}/in?x=1"
        rules = parse_allowed(f"127.0.0.2:{canary.port}")

        answer = await post(url, b"{}", {}, allowed=rules, resolver=rebinding)
        with pytest.raises(UnsafeAddress):
            await post(url, b"{}", {}, allowed=rules, resolver=rebinding)

        assert answer.status == 200
        assert len(asked) == 2
        assert [request.path for request in allowed.requests] == ["/in?x=1"]
        assert allowed.requests[0].headers["host"] == f"rebind.example.com:{canary.port}"
        assert canary.visit() == 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_an_answer_and_is_not_followed(receiver: Receiver, status: int) -> None:
    with Receiver() as canary:
        receiver.script.append(Reply(status, b"", {"location": canary.url}))

        answer = await sent(receiver)

        assert answer.status == status
        assert canary.visit() == 0


async def test_proxies_and_passwords_of_the_environment_are_not_used(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with Receiver() as canary:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, canary.url)
            monkeypatch.setenv(name.lower(), canary.url)
        netrc = tmp_path / "netrc"
        netrc.write_text("machine 127.0.0.1 login me password hunter2\n")
        monkeypatch.setenv("NETRC", str(netrc))

        await sent(receiver)

        assert "authorization" not in receiver.requests[0].headers
        assert canary.visit() == 0


async def test_what_is_allowed_is_sent_as_it_is(receiver: Receiver) -> None:
    answer = await post(receiver.url, b"\x00raw", {"x-a": "b"}, allowed=at(receiver), seconds=20)

    (request,) = receiver.requests
    assert (answer.status, answer.body, answer.cut) == (200, b"thanks", False)
    assert request.body == b"\x00raw"
    assert request.headers["x-a"] == "b"
    assert request.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert "cookie" not in request.headers


async def test_an_address_that_does_not_answer_gives_way_to_the_next(receiver: Receiver) -> None:
    url = f"http://two.example.com:{receiver.port}/"
    rules = parse_allowed(f"two.example.com:{receiver.port}")

    answer = await post(url, b"{}", {}, allowed=rules, seconds=20, resolver=answers("::1", "127.0.0.1"))

    assert answer.status == 200


async def test_of_a_huge_answer_only_the_start_is_read(receiver: Receiver) -> None:
    receiver.script.append(Reply(fault=flood))

    answer = await sent(receiver)

    assert (answer.status, len(answer.body), answer.cut) == (200, 65_536, True)


async def test_a_bomb_is_cut_and_not_unpacked(receiver: Receiver) -> None:
    reply = bomb()
    receiver.script.append(reply)

    answer = await sent(receiver)

    assert len(reply.body) < 300_000
    assert (answer.status, len(answer.body), answer.cut) == (200, 65_536, True)


async def test_packed_answers_are_unpacked_up_to_the_limit(receiver: Receiver) -> None:
    receiver.script.extend(
        [
            bomb(1),
            Reply(200, b"not gzip", {"content-encoding": "gzip"}),
            Reply(200, b"as it is", {"content-encoding": "br"}),
            Reply(200, b"y" * 65_536),
            Reply(200, b"y" * 65_537),
        ]
    )

    found = [await sent(receiver) for _ in range(5)]

    assert [(len(answer.body), answer.cut) for answer in found] == [
        (65_536, True),
        (0, True),
        (8, False),
        (65_536, False),
        (65_536, True),
    ]


@pytest.mark.parametrize(
    ("fault", "outcome"), [(silence, "timeout"), (dribble, "timeout"), (reset, "reset"), (nonsense, "protocol")]
)
async def test_what_is_no_answer_is_named(receiver: Receiver, fault: object, outcome: str) -> None:
    receiver.script.append(Reply(fault=fault))  # type: ignore[arg-type]

    with pytest.raises(NoAnswer) as caught:
        await sent(receiver, seconds=0.3 if outcome == "timeout" else 20)

    assert caught.value.values["outcome"] == outcome


async def test_nobody_there_and_no_such_name_are_no_answers(receiver: Receiver) -> None:
    async def unknown(host: str, port: int) -> Sequence[str]:
        raise OSError("no such name")

    with Receiver() as gone:
        url, rules = gone.url, at(gone)
    with pytest.raises(NoAnswer) as refused:
        await post(url, b"{}", {}, allowed=rules)
    outcomes = [refused.value.values["outcome"]]
    for resolver in (unknown, answers()):
        with pytest.raises(NoAnswer) as caught:
            await post("http://hooks.example.com/", b"{}", {}, resolver=resolver)
        outcomes.append(caught.value.values["outcome"])

    assert outcomes == ["connect", "dns", "dns"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        lacking("openssl", "openssl, which makes the certificate, is not installed")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=x -addext"
    options = ("subjectAltName=DNS:hooks.example.com", "-keyout", path, "-out", f"{path}.crt")
    subprocess.run([*words.split(), *options], check=True, capture_output=True)
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


async def test_the_certificate_is_that_of_the_host_not_of_the_address(certificate: Path) -> None:
    names = []
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate)
    server.sni_callback = lambda _, name, __: names.append(name)
    client = ssl.create_default_context(cafile=f"{certificate}.crt")
    with Receiver(tls=server) as receiver:
        here = answers("127.0.0.1")
        rules = at(receiver)

        url = f"https://hooks.example.com:{receiver.port}/"
        answer = await post(url, b"{}", {}, allowed=rules, seconds=20, resolver=here, tls=client)
        outcomes = []
        for wrong, tls in (
            (f"https://other.example.com:{receiver.port}/", client),
            (f"https://127.0.0.1:{receiver.port}/", client),
            (url, None),  # an authority that nobody knows
        ):
            with pytest.raises(NoAnswer) as caught:
                await post(wrong, b"{}", {}, allowed=rules, seconds=20, resolver=here, tls=tls)
            outcomes.append(caught.value.values["outcome"])

    assert answer.status == 200
    assert names[:2] == ["hooks.example.com", "other.example.com"]
    assert outcomes == ["tls", "tls", "tls"]
    assert len(receiver.requests) == 1


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("https://Hooks.Example.COM", "https://hooks.example.com/"),
        ("https://hooks.example.com.:443/x", "https://hooks.example.com/x"),
        ("HTTP://hooks.example.com:80?a=b&c=%20", "http://hooks.example.com/?a=b&c=%20"),
        ("https://hooks.example.com:80/@me/x@y", "https://hooks.example.com:80/@me/x@y"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
        ("https://93.184.216.34/", "https://93.184.216.34/"),
        ("https://[2606:4700:4700:0::1111]/", "https://[2606:4700:4700::1111]/"),
        ("https://[64:ff9b::8.8.8.8]/", "https://[64:ff9b::808:808]/"),
    ],
)
def test_a_plain_url_is_read_in_its_one_way(url: str, read: str) -> None:
    assert parse(url).url == read


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_a_public_address_is_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize("port", [22, 25, 6379, 8080, 0])
def test_other_ports_are_refused_unless_they_are_listed(port: int) -> None:
    url = f"http://hooks.example.com:{port}/"

    with pytest.raises(UnsafeAddress):
        parse(url)
    # 10.0.0.0/8 at this port says nothing of a public address at it.
    inner = parse_allowed(f"10.0.0.0/8:{port or 1}, 10.0.0.0/8:*")
    with pytest.raises(UnsafeAddress):
        check_address(parse(url, inner), "8.8.8.8", inner)
    if port:
        rules = parse_allowed(f"*:{port}")
        assert check_address(parse(url, rules), "8.8.8.8", rules) == ip_address("8.8.8.8")


def test_a_list_allows_what_it_says_and_no_more() -> None:
    rules = parse_allowed("10.1.0.0/16, 127.0.0.1:8080 [fd00::/8]:*\nhooks.internal:8443 fd01::1")
    good = [
        ("http://10.1.2.3/", "10.1.2.3"),
        ("https://a.example.com/", "10.1.255.255"),
        ("http://127.0.0.1:8080/", "127.0.0.1"),
        ("http://[::ffff:127.0.0.1]:8080/", "::ffff:127.0.0.1"),
        ("http://[fd12::1]:99/", "fd12::1"),
        ("https://hooks.internal:8443/", "192.168.0.1"),
    ]
    bad = [
        ("http://a.example.com/", "10.2.0.0"),
        ("http://a.example.com:8080/", "10.1.2.3"),
        ("http://a.example.com:8081/", "127.0.0.1"),
        ("http://a.example.com:8443/", "192.168.0.1"),
    ]

    for url, address in good:
        assert check_address(parse(url, rules), address, rules) == ip_address(address)
    for url, address in bad:
        with pytest.raises(UnsafeAddress):
            check_address(parse(url, rules), address, rules)
    for url in ("https://hooks.internal/", "http://127.0.0.1/", "http://10.2.0.0/"):
        with pytest.raises(UnsafeAddress):
            parse(url, rules)


@pytest.mark.parametrize("entry", ["*", "10.0.0.0/33", "http://x", "a b:c", "1.2.3", "[::1", "x:y", "-"])
def test_a_list_that_cannot_be_read_stops_the_start(entry: str) -> None:
    with pytest.raises(InvalidInput):
        parse_allowed(entry)
    with pytest.raises(SettingsError):
        Settings(webhooks_allow_private=entry)


def test_no_error_tells_a_password_or_a_query() -> None:
    for url in (
        "http://me:hunter2@example.com/",
        "http://me:hunter2@example.com/ x",
        "http://127.0.0.1/?token=hunter2",
        "http://example.com/ ?token=hunter2",
    ):
        with pytest.raises(OstinatoError) as caught:
            parse(url)
        assert "hunter2" not in f"{caught.value} {caught.value.values}"
