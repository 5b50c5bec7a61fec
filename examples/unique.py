"""At most one job with the same key: a second one gets the first, an error, or its place."""

import asyncio

from ostinato import App, Context, Unique, UniqueConflict, testing

app = App("reports")


@app.job()
async def build(_: Context, month: str, version: int) -> None:
    print(f"built {month}, version {version}")


async def main() -> None:
    async with testing.engine() as engine:
        client, key = engine.client, "report-march"
        once = build.options(unique=Unique(key))
        first = await once.enqueue(client, month="March", version=1)
        again = await once.enqueue(client, month="March", version=2)
        print(f"the same job: {first == again}")
        try:
            strict = build.options(unique=Unique(key, policy="refuse"))
            await strict.enqueue(client, month="March", version=3)
        except UniqueConflict as conflict:
            print(f"refused: {conflict.code}")

        newest = build.options(unique=Unique(key, policy="replace"))
        await newest.enqueue(client, month="March", version=4)
        await engine.run_until_idle(app)


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > the same job: True
# > refused: unique_conflict
# > built March, version 4
