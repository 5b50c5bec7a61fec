-- Limits: how many jobs of a queue, or of one key in a queue, may run at once or start within a time.
--
-- Everything is counted from the claims that exist and from the starts of the last window; there is no counter to leak.
-- claim_jobs holds the queue's row lock while it counts and takes, so two workers never both use the last slot.
-- A limit key belongs to a tenant, unless its job says that the installation shares it: what is counted here is the
-- slot key (places.sql), which names the tenant too. So no tenant fills the slots of another by choosing its key. In a
-- queue with key limits every job should carry a limit key: jobs without one are searched among the first of their
-- tenant, 16 at least.

-- Returns how many jobs of a queue may be claimed now, at most `wanted`.
create function ostinato_internal.queue_allowance(limits ostinato_data.queue, wanted integer) returns integer
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_free integer := wanted;
begin
    if limits.concurrency is not null then
        v_free := least(v_free, limits.concurrency - ostinato_internal.queue_running(limits.name));
    end if;
    if limits.rate_count is not null then
        v_free := least(v_free,
                        limits.rate_count - ostinato_internal.recent_starts(limits.name, '', limits.rate_seconds));
    end if;
    return v_free;
end
$$;

-- Returns how many jobs of a queue are held by workers.
create function ostinato_internal.queue_running(queue text) returns integer language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select coalesce(sum(cardinality(c.job_ids)), 0)::integer from claim c where c.queue = $1
$$;

-- Returns how many jobs of a queue and key ('' = the whole queue) started within the last `seconds`. Starts that lie
-- further ahead are from before the clock went back: counted, they would stop the queue until the clock is there again.
create function ostinato_internal.recent_starts(queue text, limit_key text, seconds double precision) returns integer
language sql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select coalesce(sum(u.started), 0)::integer from rate_use u
    where u.queue = $1 and u.limit_key = $2
      and u.started_at > ostinato.now() - make_interval(secs => $3)
      and u.started_at <= ostinato.now() + make_interval(secs => $3)
$$;

-- Writes down the starts of a batch in a rate-limited queue, and forgets those outside the window.
create function ostinato_internal.note_starts(limits ostinato_data.queue, batch ostinato_data.batch, at timestamptz)
returns void
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_window constant interval := make_interval(secs => greatest(limits.rate_seconds, limits.key_rate_seconds));
begin
    delete from rate_use u
    where u.queue = limits.name and u.limit_key = any (batch.limit_keys || array[''])
      and (u.started_at <= at - v_window or u.started_at > at + v_window);
    insert into rate_use (queue, limit_key, started_at, started)
    select limits.name, '', at, cardinality(batch.job_ids) where limits.rate_count is not null
    union all
    select limits.name, k, at, count(*) from unnest(batch.limit_keys) k
    where k is not null and limits.key_rate_count is not null group by k;
end
$$;

-- Returns the keys that wait in a queue, after `after`: a loose index scan.
create function ostinato_internal.ready_keys(queue text, after text) returns setof text language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off
set enable_bitmapscan = off as $$
    with recursive key as (
        (select r.limit_key from ready r where r.queue = $1 and r.limit_key > $2 order by r.queue, r.limit_key limit 1)
        union all
        select n.limit_key from key k cross join lateral (
            select r.limit_key from ready r where r.queue = $1 and r.limit_key > k.limit_key
            order by r.queue, r.limit_key limit 1) n
    )
    select k.limit_key from key k limit ostinato_internal.most_keys()
$$;

-- Returns the jobs with a key that workers hold of a queue, by slot key. Claims from before it had key limits do not
-- list their keys.
create function ostinato_internal.running_keys(queue text) returns table (limit_key text, job_id bigint)
language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
    select h.limit_key, h.job_id from claim c cross join unnest(c.limit_keys, c.job_ids) h (limit_key, job_id)
    where c.queue = $1 and h.limit_key is not null
    union all
    select ostinato_internal.slot_key(j.tenant_id, j.limit_key, j.limit_scope), j.id
    from claim c cross join unnest(c.job_ids) h join job j on j.id = h
    where c.queue = $1 and c.limit_keys is null and j.limit_key is not null
$$;

-- Returns those of some keys of a queue that may start something, and how much.
create function ostinato_internal.free_keys(limits ostinato_data.queue, keys text[])
returns table (limit_key text, free integer)
language sql stable set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_hashjoin = on as $$
    with busy as materialized (
        select k.limit_key, count(*)::integer as running from ostinato_internal.running_keys(($1).name) k
        group by k.limit_key
    )
    select w.limit_key, f.free from (select distinct k from unnest($2) k) w (limit_key)
    left join busy b on b.limit_key = w.limit_key
    cross join lateral (
        select least(
            coalesce(($1).key_concurrency, ostinato_internal.no_limit()) - coalesce(b.running, 0),
            case when ($1).key_rate_count is null then ostinato_internal.no_limit()
                 else ($1).key_rate_count
                     - ostinato_internal.recent_starts(($1).name, w.limit_key, ($1).key_rate_seconds) end) as free) f
    where f.free > 0
$$;

-- Returns the lanes of a queue with key limits, in the order of their turns: by priority, then those behind the last
-- one served. With more of them than one look holds these are the first, the next ones, and others each time: blocked
-- lanes stay, and hide those behind.
create function ostinato_internal.limited_lanes(hint ostinato_data.claim_hint)
returns table (priority smallint, tenant_id text, n bigint)
language sql stable set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off
set enable_bitmapscan = off as $$
    with head as materialized (
        select l.priority, l.tenant_id from ostinato_internal.ready_lanes(($1).queue) l
    ), lane as (
        select l.* from head l
        union
        select l.priority, l.tenant_id from (select 1 from head offset ostinato_internal.most_lanes() - 1) more
        cross join (values (($1).last_priority, (($1).lanes).last_tenant),
                    (($1).seen_priority, ($1).seen_tenant)) p (priority, tenant_id)
        cross join lateral ostinato_internal.ready_lanes(($1).queue, p.priority, p.tenant_id) l
        where p.priority is not null
    )
    select l.priority, l.tenant_id,
           row_number()
               over (order by l.priority, (l.priority, l.tenant_id) <= (($1).last_priority, (($1).lanes).last_tenant),
                     l.tenant_id)
    from lane l where l.tenant_id <> all ((select ostinato_internal.moving_tenants())::text[])
$$;

-- Takes jobs out of a queue with key limits: within the most urgent priority the tenants take turns, and of a key the
-- most urgent and oldest goes first. It looks at the first jobs of the lanes, and at 1,000 keys that wait, others each
-- time: behind jobs that may not start there may be some that may. Where to go on stands in claim_hint, for all workers
-- of the same kinds. At most one suspect at a time, see take_suspect.
create function ostinato_internal.take_limited(
    limits ostinato_data.queue, wanted integer, kinds text[], suspects boolean
)
returns ostinato_data.batch language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_bitmapscan = off
set enable_mergejoin = off set enable_hashjoin = on as $$
#variable_conflict use_column
declare
    v_batch ostinato_data.batch;
    v_hint  ostinato_data.claim_hint;
    v_lanes ostinato_data.lanes;
    v_keys  text[];
    v_many  constant integer := ostinato_internal.most_keys();
    v_wary  constant integer := ostinato_internal.suspect_crashes();
    v_no    constant text[] := ostinato_internal.moving_tenants();
begin
    select * into v_hint from claim_hint h where h.queue = limits.name and h.kinds = coalesce(take_limited.kinds, '{}');
    v_hint.queue := limits.name;
    v_keys := array(select k from ostinato_internal.ready_keys(limits.name, coalesce(v_hint.seen_key, '')) k);
    v_keys := v_keys || array(select k from ostinato_internal.ready_keys(limits.name, '') k
                              where v_keys[v_many] is null and v_hint.seen_key is not null);
    with lane as materialized (
        select l.*, count(*) over () as lanes from ostinato_internal.limited_lanes(v_hint) l
    ), seen as materialized (
        select s.* from lane l cross join lateral (
            select c.ctid as row_id, c.priority, c.tenant_id, c.limit_key from ready c
            where c.queue = limits.name and c.priority = l.priority and c.tenant_id = l.tenant_id
              and (c.crashes < v_wary or suspects) and (kinds is null or c.kind = any (kinds))
            order by c.position limit greatest(16, ceil(greatest(wanted, v_many)::numeric / l.lanes))) s
    ), candidate as materialized (
        select r.* from (select array_agg(s.row_id) as rows from seen s where s.limit_key is null
                         group by s.priority, s.tenant_id) s
        cross join lateral (
            select c.ctid as row_id, c.* from ready c where c.ctid = any (s.rows)
            order by c.position limit wanted for update skip locked) r
        union all
        select r.* from ostinato_internal.free_keys(
            limits, v_keys || array(select s.limit_key from seen s where s.limit_key is not null)) f
        cross join lateral (
            select c.ctid, c.* from ready c
            where c.queue = limits.name and c.limit_key = f.limit_key and c.tenant_id <> all (v_no)
              and (c.crashes < v_wary or suspects) and (kinds is null or c.kind = any (kinds))
            order by c.queue, c.limit_key, c.priority, c.position limit least(f.free, wanted) for update skip locked) r
    ), ranked as (
        select c.*, row_number() over (partition by c.crashes >= v_wary order by c.priority, c.position) as n
        from candidate c
    ), turn as materialized (
        select r.*, row_number() over (order by r.priority, r.turn, l.n, r.position) as o from (
            select r.*, row_number() over (partition by r.priority, r.tenant_id order by r.position) as turn
            from ranked r where r.crashes < v_wary or r.n = 1) r
        left join lane l on l.priority = r.priority and l.tenant_id = r.tenant_id
        order by o limit wanted
    ), gone as (
        delete from ready r where r.ctid = any (array(select t.row_id from turn t))
    )
    select coalesce(array_agg(t.job_id order by o), '{}'), array_agg(t.position order by o),
           array_agg(t.attempt order by o), array_agg(t.failures order by o), array_agg(t.crashes order by o),
           array_agg(t.limit_key order by o), coalesce(bool_or(t.keyed), false), array_agg(t.priority order by o desc),
           (array_agg(t.tenant_id order by o desc))[1]
    into v_batch.job_ids, v_batch.positions, v_batch.attempts, v_batch.failures, v_batch.crashes, v_batch.limit_keys,
         v_batch.keyed, v_lanes.priorities, v_lanes.last_tenant
    from turn t;
    perform ostinato_internal.go_on_from(v_hint, coalesce(kinds, '{}'), v_lanes.priorities[1], v_lanes.last_tenant,
                                         v_keys[v_many]);
    return v_batch;
end
$$;

-- Remembers where the next claim of a queue with key limits goes on; a tenant of null: nothing was taken.
create function ostinato_internal.go_on_from(
    hint ostinato_data.claim_hint, kinds text[], priority smallint, tenant text, key text
) returns void
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_next ostinato_data.claim_hint := hint;
    v_lane record;
begin
    if tenant is not null then
        v_next.last_priority := priority;
        v_next.lanes := row(null, null, null, tenant, null, null, null)::ostinato_data.lanes;
    end if;
    select l.priority, l.tenant_id into v_lane
    from ostinato_internal.ready_lanes(hint.queue, coalesce(hint.seen_priority, -32768),
                                       coalesce(hint.seen_tenant, '')) l offset ostinato_internal.most_lanes() - 1;
    v_next.seen_priority := v_lane.priority;
    v_next.seen_tenant := v_lane.tenant_id;
    v_next.seen_key := key;
    if v_next is distinct from hint then
        insert into claim_hint (queue, kinds, lanes, last_priority, seen_priority, seen_tenant, seen_key)
        values (hint.queue, kinds,
                coalesce(v_next.lanes, row(null, null, null, null, null, null, null)::ostinato_data.lanes),
                v_next.last_priority, v_next.seen_priority, v_next.seen_tenant, v_next.seen_key)
        on conflict on constraint claim_hint_pkey do update set
            lanes = excluded.lanes, last_priority = excluded.last_priority, seen_priority = excluded.seen_priority,
            seen_tenant = excluded.seen_tenant, seen_key = excluded.seen_key;
    end if;
end
$$;
