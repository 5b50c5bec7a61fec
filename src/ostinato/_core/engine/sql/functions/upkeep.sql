-- Upkeep: the weekly partitions of job, outcome and step, and what else grows old. Any worker calls it now and then, in
-- a transaction of its own; what cannot be done now is said and left to the next call.
--
-- A week is a range of ids (see ostinato.new_id): seven days counted from 2026-01-01. The default partitions hold what
-- no week covers: jobs that outlived their week, and everything for as long as upkeep has not run.
--
-- Never in the way of work: a lock is waited for 300 ms at the most, so that those behind us wait no longer; and
-- 100 ms once a parent is closed, for then everybody waits.
-- The strong locks (the default partition to add a week, everything to drop one, or to move rows) come last and cover
-- only work in bounded numbers; the long look for what a week still holds that is needed goes before, beside running
-- work.
--
-- Rows change their partition only while their parent is closed to everybody (access exclusive). A query reads the list
-- of partitions while it holds the parent, then waits for a partition, and may look with a snapshot from after that:
-- if only the default partition were locked, it would not look into the new one, and take its rows for missing.
--
-- What may go wrong: a lock is not free (skipped, tried again by the next call); the default partition holds too much
-- to be searched or moved beside running work (skipped; `thorough` does it all the same, for a quiet hour); an old week
-- holds too many jobs that are needed (kept until they are fewer).
-- Lock order: an old week of job, then the parents job, outcome, step, then their default partitions in the same order.

-- Returns the week of a time.
create function ostinato.week_of(at timestamptz) returns integer language sql immutable as $$
    select (ostinato_internal.first_id($1) / (7 * ostinato_internal.ids_of_a_day()))::integer
$$;

-- Returns the first id of a week.
create function ostinato_internal.week_id(week integer) returns bigint language sql immutable as $$
    select week * 7 * ostinato_internal.ids_of_a_day()
$$;

-- Returns the name of a week's partition, such as job_20260101.
create function ostinato_internal.week_name(parent text, week integer) returns text language sql immutable as $$
    select $1 || to_char(date '2026-01-01' + 7 * $2, '_YYYYMMDD')
$$;

-- Returns the weeks that have their partitions.
create function ostinato.existing_weeks() returns setof integer language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select (to_date(substring(c.relname from '^job_(\d{8})$'), 'YYYYMMDD') - date '2026-01-01') / 7
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'ostinato_data.job'::regclass and c.relname ~ '^job_\d{8}$'
    order by 1
$$;

-- Makes the partitions of this week and the weeks ahead, drops one that is past retention, and prunes what is old.
-- Returns a row for each thing done (created, dropped, pruned) or left (kept, skipped), with the rows concerned.
create function ostinato.upkeep_partitions(
    retention_days integer, weeks_ahead integer default 4, thorough boolean default false
) returns table (action text, name text, reason text, rows bigint) language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp set lock_timeout = '300ms' as $$
declare
    v_now    constant timestamptz := ostinato.now();
    v_cutoff timestamptz;
    v_weeks  integer[];
    v_week   integer;
    v_ended  boolean := false;
begin
    if retention_days is null or retention_days < 1 or weeks_ahead is null or weeks_ahead not between 0 and 52 then
        raise exception using errcode = 'OS400',
            message = format('retention of %s days and %s weeks ahead', retention_days, weeks_ahead),
            detail = json_build_object('retention_days', retention_days, 'weeks_ahead', weeks_ahead),
            hint = 'Keep finished jobs for a day or longer, and make 0 to 52 weeks ahead.';
    end if;
    begin
        lock table only ostinato_data.job in share update exclusive mode nowait;
    exception when lock_not_available then
        return query select 'skipped', 'job', 'another upkeep is at work', null::bigint;
        return;
    end;
    v_cutoff := v_now - make_interval(days => retention_days);
    return query select * from ostinato_internal.prune_leftovers(v_cutoff);
    return query select * from ostinato_internal.prune_default(v_cutoff);
    v_weeks := array(select g from generate_series(ostinato.week_of(v_now), ostinato.week_of(v_now) + weeks_ahead) g
                     except select ostinato.existing_weeks() order by 1);
    foreach v_week in array v_weeks loop
        return query select * from ostinato_internal.add_week(v_week, thorough);
    end loop;
    for v_week in
        select w from ostinato.existing_weeks() w
        where ostinato_internal.week_id(w + 1) <= ostinato_internal.first_id(v_cutoff) order by w
    loop
        -- Dropping looks for long before it locks: not behind locks that are held already.
        if v_ended or cardinality(v_weeks) > 0 then
            return query select 'kept', ostinato_internal.week_name('job', v_week),
                'past retention; the next call drops it', null::bigint;
        else
            return query select * from ostinato_internal.drop_week(v_week, v_cutoff, thorough);
            v_ended := not v_week in (select ostinato.existing_weeks());
        end if;
    end loop;
end
$$;

-- Makes the partitions of a week and moves what the default partitions hold of it. Attaching a table that is ready
-- leaves the parents open to work, which `create table … partition of` would not: they are closed only if rows of the
-- week are there, or may be written now.
create function ostinato_internal.add_week(week integer, thorough boolean)
returns table (action text, name text, reason text, rows bigint)
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_job        constant text := ostinato_internal.week_name('job', week);
    -- So much is moved in the time that writers can wait for: jobs of the week, and bytes to be looked through.
    v_most       constant integer := 20000;
    v_most_bytes constant bigint := 256 * 1024 * 1024;
    v_there      bigint;
    v_closed     boolean[];
begin
    v_there := (select count(*) from (
        select from job_default j where j.id >= ostinato_internal.week_id(week)
          and j.id < ostinato_internal.week_id(week + 1)
        limit v_most + 1) d);
    if not thorough and (v_there > v_most or pg_relation_size('job_default') + pg_relation_size('outcome_default')
                                             + pg_relation_size('step_default') > v_most_bytes) then
        return query
            select 'skipped', v_job,
            'the default partition holds too much to go through beside running work; in a quiet hour,'
            ' call upkeep_partitions with thorough => true', v_there;
        return;
    end if;
    perform ostinato_internal.make_partition(p.name, ostinato_internal.week_name(p.name, week))
        from unnest('{job,outcome,step}'::text[]) p (name);
    v_closed := array[ostinato_internal.close_parent('job', 'id', week),
                      ostinato_internal.close_parent('outcome', 'job_id', week),
                      ostinato_internal.close_parent('step', 'job_id', week)];
    lock table ostinato_data.job_default, ostinato_data.outcome_default, ostinato_data.step_default
        in access exclusive mode;
    return query select 'created', p.week, case when p.moved > 0 then 'its rows were moved from the default partition'
        else 'new' end, p.moved
    from (select ostinato_internal.week_name(t.name, week) as week,
                 ostinato_internal.fill_week(t.name, t.id, week, t.closed) as moved
          from (values ('job', 'id', v_closed[1]), ('outcome', 'job_id', v_closed[2]), ('step', 'job_id', v_closed[3]))
              t (name, id, closed)) p;
exception when lock_not_available or deadlock_detected then
    return query select 'skipped', v_job, 'the locks were not free within 300 ms; the next call tries again', v_there;
end
$$;

-- Closes a parent to everybody until we commit, if its default partition holds rows of the week, or if such rows may be
-- written now. Nobody gets as far as to choose among the partitions, then: a reader that chose the default one and
-- waited there for us would miss the rows (see above), and so would an insert, whose partition takes its row no longer.
-- A week that is still ahead has no rows, and its parent stays open. Returns whether it is closed.
create function ostinato_internal.close_parent(parent text, id text, week integer) returns boolean language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_closed boolean := week <= ostinato.week_of(ostinato.now()) + 1;  -- the next one may begin before we commit
begin
    if not v_closed then
        execute format('select exists (select from ostinato_data.%I where %I >= $1 and %I < $2)', parent || '_default',
                       id, id)
            into v_closed using ostinato_internal.week_id(week), ostinato_internal.week_id(week + 1);
    end if;
    if v_closed then
        execute format('lock table only ostinato_data.%I in access exclusive mode', parent);
        perform set_config('lock_timeout', '100ms', true);  -- everybody waits for us now
    end if;
    return v_closed;
end
$$;

-- Moves what the default partition of a parent holds of a week into the table made for it, and attaches that. The
-- caller holds the lock of the default partition. Refuses to move rows beside readers, if any came since the parent was
-- left open. Returns how many rows were moved.
create function ostinato_internal.fill_week(parent text, id text, week integer, closed boolean) returns bigint
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_name  constant text := ostinato_internal.week_name(parent, week);
    v_moved bigint;
begin
    execute format('with old as (delete from ostinato_data.%I where %I >= $1 and %I < $2 returning *) insert into '
                   'ostinato_data.%I select * from old', parent || '_default', id, id, v_name)
        using ostinato_internal.week_id(week), ostinato_internal.week_id(week + 1);
    get diagnostics v_moved = row_count;
    if v_moved > 0 and not closed then
        raise exception using errcode = 'lock_not_available', message = format('%s is open to readers', parent);
    end if;
    execute format('alter table ostinato_data.%I attach partition ostinato_data.%I for values from (%s) to (%s)',
                   parent, v_name, ostinato_internal.week_id(week), ostinato_internal.week_id(week + 1));
    return v_moved;
end
$$;

-- Makes a table like a parent, closed and opened as that is, to become a partition of it.
create function ostinato_internal.make_partition(parent text, name text) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_rights constant text := (
        select string_agg(r, ', ') from unnest('{select,insert,update,delete}'::text[]) r
        where has_table_privilege('ostinato_worker', format('ostinato_data.%I', parent), r));
begin
    execute format('create table ostinato_data.%I (like ostinato_data.%I including all)', name, parent);
    execute format('alter table ostinato_data.%I enable row level security, force row level security', name);
    execute format('create policy engine on ostinato_data.%I to ostinato_owner, ostinato_worker using (true) with '
                   'check (true)', name);
    execute format('grant %s on ostinato_data.%I to ostinato_worker', v_rights, name);
end
$$;

-- Returns the jobs of a range of ids that retention spares: those that are not finished, or finished after the cutoff,
-- and those whose parent has not ended and may still read their results.
create function ostinato_internal.needed_jobs(first bigint, behind bigint, cutoff timestamptz) returns setof bigint
language sql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select s.job_id from scheduled s where s.job_id >= $1 and s.job_id < $2
    union select r.job_id from ready r where r.job_id >= $1 and r.job_id < $2
    union select h from claim c cross join unnest(c.job_ids) h where h >= $1 and h < $2
    union select d.job_id from dead_letter d where d.job_id >= $1 and d.job_id < $2
    union select o.job_id from outcome o where o.job_id >= $1 and o.job_id < $2 and o.finished_at > $3
    union select j.id from job_group g join job j on j.group_id = g.id and j.id >= $1 and j.id < $2
    where ostinato_internal.is_awaited(g.id, g.tenant_id)
$$;

-- Drops the partitions of a week that is past retention; what is still needed of it moves to the default partitions.
create function ostinato_internal.drop_week(week integer, cutoff timestamptz, thorough boolean)
returns table (action text, name text, reason text, rows bigint) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_job     constant text := ostinato_internal.week_name('job', week);
    v_outcome constant text := ostinato_internal.week_name('outcome', week);
    v_step    constant text := ostinato_internal.week_name('step', week);
    v_needed  bigint[];
begin
    -- Keeps retry_job out: from here on, no finished job of this week comes back, so what is needed cannot become more.
    execute format('lock table ostinato_data.%I in exclusive mode', v_job);
    v_needed := array(select ostinato_internal.needed_jobs(ostinato_internal.week_id(week),
                                                           ostinato_internal.week_id(week + 1), cutoff));
    if cardinality(v_needed) > 10000 and not thorough then
        return query select 'kept', v_job, 'too many of its jobs are not finished, or finished late',
            cardinality(v_needed)::bigint;
        return;
    end if;
    if not (ostinato_internal.is_archived(v_job) and ostinato_internal.is_archived(v_outcome)
            and ostinato_internal.is_archived(v_step)) then
        return query select 'kept', v_job, 'past retention, but not archived as it is: ostinato archive run',
            null::bigint;
        return;
    end if;
    lock table only ostinato_data.job, only ostinato_data.outcome, only ostinato_data.step in access exclusive mode;
    perform set_config('lock_timeout', '100ms', true);  -- everybody waits for us now
    execute format('alter table ostinato_data.job detach partition ostinato_data.%I', v_job);
    execute format('alter table ostinato_data.outcome detach partition ostinato_data.%I', v_outcome);
    execute format('alter table ostinato_data.step detach partition ostinato_data.%I', v_step);
    execute format('insert into ostinato_data.job select * from ostinato_data.%I where id = any ($1)', v_job)
        using v_needed;
    execute format('insert into ostinato_data.outcome select * from ostinato_data.%I where job_id = any ($1)',
                   v_outcome) using v_needed;
    execute format('insert into ostinato_data.step select * from ostinato_data.%I where job_id = any ($1)', v_step)
        using v_needed;
    execute format('drop table ostinato_data.%I, ostinato_data.%I, ostinato_data.%I', v_job, v_outcome, v_step);
    return query select 'dropped', v_job, case when v_needed = '{}' then 'past retention'
            else 'past retention; the jobs still needed moved to the default partition' end,
                cardinality(v_needed)::bigint
        union all select 'dropped', v_outcome, 'past retention', null
        union all select 'dropped', v_step, 'past retention', null;
exception when lock_not_available or deadlock_detected then
    return query select 'skipped', v_job, 'the locks were not free within 300 ms; the next call tries again',
        null::bigint;
end
$$;

-- Deletes what is past retention from the default partitions: at most 5,000 jobs a call, with their outcomes and steps.
create function ostinato_internal.prune_default(cutoff timestamptz)
returns table (action text, name text, reason text, rows bigint)
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
declare
    v_before constant bigint := ostinato_internal.first_id(cutoff);
    v_held   constant bigint[] := array(select h from claim c cross join unnest(c.job_ids) h where h < v_before);
    v_ids    bigint[];
begin
    v_ids := array(
        select j.id from job_default j
        where j.id < v_before and not j.id = any (v_held)
          and not exists (select from scheduled s where s.job_id = j.id)
          and not exists (select from dead_letter d where d.job_id = j.id)
          and not exists (select from ready r where r.job_id = j.id and r.position <> r.job_id)
          and not exists (select from ready r
                          where (r.queue, r.priority, r.tenant_id, r.position)
                          = (j.queue, j.priority, j.tenant_id, j.id))
          and not exists (select from outcome o where o.job_id = j.id and o.finished_at > cutoff)
          and (j.group_id is null or not ostinato_internal.is_awaited(j.group_id, j.tenant_id))
        order by j.id limit 5000 for update of j skip locked);
    -- Looked at again under the row locks that retry_job needs: what is finished now stays finished.
    v_ids := array(select i from unnest(v_ids) i where ostinato.job_state(i) in ('done', 'cancelled'));
    perform ostinato_internal.keep_late(v_ids);
    delete from outcome_default o where o.job_id = any (v_ids);
    delete from step_default s where s.job_id = any (v_ids);
    delete from job_default j where j.id = any (v_ids);
    if cardinality(v_ids) > 0 then
        return query select 'pruned', 'job_default', 'past retention', cardinality(v_ids)::bigint;
    end if;
end
$$;

-- Deletes what nobody will ask for again: old starts in rate-limited queues, unique keys, requests and progress of jobs
-- that are gone, old doorbells.
create function ostinato_internal.prune_leftovers(cutoff timestamptz)
returns table (action text, name text, reason text, rows bigint)
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now    constant timestamptz := ostinato.now();
    v_before constant bigint := ostinato_internal.first_id(cutoff);
begin
    return query
    with started as (
        delete from rate_use u
        where u.started_at < v_now - interval '1 day'
          and not exists (select from queue q where q.name = u.queue
                          and u.started_at > v_now
                              - make_interval(secs => greatest(q.rate_seconds, q.key_rate_seconds)))
        returning 1
    ), keys as (
        delete from job_unique u where u.job_id < v_before and not exists (select from job j where j.id = u.job_id)
        returning 1
    ), requests as (
        delete from cancel_request r where r.job_id < v_before and not exists (select from job j where j.id = r.job_id)
        returning 1
    ), progress as (
        delete from job_progress p where p.job_id < v_before and not exists (select from job j where j.id = p.job_id)
        returning 1
    ), waits as (
        delete from job_wait w where w.job_id < v_before and not exists (select from job j where j.id = w.job_id)
        returning 1
    ), deferred as (
        delete from deferral d where d.last_at < v_now - ostinato_internal.deferral_peace() returning 1
    ), faults as (
        delete from fault f where f.last_at < v_now - interval '1 day' returning 1
    ), watches as (
        delete from job_watch w where w.until < v_now returning 1
    ), bulks as (
        delete from bulk b where b.id < v_before and b.finished_at < cutoff returning 1
    ), refusals as (  -- of bulk actions that an earlier call pruned
        delete from bulk_refusal r
        where r.bulk_id < v_before and not exists (select from bulk b where b.id = r.bulk_id) returning 1
    ), groups as (
        delete from job_group g where g.id < v_before and not exists (select from job j where j.id = g.parent_id)
        returning 1
    ), ticks as (
        delete from child_tick t where t.group_id < v_before
          and not exists (select from job_group g where g.id = t.group_id) returning 1
    ), bells as (
        delete from doorbell d where d.rung_at < v_now - interval '1 day' returning 1
    )
    select 'pruned', p.name, p.reason, p.rows from (
        select 'rate_use', count(*), 'outside every window' from started
        union all select 'job_unique', count(*), 'their jobs are gone' from keys
        union all select 'cancel_request', count(*), 'their jobs are gone' from requests
        union all select 'job_progress', count(*), 'their jobs are gone' from progress
        union all select 'job_wait', count(*), 'their jobs are gone' from waits
        union all select 'deferral', count(*), 'the trouble is over' from deferred
        union all select 'fault', count(*), 'over for a day' from faults
        union all select 'job_watch', count(*), 'nobody waits any more' from watches
        union all select 'bulk', count(*), 'past retention' from bulks
        union all select 'bulk_refusal', count(*), 'past retention' from refusals
        union all select 'job_group', (select count(*) from groups) + count(*), 'their parents are gone' from ticks
        union all select 'doorbell', count(*), 'not rung for a day' from bells) p (name, rows, reason)
    where p.rows > 0;
end
$$;
