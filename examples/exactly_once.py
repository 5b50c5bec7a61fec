"""What a job writes in `ctx.transaction()` and its completion are one commit: exactly once."""

import asyncio

from ostinato import App, Context, Retry, testing

app = App("bank")


@app.job(retry=Retry(delays=(1, 1)))
async def deposit(ctx: Context, amount: int) -> None:
    async with ctx.transaction() as conn:
        await conn.execute("update account set balance = balance + %s", [amount])
        if ctx.job.attempt == 1:
            print("attempt 1 wrote, and crashed before the commit")
            raise ConnectionError
    print(f"attempt {ctx.job.attempt} wrote, and the job is done, in one commit")


async def main() -> None:
    async with testing.engine() as engine:
        await engine.admin.execute("create table account (balance integer not null)")
        await engine.admin.execute("grant select, update on account to ostinato_worker")
        await engine.admin.execute("insert into account values (100)")

        await deposit.enqueue(engine.client, amount=10)
        await engine.run_until_idle(app)

        row = await (await engine.admin.execute("select balance from account")).fetchone()
        print(f"balance: {row[0] if row else None}")


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > attempt 1 wrote, and crashed before the commit
# > attempt 2 wrote, and the job is done, in one commit
# > balance: 110
