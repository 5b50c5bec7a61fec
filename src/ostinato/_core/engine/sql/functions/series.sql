-- Series: throughput, failures and start latency over time, without counting the history.
--
--   record_series  adds what a worker did since its last call, in one statement; workers call it every ten seconds
--   list_series    returns the sums of each step of time, with the percentiles of the start latency
--   prune_series   forgets steps that are past their time
--
-- A worker that dies takes up to ten seconds of figures with it: they are for people, not for accounts. Lock order:
-- rows of series, then of tenant_series, each in the order of its key, so that two workers never wait for each other.

-- Returns the bounds of the start latency in seconds: those of the metric ostinato_start_latency_seconds.
create function ostinato_internal.latency_bounds() returns double precision[] language sql immutable parallel safe as $$
    select '{0.001,0.0025,0.005,0.01,0.025,0.05,0.1,0.25,0.5,1,2.5,5,10,30,60,300,900,3600}'::double precision[]
$$;

-- Returns the sum of two rows of counts, place by place.
create function ostinato_internal.add_counts(a bigint[], b bigint[]) returns bigint[]
language sql immutable parallel safe as $$
    select array_agg(coalesce(u.x, 0) + coalesce(u.y, 0) order by u.n)
    from unnest($1, $2) with ordinality u (x, y, n)
$$;

-- Returns the sum of many, which array_agg() made rows of.
create function ostinato_internal.sum_counts(counts bigint[]) returns bigint[]
language sql immutable parallel safe as $$
    select array_agg(c.sum order by c.place) from (
        select p.place, sum($1[r.row][p.place])::bigint
        from generate_subscripts($1, 2) p (place) cross join generate_subscripts($1, 1) r (row) group by p.place
    ) c (place, sum)
$$;

-- Returns the latency that this share of the starts did not exceed, as the upper bound of its bucket; null without
-- starts. What is beyond all bounds is shown as the last of them.
create function ostinato_internal.latency_at(counts bigint[], share double precision) returns double precision
language sql immutable parallel safe as $$
    select (ostinato_internal.latency_bounds())[least(min(c.n), cardinality(ostinato_internal.latency_bounds()))]
    from (select u.n::integer, sum(u.x) over (order by u.n) as so_far, sum(u.x) over () as total
          from unnest($1) with ordinality u (x, n)) c
    where c.total > 0 and c.so_far >= $2 * c.total
$$;

-- Adds what a worker did: a list of {queue, kind, tenant, first, done, failed, dead, run, latency}. The time of the
-- database decides which minute it counts for.
create function ostinato.record_series(rows jsonb) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_now constant timestamptz := ostinato.now();
begin
    insert into series as s (step, at, queue, kind, first, done, failed, dead, run_seconds, latency)
    select t.step, date_bin(make_interval(secs => t.step), v_now, 'epoch'), r.queue, r.kind, sum(r.first), sum(r.done),
           sum(r.failed), sum(r.dead), sum(r.run), ostinato_internal.sum_counts(array_agg(r.latency))
    from jsonb_to_recordset(rows) r (queue text, kind text, first bigint, done bigint, failed bigint, dead bigint,
                                     run double precision, latency bigint[])
    cross join (values (60), (3600)) t (step)
    group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (step, at, queue, kind) do update
    set first = s.first + excluded.first, done = s.done + excluded.done, failed = s.failed + excluded.failed,
        dead = s.dead + excluded.dead, run_seconds = s.run_seconds + excluded.run_seconds,
        latency = ostinato_internal.add_counts(s.latency, excluded.latency);
    insert into tenant_series as s (tenant_id, step, at, first, done, failed, dead, run_seconds, latency)
    select r.tenant, t.step, date_bin(make_interval(secs => t.step), v_now, 'epoch'), sum(r.first), sum(r.done),
           sum(r.failed), sum(r.dead), sum(r.run), ostinato_internal.sum_counts(array_agg(r.latency))
    from jsonb_to_recordset(rows) r (tenant text, first bigint, done bigint, failed bigint, dead bigint,
                                     run double precision, latency bigint[])
    cross join (values (60), (3600)) t (step)
    group by 1, 2, 3 order by 1, 2, 3
    on conflict (tenant_id, step, at) do update
    set first = s.first + excluded.first, done = s.done + excluded.done, failed = s.failed + excluded.failed,
        dead = s.dead + excluded.dead, run_seconds = s.run_seconds + excluded.run_seconds,
        latency = ostinato_internal.add_counts(s.latency, excluded.latency);
end
$$;

-- Returns the rows that the caller may see, as one shape: of all tenants, or of one.
create function ostinato_internal.seen_series(step integer, since timestamptz, until timestamptz, for_queue text,
                                              for_kind text, for_tenant text)
returns table (at timestamptz, queue text, kind text, first bigint, done bigint, failed bigint, dead bigint,
               run_seconds double precision, latency bigint[])
language plpgsql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    if for_tenant is null and ostinato_internal.sees_all() then
        return query
        select s.at, s.queue, s.kind, s.first, s.done, s.failed, s.dead, s.run_seconds, s.latency from series s
        where s.step = seen_series.step and s.at >= since and s.at < until
          and (for_queue is null or s.queue = for_queue) and (for_kind is null or s.kind = for_kind);
        return;
    end if;
    return query
    select s.at, '', '', s.first, s.done, s.failed, s.dead, s.run_seconds, s.latency from tenant_series s
    where s.tenant_id = coalesce(for_tenant, ostinato_internal.own_tenant()) and s.step = seen_series.step
      and s.at >= since and s.at < until;
end
$$;

-- Returns the sums of each step of time that has any, oldest first. `step` is 60 or 3,600 seconds. For a tenant, queue
-- and kind do not matter: only its whole is kept.
create function ostinato.list_series(
    since timestamptz, until timestamptz default null, step integer default 60, queue text default null,
    kind text default null, tenant_id text default null
) returns table (
    at timestamptz, first bigint, done bigint, failed bigint, dead bigint, run_seconds double precision,
    p50 double precision, p95 double precision, p99 double precision
) language plpgsql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    if coalesce(list_series.step not in (60, 3600), true) then
        raise exception using errcode = 'OS400',
            message = format('a series has no steps of %s s', coalesce(list_series.step::text, 'null')),
            detail = json_build_object('step', list_series.step), hint = 'Use 60 or 3600.';
    end if;
    return query
    select g.at, g.first, g.done, g.failed, g.dead, g.run_seconds, ostinato_internal.latency_at(g.latency, 0.5),
           ostinato_internal.latency_at(g.latency, 0.95), ostinato_internal.latency_at(g.latency, 0.99)
    from (
        select s.at, sum(s.first)::bigint, sum(s.done)::bigint, sum(s.failed)::bigint, sum(s.dead)::bigint,
               sum(s.run_seconds), ostinato_internal.sum_counts(array_agg(s.latency))
        from ostinato_internal.seen_series(
            list_series.step, since, coalesce(until, 'infinity'), list_series.queue, list_series.kind,
            list_series.tenant_id) s
        group by s.at
    ) g (at, first, done, failed, dead, run_seconds, latency)
    order by g.at;
end
$$;

-- Returns what each queue did between two moments, by its own sums; for the installation only.
create function ostinato.queue_rates(since timestamptz, until timestamptz default null)
returns table (queue text, first bigint, done bigint, failed bigint, dead bigint, p50 double precision,
               p95 double precision, p99 double precision)
language sql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select g.queue, g.first, g.done, g.failed, g.dead, ostinato_internal.latency_at(g.latency, 0.5),
           ostinato_internal.latency_at(g.latency, 0.95), ostinato_internal.latency_at(g.latency, 0.99)
    from (
        select s.queue, sum(s.first)::bigint, sum(s.done)::bigint, sum(s.failed)::bigint, sum(s.dead)::bigint,
               ostinato_internal.sum_counts(array_agg(s.latency))
        from series s where s.step = 60 and s.at >= $1 and s.at < coalesce($2, 'infinity') group by s.queue
    ) g (queue, first, done, failed, dead, latency)
    order by g.queue
$$;

-- Forgets steps that are past their time, a set at a time; returns how many.
create function ostinato.prune_series(retention_days integer, most integer default 20000) returns integer
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_now   constant timestamptz := ostinato.now();
    v_gone  integer := 0;
    v_count integer;
begin
    delete from series s where (s.step, s.at, s.queue, s.kind) in (
        select o.step, o.at, o.queue, o.kind from series o
        where (o.step = 60 and o.at < v_now - interval '48 hours')
           or (o.step = 3600 and o.at < v_now - make_interval(days => retention_days))
        limit most for update skip locked);
    get diagnostics v_gone = row_count;
    delete from tenant_series s where (s.tenant_id, s.step, s.at) in (
        select o.tenant_id, o.step, o.at from tenant_series o
        where (o.step = 60 and o.at < v_now - interval '3 hours')
           or (o.step = 3600 and o.at < v_now - make_interval(days => retention_days))
        limit most for update skip locked);
    get diagnostics v_count = row_count;
    return v_gone + v_count;
end
$$;
