-- The shelf: jobs of kinds that no living worker runs, out of the way of the others.
--
-- A claim finds jobs by their lane, and a lane holds all kinds. Jobs of a kind that nobody runs stay at its front, and
-- every claim steps over all of them. So a poll looks at both ends of the lanes of its queues: one row each, and more
-- where that is of such a kind. When it finds enough of them, they go to `scheduled` with the reason 'no_worker' and no
-- time. The poll of a worker that runs the kind brings them back, those of a first run to their old place in line.
-- doctor and why name such kinds (unrun_kinds). While a worker that runs the kind lives, even one that drains, nothing
-- is put aside: a restart is no reason. Lock order: ready rows, or scheduled rows; locked ones are left alone.

-- Sets how many jobs that nobody runs, at the ends of lanes, are put aside; fewer hold up nobody.
create function ostinato_internal.shelf_least() returns integer language sql immutable parallel safe as 'select 100';

-- Limits the jobs that a poll looks at, all lanes together. It is such a number that a lane with shelf_least of them is
-- found beside any number of lanes that have one: n - 1 + 3000 / n is never below 100.
create function ostinato_internal.shelf_sample() returns integer language sql immutable parallel safe as 'select 3000';

-- Limits the jobs that are moved to the shelf, or back, at once.
create function ostinato_internal.shelf_batch() returns integer language sql immutable parallel safe as 'select 50000';

-- Returns whether a living worker serves the queue and knows the kind.
create function ostinato_internal.is_run(queue text, kind text) returns boolean language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select exists (select from worker w where $1 = any (w.queues) and $2 = any (w.kinds)
                   and not ostinato_internal.is_expired(w.beat_at, w.expiry_seconds, ostinato.now()))
$$;

-- Returns the lanes of a queue that a poll looks at: as many as one look holds, and with more of them the next ones
-- each time, for all workers. Where to go on stands in claim_hint.
create function ostinato_internal.shelf_lanes(queue text) returns table (priority smallint, tenant_id text)
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_kinds constant text[] := array['@shelf'];  -- no kind has such a name
    v_hint  claim_hint;
    v_next  record;
begin
    select * into v_hint from claim_hint h where h.queue = shelf_lanes.queue and h.kinds = v_kinds;
    return query
    select l.priority, l.tenant_id from ostinato_internal.ready_lanes(
        shelf_lanes.queue, coalesce(v_hint.seen_priority, -32768), coalesce(v_hint.seen_tenant, '')) l;
    select l.priority, l.tenant_id into v_next from ostinato_internal.ready_lanes(
        shelf_lanes.queue, coalesce(v_hint.seen_priority, -32768), coalesce(v_hint.seen_tenant, '')) l
    offset ostinato_internal.most_lanes() - 1;
    if (v_next.priority, v_next.tenant_id) is distinct from (v_hint.seen_priority, v_hint.seen_tenant) then
        insert into claim_hint (queue, kinds, lanes, seen_priority, seen_tenant)
        values (shelf_lanes.queue, v_kinds, row(null, null, null, null, null, null, null)::ostinato_data.lanes,
                v_next.priority, v_next.tenant_id)
        on conflict on constraint claim_hint_pkey do update set
            seen_priority = excluded.seen_priority, seen_tenant = excluded.seen_tenant;
    end if;
end
$$;

-- Returns the kinds of the first and the last jobs of a lane, up to `most` of each.
create function ostinato_internal.lane_ends(queue text, priority smallint, tenant_id text, most bigint)
returns table (kind text, "position" bigint) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off set enable_bitmapscan = off as $$
    (select r.kind, r.position from ready r where r.queue = $1 and r.priority = $2 and r.tenant_id = $3
     order by r.queue, r.priority, r.tenant_id, r.position limit $4)
    union
    (select r.kind, r.position from ready r where r.queue = $1 and r.priority = $2 and r.tenant_id = $3
     order by r.queue desc, r.priority desc, r.tenant_id desc, r.position desc limit $4)
$$;

-- Returns the lanes of a queue in which a poll sees kinds that nobody runs, and those kinds. The caller runs `kinds`.
create function ostinato_internal.unrun_lanes(queue text, kinds text[])
returns table (priority smallint, tenant_id text, unrun text[]) language sql
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_hashjoin = on as $$
    with seen as materialized (
        select l.priority, l.tenant_id, e.kind from ostinato_internal.shelf_lanes($1) l
        cross join lateral ostinato_internal.lane_ends($1, l.priority, l.tenant_id, 1) e where e.kind <> all ($2)
    ), unrun as materialized (
        select k.kind from (select distinct s.kind from seen s) k where not ostinato_internal.is_run($1, k.kind)
    )
    select s.priority, s.tenant_id, array_agg(distinct s.kind) from seen s join unrun u on u.kind = s.kind
    group by s.priority, s.tenant_id
$$;

-- Puts jobs aside that nobody runs, if there are enough of them at the ends of the lanes of a queue. The caller runs
-- `kinds`. Returns how many.
create function ostinato_internal.shelve_jobs(queue text, kinds text[]) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    v_levels  smallint[];
    v_tenants text[];
    v_unrun   text[];
    v_count   bigint;
begin
    select array_agg(l.priority), array_agg(l.tenant_id) into v_levels, v_tenants
    from ostinato_internal.unrun_lanes(shelve_jobs.queue, shelve_jobs.kinds) l;
    if v_tenants is null then
        return 0;
    end if;
    select array_agg(f.kind), sum(f.n) into v_unrun, v_count from (
        select e.kind, count(*) as n from unnest(v_levels, v_tenants) l (priority, tenant_id)
        cross join lateral ostinato_internal.lane_ends(
            shelve_jobs.queue, l.priority, l.tenant_id,
            least(ostinato_internal.shelf_least(), ostinato_internal.shelf_sample() / cardinality(v_tenants))) e
        where e.kind <> all (shelve_jobs.kinds) group by e.kind) f
    where not ostinato_internal.is_run(shelve_jobs.queue, f.kind);
    if coalesce(v_count, 0) < ostinato_internal.shelf_least() then
        return 0;
    end if;
    with gone as (
        delete from ready r where r.ctid = any (array(
            select p.ctid from unnest(v_levels, v_tenants) l (priority, tenant_id) cross join lateral (
                select s.ctid from ready s
                where s.queue = shelve_jobs.queue and s.priority = l.priority and s.tenant_id = l.tenant_id
                  and s.kind = any (v_unrun)
                order by s.queue, s.priority, s.tenant_id, s.position limit ostinato_internal.shelf_batch()
                for update skip locked) p
            limit ostinato_internal.shelf_batch()))
        returning ostinato_internal.place_in_line(r) as place
    )
    insert into scheduled select w.* from gone g
    cross join lateral ostinato_internal.scheduled_row(g.place, timestamptz '9000-01-01 00:00:00+00', 'no_worker') w;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;

-- Returns the queues and kinds of the jobs that stand aside: a loose index scan.
create function ostinato_internal.shelf_kinds() returns table (queue text, kind text) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off
set enable_bitmapscan = off as $$
    with recursive shelf as (
        (select s.queue, s.kind from scheduled s where s.reason = 'no_worker' order by s.queue, s.kind limit 1)
        union all
        select n.queue, n.kind from shelf l cross join lateral (
            select s.queue, s.kind from scheduled s
            where s.reason = 'no_worker' and (s.queue, s.kind) > (l.queue, l.kind)
            order by s.queue, s.kind limit 1) n
    )
    select l.queue, l.kind from shelf l limit ostinato_internal.most_rows()
$$;

-- Brings jobs back that a worker runs, oldest first; returns how many. Those of a first run get their old position.
create function ostinato_internal.unshelve_jobs(worker_id uuid) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off
set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    v_count integer;
begin
    with gone as (
        delete from scheduled s where s.ctid = any (array(
            select d.ctid from worker w cross join ostinato_internal.shelf_kinds() k cross join lateral (
                select s.ctid from scheduled s where s.reason = 'no_worker' and s.queue = k.queue and s.kind = k.kind
                order by s.job_id limit ostinato_internal.shelf_batch() for update skip locked) d
            where w.id = unshelve_jobs.worker_id and k.queue = any (w.queues) and k.kind = any (w.kinds)
            limit ostinato_internal.shelf_batch()))
        returning s as was
    )
    insert into ready select r.*
    from (select o.was, case when (o.was).attempt = 1 then (o.was).job_id else ostinato.new_id() end as at
          from (select g.was from gone g order by (g.was).job_id) o) g
    cross join lateral ostinato_internal.ready_row(g.was, g.at) r;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;

-- Does what a poll does for the shelf: brings back what this worker runs, and puts aside what nobody runs in its
-- queues. It fails apart from the rest of the poll. Returns how many came back.
create function ostinato_internal.tidy_shelf(worker_id uuid, queues text[]) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_back integer := 0;
begin
    if exists (select from scheduled s where s.reason = 'no_worker') then
        v_back := ostinato_internal.unshelve_jobs(tidy_shelf.worker_id);
    end if;
    perform ostinato_internal.shelve_jobs(q, w.kinds) from worker w cross join unnest(tidy_shelf.queues) q
    where w.id = tidy_shelf.worker_id;
    return v_back;
exception when others then
    perform ostinato_internal.note_fault('shelf', sqlstate, sqlerrm);
    return 0;
end
$$;

-- Returns the kinds that wait and that no living worker runs, with how many of their jobs were counted: those that
-- stand aside, and those among the first and the last of each lane, ready_cap in a queue.
create function ostinato.unrun_kinds() returns table (queue text, kind text, jobs bigint) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off as $$
    select w.queue, w.kind, sum(w.jobs)::bigint from (
        select k.queue, k.kind, c.n as jobs from ostinato_internal.shelf_kinds() k cross join lateral (
            select count(*) as n from (
                select from scheduled s where s.reason = 'no_worker' and s.queue = k.queue and s.kind = k.kind
                limit ostinato_internal.place_cap()) s) c
        union all
        select q.name, r.kind, count(*) from ostinato.list_queues() q
        cross join lateral (
            select l.*, count(*) over () as lanes from ostinato_internal.ready_lanes(
                q.name, most => ostinato_internal.most_rows()) l) l
        cross join lateral ostinato_internal.lane_ends(
            q.name, l.priority, l.tenant_id, ostinato_internal.ready_cap() / (2 * l.lanes)) r
        group by q.name, r.kind) w
    where not ostinato_internal.is_run(w.queue, w.kind) group by w.queue, w.kind order by w.queue, w.kind
$$;

-- Returns the same as the source of an alert.
create function ostinato.unrun_kind_jobs() returns table (label text, value double precision) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off as $$
    select k.kind, sum(k.jobs)::double precision from ostinato.unrun_kinds() k
    group by k.kind order by k.kind limit ostinato_internal.most_rows()
$$;

-- Gives jobs of a kind another name: those that wait, lie dead or stand aside, at most `most` of them, and all its
-- schedules. Those that waited in the queue of the old kind go to that of the new one. What runs keeps its name. For
-- the installation only. Returns how many jobs it renamed; call it until that is zero.
create function ostinato.rekind_jobs(old text, new text, most integer default 5000) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
    v_old   constant text := rekind_jobs.old;
    v_new   constant text := rekind_jobs.new;
    v_from  constant text := (select k.queue from kind k where k.name = v_old);
    v_to    constant text := (select k.queue from kind k where k.name = v_new);
    v_ids   bigint[];
begin
    if not ostinato_internal.sees_all() then
        raise exception using errcode = 'OS403', message = 'a tenant cannot rename jobs of all tenants',
            detail = json_build_object('old', v_old, 'new', v_new), hint = 'Ask who looks after the installation.';
    end if;
    if v_to is null then
        raise exception using errcode = 'OS404', message = format('no worker has declared the kind %L', v_new),
            detail = json_build_object('kind', v_new),
            hint = 'Start a worker whose app declares it, then rename the jobs.';
    end if;
    if exists (select from subscription s where s.kind in (v_old, v_new))
       or exists (select from kind k where k.name in (v_old, v_new) and k.secret_args <> '{}') then
        raise exception using errcode = 'OS400',
            message = format('jobs of %L cannot be renamed to %L: events and sealed arguments belong to their kind',
                             v_old, v_new),
            detail = json_build_object('old', v_old, 'new', v_new),
            hint = format('Let the new kind run them under the old name: @app.job(aliases=(''%s'',))', v_old);
    end if;
    update schedule s set kind = v_new where s.kind = v_old;
    with waiting as materialized (
        select r.job_id from ready r where r.kind = v_old order by r.job_id limit most for update skip locked
    ), later as materialized (
        select s.job_id from scheduled s where s.kind = v_old order by s.job_id limit most for update skip locked
    ), dead as materialized (
        select d.job_id from dead_letter d where d.kind = v_old order by d.job_id limit most for update skip locked
    ), moved_ready as (
        update ready r set kind = v_new, queue = case when r.queue = v_from then v_to else r.queue end
        from waiting w where r.job_id = w.job_id and r.kind = v_old returning r.job_id
    ), moved_later as (
        update scheduled s set kind = v_new, queue = case when s.queue = v_from then v_to else s.queue end
        from later w where s.job_id = w.job_id returning s.job_id
    ), moved_dead as (
        update dead_letter d set kind = v_new, queue = case when d.queue = v_from then v_to else d.queue end
        from dead w where d.job_id = w.job_id returning d.job_id
    )
    select array_agg(m.job_id) into v_ids from (
        select job_id from moved_ready union all select job_id from moved_later union all select job_id from moved_dead
    ) m;
    update job j set kind = v_new, queue = case when j.queue = v_from then v_to else j.queue end
    where j.id = any (v_ids);
    perform ostinato_internal.record(
        'rekind', 'kind', v_old, job_ids => v_ids[:1000], count => coalesce(cardinality(v_ids), 0),
        detail => json_build_object('to', v_new));
    return coalesce(cardinality(v_ids), 0);
end
$$;

-- Returns why a job waits that stands aside; no row for others.
create function ostinato_internal.why_shelved(job_id bigint) returns setof ostinato_data.reason language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select 'shelved',
        format('Job %s stands aside, out of the way of others, because no worker ran the kind %L in queue %L. A worker'
               ' that does brings it back with its next poll.', $1, s.kind, s.queue),
        json_build_object('queue', s.queue, 'kind', s.kind, 'attempt', s.attempt),
        'Start a worker whose app declares this kind, or check its spelling with: ostinato workers'
    from scheduled s where s.job_id = $1 and s.reason = 'no_worker'
$$;
