"""The work of the shop: `ostinato worker --app shop.jobs:app` runs it.

A worker is no Django process: it writes by the connection of its own transaction, so that the row and
the end of the job are one commit. A handler that needs models calls `django.setup()` in its module.
"""

from ostinato import App, SyncContext

app = App("shop")


@app.job(queue="mail")
def confirm_order(ctx: SyncContext, order_id: int) -> None:
    """Mark an order as confirmed, in the transaction that ends the job: exactly once, whatever dies."""
    with ctx.transaction() as conn:
        conn.execute("update shop_order set status = 'confirmed' where id = %s", [order_id])
