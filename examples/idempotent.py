"""The same request twice has one effect and one answer; another one under its key is a conflict."""

import asyncio

from ostinato import Client, testing
from ostinato.errors import IdempotencyConflict
from ostinato.idempotency import Declaration, once

PAYMENT = Declaration(include=("account", "amount"), exclude=("trace",))


async def pay(client: Client, key: str, **asked: object) -> object:
    async with client.connection() as conn, once(conn, "pay", key, asked, PAYMENT) as request:
        if request.is_new:  # the key, the writes of this block and the answer are one commit
            print(f"paid {asked['amount']}")
            request.answer = {"receipt": 1}
    return request.answer


async def main() -> None:
    async with testing.engine() as engine:
        for trace in "abc":
            answer = await pay(engine.client, "key-1", account="acme", amount=7, trace=trace)
            print(f"call {trace}: {answer}")
        try:
            await pay(engine.client, "key-1", account="acme", amount=8)
        except IdempotencyConflict as conflict:
            print(f"differs in {conflict.values['fields']}")


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > paid 7
# > call a: {'receipt': 1}
# > call b: {'receipt': 1}
# > call c: {'receipt': 1}
# > differs in ['amount']
