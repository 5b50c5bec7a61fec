-- Returns the share of each tenant in a queue: how many of its jobs wait, up to a cap, and how many run. Those with
-- most work come first. Workers see every tenant, a tenant itself. It looks at the first 1,000 lanes of the queue: each
-- costs a look into the index and at most `cap` of its entries.
create function ostinato.queue_shares(queue text, cap integer default 1000, most integer default 50)
returns table (tenant_id text, waiting bigint, running bigint, capped boolean) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
    with lane as materialized (
        select l.priority, l.tenant_id
        from ostinato_internal.waiting_lanes($1, case when not ostinato_internal.sees_all()
                                                      then ostinato_internal.own_tenant() end) l
        limit ostinato_internal.most_rows()
    ), waits as (
        select l.tenant_id, sum(c.n) as n, bool_or(c.n = $2) as capped from lane l
        cross join lateral (select count(*) as n from (
            select from ready r where (r.queue, r.priority, r.tenant_id) = ($1, l.priority, l.tenant_id)
            limit $2) x) c
        group by l.tenant_id
    ), runs as (
        select j.tenant_id, count(*) as n from ostinato_internal.held_jobs() h join job j on j.id = h.job_id
        where h.queue = $1 group by j.tenant_id
    )
    select coalesce(w.tenant_id, r.tenant_id), coalesce(w.n, 0)::bigint, coalesce(r.n, 0), coalesce(w.capped, false)
    from waits w full join runs r on r.tenant_id = w.tenant_id
    where coalesce(w.n, 0) + coalesce(r.n, 0) > 0
    order by coalesce(w.n, 0) + coalesce(r.n, 0) desc, 1 limit ostinato_internal.page_size($3)
$$;
