grant usage on schema laundry to ostinato_worker, ostinato_tenant;
grant select, insert on laundry.basket to ostinato_worker, ostinato_tenant;
grant execute on function laundry.heap to ostinato_worker;
grant execute on function laundry.washed to ostinato_worker, ostinato_api;
