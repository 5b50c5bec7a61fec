"""Tenants: whose work it is, what belongs together, and who may ask.

    acme = client.for_tenant("acme")                    # sees and adds rows of this tenant only

    with tenants.flow(tenant="acme", correlation="order-7"):
        await send_invoice.enqueue(client, invoice_id=7)        # and whatever that job enqueues

    await tenants.trail(conn, "order-7")                # all of it, in order
    await tenants.protect(conn, "invoice")              # row-level security for a table of yours

`keys` are the API keys of a tenant: shown once, stored as a hash.
"""

from ostinato._core.base.flow import Flow, current, current_correlation, current_tenant, flow
from ostinato._core.engine import keys
from ostinato._core.engine.inspect import TrailLine, trail
from ostinato._core.engine.tenants import enter, enter_flow, protect
from ostinato._core.runtime.tenants import TenantClient

__all__ = [
    "Flow",
    "TenantClient",
    "TrailLine",
    "current",
    "current_correlation",
    "current_tenant",
    "enter",
    "enter_flow",
    "flow",
    "keys",
    "protect",
    "trail",
]
