create function laundry.heap() returns table (label text, value double precision) language sql stable
set search_path = laundry, pg_catalog, pg_temp as $$
    select null::text, count(*)::double precision from laundry.basket;
$$;
