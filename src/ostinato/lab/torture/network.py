"""Hosts on one machine: each is a network name space with an address of its own, and all are joined by a switch.

Nothing of it touches the network of the machine: the switch is in a name space too. A process that is started by a
thread inside of a host is on that host; files, and sockets that are files, are shared by all. It needs root, `ip`
and `iptables`.
"""

import contextlib
import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Self

from ostinato._core.base.errors import NotConfigured

CLONE_NEWNET = 0x40000000
SUBNET = "10.77.0.0/24"
ADDRESS = "10.77.0.{}"
SPACES = Path("/run/netns")

_numbers = count(1)


def missing() -> str | None:
    """Return what this machine lacks for hosts; None: nothing."""
    if os.geteuid() != 0:
        return "only root may make network name spaces"
    for program in ("ip", "iptables"):
        if shutil.which(program) is None:
            return f"{program} is not installed (Debian: iproute2, iptables)"
    return None


@dataclass(frozen=True, slots=True)
class Host:
    """One of the hosts."""

    name: str
    space: str
    address: str

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Let this thread, and what it starts, be on the host during the block."""
        with Path("/proc/thread-self/ns/net").open("rb") as before, (SPACES / self.space).open("rb") as here:
            _enter(here.fileno())
            try:
                yield
            finally:
                _enter(before.fileno())


class Network:
    """The hosts, and what passes between them. A context manager: none outlives the block."""

    def __init__(self, *names: str) -> None:
        prefix = f"ost{os.getpid()}-{next(_numbers)}"
        self._switch = f"{prefix}-switch"
        self.hosts = {
            name: Host(name, f"{prefix}-{number}", ADDRESS.format(number)) for number, name in enumerate(names, 1)
        }

    def __getitem__(self, name: str) -> Host:
        return self.hosts[name]

    def __enter__(self) -> Self:
        if (lacking := missing()) is not None:
            raise NotConfigured(
                f"there can be no hosts here: {lacking}", hint="Run it as root, where these programs are."
            )
        try:
            _run("ip", "netns", "add", self._switch)
            self._in_switch("link", "add", "switch", "type", "bridge")
            self._in_switch("link", "set", "switch", "up")
            for number, host in enumerate(self.hosts.values(), 1):
                self._join(host, f"port{number}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for space in (*(host.space for host in self.hosts.values()), self._switch):
            if (SPACES / space).exists():
                with contextlib.suppress(subprocess.CalledProcessError):
                    _run("ip", "netns", "delete", space)

    def _in_switch(self, *words: str) -> None:
        _run("ip", "-n", self._switch, *words)

    def _join(self, host: Host, port: str) -> None:
        _run("ip", "netns", "add", host.space)
        self._in_switch("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", host.space)
        self._in_switch("link", "set", port, "master", "switch", "up")
        _run("ip", "-n", host.space, "address", "add", f"{host.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _run("ip", "-n", host.space, "link", "set", device, "up")

    # Faults.

    def drop(self, source: Host, target: Host, share: float = 1.0) -> None:
        """Let packets from one host to another be lost: all of them, or a share at random. Add it for the other way."""
        chance = [] if share >= 1 else ["-m", "statistic", "--mode", "random", "--probability", f"{share:.3f}"]
        self._filter(target, "-A", "INPUT", "-s", source.address, *chance, "-j", "DROP")

    def slow(self, source: Host, target: Host, packets: int) -> None:
        """Let only so many packets a second pass from one host to another: what is more is lost, and TCP slows down."""
        few = ("-m", "limit", "--limit", f"{packets}/second", "--limit-burst", "5")
        self._filter(target, "-A", "INPUT", "-s", source.address, *few, "-j", "ACCEPT")
        self.drop(source, target)

    def part(self, one: Host, other: Host) -> None:
        """Let nothing pass between two hosts."""
        self.drop(one, other)
        self.drop(other, one)

    def heal(self, *hosts: Host) -> None:
        """Let everything pass to these hosts again, or to all."""
        for host in hosts or self.hosts.values():
            self._filter(host, "-F", "INPUT")

    @contextmanager
    def parted(self, one: Host, other: Host) -> Iterator[None]:
        """Let nothing pass between two hosts during the block."""
        self.part(one, other)
        try:
            yield
        finally:
            self.heal(one, other)

    def _filter(self, host: Host, *words: str) -> None:
        with host.inside():
            _run("iptables", "--wait", *words)


def _enter(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)  # Python has os.setns from 3.12 on
    if libc.setns(descriptor, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, stdin=subprocess.DEVNULL)  # noqa: S603 - fixed programs
