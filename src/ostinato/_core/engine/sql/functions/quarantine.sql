-- Quarantine: one row that is missing or damaged must not stop the engine.
--
-- A place (a ready row, an entry of a claim) names a job. When the row of that job is gone, or cannot be read, every
-- verb that meets it fails, and with it the whole batch: a claim, a rescue, a poll. So the place is set aside, and
-- everything else goes on. doctor, an alert and the figure quarantined_jobs name it; restore_job puts it back once it
-- is repaired.
--
-- A row may be missing only for a moment, to a statement that waited while rows were moved between partitions (see
-- refuse_moved). Upkeep closes their parent to prevent that. Still, nothing is set aside unless upkeep is kept out
-- (stop_upkeep) and a statement that began after that finds the job missing. Lock order: the lock of upkeep, without
-- waiting; then claims, then ready rows.

-- Keeps upkeep out for the rest of the transaction; false: it is at work now, so ask again later.
create function ostinato_internal.stop_upkeep() returns boolean language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    lock table only ostinato_data.job in share update exclusive mode nowait;
    return true;
exception when lock_not_available then
    return false;
end
$$;

-- Returns what is wrong with the row of a job; null when it can be read. The caller keeps upkeep out.
create function ostinato_internal.job_damage(job_id bigint) returns text language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_job job;
begin
    select * into v_job from job j where j.id = job_damage.job_id;
    if v_job.id is null then
        return 'its row is missing';
    end if;
    -- Reads every column whole, and checks their bytes: the server sends text as it is, and the client decodes it.
    perform convert_from(textsend(v_job::text), getdatabaseencoding()), v_job.args::text::json;
    return null;
exception when others then
    return format('its row cannot be read: %s (%s)', sqlerrm, sqlstate);
end
$$;

-- Sets held jobs aside whose rows are missing or damaged, and leaves the others as they are. Returns the ids of those
-- that were set aside; none while upkeep is at work.
create function ostinato.set_aside_held(claim_ids bigint[], job_ids bigint[], attempts integer[]) returns setof bigint
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_bad record;
begin
    if not ostinato_internal.stop_upkeep() then
        return;
    end if;
    select array_agg(g.claim_id) as claims, array_agg(g.job_id) as jobs, array_agg(g.attempt) as attempts,
           array_agg(d.damage) as damage
    into v_bad
    from unnest(claim_ids, job_ids, attempts) g (claim_id, job_id, attempt)
    cross join lateral (select ostinato_internal.job_damage(g.job_id) as damage) d where d.damage is not null;
    if v_bad.jobs is null then
        return;
    end if;
    return query
    insert into quarantine as q (job_id, attempt, failures, crashes, found_at, place, queue, worker_id, damage)
    select s.job_id, s.attempt, s.failures, s.crashes, ostinato.now(), 'claim', c.queue, s.worker_id, v_bad.damage[s.n]
    from ostinato_internal.settle(v_bad.claims, v_bad.jobs, v_bad.attempts) s
    join claim c on c.id = v_bad.claims[s.n]  -- as it was before: this statement began earlier
    on conflict (job_id) do update set
        attempt = excluded.attempt, found_at = excluded.found_at, place = excluded.place, damage = excluded.damage
    returning q.job_id;
end
$$;

-- Sets everything aside in one claim that is missing or damaged.
create function ostinato_internal.set_aside_claim(claim_id bigint) returns setof bigint language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select s from claim c cross join lateral ostinato.set_aside_held(
        array_fill(c.id, array[cardinality(c.job_ids)]), c.job_ids, c.attempts) s
    where c.id = $1
$$;

-- Sets waiting jobs of a queue aside that are missing or damaged. They are found by their ids alone, because the row
-- that names the lane may be gone: where a job moved (a retry) there is an index, and a first run stands in its lane at
-- the position of its id, so that each lane costs one probe. Returns their ids; none while upkeep is at work.
create function ostinato_internal.set_aside_waiting(queue text, job_ids bigint[]) returns setof bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_bad      bigint[];
    v_rows     tid[];
    v_levels   smallint[];
    v_tenants  text[];
    v_found    integer := 0;
    v_priority integer := -32768;
    v_tenant   text := '';
begin
    if not ostinato_internal.stop_upkeep() then
        return;
    end if;
    v_bad := array(select distinct j from unnest(set_aside_waiting.job_ids) j
                   where ostinato_internal.job_damage(j) is not null);
    if v_bad = '{}' then
        return;
    end if;
    v_rows := array(select r.ctid from ready r where r.job_id = any (v_bad) and r.position <> r.job_id
                      and r.queue = set_aside_waiting.queue for update skip locked);
    loop  -- over all lanes, so many at a time as one look holds
        select array_agg(l.priority order by l.priority, l.tenant_id),
               array_agg(l.tenant_id order by l.priority, l.tenant_id), count(*)
        into v_levels, v_tenants, v_found
        from ostinato_internal.ready_lanes(set_aside_waiting.queue, v_priority, v_tenant) l;
        v_rows := v_rows || array(
            select p.ctid from unnest(v_levels, v_tenants) l (priority, tenant_id) cross join unnest(v_bad) b (job_id)
            cross join lateral (
                select r.ctid from ready r
                where r.queue = set_aside_waiting.queue and r.priority = l.priority and r.tenant_id = l.tenant_id
                  and r.position = b.job_id and r.job_id = b.job_id for update skip locked) p);
        exit when v_found < ostinato_internal.most_lanes() or cardinality(v_rows) >= cardinality(v_bad);
        v_priority := v_levels[v_found];
        v_tenant := v_tenants[v_found];
    end loop;
    return query
    with gone as (
        delete from ready r where r.ctid = any (v_rows)
        returning r.job_id, r.attempt, r.failures, r.crashes, r.queue, 'ready' as place
    ), behind as (  -- a claim takes those along that stand behind what it takes (take_followers)
        delete from scheduled s
        where s.job_id = any (v_bad) and s.queue = set_aside_waiting.queue and s.reason = 'behind'
        returning s.job_id, s.attempt, s.failures, s.crashes, s.queue, 'scheduled' as place
    )
    insert into quarantine as q (job_id, attempt, failures, crashes, found_at, place, queue, damage)
    select g.job_id, g.attempt, g.failures, g.crashes, ostinato.now(), g.place, g.queue,
           ostinato_internal.job_damage(g.job_id)
    from (select * from gone union all select * from behind) g
    on conflict (job_id) do update set
        attempt = excluded.attempt, found_at = excluded.found_at, place = excluded.place, damage = excluded.damage
    returning q.job_id;
end
$$;

-- Returns what a claim of a worker would take from a queue now, and takes nothing: the functions of a claim take it, in
-- its order and within its limits, and that is undone. So no rule about the order is written twice.
create function ostinato_internal.next_jobs(worker_id uuid, queue text, most integer) returns bigint[] language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_queue queue;
    v_kinds text[];
    v_batch batch;
begin
    select w.kinds into v_kinds from worker w where w.id = next_jobs.worker_id;
    begin
        select * into v_queue from queue q where q.name = next_jobs.queue for update;
        if v_queue.key_concurrency is not null or v_queue.key_rate_count is not null then
            v_batch := ostinato_internal.take_limited(v_queue, most, v_kinds, suspects => true);
        else
            delete from claim_hint h where h.queue = next_jobs.queue;  -- it may lead past the front
            v_batch := ostinato_internal.take_lanes(next_jobs.queue, most, v_kinds, null, suspects => true,
                                                    limited => true);
        end if;
        v_batch := (ostinato_internal.take_followers(next_jobs.queue, v_queue, 2 * most, v_batch)).batch;
        raise exception using errcode = '40000', message = 'nothing was taken';
    exception when sqlstate '40000' then
        return v_batch.job_ids;
    end;
end
$$;

-- Sets aside what is missing or damaged among the next `most` jobs that a worker would claim from a queue. Returns
-- their ids.
create function ostinato_internal.set_aside_next(worker_id uuid, queue text, most integer default 1000)
returns setof bigint language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select s from ostinato_internal.set_aside_waiting($2, ostinato_internal.next_jobs($1, $2, $3)) s
$$;

-- Sets aside what a worker cannot claim: the jobs that the error of its claim named, others that are damaged among the
-- next ones of its queues, and in claims of its own that never reached it (`held` are the jobs that it knows). A worker
-- asks for it when a claim fails by an error of the data, and says which. If nothing is found to set aside, that is
-- noted as a fault of these claims. Returns their ids.
create function ostinato.set_aside_damaged(
    worker_id uuid, queues text[], held bigint[], named bigint[] default '{}', state text default null,
    message text default null
) returns setof bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_found bigint[];
begin
    v_found := array(
        select s from (
            select array_agg(c.id) as claims, array_agg(h.job_id) as jobs, array_agg(h.attempt) as attempts
            from claim c cross join unnest(c.job_ids, c.attempts) h (job_id, attempt)
            where c.worker_id = set_aside_damaged.worker_id and not h.job_id = any (set_aside_damaged.held)) u
        cross join lateral ostinato.set_aside_held(u.claims, u.jobs, u.attempts) s);
    v_found := v_found || array(select s from unnest(queues) q
        cross join lateral ostinato_internal.set_aside_waiting(q, set_aside_damaged.named) s);
    begin
        v_found := v_found || array(select s from unnest(queues) q
            cross join lateral ostinato_internal.set_aside_next(set_aside_damaged.worker_id, q) s);
    exception when others then  -- told below, unless something was found
        state := coalesce(set_aside_damaged.state, sqlstate);
        message := coalesce(set_aside_damaged.message, sqlerrm);
    end;
    if v_found = '{}' and set_aside_damaged.state is not null then
        perform ostinato_internal.note_fault('claim from ' || q, set_aside_damaged.state, set_aside_damaged.message, q,
                                             set_aside_damaged.named[1])
        from unnest(queues) q;
    end if;
    return query select distinct f from unnest(v_found) f;
end
$$;

-- Returns what is set aside, newest first.
create function ostinato.list_quarantine() returns setof ostinato_data.quarantine language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select q.* from quarantine q order by q.found_at desc, q.job_id
$$;

-- Puts a job back that was set aside, now that its row was repaired: it is ready again, attempt + 1. Refuses (OS412)
-- while it is damaged; `discard` gives it up instead.
create function ostinato.restore_job(job_id bigint, discard boolean default false) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_row    quarantine;
    v_damage text;
begin
    delete from quarantine q where q.job_id = restore_job.job_id returning * into v_row;
    if v_row.job_id is null then
        raise exception using errcode = 'OS404', message = format('job %s is not in quarantine', restore_job.job_id),
            detail = json_build_object('job_id', restore_job.job_id),
            hint = 'See: select * from ostinato.list_quarantine()';
    end if;
    perform ostinato_internal.record(case when discard then 'discard' else 'restore' end, 'job',
                                     restore_job.job_id::text, job_ids => array[restore_job.job_id]);
    if discard then
        return;
    end if;
    v_damage := ostinato_internal.job_damage(restore_job.job_id);
    if v_damage is not null then
        raise exception using errcode = 'OS412',
            message = format('job %s cannot be restored: %s', restore_job.job_id, v_damage),
            detail = json_build_object('job_id', restore_job.job_id, 'damage', v_damage),
            hint = 'Repair its row in ostinato_data.job first, from a backup; or give it up with discard => true.';
    end if;
    perform ostinato_internal.make_ready(v_row.job_id, ostinato.new_id(), v_row.attempt + 1, v_row.failures,
                                         v_row.crashes);
end
$$;

-- Returns why a job does nothing that was set aside; no row for others.
create function ostinato_internal.why_quarantined(job_id bigint) returns setof ostinato_data.reason language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select 'quarantined',
        format('Job %s was set aside at %s, because %s.', $1, ostinato_internal.say_time(q.found_at), q.damage),
        json_build_object('found_at', q.found_at, 'place', q.place, 'attempt', q.attempt, 'damage', q.damage),
        format('Repair its row, then: select ostinato.restore_job(%1$s). To give it up:'
               ' select ostinato.restore_job(%1$s, discard => true)', $1)
    from quarantine q where q.job_id = $1
$$;

-- Notes that a part of a poll, or the claims from a queue, failed. What may be over at the next try, a conflict with
-- another transaction, is not noted; but one about a single job (refuse_moved) is counted by that job, because it comes
-- again and again when the row is in no partition: list_faults names it from the second time on.
create function ostinato_internal.note_fault(
    part text, state text, message text, queue text default null, job_id bigint default null
) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now   constant timestamptz := ostinato.now();
    v_job   constant bigint := case when note_fault.state = '40001' then
        coalesce(note_fault.job_id, substring(note_fault.message from '^job (\d+) ')::bigint) end;
    v_times bigint;
begin
    if note_fault.state in ('40P01', '55P03') or (note_fault.state = '40001' and v_job is null) then
        return;
    end if;
    insert into fault as f (part, times, first_at, last_at, state, message, queue, job_id)
    values (note_fault.part || coalesce(', job ' || v_job, ''), 1, v_now, v_now, note_fault.state,
            left(note_fault.message, ostinato_internal.longest_text()), note_fault.queue, v_job)
    on conflict (part) do update set
        times = case when f.last_at < v_now - ostinato_internal.fault_lasts() then 1 else f.times + 1 end,
        first_at = case when f.last_at < v_now - ostinato_internal.fault_lasts() then v_now else f.first_at end,
        last_at = v_now, state = excluded.state, message = excluded.message, queue = excluded.queue
    returning f.times into v_times;
    if v_job is null or v_times > 1 then
        raise warning 'ostinato: % failed: % (%)', note_fault.part, note_fault.message, note_fault.state;
    end if;
end
$$;

-- Keeps a fault on the list for so long after it came last; then it starts over.
create function ostinato_internal.fault_lasts() returns interval language sql immutable parallel safe as $$
    select interval '5 minutes' $$;

-- Notes that something outside the database that a worker needs, such as a broker, does not answer. Only workers may
-- write the table.
create function ostinato.note_fault(part text, message text) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ostinato_internal.note_fault($1, '08001', $2)
$$;

-- Returns the parts of polls, and the claims from queues, that failed within the last minutes, with their last error.
-- A job that was in the way once may have been moved just then, so that is no fault.
create function ostinato.list_faults(within interval default '5 minutes') returns setof ostinato_data.fault
language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select f.* from fault f where f.last_at > ostinato.now() - $1 and (f.job_id is null or f.times > 1) order by f.part
$$;
