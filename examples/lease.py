"""One holder of a name at a time; who comes late is refused; requests for one name share a job."""

import asyncio

from ostinato import App, Context, LeaseLost, testing
from ostinato.leases import enqueue_or_attach, force_release, hold

app = App("reports")


@app.job()
async def build(ctx: Context, month: str) -> None:
    async with hold(ctx, f"report:{month}"):  # ends with this attempt, without renewals
        print(f"built {month}")


async def main() -> None:
    async with testing.engine() as engine, engine.client.connection() as conn:
        try:
            async with hold(engine.client, "import", ttl=30) as lease:  # renewed every 10 s
                await lease.guard(conn)  # in the transaction of your own writes
                print("guarded")
                await force_release(conn, "import", force=True)
                await lease.guard(conn)
        except LeaseLost as lost:
            print(f"refused: {lost.code}")
        asked = [enqueue_or_attach(conn, "report:May", build, month="May") for _ in range(3)]
        print("attached:", [(await each).attached for each in asked])
        await engine.run_until_idle(app)


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > guarded
# > refused: lease_lost
# > attached: [False, True, True]
# > built May
