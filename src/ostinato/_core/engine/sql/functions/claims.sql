-- Claims: how workers take jobs and give them back. The hot path; every verb works on sets.
--
-- A claim is one row per batch. Its arrays list the jobs that the worker still holds, so the fence of a job is simple:
-- (job, attempt) must stand in the arrays of a claim. Finishing takes them out under the claim's row lock; rescuing a
-- dead worker deletes the claim under the same lock. The second of the two finds nothing and changes nothing.
-- A job that its handler holds in a transaction has a claim of its own (claim_jobs with `apart`, split_claims), so that
-- its lock holds up no other job. A claim also says what of it has begun (begin_jobs): the rest is no cause of a crash.
-- Lock order of verdicts: claims, ascending.
--
-- The order of a claim: priority (lower first), then the tenants take turns, then time (position).
-- A lane is (queue, priority, tenant). Walking the lanes costs one index probe per lane; a caller gets them back as an
-- opaque cursor, with the last position taken of each, so that the next claim starts behind the rows already taken.
-- That matters when an old snapshot is held open somewhere: then dead index entries stay, and a scan from the start
-- would step over all of them at every claim. The lanes are looked up anew when they run dry, and at least so often
-- that the look-ups take about a twentieth of the time, and every five seconds: late commits and new tenants are seen
-- within milliseconds.
--
-- A queue that holds fewer jobs than are wanted gives them all at once (take_all): where nobody waits there are no
-- turns.
-- Lock order of a claim: queue row (limited queues only), advisory lock of the queue (large claims only), ready rows.
-- The verbs fetch rows one by one, by their keys, and pin the planner to that: a session keeps its plans, and one that
-- was made while the tables were empty, or from statistics of another hour, may read a whole backlog to join a handful
-- of rows to it.
-- What may go wrong: a worker dies (its claims are rescued, workers.sql), wakes up late (its verbs are refused),
-- sends a verb twice (the second is refused). A caller that is refused has lost the job and must not touch it again.

-- Takes up to `wanted` jobs for a worker and returns them with their args. No rows: nothing to do, paused, at a limit,
-- or the worker is not registered (any more).
-- `starts` says how many of them the worker may start now: it names the others to begin_jobs before it starts them, and
-- so it does with a suspect. Null: it may start all. `apart` names the kinds whose jobs get a claim each.
-- Claims of a limited queue go one after the other, so that what they count cannot change under them. Its row is read
-- again under the lock: the limits, or the pause, may have changed while the claim waited for it. A queue that is asked
-- again and again while it is empty answers at the price of one index probe.
-- One with `behind` is to be run after that job, if that one succeeds, and to be released otherwise
-- (subscriptions.sql).
create function ostinato.claim_jobs(
    worker_id uuid, queue text, wanted integer, kinds text[] default null, cursor text default null,
    suspects boolean default true, starts integer default null, apart text[] default null
) returns setof ostinato_data.claimed_job language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off
set enable_hashjoin = off as $$
#variable_conflict use_column
declare
    v_queue  ostinato_data.queue;
    v_batch  ostinato_data.batch;
    v_wanted integer := wanted;
    v_cursor text;
    v_there  integer;
    v_crash  smallint;
    v_more   record;
    v_claims bigint[];
    v_now    timestamptz;
begin
    select * into v_queue from queue q where q.name = claim_jobs.queue;
    if num_nonnulls(v_queue.concurrency, v_queue.rate_count, v_queue.key_concurrency, v_queue.key_rate_count) > 0 then
        select * into v_queue from queue q where q.name = claim_jobs.queue for update;
        v_wanted := case when v_queue.paused then 0 else ostinato_internal.queue_allowance(v_queue, wanted) end;
    end if;
    v_cursor := coalesce(cursor, ostinato_internal.handed_on(claim_jobs.queue, kinds));
    if v_cursor is null then
        select count(*), max(r.crashes) into v_there, v_crash
        from (select r.crashes from ready r where r.queue = claim_jobs.queue
              limit greatest(0, least(v_wanted, ostinato_internal.small_claim()))) r;
    end if;
    -- Who was declared dead gets nothing: what it took would be taken back from it at once.
    if v_wanted <= 0 or v_there = 0 or v_queue.paused
       or not exists (select from worker w where w.id = claim_jobs.worker_id) then
        return;
    end if;
    if v_queue.key_concurrency is not null or v_queue.key_rate_count is not null then
        v_batch := ostinato_internal.take_limited(v_queue, v_wanted, kinds, suspects);
    elsif v_there < least(v_wanted, ostinato_internal.small_claim())
          and v_crash < ostinato_internal.suspect_crashes() then
        v_batch := ostinato_internal.take_all(claim_jobs.queue, v_there, kinds);
    else
        v_batch := ostinato_internal.take_lanes(claim_jobs.queue, v_wanted, kinds, v_cursor, suspects,
                                                num_nonnulls(v_queue.concurrency, v_queue.rate_count) > 0);
    end if;
    if cardinality(v_batch.job_ids) = 0 then
        return;
    end if;
    v_more := ostinato_internal.take_followers(claim_jobs.queue, v_queue, v_wanted, v_batch);
    v_batch := v_more.batch;
    v_now := ostinato.now();
    if v_queue.rate_count is not null or v_queue.key_rate_count is not null then
        perform ostinato_internal.note_starts(v_queue, v_batch, v_now);
    end if;
    v_claims := ostinato_internal.hold_batch(worker_id, claim_jobs.queue, v_batch, v_now, starts, apart);
    if v_batch.keyed then
        perform ostinato_internal.free_unique_keys(v_batch.job_ids, 'running');
    end if;
    return query
    select b.job_id, b.attempt, b.failures, b.crashes, b.claim_id,
           coalesce(j.kind, ostinato_internal.refuse_moved(b.job_id)), j.args::text, j.tenant_id, j.correlation_id,
           j.max_attempts, extract(epoch from v_now - greatest(j.created_at, j.run_at))::double precision,
           case b.n when 1 then v_batch.cursor end, v_more.behind[b.n], ostinato_internal.subject_token(j.subject),
           j.traceparent
    from unnest(v_batch.job_ids, v_batch.attempts, v_batch.failures, v_batch.crashes, v_claims)
        with ordinality b (job_id, attempt, failures, crashes, claim_id, n)
    left join job j on j.id = b.job_id order by b.n;
end
$$;

-- Claims jobs as claim_jobs does, but waits for the first one, `patience` seconds at the most: a worker that was just
-- busy starts the next job sooner than by asking again and again. No row is locked while it waits.
create function ostinato.await_jobs(
    worker_id uuid, queue text, wanted integer, patience double precision, kinds text[] default null,
    cursor text default null, suspects boolean default true, starts integer default null, apart text[] default null
) returns setof ostinato_data.claimed_job language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    v_until constant timestamptz := ostinato.now() + make_interval(secs => least(patience, 1));
begin
    for v_try in 1 .. ceil(1000 * least(patience, 1)) loop  -- counted as well: the clock may stand still
        exit when cursor is not null or ostinato.now() > v_until
            or exists (select from ready r where r.queue = await_jobs.queue);
        perform pg_sleep(0.001);
    end loop;
    return query select c.* from ostinato.claim_jobs(worker_id, queue, wanted, kinds, cursor, suspects, starts,
        apart) c;
end
$$;

-- Returns the lanes that the last large claim left, while they are fresh: a look for the first ready job of a queue
-- that many drain steps over all the rows that were taken lately.
create function ostinato_internal.handed_on(queue text, kinds text[]) returns text language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select h.lanes::text from claim_hint h
    where h.queue = $1 and h.kinds = coalesce($2, '{}') and cardinality((h.lanes).tenants) > 0
      and ostinato_internal.are_fresh(h.lanes)
$$;

-- Returns whether lanes that were looked up need no new look: those cost a twentieth of the time at the most, and late
-- commits and new tenants are seen within five seconds.
create function ostinato_internal.are_fresh(lanes ostinato_data.lanes) returns boolean language sql volatile as $$
    select ostinato.now() between (lanes).looked_up_at
                              and (lanes).looked_up_at + least(20 * (lanes).cost, interval '5 seconds')
$$;

-- Takes all jobs of a queue that holds fewer than are wanted: nobody has to wait, so nobody's turn matters. A lone job
-- starts a good deal sooner this way.
create function ostinato_internal.take_all(queue text, wanted integer, kinds text[]) returns ostinato_data.batch
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    v_batch  ostinato_data.batch;
    v_moving constant text[] := ostinato_internal.moving_tenants();
begin
    with gone as (
        delete from ready r where r.ctid = any (array(
            select s.ctid from ready s
            where s.queue = take_all.queue and s.crashes < ostinato_internal.suspect_crashes()
              and (kinds is null or s.kind = any (kinds)) and s.tenant_id <> all (v_moving)
            order by s.queue, s.priority, s.tenant_id, s.position limit wanted for update skip locked))
        returning r.job_id, r.position, r.attempt, r.failures, r.crashes, r.keyed, r.priority
    )
    select coalesce(array_agg(g.job_id), '{}'), array_agg(g.position), array_agg(g.attempt), array_agg(g.failures),
           array_agg(g.crashes), bool_or(g.keyed)
    into v_batch.job_ids, v_batch.positions, v_batch.attempts, v_batch.failures, v_batch.crashes, v_batch.keyed
    from (select * from gone order by priority, position) g;
    return v_batch;
end
$$;

-- Returns the lanes of a queue that hold work, with the position of the first row of each: a loose index scan.
create function ostinato_internal.ready_lanes(
    queue text, after_priority integer default -32768, after_tenant text default '',
    most integer default null
)
returns table (priority smallint, tenant_id text, first bigint) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off
set enable_bitmapscan = off as $$
    with recursive lane as (
        (select r.priority, r.tenant_id, r.position from ready r
         where r.queue = $1 and (r.priority, r.tenant_id) > ($2::smallint, $3)
         order by r.queue, r.priority, r.tenant_id, r.position limit 1)
        union all
        select n.priority, n.tenant_id, n.position from lane l cross join lateral (
            select r.priority, r.tenant_id, r.position from ready r
            where r.queue = $1 and (r.priority, r.tenant_id) > (l.priority, l.tenant_id)
            order by r.queue, r.priority, r.tenant_id, r.position limit 1) n
    )
    select l.priority, l.tenant_id, l.position from lane l limit coalesce($4, ostinato_internal.most_lanes())
$$;

-- Looks the lanes up anew. Within the most urgent priority the tenant after the last one served comes first.
create function ostinato_internal.look_up_lanes(queue text, last_tenant text) returns ostinato_data.lanes
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_lanes  ostinato_data.lanes;
    v_start  constant timestamptz := ostinato.now();
    v_behind boolean := false;
begin
    select array_agg(l.priority order by o), array_agg(l.tenant_id order by o), array_agg(l.first - 1 order by o)
    into v_lanes.priorities, v_lanes.tenants, v_lanes.positions
    from (select f.*, row_number() over (order by f.priority, f.tenant_id <= last_tenant, f.tenant_id) as o
          from ostinato_internal.ready_lanes(queue) f) l;
    if cardinality(v_lanes.tenants) = ostinato_internal.most_lanes() and last_tenant is not null then
        -- More lanes than one look-up holds: go on behind the last one served. At the end of the ring start over.
        select array_agg(l.priority), array_agg(l.tenant_id), array_agg(l.first - 1)
        into v_lanes.priorities, v_lanes.tenants, v_lanes.positions
        from ostinato_internal.ready_lanes(queue, v_lanes.priorities[1], last_tenant) l
        having count(*) filter (where l.priority = v_lanes.priorities[1]) > 0;
        if v_lanes.tenants is null then
            return ostinato_internal.look_up_lanes(queue, null);
        end if;
        v_behind := true;
    end if;
    v_lanes.looked_up_at := ostinato.now();
    v_lanes.cost := v_lanes.looked_up_at - v_start;
    -- What was found behind the last one served is a part of the ring, however few: its start has more.
    v_lanes.found := case when v_behind then ostinato_internal.most_lanes() else cardinality(v_lanes.tenants) end;
    v_lanes.last_tenant := last_tenant;
    return v_lanes;
end
$$;

-- Takes jobs out of a queue without key limits, lane by lane. See the head of this file.
create function ostinato_internal.take_lanes(
    queue text, wanted integer, kinds text[], cursor text, suspects boolean, limited boolean
) returns ostinato_data.batch language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    v_batch ostinato_data.batch := ('{}', '{}', '{}', '{}', '{}', null, false, null);
    -- A cursor that is no lanes comes from take_limited: the queue had key limits until now.
    v_lanes ostinato_data.lanes := case when cursor like '(%' then cursor end::ostinato_data.lanes;
    v_kinds constant text[] := coalesce(kinds, '{}');
    v_turn  record;
    v_to    integer;
    v_fresh boolean;
    v_had   integer;
    v_poor  integer := 0;
begin
    -- Stepping over rows that other claims have locked takes two locks of the lock manager for each, and with dozens of
    -- workers that is all they do. So large claims of a queue go one after the other; small ones lock few rows and need
    -- not wait. This is only a queue in front of the row locks: what keeps two claims apart is `skip locked`.
    -- Each hands its lanes to the next one: those the caller remembers are older by all the turns of the others. Those
    -- of a limited queue do so too: between two claims a worker finds the limit reached, and then it remembers nothing.
    if wanted > ostinato_internal.small_claim() or limited then
        perform pg_advisory_xact_lock(hashtextextended(e'ostinato.claim\x1f' || queue, 0));
        v_lanes := coalesce((select h.lanes from claim_hint h where h.queue = take_lanes.queue and h.kinds = v_kinds),
                            v_lanes);
    end if;
    if suspects then
        v_batch := ostinato_internal.take_suspect(queue, kinds, v_batch);
    end if;
    -- With more lanes in the queue than a look-up holds, those that are left must not share what others are due.
    v_fresh := v_lanes.tenants is null or not ostinato_internal.are_fresh(v_lanes)
        or (v_lanes.found = ostinato_internal.most_lanes()
            and cardinality(v_lanes.tenants) < ostinato_internal.most_lanes() / 2);
    loop
        if v_fresh then
            v_lanes := ostinato_internal.look_up_lanes(queue, v_lanes.last_tenant);
        end if;
        v_had := cardinality(v_batch.job_ids);
        while cardinality(v_lanes.tenants) > 0 and cardinality(v_batch.job_ids) < wanted loop
            -- The lanes of the most urgent priority are served together, in turns, until they are empty and leave.
            v_to := 1;
            while v_lanes.priorities[v_to + 1] = v_lanes.priorities[1] loop
                v_to := v_to + 1;
            end loop;
            v_turn := ostinato_internal.take_turns(queue, wanted, kinds, v_batch, v_lanes, v_to);
            v_batch := v_turn.batch;
            v_lanes := v_turn.lanes;
        end loop;
        -- A full look-up means that there are more lanes. After some that gave this claim next to nothing, it ends.
        v_poor := v_poor + (v_fresh
                            and cardinality(v_batch.job_ids) < v_had + ostinato_internal.poor_look_up())::integer;
        exit when cardinality(v_batch.job_ids) >= wanted
            or (v_fresh and (coalesce(v_lanes.found, 0) < ostinato_internal.most_lanes()
                         or v_poor = ostinato_internal.most_poor_look_ups()));
        v_fresh := true;
    end loop;
    v_batch.cursor := case when cardinality(v_lanes.tenants) > 0 then v_lanes::text end;
    if wanted > ostinato_internal.small_claim() or limited then
        insert into claim_hint (queue, kinds, lanes) values (take_lanes.queue, v_kinds, v_lanes)
        on conflict on constraint claim_hint_pkey do update set lanes = excluded.lanes;
    end if;
    return v_batch;
end
$$;

-- Serves one round over the first `last` lanes (all of one priority): an equal share from each, as far as it has one,
-- and at least two jobs, because finding a lane costs more than the second job. A lane that gave less than its share is
-- empty and leaves; the served ones go to the end of the ring.
create function ostinato_internal.take_turns(
    queue text, wanted integer, kinds text[], inout batch ostinato_data.batch, inout lanes ostinato_data.lanes,
    last integer
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    v_left    constant integer := wanted - cardinality(batch.job_ids);
    v_share   constant integer := greatest(2, ceil(v_left::numeric / last));
    v_level   constant smallint := lanes.priorities[1];
    v_moving  constant text[] := ostinato_internal.moving_tenants();
    v_tenants text[];
    v_got     ostinato_data.batch;
    v_reached integer;
    v_full    boolean;
    v_ring    ostinato_data.lanes;
begin
    with picked as materialized (
        select p.row_id, l.n from unnest(lanes.tenants[1:last], lanes.positions[1:last])
            with ordinality l (tenant_id, taken, n)
        cross join lateral (
            select r.ctid as row_id from ready r
            where r.queue = take_turns.queue and r.priority = v_level and r.tenant_id = l.tenant_id
              and r.position > l.taken and r.crashes < ostinato_internal.suspect_crashes()
              and (kinds is null or r.kind = any (kinds))
            order by r.position limit v_share for update skip locked) p
        where l.tenant_id <> all (v_moving)
        limit v_left
    ), gone as (
        delete from ready r where r.ctid = any (array(select p.row_id from picked p))
        returning r.job_id, r.position, r.attempt, r.failures, r.crashes, r.tenant_id, r.keyed
    )
    select array_agg(g.job_id), array_agg(g.position), array_agg(g.attempt), array_agg(g.failures),
           array_agg(g.crashes), array_agg(g.tenant_id), bool_or(g.keyed), (select max(p.n) from picked p)
    into v_got.job_ids, v_got.positions, v_got.attempts, v_got.failures, v_got.crashes, v_tenants, v_got.keyed,
         v_reached
    from (select * from gone order by position) g;
    -- With a full batch the lanes behind the last one reached keep their turn.
    v_full := coalesce(cardinality(v_got.job_ids) = v_left, false);
    v_reached := case when v_full then v_reached else last end;
    v_ring := ostinato_internal.served_lanes(lanes.tenants[1:v_reached], v_tenants, v_got.positions, v_share, v_full);
    lanes.last_tenant := coalesce(lanes.tenants[v_reached], lanes.last_tenant);
    lanes.tenants := lanes.tenants[v_reached + 1:last] || v_ring.tenants || lanes.tenants[last + 1:];
    lanes.positions := lanes.positions[v_reached + 1:last] || v_ring.positions || lanes.positions[last + 1:];
    lanes.priorities := array_fill(v_level, array[last - v_reached + coalesce(cardinality(v_ring.tenants), 0)])
        || lanes.priorities[last + 1:];
    if v_got.job_ids is not null then
        batch := ostinato_internal.add_batch(batch, v_got);
    end if;
end
$$;

-- Returns the lanes that may have more, after they gave jobs: those with a full share, and the last one if the batch
-- was full.
create function ostinato_internal.served_lanes(
    tenants text[], gave text[], positions bigint[], share integer, full_batch boolean
) returns ostinato_data.lanes language plpgsql immutable
set plan_cache_mode = force_generic_plan set jit = off set enable_nestloop = off set enable_hashjoin = on as $$
declare
    v_lanes ostinato_data.lanes;
begin
    if cardinality(tenants) = 1 then  -- the usual case
        if cardinality(gave) >= share or full_batch then
            v_lanes.tenants := tenants;
            v_lanes.positions := array[positions[cardinality(positions)]];
        end if;
        return v_lanes;
    end if;
    select array_agg(l.tenant_id order by l.n), array_agg(g.top order by l.n) into v_lanes.tenants, v_lanes.positions
    from unnest(tenants) with ordinality l (tenant_id, n)
    join (select t.tenant_id, count(*) as given, max(t.position) as top
          from unnest(gave, positions) t (tenant_id, position) group by 1) g
      on g.tenant_id = l.tenant_id
    where g.given >= share or (full_batch and l.n = cardinality(tenants));
    return v_lanes;
end
$$;

-- Joins two batches.
create function ostinato_internal.add_batch(a ostinato_data.batch, b ostinato_data.batch) returns ostinato_data.batch
language sql immutable as $$
    select (a.job_ids || b.job_ids, a.positions || b.positions, a.attempts || b.attempts, a.failures || b.failures,
            a.crashes || b.crashes, a.limit_keys || b.limit_keys, a.keyed or b.keyed, a.cursor)::ostinato_data.batch
$$;

-- Takes one job that crashed its process at least twice. A worker runs only one of them at a time, so that the culprit
-- is found and its neighbours are not buried with it.
create function ostinato_internal.take_suspect(queue text, kinds text[], batch ostinato_data.batch)
returns ostinato_data.batch
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    v_got ostinato_data.batch;
begin
    with gone as (
        delete from ready r where r.ctid = any (array(
            select s.ctid from ready s
            where s.queue = take_suspect.queue and s.crashes >= ostinato_internal.suspect_crashes()
              and (kinds is null or s.kind = any (kinds))
              and s.tenant_id <> all ((select ostinato_internal.moving_tenants())::text[])
            order by s.position limit 1 for update skip locked))
        returning r.job_id, r.position, r.attempt, r.failures, r.crashes, r.keyed
    )
    select array_agg(g.job_id), array_agg(g.position), array_agg(g.attempt), array_agg(g.failures),
           array_agg(g.crashes), bool_or(g.keyed)
    into v_got.job_ids, v_got.positions, v_got.attempts, v_got.failures, v_got.crashes, v_got.keyed from gone g;
    return case when v_got.job_ids is null then batch else ostinato_internal.add_batch(batch, v_got) end;
end
$$;

-- Writes down what a worker takes: one claim for the batch, and one each for jobs that are apart: kinds whose handlers
-- hold their job in transactions of their own, and suspects. Returns the claim of each job.
create function ostinato_internal.hold_batch(
    worker_id uuid, queue text, batch ostinato_data.batch, at timestamptz, starts integer, apart text[]
) returns bigint[] language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_claims bigint[];
    v_claim  bigint;
    v_count  integer;
begin
    if cardinality(apart) > 0 or ostinato_internal.suspect_crashes() <= any (batch.crashes) then
        v_claims := ostinato_internal.hold_apart(worker_id, queue, batch, at, starts, apart);
        batch := ostinato_internal.rest_of(batch, v_claims);
    end if;
    v_count := cardinality(batch.job_ids);
    if v_count = 0 then
        return v_claims;
    end if;
    insert into claim (id, worker_id, claimed_at, queue, keyed, job_ids, positions, attempts, failures, crashes,
        limit_keys, waiting)
    values (nextval('claim_id_seq'), worker_id, at, queue, batch.keyed, batch.job_ids, batch.positions, batch.attempts,
            batch.failures, batch.crashes, batch.limit_keys, coalesce(greatest(0, v_count - starts), 0))
    returning id into v_claim;
    return case when v_claims is null then array_fill(v_claim, array[v_count])
           else array(select coalesce(c, v_claim) from unnest(v_claims) with ordinality c (c, n) order by n) end;
end
$$;

-- Writes a claim of its own for each job of a batch that is apart. Returns them in the order of the batch, null for the
-- others.
create function ostinato_internal.hold_apart(
    worker_id uuid, queue text, batch ostinato_data.batch, at timestamptz, starts integer, apart text[]
) returns bigint[] language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_mergejoin = off set enable_hashjoin = off as $$
#variable_conflict use_column
declare
    v_claims constant bigint[] := array(
        select case when b.crashes >= ostinato_internal.suspect_crashes() or j.kind = any (apart)
                    then nextval('claim_id_seq') end
        from unnest(batch.job_ids, batch.crashes) with ordinality b (job_id, crashes, n)
        left join job j on j.id = b.job_id order by b.n);
begin
    insert into claim (id, worker_id, claimed_at, queue, keyed, job_id, job_ids, positions, attempts, failures, crashes,
                       limit_keys, waiting)
    select b.claim_id, worker_id, at, queue, batch.keyed, b.job_id, array[b.job_id], array[b.position],
           array[b.attempt], array[b.failures], array[b.crashes],
           case when batch.limit_keys is not null then array[b.limit_key] end,
           (starts is not null and (b.n > starts or b.crashes >= ostinato_internal.suspect_crashes()))::integer
    from unnest(v_claims, batch.job_ids, batch.positions, batch.attempts, batch.failures, batch.crashes,
                batch.limit_keys)
        with ordinality b (claim_id, job_id, position, attempt, failures, crashes, limit_key, n)
    where b.claim_id is not null;
    return v_claims;
end
$$;

-- Returns the part of a batch that no claims are named for.
create function ostinato_internal.rest_of(batch ostinato_data.batch, claims bigint[]) returns ostinato_data.batch
language sql immutable as $$
    select coalesce(array_agg(b.job_id order by b.n), '{}'), array_agg(b.position order by b.n),
           array_agg(b.attempt order by b.n), array_agg(b.failures order by b.n), array_agg(b.crashes order by b.n),
           case when (batch).limit_keys is not null then array_agg(b.limit_key order by b.n) end,
           (batch).keyed, (batch).cursor
    from unnest(claims, (batch).job_ids, (batch).positions, (batch).attempts, (batch).failures, (batch).crashes,
                (batch).limit_keys)
        with ordinality b (claim_id, job_id, position, attempt, failures, crashes, limit_key, n)
    where b.claim_id is null
$$;

-- Locks the claims of jobs, in the order of their ids, and returns them: the one that the holder names, or the one that
-- its job got for itself since (split_claims). Who holds the lock of a claim keeps all jobs in it; `shared` leaves room
-- for others who do the same. A claim that comes to light while we wait is younger than those that we hold by then, so
-- the order stands.
create function ostinato_internal.lock_claims(claim_ids bigint[], job_ids bigint[], shared boolean default false)
returns bigint[] language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_locked bigint[];
    v_claims bigint[];
begin
    loop
        v_claims := ostinato_internal.claims_named(claim_ids, job_ids);
        exit when v_claims = v_locked;
        if shared then
            perform from claim c where c.id = any (v_claims) order by c.id for share;
        else
            perform from claim c where c.id = any (v_claims) order by c.id for update;
        end if;
        v_locked := v_claims;
    end loop;
    return v_locked;
end
$$;

-- Returns the claims that may hold jobs, in order: those that the holder names, and those that jobs were moved to.
create function ostinato_internal.claims_named(claim_ids bigint[], job_ids bigint[]) returns bigint[] language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off as $$
#variable_conflict use_column
begin
    -- Nearly always nothing is split: one look is cheaper than a probe per job.
    if exists (select from claim c where c.split_from is not null) then
        return array(
            select distinct coalesce(c.id, g.claim_id) from unnest(claim_ids, job_ids) g (claim_id, job_id)
            left join claim c on c.job_id = g.job_id and c.split_from = g.claim_id
            where g.claim_id is not null order by 1);
    end if;
    return array(select distinct c from unnest(claim_ids) c where c is not null order by c);
end
$$;

-- Returns those of some jobs that stand in some claims, by their places in the arrays.
create function ostinato_internal.held_among(claims bigint[], claim_ids bigint[], job_ids bigint[], attempts integer[])
returns table (n bigint, claim_id bigint) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_nestloop = off
set enable_hashjoin = on as $$
    with held as materialized (
        select c.id as claim_id, c.split_from, h.job_id, h.attempt from claim c
        cross join lateral unnest(c.job_ids, c.attempts) h (job_id, attempt) where c.id = any ($1)
    )
    select g.n, h.claim_id from unnest($2, $3, $4) with ordinality g (claim_id, job_id, attempt, n)
    join held h on h.job_id = g.job_id and h.attempt = g.attempt and g.claim_id in (h.claim_id, h.split_from)
$$;

-- Keeps jobs in their claims until the end of the transaction, beside others who do the same. Returns those that were
-- held, by their places in the arrays.
create function ostinato_internal.share_claims(claim_ids bigint[], job_ids bigint[], attempts integer[])
returns table (n bigint) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_claims constant bigint[] := ostinato_internal.lock_claims(claim_ids, job_ids, shared => true);
begin
    return query select h.n from ostinato_internal.held_among(v_claims, claim_ids, job_ids, attempts) h;
end
$$;

-- Takes jobs out of their claims: the one place where a job leaves a worker's hands. Returns those that were held;
-- a (job, attempt) that no claim holds is stale, and is simply missing in the answer.
create function ostinato_internal.settle(claim_ids bigint[], job_ids bigint[], attempts integer[])
returns table (
    n bigint, job_id bigint, attempt integer, failures smallint, crashes smallint, "position" bigint, worker_id uuid,
    keyed boolean, claim_id bigint, limit_keys text[]
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_nestloop = off set enable_hashjoin = on as $$
#variable_conflict use_column
declare
    v_claims bigint[];
begin
    -- The only one of its claim, as a job that is apart is, and a lone one: the claim goes with it.
    if cardinality(job_ids) = 1 then
        return query
        delete from claim c where c.id = settle.claim_ids[1] and c.job_ids = settle.job_ids
            and c.attempts = settle.attempts
        returning 1::bigint, c.job_ids[1], c.attempts[1], c.failures[1], c.crashes[1], c.positions[1], c.worker_id,
            c.keyed, c.id, c.limit_keys;
        if found then
            return;
        end if;
    end if;
    v_claims := ostinato_internal.lock_claims(claim_ids, job_ids);
    return query
    with claimed as materialized (  -- counted here: an array that is looked at for each job is unpacked for each
        select c.id as claim_id, cardinality(c.job_ids) - c.waiting as begun from claim c where c.id = any (v_claims)
    ), held as materialized (
        select c.id as claim_id, c.split_from, c.worker_id, c.keyed, c.limit_keys is not null as limited, h.*
        from claim c cross join lateral unnest(c.job_ids, c.attempts, c.failures, c.crashes, c.positions, c.limit_keys)
            with ordinality h (job_id, attempt, failures, crashes, position, limit_key, at)
        where c.id = any (v_claims)
    ), matched as materialized (
        select h.*, g.n from held h
        left join unnest(claim_ids, job_ids, attempts) with ordinality g (claim_id, job_id, attempt, n)
          on g.job_id = h.job_id and g.attempt = h.attempt and g.claim_id in (h.claim_id, h.split_from)
    ), rest as materialized (
        select m.claim_id, array_agg(m.job_id order by m.at) as job_ids, array_agg(m.attempt order by m.at) as attempts,
               array_agg(m.failures order by m.at) as failures, array_agg(m.crashes order by m.at) as crashes,
               array_agg(m.position order by m.at) as positions, array_agg(m.limit_key order by m.at) as limit_keys,
               count(*) filter (where m.at > b.begun) as waiting
        from matched m join claimed b on b.claim_id = m.claim_id where m.n is null group by m.claim_id
    ), emptied as (
        delete from claim c where c.id = any (v_claims) and not exists (select from rest r where r.claim_id = c.id)
    ), shrunk as (
        update claim c set
            job_ids = r.job_ids, attempts = r.attempts, failures = r.failures, crashes = r.crashes,
            positions = r.positions, limit_keys = case when c.limit_keys is not null then r.limit_keys end,
            waiting = r.waiting
        from rest r where c.id = r.claim_id and cardinality(c.job_ids) <> cardinality(r.job_ids)
    )
    select m.n, m.job_id, m.attempt, m.failures, m.crashes, m.position, m.worker_id, m.keyed, m.claim_id,
           case when m.limited then array[m.limit_key] end
    from matched m where m.n is not null;
end
$$;

-- Gives jobs a claim each, so that a transaction that holds one of them holds up no other. The holder goes on to name
-- the claim that it knows. Waits for nobody: a claim that is locked keeps its jobs, and so does one whose job is stale.
-- Returns the ids of the jobs that have no claim of their own.
create function ostinato.split_claims(claim_ids bigint[], job_ids bigint[], attempts integer[]) returns setof bigint
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_nestloop = off as $$
#variable_conflict use_column
declare
    v_free  constant bigint[] := array(
        select c.id from claim c where c.id = any (claim_ids) and c.job_id is null
        order by c.id for update skip locked);
    v_given constant bigint[] := array(
        select g.n from unnest(claim_ids, job_ids) with ordinality g (claim_id, job_id, n)
        where g.claim_id = any (v_free) and not exists (select from claim c where c.job_id = g.job_id));
begin
    with old as materialized (
        select c.id, c.claimed_at, c.queue from claim c where c.id = any (v_free)
    ), moved as materialized (
        select s.* from ostinato_internal.settle(
            array(select claim_ids[n] from unnest(v_given) n), array(select job_ids[n] from unnest(v_given) n),
            array(select attempts[n] from unnest(v_given) n)) s
    )
    insert into claim (id, worker_id, claimed_at, queue, keyed, job_id, split_from, job_ids, positions, attempts,
        failures, crashes, limit_keys)
    select nextval('claim_id_seq'), m.worker_id, o.claimed_at, o.queue, m.keyed, m.job_id, m.claim_id,
           array[m.job_id], array[m.position], array[m.attempt], array[m.failures], array[m.crashes], m.limit_keys
    from moved m join old o on o.id = m.claim_id;
    return query
    select g.job_id from unnest(job_ids, attempts) g (job_id, attempt)
    where not exists (select from claim c where c.job_id = g.job_id and c.attempts[1] = g.attempt);
end
$$;

-- Says that a worker is about to start jobs that were claimed ahead. Until then they are no cause of a crash. `alone`:
-- it runs nothing else meanwhile, so that a crash is the job's doing. Returns the ids of those that were refused as
-- stale.
create function ostinato.begin_jobs(
    claim_ids bigint[], job_ids bigint[], attempts integer[], alone boolean default false
) returns setof bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_nestloop = off as $$
#variable_conflict use_column
declare
    v_claims constant bigint[] := ostinato_internal.lock_claims(claim_ids, job_ids);
    v_held   bigint[];
begin
    with held as materialized (
        select g.n, c.id, h.at from claim c
        cross join lateral unnest(c.job_ids, c.attempts) with ordinality h (job_id, attempt, at)
        join unnest(begin_jobs.claim_ids, begin_jobs.job_ids, begin_jobs.attempts)
            with ordinality g (claim_id, job_id, attempt, n)
          on g.job_id = h.job_id and g.attempt = h.attempt and g.claim_id in (c.id, c.split_from)
        where c.id = any (v_claims)
    ), begun as (
        update claim c set waiting = least(c.waiting, cardinality(c.job_ids) - b.at),
            alone = begin_jobs.alone and c.job_id is not null
        from (select h.id, max(h.at) as at from held h group by h.id) b where c.id = b.id
    )
    select array_agg(h.n) into v_held from held h;
    return query select g.job_id from unnest(job_ids) with ordinality g (job_id, n)
        where not g.n = any (coalesce(v_held, '{}'));
end
$$;

-- Returns the claim that holds a job, for callers that know only (job, attempt).
create function ostinato_internal.claim_of(job_id bigint, attempt integer) returns bigint language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    v_claim bigint;
begin
    select c.id into v_claim from claim c where c.job_id = claim_of.job_id and c.attempts[1] = claim_of.attempt;
    if v_claim is null then
        select c.id into v_claim from claim c
        where claim_of.job_id = any (c.job_ids) and exists (
            select from unnest(c.job_ids, c.attempts) h (job_id, attempt) where (h.job_id,
                h.attempt) = (claim_of.job_id, claim_of.attempt));
    end if;
    return v_claim;
end
$$;

-- Says that a (job, attempt) is stale.
create function ostinato_internal.refuse_stale(job_id bigint, attempt integer) returns void language plpgsql as $$
begin
    raise exception using errcode = 'OS410',
        message = format('attempt %s of job %s is not held any more', attempt, job_id),
        detail = json_build_object('job_id', job_id, 'attempt', attempt, 'state', ostinato.job_state(job_id)),
        hint = 'Stop working on it and write nothing: the job was rescued, cancelled or finished elsewhere.';
end
$$;

-- Refuses to go on without the row of a job. It is lost, or it was moved to another partition while the parent was
-- open: a statement that waited for the old partition has a plan from before the move and a snapshot from after it, and
-- sees the row in neither place. Upkeep closes the parent (close_parent in upkeep.sql), so it does not do that.
create function ostinato_internal.refuse_moved(job_id bigint) returns text language plpgsql as $$
begin
    raise exception using errcode = '40001', message = format('job %s was moved to another partition just now', job_id),
        detail = json_build_object('job_id', job_id),
        hint = 'Nothing was changed: call again.';
end
$$;

-- Refuses to say that a job is not there if partitions were made or dropped since the caller's snapshot: a plan of now
-- looks for the job only where it is now, and a snapshot from before has it where it was. Returns null otherwise. The
-- list itself is read by snapshot in pg_inherits, and as of now by pg_partition_tree.
create function ostinato_internal.refuse_overlooked(job_id bigint) returns text language sql stable as $$
    select ostinato_internal.refuse_moved($1)
    where array(select i.inhrelid from pg_inherits i where i.inhparent = 'ostinato_data.job'::regclass order by 1)
       <> array(select t.relid::oid from pg_partition_tree('ostinato_data.job') t where t.level = 1 order by 1)
$$;

-- Finishes jobs successfully. Returns the ids of those that were refused as stale. `in_transaction`: it is part of a
-- handler's transaction, which must not lock a subscription; the caller calls leave_lanes after the commit.
create function ostinato.complete_jobs(
    claim_ids bigint[], job_ids bigint[], attempts integer[], durations integer[] default null,
    results text[] default null, in_transaction boolean default false
) returns setof bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_nestloop = off as $$
#variable_conflict use_column
declare
    v_now   constant timestamptz := ostinato.now();
    v_done  bigint[];
    v_keyed boolean;
begin
    with settled as materialized (
        select * from ostinato_internal.settle(claim_ids, job_ids, attempts)
    ), written as (
        insert into outcome (job_id, finished_at, attempt, duration_ms, worker_id, outcome, result)
        select s.job_id, v_now, s.attempt, durations[s.n], s.worker_id, 'done', results[s.n]::json from settled s
    )
    select array_agg(s.job_id), bool_or(s.keyed) into v_done, v_keyed from settled s;
    perform ostinato_internal.forget_run(v_done, v_done);
    if v_keyed then
        perform ostinato_internal.free_unique_keys(v_done, 'done'),
                ostinato_internal.count_children(v_done, 'done');
        if not in_transaction then
            perform ostinato_internal.settle_groups(v_done);
        end if;
    end if;
    if not in_transaction then
        perform ostinato_internal.end_deliveries(v_done);
    end if;
    if coalesce(cardinality(v_done), 0) < cardinality(job_ids) then
        return query select j from unnest(job_ids) j where not j = any (coalesce(v_done, '{}'));
    end if;
end
$$;

-- Clears what belongs to a run and not to the job: progress and, of jobs that ended, deferrals and the request to
-- cancel them. A request that came too late for the verb that ended the run stays for settle_cancels. It rings for
-- those who wait for an end (ends.sql).
create function ostinato_internal.forget_run(job_ids bigint[], ended bigint[]) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    -- Nearly always all of them are empty: one look is cheaper than a probe per job.
    if exists (select from job_progress) then
        delete from job_progress p where p.job_id = any (job_ids);
    end if;
    if exists (select from cancel_request) then
        delete from cancel_request r where r.job_id = any (ended);
    end if;
    if exists (select from deferral) then
        delete from deferral d where d.job_id = any (ended);
    end if;
    perform ostinato_internal.ring_ends(ended);
end
$$;

-- Finishes one job; raises OS410 when the attempt is stale. In the caller's transaction: its writes and the completion
-- commit together.
create function ostinato.complete_job(
    job_id bigint, attempt integer, result anycompatible default null::json, duration_ms integer default null,
    claim_id bigint default null
) returns void language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato.complete_jobs(
        array[coalesce(claim_id, ostinato_internal.claim_of(job_id, attempt))], array[job_id], array[attempt],
        array[duration_ms], case when result is not null then array[result::text] end, in_transaction => true);
    if found then
        perform ostinato_internal.refuse_stale(job_id, attempt);
    end if;
end
$$;

-- Holds a job for the rest of the caller's transaction, or raises OS410: guards an application's own writes. Until the
-- transaction ends, the verdicts of all jobs of its claim wait: set the job apart first (split_claims) if that takes
-- more than a moment.
create function ostinato.fence_job(job_id bigint, attempt integer, claim_id bigint default null) returns void
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_claim constant bigint := coalesce(fence_job.claim_id,
                                        ostinato_internal.claim_of(fence_job.job_id, fence_job.attempt));
begin
    perform ostinato_internal.share_claims(array[v_claim], array[fence_job.job_id], array[fence_job.attempt]);
    if not found then
        perform ostinato_internal.refuse_stale(fence_job.job_id, fence_job.attempt);
    end if;
end
$$;

-- Holds jobs for the rest of the caller's transaction, as fence_job does with one. Returns the ids of those that were
-- refused as stale: a caller that has written for one of them must not commit.
create function ostinato.fence_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[]) returns setof bigint
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_held constant bigint[] := array(
        select h.n from ostinato_internal.share_claims(claim_ids, job_ids, attempts) h);
begin
    return query select j.id from unnest(job_ids) with ordinality as j (id, n) where not j.n = any (v_held);
end
$$;

-- Ends attempts that failed: a delay in seconds schedules a retry, null makes a dead letter. A job with a cancel
-- request is cancelled instead. Returns the ids of those that were refused as stale.
create function ostinato.fail_jobs(
    claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], errors text[],
    signatures text[], reasons text[] default null, durations integer[] default null
) returns setof bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_now   constant timestamptz := ostinato.now();
    v_done  bigint[];
    v_ended bigint[];
    v_dead  bigint[];
begin
    with settled as materialized (
        select s.*, coalesce(j.queue, ostinato_internal.refuse_moved(s.job_id)) as queue, j.tenant_id, j.kind,
               errors[s.n]::json as error, delays[s.n] as delay,
               case when r.job_id is not null then 'cancelled' when delays[s.n] is null then 'dead'
                    else 'failed' end as outcome,
               ostinato_internal.place_of(j, s.position, s.attempt + 1, s.failures + 1, s.crashes) as place
        from ostinato_internal.settle(claim_ids, job_ids, attempts) s left join job j on j.id = s.job_id
        left join cancel_request r on r.job_id = s.job_id
    ), written as (
        insert into outcome (job_id, finished_at, attempt, duration_ms, worker_id, outcome, error)
        select s.job_id, v_now, s.attempt, durations[s.n], s.worker_id, s.outcome, s.error from settled s
    ), buried as (
        insert into dead_letter (job_id, attempt, died_at, kind, queue, tenant_id, reason, signature, error)
        select s.job_id, s.attempt, v_now, s.kind, s.queue, s.tenant_id, coalesce(reasons[s.n], 'failed'),
               signatures[s.n], s.error
        from settled s where s.outcome = 'dead'
    ), retried as (
        insert into scheduled select w.* from settled s
        cross join lateral ostinato_internal.scheduled_row(s.place, v_now + make_interval(secs => s.delay), 'retry') w
        where s.outcome = 'failed'
    ), freed as (
        delete from job_unique u using settled s where u.job_id = s.job_id and s.outcome <> 'failed'
          and not s.outcome = any (u.states)
    )
    select array_agg(s.job_id), array_agg(s.job_id) filter (where s.outcome = 'cancelled'),
           array_agg(s.job_id) filter (where s.outcome = 'dead')
    into v_done, v_ended, v_dead from settled s;
    perform ostinato_internal.forget_run(v_done, v_ended), ostinato_internal.end_deliveries(v_ended, v_dead),
            ostinato_internal.ring_ends(v_dead), ostinato_internal.count_children(v_dead, 'dead'),
            ostinato_internal.count_children(v_ended, 'cancelled');
    return query select j from unnest(job_ids) j where not j = any (coalesce(v_done, '{}'));
end
$$;

-- Ends one attempt that failed, see fail_jobs; raises OS410 when it is stale.
create function ostinato.fail_job(
    job_id bigint, attempt integer, error anycompatible, delay_seconds double precision default null,
    signature text default null, claim_id bigint default null
) returns void language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato.fail_jobs(
        array[coalesce(claim_id, ostinato_internal.claim_of(job_id, attempt))], array[job_id], array[attempt],
        array[delay_seconds], array[error::text],
        array[coalesce(signature, left(error::json ->> 'type', ostinato_internal.longest_name()), 'failed')]);
    if found then
        perform ostinato_internal.refuse_stale(job_id, attempt);
    end if;
end
$$;

-- Lets jobs wait and run again later, without counting a failure. A job with a cancel request is cancelled instead.
-- Crashes are forgotten: a run that ends with a verdict did not take its process down, and one that comes again for
-- months must not add up the deaths of all its workers. Returns the ids of those that were refused as stale.
create function ostinato.snooze_jobs(
    claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], reason text default 'snooze'
) returns setof bigint language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_now   constant timestamptz := ostinato.now();
    v_done  bigint[];
    v_ended bigint[];
begin
    with settled as materialized (
        select s.*, coalesce(j.queue, ostinato_internal.refuse_moved(s.job_id)) as queue,
               ostinato_internal.place_of(j, s.position, s.attempt + 1, s.failures, 0) as place,
               r.job_id is not null as cancelled, r.reason as why
        from ostinato_internal.settle(claim_ids, job_ids, attempts) s left join job j on j.id = s.job_id
        left join cancel_request r on r.job_id = s.job_id
    ), snoozed as (
        insert into scheduled select w.* from settled s
        cross join lateral ostinato_internal.scheduled_row(
            s.place, v_now + make_interval(secs => delays[s.n]), snooze_jobs.reason) w
        where not s.cancelled
    ), cancelled as (
        insert into outcome (job_id, finished_at, attempt, worker_id, outcome, error)
        select s.job_id, v_now, s.attempt, s.worker_id, 'cancelled', json_build_object('reason', s.why) from settled s
        where s.cancelled
    ), freed as (
        delete from job_unique u using settled s where u.job_id = s.job_id and s.cancelled
          and not 'cancelled' = any (u.states)
    )
    select array_agg(s.job_id), array_agg(s.job_id) filter (where s.cancelled) into v_done, v_ended from settled s;
    perform ostinato_internal.forget_run(v_done, v_ended), ostinato_internal.end_deliveries(v_ended),
            ostinato_internal.count_children(v_ended, 'cancelled');
    return query select j from unnest(job_ids) j where not j = any (coalesce(v_done, '{}'));
end
$$;

-- Ends running jobs as cancelled, with a reason each. Returns the ids of those that were refused as stale.
create function ostinato.cancel_jobs(
    claim_ids bigint[], job_ids bigint[], attempts integer[], reasons text[], durations integer[] default null
) returns setof bigint language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_done bigint[];
begin
    with settled as materialized (
        select * from ostinato_internal.settle(claim_ids, job_ids, attempts)
    ), written as (
        insert into outcome (job_id, finished_at, attempt, duration_ms, worker_id, outcome, error)
        select s.job_id, ostinato.now(), s.attempt, durations[s.n], s.worker_id, 'cancelled',
               json_build_object('reason', reasons[s.n]) from settled s
    )
    select array_agg(s.job_id) into v_done from settled s;
    perform ostinato_internal.forget_run(v_done, v_done), ostinato_internal.free_unique_keys(v_done, 'cancelled'),
            ostinato_internal.end_deliveries(v_done), ostinato_internal.count_children(v_done, 'cancelled');
    return query select j from unnest(job_ids) j where not j = any (coalesce(v_done, '{}'));
end
$$;

-- Gives jobs back untouched, to their old place in line: a worker that stops, or that took more than it can start.
-- Returns the ids of those that were refused as stale.
create function ostinato.release_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[]) returns setof bigint
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_done  bigint[];
    v_ended bigint[];
begin
    with settled as materialized (
        select s.*, coalesce(j.queue, ostinato_internal.refuse_moved(s.job_id)) as queue,
               ostinato_internal.place_of(j, s.position, s.attempt + 1, s.failures, s.crashes) as place,
               r.job_id is not null as cancelled, r.reason as why
        from ostinato_internal.settle(claim_ids, job_ids, attempts) s left join job j on j.id = s.job_id
        left join cancel_request r on r.job_id = s.job_id
    ), returned as (
        insert into ready select (s.place).* from settled s where not s.cancelled
    ), cancelled as (
        insert into outcome (job_id, finished_at, attempt, worker_id, outcome, error)
        select s.job_id, ostinato.now(), s.attempt, s.worker_id, 'cancelled', json_build_object('reason', s.why)
        from settled s where s.cancelled
    ), freed as (
        delete from job_unique u using settled s where u.job_id = s.job_id and s.cancelled
          and not 'cancelled' = any (u.states)
    )
    select array_agg(s.job_id), array_agg(s.job_id) filter (where s.cancelled) into v_done, v_ended from settled s;
    perform ostinato_internal.forget_run(v_done, v_ended), ostinato_internal.end_deliveries(v_ended),
            ostinato_internal.keep_order(v_done), ostinato_internal.count_children(v_ended, 'cancelled');
    return query select j from unnest(job_ids) j where not j = any (coalesce(v_done, '{}'));
end
$$;

-- Notes how far running jobs are; stale attempts are ignored and returned.
create function ostinato.note_progress(
    claim_ids bigint[], job_ids bigint[], attempts integer[], done double precision[], totals double precision[],
    notes text[]
) returns setof bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_held bigint[];
begin
    v_held := array(select h.n from ostinato_internal.share_claims(claim_ids, job_ids, attempts) h);
    insert into job_progress (job_id, attempt, done, total, note, updated_at)
    select distinct on (g.job_id) g.job_id, g.attempt, g.done, g.total, g.note, ostinato.now()
    from unnest(claim_ids, job_ids, attempts, note_progress.done, totals, notes)
        with ordinality g (claim_id, job_id, attempt, done, total, note, n)
    where g.n = any (v_held)
    order by g.job_id, g.n desc  -- the last word of each
    on conflict (job_id) do update set
        attempt = excluded.attempt, done = excluded.done, total = excluded.total, note = excluded.note,
        updated_at = excluded.updated_at;
    return query select g.job_id from unnest(job_ids) with ordinality g (job_id, n) where not g.n = any (v_held);
end
$$;
