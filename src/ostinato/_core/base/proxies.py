"""Finds the true address of a caller behind proxies that we trust.

A proxy appends the address that it saw to `X-Forwarded-For`; everything left of what trusted
proxies appended was written by the caller, who may write anything. So the header is read from the
right, as long as the one who appended is trusted: the first address that is no proxy of ours is the
caller. From anybody else the header is not read at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from ostinato._core.base.errors import InvalidInput

MOST_HOPS = 32
MOST_NETWORKS = 1_000


@dataclass(frozen=True, slots=True)
class Proxies:
    """The networks of the proxies that are trusted; none by default."""

    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Proxies":
        """Read networks and addresses with commas; raises `InvalidInput`."""
        words = [word.strip() for word in text.split(",") if word.strip()]
        if len(words) > MOST_NETWORKS:
            raise InvalidInput(f"{len(words)} networks of proxies are too many", hint=f"At most {MOST_NETWORKS}.")
        found = []
        for word in words:
            try:
                found.append(ip_network(word))
            except ValueError as error:
                raise InvalidInput(
                    f"{word[:60]!r} is no network of a proxy: {str(error)[:120]}",
                    hint="Write networks or addresses with commas, such as 10.1.0.0/16, 127.0.0.1.",
                ) from None
        return cls(tuple(found))

    def trusts(self, host: str) -> bool:
        """Return whether this is the address of a proxy of ours."""
        address = plain_address(host) if self.networks else None
        return address is not None and any(address in network for network in self.networks)

    def caller(self, peer: str, forwarded: Sequence[str]) -> str:
        """Return the address of the caller: `peer` is who is connected, `forwarded` the header's values."""
        if not self.trusts(peer):
            return peer
        found = peer
        hops = [word.strip() for value in forwarded for word in value[-4096:].split(",")]
        for hop in reversed(hops[-MOST_HOPS:]):
            address = plain_address(hop)
            if address is None:
                break  # what stands left of it was not written by a proxy either
            found = str(address)
            if not self.trusts(found):
                break
        return found


def plain_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address as proxies write it: with a port, in brackets, or IPv4 inside IPv6."""
    host = text.strip()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
