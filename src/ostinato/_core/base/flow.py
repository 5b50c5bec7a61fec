"""The flow: the tenant, the correlation id and the subject that a block of code runs with.

    with flow(tenant="acme", correlation="req-42"):
        await send_invoice.enqueue(client, invoice_id=7)

What is enqueued or emitted inside gets them, unless the call gives others. The runtime opens a
flow around every handler with the values of its job, and so the jobs that it adds get them too.
The subject is whom the work is about; `ostinato erase` finds everything by it.
They are context variables: they hold across awaits, in tasks started inside, and in threads that
run in a copy of the context.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import NamedTuple, Protocol


class Flow(NamedTuple):
    """A tenant, a correlation id and a subject; None means not set."""

    tenant: str | None
    correlation: str | None
    subject: str | None = None
    """Whom the work is about: as the caller named it, or the hash that a job carries on."""


class Carrier(Protocol):
    """Something that makes its flow only when it is asked for: most jobs never ask."""

    @property
    def flow(self) -> Flow:
        """The flow."""


NOTHING = Flow(None, None)
HASHED = "hmac:"
"""How a subject begins that is a hash already: that of one tenant's person (`erasure.sql`)."""

_current: ContextVar[Flow | Carrier] = ContextVar("flow", default=NOTHING)


def current() -> Flow:
    """Return the flow that this code runs in."""
    found = _current.get()
    return found if isinstance(found, Flow) else found.flow


def current_tenant() -> str | None:
    """Return the tenant that this code works for, if one is set."""
    return current().tenant


def current_correlation() -> str | None:
    """Return the correlation id that this code runs with, if one is set."""
    return current().correlation


@contextmanager
def flow(*, tenant: str | None = None, correlation: str | None = None, subject: str | None = None) -> Iterator[Flow]:
    """Run a block with a tenant, a correlation id and a subject; what is not given stays.

    The hash of a subject does not stay for another tenant: it is that of one tenant's person, and
    nobody would erase by it there. Name the person again.
    """
    before = current()
    about = before.subject if subject is None else subject
    if subject is None and about is not None and about.startswith(HASHED) and tenant not in {None, before.tenant}:
        about = None
    inside = Flow(
        before.tenant if tenant is None else tenant, before.correlation if correlation is None else correlation, about
    )
    token = enter(inside)
    try:
        yield inside
    finally:
        leave(token)


def enter(inside: Flow | Carrier) -> Token[Flow | Carrier]:
    """Begin a flow, for code that cannot afford a context manager; `leave` ends it."""
    return _current.set(inside)


def leave(token: Token[Flow | Carrier]) -> None:
    """End a flow."""
    try:  # noqa: SIM105 - once for every job
        _current.reset(token)
    except ValueError:
        pass  # a block that is closed from another context, which never was in this flow
