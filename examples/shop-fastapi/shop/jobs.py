"""The work of the shop: `ostinato worker --app shop.jobs:app` runs it."""

from ostinato import App, Context

app = App("shop")


@app.job(queue="mail")
async def confirm_order(ctx: Context, order_id: int) -> None:
    """Mark an order as confirmed, in the transaction that ends the job: exactly once, whatever dies."""
    async with ctx.transaction() as conn:
        await conn.execute("update shop.orders set status = 'confirmed' where id = %s", [order_id])
    ctx.log.info("order_confirmed", order_id=order_id)
