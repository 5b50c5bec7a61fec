"""What a machine may lack: a test that needs it is skipped, or fails where OSTINATO_TEST_MUST_RUN names it.

The variable holds names of `TOOLS`, or 1 for all of them. A run that has installed a tool names it, because a test
that is left out in silence proves nothing.
"""

import os
from typing import NoReturn

import pytest

__all__ = ["TOOLS", "lacking", "must_run", "needs"]

MUST_RUN = "OSTINATO_TEST_MUST_RUN"
TOOLS = {
    "chromium": "a browser",
    "clone": "the repository with its history",
    "containers": "a container runtime",
    "disk": "the right to mount a small disk, which root has",
    "faketime": "a clock that is wrong",
    "filesystem": "a second file system, and leases on files",
    "generator": "a generator of clients: make .generator/ready",
    "hosts": "name spaces of the network with a bridge and a filter, which root has",
    "libarchive": "archives other than ZIP",
    "linux": "all of 127.0.0.0/8 on the loopback",
    "nats": "a broker",
    "namespace": "a mount in a name space of one's own",
    "node": "the code of capture's specification",
    "openssl": "a certificate",
    "patroni": "a cluster that elects its primary, with etcd",
    "pgbouncer": "a pooler",
    "postgresql-15": "the oldest server",
    "postgresql-16": "a server between",
    "postgresql-17": "a server between",
    "postgresql-18": "the newest server",
    "rabbitmq": "a broker",
    "rapid": "an engine that reads scans",
    "root": "the right to become somebody else",
    "sandbox": "every part of the sandbox of PREP and OCR",
    "systemd": "systemd-analyze",
    "tesseract": "an engine that reads scans",
}


def must_run(tool: str) -> bool:
    """Whether this run promises to have it."""
    named = set(os.environ.get(MUST_RUN, "").replace(",", " ").split())
    if unknown := (named | {tool}) - TOOLS.keys() - {"1"}:
        raise pytest.UsageError(f"{MUST_RUN}: no {', '.join(sorted(unknown))}; there are {', '.join(TOOLS)}.")
    return bool(named & {tool, "1"})


def lacking(tool: str, reason: str) -> NoReturn:
    """Leave the running test out, because the machine lacks what it needs."""
    if must_run(tool):
        pytest.fail(f"{reason}, but {MUST_RUN} says that this machine has it: {tool}.", pytrace=False)
    pytest.skip(reason)


def needs(tool: str, *, here: bool, reason: str) -> pytest.MarkDecorator:
    """Mark tests to be left out where the machine lacks what they need; where it must be here, they run and fail."""
    return pytest.mark.skipif(not here and not must_run(tool), reason=reason)
