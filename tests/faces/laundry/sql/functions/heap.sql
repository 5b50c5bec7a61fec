create function laundry.heap() returns table (label text, value double precision) language sql stable
set search_path = laundry, pg_catalog, pg_temp as $$
    select null::text, count(*)::double precision from laundry.basket;
$$;
create function laundry.washed() returns bigint language sql stable security definer
set search_path = laundry, pg_catalog, pg_temp set row_security = on as $$
    select count(*) from laundry.basket;
$$;
