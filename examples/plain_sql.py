"""Enqueue with plain SQL, from any language, in your own transaction: committed together or not."""

import asyncio

import psycopg

from ostinato import App, Context, testing

app = App("billing")


@app.job()
async def send_invoice(_: Context, invoice_id: int) -> None:
    print(f"invoice {invoice_id} sent")


def order(url: str, invoice_id: int, *, commit: bool) -> None:
    with psycopg.connect(url) as conn:
        conn.execute(
            "select ostinato.enqueue_job("
            " kind => 'billing.send_invoice', args => json_build_object('invoice_id', %s::int))",
            [invoice_id],
        )
        if not commit:
            conn.rollback()  # the order failed, and with it the job


async def main() -> None:
    async with testing.engine() as engine:
        order(engine.database.url, 7, commit=True)
        order(engine.database.url, 8, commit=False)
        await engine.run_until_idle(app)


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > invoice 7 sent
