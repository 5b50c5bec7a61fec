-- Quarantine: one row that is missing or damaged must not stop the engine.
--
-- A place (a ready row, an entry of a claim) names a job. When the row of that job is gone, or cannot be read, every
-- verb that meets it fails, and with it the whole batch: a claim, a rescue, a poll. So the place is set aside, and
-- everything else goes on. doctor, an alert and the figure quarantined_jobs name it; restore_job puts it back once it
-- is repaired.
--
-- A row may be missing only for a moment: upkeep moves rows between partitions under a lock, and a statement that
-- waited for it has a snapshot from before (see refuse_moved). So nothing is set aside unless upkeep is kept out
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

-- Sets ready rows of a queue aside whose jobs are missing or damaged, among the first `most` of them. Returns their
-- ids.
create function ostinato_internal.set_aside_ready(queue text, most integer default 20000) returns setof bigint
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    if not ostinato_internal.stop_upkeep() then
        return;
    end if;
    return query
    with bad as materialized (
        select f.row_id, d.damage from (
            select r.ctid as row_id, r.job_id from ready r where r.queue = set_aside_ready.queue
            order by r.queue, r.priority, r.tenant_id, r.position limit most for update skip locked) f
        cross join lateral (select ostinato_internal.job_damage(f.job_id) as damage) d where d.damage is not null
    ), gone as (
        delete from ready r using bad b where r.ctid = b.row_id
        returning r.job_id, r.attempt, r.failures, r.crashes, r.queue, b.damage
    )
    insert into quarantine as q (job_id, attempt, failures, crashes, found_at, place, queue, damage)
    select g.job_id, g.attempt, g.failures, g.crashes, ostinato.now(), 'ready', g.queue, g.damage from gone g
    on conflict (job_id) do update set
        attempt = excluded.attempt, found_at = excluded.found_at, place = excluded.place, damage = excluded.damage
    returning q.job_id;
end
$$;

-- Sets aside what a worker cannot claim: damaged jobs at the front of its queues, and in claims of its own that never
-- reached it (`held` are the jobs that it knows). A worker asks for it when a claim fails by an error of the data.
-- Returns their ids.
create function ostinato.set_aside_damaged(worker_id uuid, queues text[], held bigint[]) returns setof bigint
language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select s from (
        select array_agg(c.id) as claims, array_agg(h.job_id) as jobs, array_agg(h.attempt) as attempts
        from claim c cross join unnest(c.job_ids, c.attempts) h (job_id, attempt)
        where c.worker_id = $1 and not h.job_id = any ($3)) u
    cross join lateral ostinato.set_aside_held(u.claims, u.jobs, u.attempts) s
    union all
    select s from unnest($2) q cross join lateral ostinato_internal.set_aside_ready(q) s
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

-- Notes that a part of a poll failed; what may be over at the next poll (a conflict with another transaction) is not
-- noted.
create function ostinato_internal.note_fault(part text, state text, message text) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    if note_fault.state in ('40001', '40P01', '55P03') then
        return;
    end if;
    raise warning 'ostinato: % failed: % (%)', note_fault.part, note_fault.message, note_fault.state;
    insert into fault as f (part, times, first_at, last_at, state, message)
    values (note_fault.part, 1, ostinato.now(), ostinato.now(), note_fault.state,
            left(note_fault.message, ostinato_internal.longest_text()))
    on conflict (part) do update set
        times = f.times + 1, last_at = excluded.last_at, state = excluded.state, message = excluded.message;
end
$$;

-- Notes that something outside the database that a worker needs, such as a broker, does not answer. Only workers may
-- write the table.
create function ostinato.note_fault(part text, message text) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ostinato_internal.note_fault($1, '08001', $2)
$$;

-- Returns the parts of polls that failed within the last minutes, with their last error.
create function ostinato.list_faults(within interval default '5 minutes') returns setof ostinato_data.fault
language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select f.* from fault f where f.last_at > ostinato.now() - $1 order by f.part
$$;
