"""A row changes its state by listed events only: the database refuses the rest, and keeps a log."""

import asyncio

import psycopg

from ostinato import machines, testing
from ostinato.machines import Machine, Transition

STEPS = (Transition("new", "pack", "packed"), Transition("packed", "send", "sent"))
ORDER = Machine("shop_order", ("new", "packed", "sent"), "new", STEPS, terminal=("sent",))


async def main() -> None:
    async with testing.engine() as engine:
        await engine.admin.execute("create table orders (id int primary key, state text)")
        await engine.admin.execute("grant select, insert, update on orders to ostinato_worker")
        await machines.install(engine.admin, ORDER)
        await machines.attach(engine.admin, ORDER, "public.orders")
        async with engine.client.transaction() as conn:
            await conn.execute("insert into orders values (7, 'new')")
            await machines.transition(conn, ORDER, "public.orders", 7, "pack", by="ana")
        try:
            await engine.admin.execute("update orders set state = 'sent'")
        except psycopg.DatabaseError as error:
            print(error.diag.message_primary)
        for line in await machines.history(engine.admin, "public.orders", 7):
            print(f"{line.actor}: {line.event}, {line.from_state} → {line.to_state}")


if __name__ == "__main__":
    asyncio.run(main())

# prints:
# > the state of public.orders 7 cannot be written: packed to sent
# > ana: pack, new → packed
