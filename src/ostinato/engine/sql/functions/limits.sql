-- Limits: how many jobs of a queue, or of one key in a queue, may run at once or start within a time.
--
-- Everything is counted from the claims that exist and from the starts of the last window; there is no counter to leak.
-- claim_jobs holds the queue's row lock while it counts and takes, so two workers never both use the last slot.
-- In a queue with key limits every job should carry a limit key: jobs without one are searched among the others.

-- How many jobs of a queue may be claimed now, at most `wanted`.
create function ostinato.queue_allowance(limits ostinato_data.queue, wanted integer) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_free integer := wanted;
begin
    if limits.concurrency is not null then
        v_free := least(v_free, limits.concurrency - ostinato.queue_running(limits.name));
    end if;
    if limits.rate_count is not null then
        v_free := least(v_free, limits.rate_count - ostinato.recent_starts(limits.name, '', limits.rate_seconds));
    end if;
    return v_free;
end
$$;

-- How many jobs of a queue are held by workers.
create function ostinato.queue_running(queue text) returns integer language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select coalesce(sum(cardinality(c.job_ids)), 0)::integer from claim c where c.queue = $1
$$;

-- How many jobs of a queue and key ('' = the whole queue) started within the last `seconds`. Starts that lie further ahead
-- are from before the clock went back: counted, they would stop the queue until the clock is there again.
create function ostinato.recent_starts(queue text, limit_key text, seconds double precision) returns integer language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select coalesce(sum(u.started), 0)::integer from rate_use u
    where u.queue = $1 and u.limit_key = $2
      and u.started_at > ostinato.now() - make_interval(secs => $3) and u.started_at <= ostinato.now() + make_interval(secs => $3)
$$;

-- Writes down the starts of a batch in a rate-limited queue, and forgets those outside the window.
create function ostinato.note_starts(limits ostinato_data.queue, batch ostinato_data.batch, at timestamptz) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_window constant interval := make_interval(secs => greatest(limits.rate_seconds, limits.key_rate_seconds));
begin
    delete from rate_use u
    where u.queue = limits.name and u.limit_key = any (batch.limit_keys || array[''])
      and (u.started_at <= at - v_window or u.started_at > at + v_window);
    insert into rate_use (queue, limit_key, started_at, started)
    select limits.name, '', at, cardinality(batch.job_ids) where limits.rate_count is not null
    union all
    select limits.name, k, at, count(*) from unnest(batch.limit_keys) k where k is not null and limits.key_rate_count is not null group by k;
end
$$;

-- The keys that wait in a queue, after `after`: a loose index scan.
create function ostinato.ready_keys(queue text, after text) returns setof text language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
    with recursive key as (
        (select r.limit_key from ready r where r.queue = $1 and r.limit_key > $2 order by r.queue, r.limit_key limit 1)
        union all
        select n.limit_key from key k cross join lateral (
            select r.limit_key from ready r where r.queue = $1 and r.limit_key > k.limit_key order by r.queue, r.limit_key limit 1) n
    )
    select k.limit_key from key k limit 1000
$$;

-- The jobs with a key that workers hold of a queue. Claims from before it had key limits do not list their keys.
create function ostinato.running_keys(queue text) returns table (limit_key text, job_id bigint) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set enable_seqscan = off as $$
    select h.limit_key, h.job_id from claim c cross join unnest(c.limit_keys, c.job_ids) h (limit_key, job_id)
    where c.queue = $1 and h.limit_key is not null
    union all
    select j.limit_key, j.id from claim c cross join unnest(c.job_ids) h join job j on j.id = h
    where c.queue = $1 and c.limit_keys is null and j.limit_key is not null
$$;

-- The keys of a queue that may start something, and how much: from `after` on and then from the start, 1,000 at the most.
create function ostinato.free_keys(limits ostinato_data.queue, after text) returns table (limit_key text, free integer) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    with waiting as materialized (
        select k as limit_key from ostinato.ready_keys(($1).name, coalesce($2, '')) k
        union
        select k from ostinato.ready_keys(($1).name, '') k where $2 is not null
    ), busy as materialized (
        select k.limit_key, count(*)::integer as running from ostinato.running_keys(($1).name) k group by k.limit_key
    )
    select w.limit_key, f.free from waiting w left join busy b on b.limit_key = w.limit_key
    cross join lateral (
        select least(
            coalesce(($1).key_concurrency, 1000000) - coalesce(b.running, 0),
            case when ($1).key_rate_count is null then 1000000
                 else ($1).key_rate_count - ostinato.recent_starts(($1).name, w.limit_key, ($1).key_rate_seconds) end) as free) f
    where f.free > 0
$$;

-- Takes jobs out of a queue with key limits: of every key with a free slot, the most urgent and oldest first.
create function ostinato.take_limited(limits ostinato_data.queue, wanted integer, kinds text[], cursor text, suspects boolean)
returns ostinato_data.batch language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off
set enable_mergejoin = off set enable_hashjoin = off as $$
declare
    v_batch ostinato_data.batch;
begin
    with candidate as materialized (
        select r.* from ostinato.free_keys(limits, substring(cursor from '^key:(.*)')) f cross join lateral (
            select c.ctid as row_id, c.priority, c.position, c.crashes from ready c
            where c.queue = limits.name and c.limit_key = f.limit_key
              and (c.crashes < 2 or suspects) and (kinds is null or c.kind = any (kinds))
            order by c.queue, c.limit_key, c.priority, c.position limit least(f.free, wanted) for update skip locked) r
        union all
        select r.* from (
            select c.ctid, c.priority, c.position, c.crashes from ready c
            where c.queue = limits.name and c.limit_key is null
              and (c.crashes < 2 or suspects) and (kinds is null or c.kind = any (kinds))
            order by c.queue, c.priority, c.tenant_id, c.position limit wanted for update skip locked) r
    ), ranked as (
        -- At most one suspect at a time, see take_suspect.
        select c.*, row_number() over (partition by c.crashes >= 2 order by c.priority, c.position) as n from candidate c
    ), gone as (
        delete from ready r where r.ctid = any (array(
            select c.row_id from ranked c where c.crashes < 2 or c.n = 1 order by c.priority, c.position limit wanted))
        returning r.job_id, r.position, r.attempt, r.failures, r.crashes, r.limit_key, r.keyed, r.priority
    )
    select coalesce(array_agg(g.job_id), '{}'), array_agg(g.position), array_agg(g.attempt), array_agg(g.failures), array_agg(g.crashes),
           array_agg(g.limit_key), coalesce(bool_or(g.keyed), false), 'key:' || max(g.limit_key)
    into v_batch.job_ids, v_batch.positions, v_batch.attempts, v_batch.failures, v_batch.crashes, v_batch.limit_keys, v_batch.keyed, v_batch.cursor
    from (select * from gone order by priority, position) g;
    return v_batch;
end
$$;
