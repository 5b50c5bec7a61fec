"""Whose work this is and what it belongs to: a tenant and a correlation id that travel along.

    with flow(tenant="acme", correlation="req-42"):
        await send_invoice.enqueue(client, invoice_id=7)

Whatever is enqueued or emitted inside has both, unless the call names others. The runtime opens a
flow around every handler, with those of its job, so what a job enqueues belongs to what the job
belongs to. They are context variables: they hold across awaits, in tasks started inside, and in
threads that run in a copy of the context.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import NamedTuple, Protocol

__all__ = [
    "Carrier",
    "Flow",
    "current",
    "current_correlation",
    "current_tenant",
    "enter",
    "flow",
    "leave",
]


class Flow(NamedTuple):
    """Whose work it is and what it belongs to; None: nobody said."""

    tenant: str | None
    correlation: str | None


class Carrier(Protocol):
    """What has a flow and tells it when it is asked: most jobs never ask."""

    @property
    def flow(self) -> Flow:
        """Whose work it is and what it belongs to."""


NOTHING = Flow(None, None)

_current: ContextVar[Flow | Carrier] = ContextVar("flow", default=NOTHING)


def current() -> Flow:
    """The flow that this code runs in."""
    found = _current.get()
    return found if isinstance(found, Flow) else found.flow


def current_tenant() -> str | None:
    """The tenant that this code works for, if somebody said."""
    return current().tenant


def current_correlation() -> str | None:
    """The correlation id of what this code is part of, if it has one."""
    return current().correlation


@contextmanager
def flow(*, tenant: str | None = None, correlation: str | None = None) -> Iterator[Flow]:
    """Run a block for a tenant, as part of something; what is not given stays as it is."""
    before = current()
    inside = Flow(
        before.tenant if tenant is None else tenant,
        before.correlation if correlation is None else correlation,
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
