"""A plain function is a handler too: it runs in a thread, and may block as long as it likes."""

import asyncio
import hashlib
import threading

from ostinato import App, SyncContext, testing

app = App("files")


@app.job(timeout=60)
def digest(ctx: SyncContext, name: str, rounds: int = 1000) -> str:
    value = name.encode()
    for done in range(rounds):
        value = hashlib.sha256(value).digest()
        if done % 100 == 0:
            ctx.progress(done, rounds)  # see it with: ostinato jobs show JOB
    print(f"in the main thread: {threading.current_thread() is threading.main_thread()}")
    return value.hex()


async def main() -> None:
    async with testing.engine() as engine:
        job = await digest.enqueue(engine.client, name="ostinato")
        await engine.run_until_idle(app)
        async with engine.client.connection() as conn:
            found = await conn.execute("select result from ostinato.show_job(%s)", [job])
            row = await found.fetchone()
            print(f"result: {row[0][:16] if row else None}…")


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > in the main thread: False
# > result: 77fcc73fdc838acc…
