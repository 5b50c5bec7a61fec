"""Decides which addresses a request to a caller's URL may go to.

A caller that chooses a URL could choose a machine that only we can reach. So a URL is read
strictly (what two parsers could read in two ways is refused), and every address of its host must
be public:

    target = parse("https://hooks.example.com/in", allow)
    check_address(target, "93.184.216.34", allow)             # or an `UnsafeAddress`

An operator allows inner addresses in the setting `webhooks_allow_private`:

    10.1.0.0/16            these addresses, at ports 80 and 443
    127.0.0.1:8080         this address, at this port
    [fd00::/8]:*           these addresses, at any port
    hooks.internal:8443    this name, whatever its addresses are
    *:8443                 any public address, at this port too
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from ostinato._core.base.errors import InvalidInput, UnsafeAddress

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

MOST_URL_LENGTH = 2000
PORTS = {"http": 80, "https": 443}
ANYTHING = "*"

# Printable ASCII without what parsers disagree about: blanks, quotes, backslashes, brackets, "#".
_URL = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?]+)(?P<rest>(?:[/?][!$-;=?-Z_a-z~]*)?)", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(?P<port>[0-9]{1,5}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")

# Explicit, because what the standard library calls global changed between versions of Python, and
# some of what it calls global is the inner network of a provider.
_NOT_PUBLIC_4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT, and some clouds' metadata
        "127.0.0.0/8",
        "168.63.129.16/32",  # the host of an Azure machine
        "169.254.0.0/16",  # link-local: the metadata of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; Oracle's metadata
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
_PUBLIC_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # Teredo, ORCHID and other assignments
        "2001:db8::/32",
        "2002::/16",  # 6to4: any IPv4 address in disguise
        "2620:4f:8000::/48",
        "3fff::/20",
    )
)
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that can be read in one way only."""

    scheme: str
    host: str
    """A name in lower case, or an address."""
    port: int
    path: str
    """With the query."""
    address: Address | None
    """The host, when it is an address."""

    @property
    def authority(self) -> str:
        """The host, and the port unless it is the scheme's: the header `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL as it is stored and called."""
        return f"{self.scheme}://{self.authority}{self.path}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of the list: addresses or a name, and a port."""

    network: Network | None
    """None means that the entry is a name."""
    name: str
    port: int | None
    """None means ports 80 and 443; 0 means any port."""


Allowed = tuple[Rule, ...]
"""The inner addresses that may be called all the same; made by `parse_allowed`."""


def parse(url: str, allowed: Allowed = ()) -> Target:
    """Return the target of a URL; UnsafeAddress when the URL itself shows that it may not be called.

    A host that is a name must still be looked up: see `check_address`.
    """
    if len(url) > MOST_URL_LENGTH:
        raise UnsafeAddress(f"the URL has {len(url)} characters, more than {MOST_URL_LENGTH}")
    found = _URL.fullmatch(url)
    if found is None:
        raise _unsafe(url, "is not a plain http or https URL")
    if "@" in found["authority"]:
        # Not shown: what stands before the @ is a secret.
        raise UnsafeAddress("the URL holds a user name or password", hint="Use a static header.")
    split = _AUTHORITY.fullmatch(found["authority"].lower())
    if split is None:
        raise _unsafe(url, "has a host that is no name and no address; write names as xn--…")
    scheme = found["scheme"].lower()
    port = PORTS[scheme] if split["port"] is None else int(split["port"])
    host, address = _host(url, split["host"])
    rest = found["rest"]
    target = Target(scheme, host, port, rest if rest.startswith("/") else f"/{rest}", address)
    _check_name(target, allowed)
    if address is not None:
        check_address(target, address, allowed)
    else:
        _check_port(target, allowed)
    return target


def check_address(target: Target, address: Address | str, allowed: Allowed = ()) -> Address:
    """Return the address if a request for the target may go there; else raise UnsafeAddress."""
    found = ip_address(address) if isinstance(address, str) else address
    if _is_named(target, allowed) or _is_listed(target, found, allowed):
        return found
    if not is_public(found):
        raise UnsafeAddress(
            f"{target.host} is at {found}, which is not a public address", host=target.host, address=str(found)
        )
    if not _is_usual(target) and not any(rule.name == ANYTHING and _fits(target, rule) for rule in allowed):
        raise _bad_port(target)
    return found


def is_public(address: Address) -> bool:
    """Return whether an address is one that anybody on the Internet reaches."""
    inner = _inner(address)
    if isinstance(inner, IPv4Address):
        return inner.is_global and not inner.is_multicast and not any(inner in network for network in _NOT_PUBLIC_4)
    return (
        inner in _PUBLIC_6
        and inner.is_global
        and not inner.is_multicast
        and not any(inner in network for network in _NOT_PUBLIC_6)
    )


def parse_allowed(text: str) -> Allowed:
    """Return the list of an operator: entries separated by commas or blanks."""
    return tuple(_rule(entry) for entry in re.split(r"[,\s]+", text) if entry)


def _inner(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address embeds, if it does."""
    if isinstance(address, IPv6Address) and (address in _MAPPED or address in _NAT64):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _host(url: str, text: str) -> tuple[str, Address | None]:
    if text.startswith("["):
        try:
            six = IPv6Address(text[1:-1])
        except ValueError:
            raise _unsafe(url, "has a host that is no IPv6 address") from None
        return str(six), six
    name = text.removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        # 127.1, 0177.0.0.1, 0x7f000001 and 2130706433 are all 127.0.0.1 to some parser.
        try:
            four = IPv4Address(name)
        except ValueError:
            raise _unsafe(url, "has an address that is not four decimal numbers") from None
        return str(four), four
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):  # noqa: PLR2004
        raise _unsafe(url, "has a host that is no name of the Internet")
    return name, None


def _check_name(target: Target, allowed: Allowed) -> None:
    if target.address is not None or _is_named(target, allowed):
        return
    if "." not in target.host or target.host.endswith((".localhost", ".local", ".internal")):
        raise UnsafeAddress(f"{target.host} is a name of an inner network", host=target.host)


def _check_port(target: Target, allowed: Allowed) -> None:
    """Refuse a port that is allowed at no address."""
    if not _is_usual(target) and not any(_fits(target, rule) for rule in allowed):
        raise _bad_port(target)


def _bad_port(target: Target) -> UnsafeAddress:
    return UnsafeAddress(
        f"port {target.port} of {target.host} is neither 80 nor 443", host=target.host, port=target.port
    )


def _is_usual(target: Target) -> bool:
    return target.port in PORTS.values()


def _is_named(target: Target, allowed: Allowed) -> bool:
    return any(rule.name == target.host and _fits(target, rule) for rule in allowed)


def _fits(target: Target, rule: Rule) -> bool:
    if rule.port is None:
        return _is_usual(target)
    return rule.port in (0, target.port)


def _is_listed(target: Target, address: Address, allowed: Allowed) -> bool:
    both = (address, _inner(address))
    return any(
        rule.network is not None
        and any(one.version == rule.network.version and one in rule.network for one in both)
        and _fits(target, rule)
        for rule in allowed
    )


def _rule(entry: str) -> Rule:
    found = re.fullmatch(
        r"(?P<where>\[[^\]]+\]|[^:\[\]]+|[0-9a-f:]+(?:/\d+)?)(?::(?P<port>\d{1,5}|\*))?", entry.lower()
    )
    if found is None:
        raise _bad_rule(entry)
    port = None if found["port"] is None else 0 if found["port"] == "*" else int(found["port"])
    where = found["where"].strip("[]")
    if where == ANYTHING and port:
        return Rule(None, ANYTHING, port)
    try:
        return Rule(ip_network(where), "", port)
    except ValueError:
        pass
    labels = where.removesuffix(".").split(".")
    if not all(_LABEL.fullmatch(label) for label in labels) or _NUMBER.fullmatch(labels[-1]):
        raise _bad_rule(entry)
    return Rule(None, ".".join(labels), port)


def _bad_rule(entry: str) -> InvalidInput:
    return InvalidInput(
        f"{entry!r} is no network, address or name with a port",
        hint="Write 10.1.0.0/16, 127.0.0.1:8080, [fd00::/8]:* or hooks.internal:8443.",
    )


def _unsafe(url: str, what: str) -> UnsafeAddress:
    return UnsafeAddress(f"the URL {_shown(url)!r} {what}")


def _shown(url: str) -> str:
    """Return the start of a URL; what may be a secret stays out of errors."""
    return "…" if "@" in url else url.partition("?")[0][:100]
