-- Trail: everything that happened for one correlation id, in order, from the request to the last callback. Read only.
--
-- A correlation id is what callers, handlers and schedules hand on by themselves (see base/flow.py). Jobs, events and
-- transitions carry it; attempts, steps, deliveries, webhooks and leases are found by the jobs and events that do. A
-- job that was enqueued without one is its own beginning: its correlation id is job-<id>.
--
-- Each source gives lines of the type trail_line. Its `place` orders lines of the same moment: what leads to something
-- comes before it, from the fire of a schedule (1) over the job, its claim, its steps and events to its outcome (8).
--
-- Row-level security holds: a tenant sees its own part, and subscriptions, which are closed to it, are left out.

-- Returns the whole chain of a correlation id, first to last, at most `most` lines of each kind. Several tenants may
-- have used the same one: `for_tenant` asks for one of them.
create function ostinato.trail(correlation_id text, for_tenant text default null, most integer default 1000)
returns table (
    at timestamptz, source text, what text, state text, tenant_id text, job_id bigint, attempt integer, ref text,
    detail json
) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_cap    constant integer := 10000;
    v_most   constant integer := least(greatest(coalesce(most, v_cap), 1), v_cap);
    v_jobs constant bigint[] := array(select ostinato_internal.trail_jobs(trail.correlation_id, trail.for_tenant,
        v_most));
    v_events constant bigint[] := array(
        select e.id from event e where e.correlation_id = trail.correlation_id
          and (trail.for_tenant is null or e.tenant_id = trail.for_tenant) order by e.id limit v_most);
begin
    perform ostinato_internal.check_name('correlation_id', trail.correlation_id);
    return query
    select l.at, l.source, l.what, l.state, l.tenant_id, l.job_id, l.attempt, l.ref, l.detail
    from (
        select * from ostinato_internal.trail_of_jobs(v_jobs)
        union all select * from ostinato_internal.trail_of_runs(v_jobs)
        union all select * from ostinato_internal.trail_of_steps(v_jobs)
        union all select * from ostinato_internal.trail_of_leases(v_jobs)
        union all select * from ostinato_internal.trail_of_fires(trail.correlation_id)
        union all select * from ostinato_internal.trail_of_events(v_events)
        union all select * from ostinato_internal.trail_of_webhooks(v_events)
        union all select * from ostinato_internal.trail_of_transitions(trail.correlation_id, v_most)
        union all select * from ostinato_internal.trail_of_actions(v_jobs, trail.correlation_id, v_most)
    ) l
    where trail.for_tenant is null or l.tenant_id = trail.for_tenant
    order by l.at, l.place, l.job_id, l.ref, l.attempt
    limit v_most;
end
$$;

-- Returns the jobs of a correlation id; that of a job without one is job-<id>.
create function ostinato_internal.trail_jobs(correlation_id text, tenant_id text, most integer) returns setof bigint
language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select j.id from job j
    where (j.correlation_id = $1 or j.id = substring($1 from '^job-(\d{1,18})$')::bigint)
      and ($2 is null or j.tenant_id = $2)
    order by j.id limit $3
$$;

-- Lists jobs as they were enqueued, and what they wait for now.
create function ostinato_internal.trail_of_jobs(ids bigint[]) returns setof ostinato_data.trail_line language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select j.created_at, 2::smallint, 'job', j.kind, 'enqueued', j.tenant_id, j.id, null::integer, j.id::text,
            json_build_object('queue', j.queue, 'priority', j.priority, 'run_at', j.run_at, 'unique_key', j.unique_key,
                              'parent_id', j.parent_id)
    from job j where j.id = any ($1)
    union all
    select s.run_at, 9::smallint, 'job', s.kind, 'scheduled', s.tenant_id, s.job_id, s.attempt, s.job_id::text,
            json_build_object('reason', s.reason, 'failures', s.failures)
    from scheduled s where s.job_id = any ($1) and ostinato_internal.real_time(s.run_at) is not null
    union all
    select w.registered_at, 4::smallint, 'wait', w.event, 'waiting', w.tenant_id, w.job_id, w.attempt, w.key,
            json_build_object('position', w.position, 'deadline', w.deadline)
    from job_wait w where w.job_id = any ($1)
$$;

-- Returns the attempts of jobs: those that ended, and those that are on.
create function ostinato_internal.trail_of_runs(ids bigint[]) returns setof ostinato_data.trail_line language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select o.finished_at, 8::smallint, 'attempt', j.kind, o.outcome, j.tenant_id, j.id, o.attempt, j.id::text,
            json_build_object('duration_ms', o.duration_ms, 'worker_id', o.worker_id,
                              'error', case when o.outcome <> 'done' then ostinato_internal.error_summary(o.error) end)
    from outcome o join job j on j.id = o.job_id where o.job_id = any ($1)
    union all
    select h.claimed_at, 3::smallint, 'attempt', j.kind, 'running', j.tenant_id, j.id, h.attempt, j.id::text,
            json_build_object('worker_id', h.worker_id)
    from ostinato_internal.held_jobs($1) h join job j on j.id = h.job_id
$$;

-- Returns the steps that jobs took.
create function ostinato_internal.trail_of_steps(ids bigint[]) returns setof ostinato_data.trail_line
language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select s.finished_at, 4::smallint, 'step', s.name, s.type, j.tenant_id, j.id, s.attempt, s.position::text,
            json_build_object('duration_ms', s.duration_ms, 'until', s.until, 'event_id', s.event_id)
    from step s join job j on j.id = s.job_id where s.job_id = any ($1)
$$;

-- Returns the leases that jobs hold.
create function ostinato_internal.trail_of_leases(ids bigint[]) returns setof ostinato_data.trail_line
language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select l.acquired_at, 3::smallint, 'lease', l.name, 'held', l.tenant_id, l.job_id, l.job_attempt, l.token::text,
            json_build_object('holder', l.holder, 'ttl_seconds', l.ttl_seconds)
    from lease l where l.job_id = any ($1)
$$;

-- Returns the slot of a schedule that a correlation id stands for: schedule-<id>-<seconds since 1970>.
create function ostinato_internal.trail_of_fires(correlation_id text) returns setof ostinato_data.trail_line
language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select f.fired_at, 1::smallint, 'fire', coalesce(s.name, f.schedule_id::text), 'fired', f.tenant_id, f.job_id,
            null::integer, f.schedule_id::text,
            json_build_object('slot_at', f.slot_at, 'slot_local', f.slot_local, 'zone', f.zone,
                              'lateness', f.lateness, 'missed', f.missed)
    from regexp_match($1, '^schedule-(\d{1,18})-(-?\d{1,12})$') given (slot)
    join schedule_fire f on f.schedule_id = given.slot[1]::bigint and f.slot_at = to_timestamp(given.slot[2]::bigint)
    left join schedule s on s.id = f.schedule_id
$$;

-- Events. What subscribers make of them are jobs, with the same correlation id.
create function ostinato_internal.trail_of_events(ids bigint[]) returns setof ostinato_data.trail_line
language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    return query
    select e.emitted_at, 5::smallint, 'event', e.type, 'emitted', e.tenant_id, null::bigint, null::integer, e.id::text,
            json_build_object('version', e.version, 'producer', e.producer, 'ordering_key', e.ordering_key,
                              'occurred_at', e.occurred_at, 'position', l.position)
    from event e left join event_log l on l.event_id = e.id where e.id = any (ids);
end
$$;

-- Returns the webhooks that events became, and every attempt to deliver them.
create function ostinato_internal.trail_of_webhooks(ids bigint[]) returns setof ostinato_data.trail_line
language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    with sent as materialized (
        select d.id, d.tenant_id, d.job_id, d.state, d.created_at, d.attempts, m.event_id, p.name
        from unnest($1) i (id) join event e on e.id = i.id
        join webhook_message m on m.tenant_id = e.tenant_id and m.event_id = e.id::text
        join webhook_delivery d on d.message_id = m.id join webhook_endpoint p on p.id = d.endpoint_id
    )
    select s.created_at, 6::smallint, 'webhook', s.name, s.state, s.tenant_id, s.job_id, null::integer, s.id::text,
            json_build_object('event_id', s.event_id, 'attempts', s.attempts)
    from sent s
    union all
    select a.at, 7::smallint, 'callback', s.name, a.outcome, s.tenant_id, s.job_id, a.attempt, s.id::text,
            json_build_object('status', a.status, 'duration_ms', a.duration_ms, 'error', a.error, 'next_at', a.next_at)
    from sent s join webhook_attempt a on a.delivery_id = s.id
$$;

-- Returns the changes of state.
create function ostinato_internal.trail_of_transitions(correlation_id text, most integer)
returns setof ostinato_data.trail_line language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select t.at, 5::smallint, 'transition', t.entity || ' ' || t.entity_id, t.to_state, t.tenant_id, t.job_id,
            t.attempt, t.id::text,
            json_build_object('machine', t.machine, 'event', t.event, 'from', t.from_state, 'by', t.actor, 'why', t.why)
    from transition t where t.correlation_id = $1 order by t.id limit $2
$$;
