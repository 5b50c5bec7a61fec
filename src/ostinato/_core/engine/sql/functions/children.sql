-- Children: a job spawns others, leaves its worker, and goes on when they have ended.
--
-- A group is what one step spawned: a row of job_group, and the jobs with its id in job.group_id. The group, its
-- children and the step that says so are committed in one transaction, fenced by the parent: a crash before it leaves
-- nothing, and a later attempt finds the step and spawns no second set.
--
-- Waiting is a wait (waits.sql) for the event children_event(), which nobody emits: the parent stands in `scheduled`,
-- and the row of its step ends the wait.
--
-- Counting: a verb that ends or brings back children adds one tick for each group in its set (count_children), in its
-- own transaction. Ticks are folded into the group by settle_groups: by the completion itself where nobody else is at
-- it, else by the next poll. So finishing children never wait for each other, and a group's counts are exact: what is
-- folded and the ticks that are left. Of a job that is no child nothing is looked up: children are `keyed`, as jobs
-- with a unique key are, and a claim says whether one of its jobs is.
--
-- States of a group: open; cancelling (its parent was cancelled, the join failed, or a restart forgot it: polls cancel
-- the rest, 5,000 at a time); closed (nothing is left to cancel).
--
-- Lock order: wait_gate, claim, job_group (ascending id), job_wait, step, scheduled. settle_groups skips groups that
-- somebody holds and waits for none; a call that waits for a group (join_jobs) holds nothing that it would want. A
-- join over several groups that does not get all of them leaves a tick, and the next poll looks again.
-- What may go wrong: two finishers end the last two children at once, and neither sees the other (the next poll folds
-- both); a redrive brings a dead child back before the join has ended (counted back); after it (the join stands).

-- Returns what a parent waits for. No event of that type ends the wait: resolve_waits and take_events leave it out.
create function ostinato_internal.children_event() returns text language sql immutable parallel safe as $$
    select 'ostinato.children'
$$;

-- Opens the group of a step, for children that are added in the same transaction. Returns its id.
create function ostinato.open_group(job_id bigint, "position" integer) returns bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_id constant bigint := ostinato.new_id();
begin
    insert into job_group (id, parent_id, created_at, position, tenant_id)
    select v_id, j.id, ostinato.now(), open_group.position, j.tenant_id from job j where j.id = open_group.job_id;
    if not found then
        perform ostinato_internal.refuse_unknown(open_group.job_id);
    end if;
    return v_id;
end
$$;

-- Says how many children a group has, once all of them are added.
create function ostinato.seal_group(job_id bigint, group_id bigint, total integer) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    update job_group g set total = $3 from job j where j.id = $1 and (g.tenant_id, g.id) = (j.tenant_id, $2)
$$;

-- Counts jobs among these that are children and have ended with this outcome, or, with -1, have come back from it. A
-- cancelled job takes its own children with it. To be called by every verb that ends jobs or brings them back.
create function ostinato_internal.count_children(job_ids bigint[], outcome text, by integer default 1) returns void
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
begin
    if coalesce(cardinality(job_ids), 0) = 0 or not exists (select from job_group) then
        return;
    end if;
    insert into child_tick (tenant_id, group_id, failed_id, done, failed, cancelled)
    select j.tenant_id, j.group_id, case when by > 0 and outcome <> 'done' then min(j.id) end,
           case when outcome = 'done' then by * count(*) else 0 end,
           case when outcome = 'dead' then by * count(*) else 0 end,
           case when outcome = 'cancelled' then by * count(*) else 0 end
    from job j where j.id = any (job_ids) and j.group_id is not null group by j.tenant_id, j.group_id;
    if outcome = 'cancelled' and by > 0 then
        insert into child_tick (tenant_id, group_id, cancel)
        select g.tenant_id, g.id, true from job_group g where g.parent_id = any (job_ids) and g.state = 'open';
    end if;
end
$$;

-- Lets jobs wait for their children: those of the groups that the steps in `spawns` (numbers, with commas) made. A join
-- ends when all of them have ended; with 'fail' also when the first of them failed or was cancelled, and the rest is
-- cancelled then. Each leaves its worker and is ready again at the end, or after `timeouts` seconds. Returns the ids of
-- those that were refused as stale.
create function ostinato.join_jobs(
    claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], spawns text[], policies text[],
    timeouts double precision[]
) returns setof bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_claims bigint[];
    v_held   bigint[];
    v_steps  constant text[] := spawns;
begin
    lock table ostinato_data.wait_gate in row exclusive mode;
    v_claims := ostinato_internal.lock_claims(claim_ids, job_ids);
    v_held := array(select h.n from ostinato_internal.held_among(v_claims, claim_ids, job_ids, attempts) h);
    perform from job_group g where g.parent_id in (select job_ids[h] from unnest(v_held) h) order by g.id for update;
    update job_group g set join_step = positions[h], on_failure = policies[h] from unnest(v_held) h
    where g.parent_id = job_ids[h] and g.position = any (string_to_array(v_steps[h], ',')::integer[]);
    return query select ostinato.wait_jobs(
        claim_ids, job_ids, attempts, positions, array_fill(ostinato_internal.children_event(),
            array[cardinality(job_ids)]),
        array(select ostinato_internal.join_key(s) from unnest(v_steps) with ordinality u (s, n) order by n), timeouts);
    perform ostinato_internal.end_join(job_ids[h], positions[h]) from unnest(v_held) h;
end
$$;

-- Returns the key of a join, which is part of its step's name: the steps that spawned, shortened where they are many.
create function ostinato_internal.join_key(spawns text) returns text language sql immutable parallel safe as $$
    select case when length($1) <= 100 then $1
                else split_part($1, ',', 1) || ',…,' || split_part($1, ',', -1) end
$$;

-- Ends a join if it is over: writes its step, with the counts, and wakes the parent. The caller holds one of its groups
-- or the parent's claim. Where another is being counted it leaves a tick instead: the next poll asks again.
create function ostinato_internal.end_join(parent_id bigint, join_step integer) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_all    integer;
    v_locked bigint[];
    v_sum    record;
begin
    select count(*) into v_all from job_group g
    where g.parent_id = end_join.parent_id and g.join_step = end_join.join_step;
    v_locked := array(
        select g.id from job_group g where g.parent_id = end_join.parent_id and g.join_step = end_join.join_step
        order by g.id for update skip locked);
    select min(g.tenant_id) as tenant_id, min(g.id) as id, sum(g.total) as total, sum(g.done) as done,
           sum(g.failed) as failed, sum(g.cancelled) as cancelled, min(g.failed_id) as failed_id,
           min(g.on_failure) as on_failure
    into v_sum from job_group g where g.parent_id = end_join.parent_id and g.id = any (v_locked);
    if cardinality(v_locked) < v_all then
        insert into child_tick (tenant_id, group_id)
        select g.tenant_id, g.id from job_group g
        where g.parent_id = end_join.parent_id and g.join_step = end_join.join_step order by g.id limit 1;
        return;
    end if;
    if v_sum.total > v_sum.done + v_sum.failed + v_sum.cancelled
       and not (v_sum.on_failure = 'fail' and v_sum.failed + v_sum.cancelled > 0) then
        return;
    end if;
    insert into step (job_id, finished_at, position, attempt, duration_ms, type, name, result)
    select w.job_id, ostinato.now(), w.position, w.attempt, 0, 'event',
           ostinato_internal.wait_name(w.event, w.key),
           json_build_object('total', v_sum.total, 'done', v_sum.done, 'failed', v_sum.failed,
                             'cancelled', v_sum.cancelled,
                             'failed_id', case when v_sum.failed + v_sum.cancelled > 0 then v_sum.failed_id end)
    from job_wait w where w.job_id = end_join.parent_id and w.position = end_join.join_step
      and w.event = ostinato_internal.children_event()
    on conflict (job_id, position) do nothing;
    if found then
        if v_sum.on_failure = 'fail' and v_sum.failed + v_sum.cancelled > 0 then
            insert into child_tick (tenant_id, group_id, cancel)
            select g.tenant_id, g.id, true from job_group g where g.id = any (v_locked) and g.state = 'open'
              and g.parent_id = end_join.parent_id;
        end if;
        insert into job_wake (job_id) values (end_join.parent_id) on conflict do nothing;
        perform ostinato.ring_at_commit(q) from ostinato_internal.wake_jobs() q;
    end if;
end
$$;

-- Folds the ticks of groups and ends the joins that are over; of `job_ids` only those that these are children of, null:
-- all that have some. Polls, which ask for all, also cancel what is left of groups that are to end.
create function ostinato_internal.settle_groups(job_ids bigint[] default null, most integer default 200) returns void
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_nestloop = on
set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_asked constant bigint[] := case when job_ids is null
        then array(select t.group_id from child_tick t union select g.id from job_group g where g.state = 'cancelling'
                   order by 1 limit most)
        else array(select distinct j.group_id from job j where j.id = any (job_ids) and j.group_id is not null) end;
    v_group record;
    v_sum   record;
begin
    for v_group in
        select g.tenant_id, g.id, g.parent_id, g.join_step, g.state from unnest(v_asked) a
        join job_group g on g.id = a order by g.id for update of g skip locked
    loop
        with folded as (
            delete from child_tick t where t.tenant_id = v_group.tenant_id and t.group_id = v_group.id returning t.*
        )
        select coalesce(sum(f.done), 0) as done, coalesce(sum(f.failed), 0) as failed, min(f.failed_id) as failed_id,
               coalesce(sum(f.cancelled), 0) as cancelled, coalesce(bool_or(f.cancel), false) as cancel
        into v_sum from folded f;
        update job_group g set
            done = g.done + v_sum.done, failed = g.failed + v_sum.failed, cancelled = g.cancelled + v_sum.cancelled,
            failed_id = coalesce(g.failed_id, v_sum.failed_id),
            state = case when v_sum.cancel and g.state = 'open' then 'cancelling' else g.state end
        where g.tenant_id = v_group.tenant_id and g.id = v_group.id returning g.state into v_group.state;
        if v_group.join_step is not null then
            perform ostinato_internal.end_join(v_group.parent_id, v_group.join_step);
        end if;
        if v_group.state = 'cancelling' and job_ids is null then
            perform ostinato_internal.cancel_group(v_group.tenant_id, v_group.id);
        end if;
    end loop;
end
$$;

-- Cancels the next 5,000 children of a group that still wait or run; the group is closed behind the last one. Dead
-- letters stay.
create function ostinato_internal.cancel_group(tenant_id text, group_id bigint, most integer default 5000) returns void
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_ids bigint[];
begin
    v_ids := array(
        select j.id from job_group g join job j on j.group_id = g.id and j.id > coalesce(g.walked_to, 0)
        where g.tenant_id = cancel_group.tenant_id and g.id = cancel_group.group_id order by j.id limit most);
    if cardinality(v_ids) > 0 then
        perform ostinato_internal.cancelled_jobs(v_ids, 'cancelled with its group');
    end if;
    update job_group g set walked_to = coalesce(v_ids[cardinality(v_ids)], g.walked_to),
        state = case when cardinality(v_ids) < most then 'closed' else g.state end
    where g.tenant_id = cancel_group.tenant_id and g.id = cancel_group.group_id;
end
$$;

-- Forgets the groups of steps that a restart deletes: what is left of them is cancelled.
create function ostinato_internal.forget_groups(job_id bigint, from_position integer) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    insert into child_tick (tenant_id, group_id, cancel)
    select g.tenant_id, g.id, true from job_group g
    where g.parent_id = forget_groups.job_id and g.position >= from_position and g.state = 'open';
    update job_group g set position = case when g.position < from_position then g.position end, join_step = null
    where g.parent_id = forget_groups.job_id
      and (g.position >= from_position or g.join_step >= from_position);
end
$$;

-- Returns the groups of a job with their counts, exact to the last commit, at the price of groups and not of
-- children. A group whose children have all ended is closed, whether or not a join or a cancel has written it so.
create function ostinato.job_groups(job_id bigint)
returns table (
    group_id bigint, "position" integer, kind text, total integer, done integer, failed integer, cancelled integer,
    state text, on_failure text, joining boolean
) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    perform ostinato_internal.check_job(job_groups.job_id);
    return query
    select g.id, g.position, (select j.kind from job j where j.group_id = g.id order by j.id limit 1),
           g.total, g.done + t.done, g.failed + t.failed, g.cancelled + t.cancelled,
           case when g.total > 0 and g.done + g.failed + g.cancelled + t.done + t.failed + t.cancelled >= g.total
                then 'closed' else g.state end,
           g.on_failure,
           exists (select from job_wait w where w.job_id = g.parent_id and w.position = g.join_step)
    from job_group g cross join lateral (
        select coalesce(sum(t.done), 0)::integer as done, coalesce(sum(t.failed), 0)::integer as failed,
               coalesce(sum(t.cancelled), 0)::integer as cancelled
        from child_tick t where (t.tenant_id, t.group_id) = (g.tenant_id, g.id)) t
    where g.parent_id = job_groups.job_id order by g.id;
end
$$;

-- Returns a page of the children of a group, in the order in which they were spawned, with what became of each: how it
-- ended, or the state that it is in. `after` is the last job of the page before.
create function ostinato.list_children(
    parent_id bigint, group_id bigint, after bigint default 0, most integer default 500
)
returns table (job_id bigint, state text, result json, error json) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
begin
    perform ostinato_internal.check_job(list_children.parent_id);
    return query
    select j.id, case o.outcome when 'done' then 'done' else ostinato.job_state(j.id) end, o.result, o.error
    from (select c.id from job_group g join job c on c.group_id = g.id and c.tenant_id = g.tenant_id
          where g.parent_id = list_children.parent_id and g.id = list_children.group_id and c.id > after
          order by c.id limit least(most, 10000)) j
    left join lateral (
        select o.outcome, o.result, o.error from outcome o where o.job_id = j.id order by o.attempt desc limit 1) o
      on true
    order by j.id;
end
$$;

-- Returns the children of a job and theirs, as far as a person reads: the first ten groups of a job, the first `most`
-- children of a group, three levels, 300 rows. Those of one level come before those of the next, so that a cut takes
-- the leaves.
create function ostinato.job_tree(job_id bigint, most integer default 20)
returns table (
    id bigint, parent_id bigint, group_id bigint, level integer, kind text, state text, attempt integer,
    created_at timestamptz, finished_at timestamptz
) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
begin
    perform ostinato_internal.check_job(job_tree.job_id);
    return query
    with recursive tree (id, parent_id, group_id, level) as (
        select job_tree.job_id, null::bigint, null::bigint, 0
        union all
        select c.id, t.id, g.id, t.level + 1
        from tree t
        cross join lateral (select g.id, g.tenant_id from job_group g where g.parent_id = t.id order by g.id limit 10) g
        cross join lateral (
            select c.id from job c where c.group_id = g.id and c.tenant_id = g.tenant_id
            order by c.id limit least(most, 100)) c
        where t.level < 3
    ), found as materialized (select t.* from tree t limit 301)
    select f.id, f.parent_id, f.group_id, f.level, s.kind, s.state, s.attempt, s.created_at, s.finished_at
    from found f
    join ostinato_internal.job_summaries(array(select f.id from found f where f.level > 0)) s on s.id = f.id
    order by f.level, f.id;
end
$$;

-- Returns whether retention has to spare a child: its parent has not ended, and may still read its result.
create function ostinato_internal.is_awaited(group_id bigint, tenant_id text) returns boolean language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select exists (select from job_group g where (g.tenant_id, g.id) = ($2, $1)
                   and ostinato.job_state(g.parent_id) in ('ready', 'scheduled', 'running', 'dead'))
$$;

-- Returns why a parent waits.
create function ostinato_internal.why_joining(job_id bigint) returns setof ostinato_data.reason language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select 'joining',
        format('Job %s waits for its children since %s: %s of %s have ended, %s of them failed or cancelled.', $1,
               ostinato_internal.say_time(w.registered_at), sum(g.done + g.failed + g.cancelled), sum(g.total),
               sum(g.failed + g.cancelled)),
        json_build_object('since', w.registered_at, 'deadline', w.deadline, 'step', w.position, 'total', sum(g.total),
                          'done', sum(g.done), 'failed', sum(g.failed), 'cancelled', sum(g.cancelled)),
        'See them with: ostinato jobs children ' || $1
    from job_wait w cross join ostinato.job_groups($1) g
    where w.job_id = $1 and w.event = ostinato_internal.children_event() and g.joining
    group by w.registered_at, w.deadline, w.position
$$;
