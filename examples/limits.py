"""Limits hold over all workers: here two pages at once, although the worker could do a hundred."""

import asyncio

from ostinato import App, Context, Queue, Worker, testing

app = App("crawler", queues=[Queue("crawl", concurrency=2)])
pair = asyncio.Barrier(2)  # nobody ends before two are at work
done = asyncio.Semaphore(0)
at_work: list[int] = []


@app.job(queue="crawl")
async def fetch(_: Context, page: int) -> None:
    at_work.append(page)
    print(f"{len(at_work)} at work")
    await pair.wait()
    at_work.remove(page)
    done.release()


async def main() -> None:
    async with testing.engine() as engine, asyncio.TaskGroup() as tasks:
        await fetch.enqueue_many(engine.client, [{"page": page} for page in range(4)])
        worker = Worker([app], engine.database)
        tasks.create_task(worker.run())
        await asyncio.gather(*(done.acquire() for _ in range(4)))
        worker.stop()


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > 1 at work
# > 2 at work
# > 1 at work
# > 2 at work
