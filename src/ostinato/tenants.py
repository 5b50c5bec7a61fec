"""A tenant owns its work and its rows; a flow says what belongs together, a key who may ask.

    from ostinato import tenants

    acme = client.for_tenant("acme")                    # sees and adds rows of this tenant only
    async with acme.transaction() as conn: ...

    with tenants.flow(tenant="acme", correlation="order-7"):
        await send_invoice.enqueue(client, invoice_id=7)        # and whatever that job enqueues

    for line in await tenants.trail(conn, "order-7"):   # all that happened for it, in order
        print(line.at, line.source, line.what, line.state)
    async with tenants.connect_cells() as cells:        # several databases: the one where it lives
        await send_invoice.enqueue(cells.for_tenant("acme"), invoice_id=7)
    await tenants.protect(conn, "billing.invoice")      # row-level security for a table of yours

`keys` is a module: API keys, which say who asks, for which tenant and in which roles. The guides
are `docs/tenants.md` and `docs/keys.md`.
"""

from ostinato._core.base.flow import Flow, current, current_correlation, current_tenant, flow
from ostinato._core.engine import keys
from ostinato._core.engine.inspect import TrailLine, trail
from ostinato._core.engine.tenants import enter, enter_flow, protect
from ostinato._core.runtime.cells import Cells, CellTenant, connect_cells
from ostinato._core.runtime.tenants import TenantClient

__all__ = [
    "CellTenant",
    "Cells",
    "Flow",
    "TenantClient",
    "TrailLine",
    "connect_cells",
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
