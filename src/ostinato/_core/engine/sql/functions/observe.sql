-- Observe: the engine's figures, for Prometheus and for charts. What single workers count (attempts, run times, fenced
-- writes) they export themselves; here is what only the database knows. The names are those of base/metrics.py, without
-- their prefix, and each figure has one label at the most.

-- Returns the figures of this moment. Counts stop at the caps of list_queues and engine_stats; what is a minute, and
-- the start latency, comes from the sums that workers wrote for the last five minutes (series.sql).
create function ostinato.observe() returns table (name text, label text, value double precision) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_since constant timestamptz := date_bin('1 minute', ostinato.now(), 'epoch') - interval '5 minutes';
    v_minutes constant double precision := extract(epoch from ostinato.now() - v_since) / 60;
begin
    return query
    with q as materialized (select * from ostinato.list_queues())
    select f.name, q.name, f.value from q cross join lateral (values
        ('queue_ready_jobs', q.ready::double precision), ('queue_scheduled_jobs', q.scheduled),
        ('queue_running_jobs', q.running), ('queue_dead_letters', q.dead),
        ('queue_oldest_ready_seconds', coalesce(q.oldest_wait, 0)), ('queue_workers', q.workers),
        ('queue_paused', q.paused::integer)) f (name, value)
    union all
    -- A queue in which nothing happened has a rate, 0, and no latency.
    select f.name, coalesce(q.name, r.queue), f.value
    from q full join ostinato.queue_rates(v_since) r on r.queue = q.name cross join lateral (values
        ('queue_started_per_minute', coalesce(r.first, 0) / v_minutes),
        ('queue_done_per_minute', coalesce(r.done, 0) / v_minutes),
        ('queue_failed_per_minute', coalesce(r.failed, 0) / v_minutes),
        ('queue_start_latency_p50_seconds', r.p50), ('queue_start_latency_p95_seconds', r.p95),
        ('queue_start_latency_p99_seconds', r.p99)) f (name, value)
    where f.value is not null;
    return query
    select f.name, '', f.value from ostinato.engine_stats() s cross join lateral (values
        ('workers', s.workers::double precision), ('expired_workers', s.expired_workers),
        ('xmin_age_transactions', s.xmin_age), ('default_partition_bytes', s.default_bytes)) f (name, value);
    return query
    select 'blocked_workers', w.blocked_by, count(*)::double precision from worker w
    where w.blocked_by is not null group by w.blocked_by;
    return query
    select 'dead_tuples', c.relname::text, pg_stat_get_dead_tuples(c.oid)::double precision
    from pg_class c
    where c.relnamespace = 'ostinato_data'::regnamespace
      and c.relname in ('ready', 'scheduled', 'claim', 'job_unique', 'worker', 'event_unsequenced', 'delivery',
                        'schedule_due', 'lease', 'idempotency');
    return query
    select f.name, s.name, f.value from ostinato.list_subscriptions() s cross join lateral (values
        ('subscription_behind_events', s.behind::double precision), ('subscription_lag_seconds', s.lag_seconds),
        ('subscription_buried_events', s.buried)) f (name, value);
    return query
    select f.name, '', f.value from (values
        ('quarantined_jobs', (select count(*) from quarantine)::double precision),
        ('faults', (select count(*) from ostinato.list_faults())::double precision)) f (name, value);
    return query select 'alerts_firing', a.alert, a.firing::double precision from ostinato_internal.count_firing() a;
    return query
    select f.name, '', f.value from (values
        ('unsequenced_events',
         (select count(*)
          from (select from event_unsequenced limit ostinato_internal.place_cap()) u)::double precision),
        ('schedule_overdue_seconds',
         (select greatest(0, coalesce(extract(epoch from ostinato.now() - min(d.next_at)), 0))
          from schedule_due d)::double precision),
        ('leases', (select count(*) from (select from lease limit ostinato_internal.place_cap()) l)::double precision),
        ('leases_taken_over',
         (select count(*) from (select from lease l where l.attempt > 1
                                limit ostinato_internal.place_cap()) l)::double precision)
    ) f (name, value);
end
$$;

-- Returns the figures for a page that others read: labels are those that the code of applications and operators
-- declare, and whatever tenants make up is one label, 'other'. So nobody's words are on the page, and nobody
-- makes it longer. Runs as the owner, for the role of the API, which sees no tenant's rows.
create function ostinato.observe_declared() returns table (name text, label text, value double precision)
language sql stable security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    with declared_queue as materialized (
        select k.queue as name from kind k union select q.name from queue q
        union select unnest(w.queues) from worker w union select 'default'
    ), figure as (
        select o.name, o.value,
               case when o.name ^@ 'queue_' and not exists (select from declared_queue d where d.name = o.label)
                        or o.name = 'blocked_workers' and not exists (select from kind k where k.name = o.label)
                        or o.name ^@ 'subscription_' and not exists (
                            select from subscription s where s.name = o.label and s.tenant_id is null)
                    then 'other' else o.label end as label
        from ostinato.observe() o
    )
    -- Of waits, pauses and workers several together have no more than the worst of them; the rest adds up.
    select f.name, f.label,
           case when f.name ~ '(_seconds|_paused|^queue_workers)$' then max(f.value) else sum(f.value) end
    from figure f group by f.name, f.label
$$;

-- Notes the figures, unless somebody did so less than `every` ago. Returns how many were noted. Every worker's janitor
-- calls it.
create function ostinato.sample_metrics(every interval default '15 seconds') returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_now   constant timestamptz := ostinato.now();
    v_count integer;
begin
    -- One samples for all; the time of the last sample is read after the lock, so two cannot both find it old.
    if not pg_try_advisory_xact_lock(hashtextextended('ostinato.sample_metrics', 0))
       or exists (select from metric_sample s where s.name = 'workers' and s.at > v_now - every and s.at <= v_now) then
        return 0;
    end if;
    insert into metric_sample (id, at, name, label, value)
    select ostinato.new_id(v_now), v_now, o.name, o.label, o.value from ostinato.observe() o;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;

-- Returns the noted figures of one name, thinned out to one mean for each `step`.
create function ostinato.list_samples(
    name text, since timestamptz, until timestamptz default null, step interval default '1 minute'
) returns table (at timestamptz, label text, value double precision) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    if step < interval '1 second' then
        raise exception using errcode = 'OS400', message = format('a step of %s is too small', step),
            detail = json_build_object('step', step), hint = 'Use one second or more.';
    end if;
    return query
    select date_bin(step, s.at, 'epoch'), s.label, avg(s.value)
    from metric_sample s
    where s.name = list_samples.name and s.at >= since and s.at < coalesce(until, 'infinity')
    group by 1, 2 order by 1, 2;
end
$$;

-- Returns whether this server is a replica, how many seconds it is behind, and the name that it shares with its
-- primary. One that has replayed all that it was sent, and is still being sent, is not behind, however quiet the
-- primary is; one that nobody sends anything is as old as the last commit that it has.
create function ostinato.show_replication() returns table (is_replica boolean, lag double precision, system text)
language sql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select pg_is_in_recovery(),
           case when not pg_is_in_recovery() then 0
                when pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()
                     and exists (select from pg_stat_wal_receiver) then 0
                else coalesce(greatest(0, extract(epoch from ostinato.now() - pg_last_xact_replay_timestamp())),
                              'infinity'::double precision) end,
           (select c.system_identifier::text from pg_control_system() c)
$$;
