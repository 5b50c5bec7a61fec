-- One delivery of events: what a subscription is given is a job, and the job's place is its state.
--
-- `delivery` is the line of events in front of a subscription: one row for each of its jobs that is not over. A lane is
-- (tenant, key); an event without a key has none, and no order. Everything that changes a row holds the row lock of its
-- subscription. Its invariants, true whenever no transaction is under way:
--
--   | Invariant | Held by |
--   |---|---|
--   | a row's job is ready, scheduled or running; or dead, with on_poison 'block' | end_deliveries, heal_lanes |
--   | the job's args are the whole event: it outlives the event, its week and its row here | dispatch_deliveries |
--   | `open`: it is this one's turn; its job is in any place but 'behind' | open_lanes, keep_order |
--   | not `open`: its job is scheduled with the reason 'behind' | dispatch_deliveries, keep_order |
--   | of a lane, one row is open, and those that a claim took along behind it and holds | take_followers, keep_order |
--   | a lane with rows has one that is open, unless its subscription is paused | open_lanes, heal_lanes |
--   | the next of a lane is the one with the lowest position | open_lanes, take_followers |
--   | every event up to the subscription's `position` has, or had, its job | dispatch_deliveries, replay |
--   | no row is below the subscription's `low`: it is where to look from | raise_low, rejoin_lanes, replay |
alter table ostinato_data.delivery rename to delivery_before;
alter table ostinato_data.delivery_before drop constraint delivery_pkey;
drop index ostinato_data.delivery_lane, ostinato_data.delivery_active, ostinato_data.delivery_due,
    ostinato_data.delivery_holder, ostinato_data.delivery_job, ostinato_data.delivery_buried;

create table ostinato_data.delivery (
    job_id        bigint  not null primary key,
    position      bigint  not null,
    open          boolean not null,
    subscription  text    collate "C" not null,
    lane          text    collate "C"
) with (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0
);
create index delivery_position on ostinato_data.delivery (subscription, position);
create index delivery_open on ostinato_data.delivery (subscription, lane, position) where open and lane is not null;
create index delivery_behind on ostinato_data.delivery (subscription, lane, position, job_id)
    where not open and lane is not null;
select ostinato_data.protect('delivery');
-- A tenant is told what its own job waits behind.
create policy tenant on ostinato_data.delivery for select to ostinato_tenant
    using (exists (select from ostinato_data.job j where j.id = job_id));
grant select on ostinato_data.delivery to ostinato_tenant;

-- After which job of its claim a job is to be run; null: it may start.
alter type ostinato_data.claimed_job add attribute behind bigint;

alter table ostinato_data.scheduled drop constraint scheduled_reason_check;
alter table ostinato_data.scheduled add constraint scheduled_reason_check
    check (reason in ('later', 'retry', 'snooze', 'sleep', 'event', 'behind', 'no_worker'));

-- What the two ways of before held becomes jobs. A job that held an event keeps it, and gets the event as its args.
-- What waited, or was in the hands of a relay, gets a job; what was buried, a dead letter. Nothing is lost; what was
-- in hands is delivered again.
alter table ostinato_data.subscription drop column mode, drop column replays;  -- and a check with them
update ostinato_data.subscription set kind = name where kind is null and name <> 'ostinato.webhooks';
do $$
declare
    v_now  constant timestamptz := clock_timestamp();
    -- As new_id() makes them: the day since 2026-01-01, then a sequence.
    v_base constant bigint := greatest(0, (v_now at time zone 'UTC')::date - date '2026-01-01') * 10000000000;
begin
    create table ostinato_data.delivery_moved as
    with held as (
        select x.job_id from ostinato_data.scheduled x
        union all select x.job_id from ostinato_data.ready x
        union all select x.job_id from ostinato_data.dead_letter x
        union all select h from ostinato_data.claim c cross join unnest(c.job_ids) h
    ), told as (
        select * from ostinato_data.event
        union all
        select k.* from ostinato_data.event_kept k
        where not exists (select from ostinato_data.event e where e.id = k.id)
    ), moved as materialized (
        select d.*, s.on_poison, s.paused, s.kind, coalesce(k.queue, 'default') as queue,
               coalesce(k.priority, 0::smallint) as priority, e.tenant_id, e.correlation_id,
               d.state = 'held' and exists (select from held h where h.job_id = d.job_id) as has_job,
               json_build_object(
                   'subscription', s.name, 'position', d.position, 'event_id', e.id, 'type', e.type,
                   'version', e.version, 'tenant_id', e.tenant_id, 'correlation_id', e.correlation_id,
                   'occurred_at', e.occurred_at, 'producer', e.producer, 'ordering_key', e.ordering_key,
                   'payload', e.payload) as args
        from ostinato_data.delivery_before d join ostinato_data.subscription s on s.name = d.subscription
        join told e on e.id = d.event_id left join ostinato_data.kind k on k.name = s.kind
        where d.state <> 'done'
    ), each as (
        select m.*, false as once_more from moved m
        union all
        -- A replay came while it was held: it is delivered once more, unless the cursor comes by again.
        select m.*, true from moved m join ostinato_data.subscription s on s.name = m.subscription
        where m.has_job and m.again and m.position <= s.position
    ), ranked as (
        select e.*, e.state = 'buried' and e.on_poison = 'skip' as aside, row_number() over (
                   partition by e.subscription, e.lane, e.state = 'buried' and e.on_poison = 'skip'
                   order by e.state <> 'buried', not e.has_job or e.once_more, e.position) = 1 as first
        from each e
    )
    select r.*, case when r.has_job and not r.once_more then r.job_id
                     else v_base + nextval('ostinato_data.job_id_seq') end as id,
           (r.has_job and not r.once_more) or r.state = 'buried'
               or ((r.lane is null or r.first) and not r.paused) as open
    from (select * from ranked order by subscription, position, once_more) r;

    update ostinato_data.job j set args = m.args
    from ostinato_data.delivery_moved m where m.id = m.job_id and j.id = m.id;
    insert into ostinato_data.job (id, created_at, priority, kind, queue, tenant_id, args, correlation_id)
    select m.id, v_now, m.priority, m.kind, m.queue, m.tenant_id, m.args, m.correlation_id
    from ostinato_data.delivery_moved m where m.id is distinct from m.job_id;
    insert into ostinato_data.dead_letter (job_id, attempt, died_at, kind, queue, tenant_id, reason, signature, error)
    select m.id, 1, coalesce(m.buried_at, v_now), m.kind, m.queue, m.tenant_id, coalesce(m.reason, 'failed'),
           coalesce(m.signature, 'failed'), m.error
    from ostinato_data.delivery_moved m where m.state = 'buried';
    insert into ostinato_data.outcome (job_id, finished_at, attempt, outcome, error)
    select m.id, coalesce(m.buried_at, v_now), 1, 'dead', m.error
    from ostinato_data.delivery_moved m where m.state = 'buried';
    insert into ostinato_data.ready
        (position, job_id, attempt, priority, failures, crashes, keyed, queue, tenant_id, kind)
    select m.id, m.id, 1, m.priority, m.failures, m.crashes, false, m.queue, m.tenant_id, m.kind
    from ostinato_data.delivery_moved m
    where m.id is distinct from m.job_id and m.state <> 'buried' and m.open
      and not (m.state = 'waiting' and m.due_at > v_now and m.due_at < 'infinity');
    insert into ostinato_data.scheduled
        (job_id, run_at, attempt, priority, failures, crashes, keyed, reason, queue, tenant_id, kind)
    select m.id, case when m.open then m.due_at else '9000-01-01 00:00:00+00' end, 1, m.priority, m.failures,
           m.crashes, false, case when m.open then 'retry' else 'behind' end, m.queue, m.tenant_id, m.kind
    from ostinato_data.delivery_moved m
    where m.id is distinct from m.job_id and m.state <> 'buried'
      and (not m.open or (m.state = 'waiting' and m.due_at > v_now and m.due_at < 'infinity'));
    insert into ostinato_data.delivery (job_id, position, open, subscription, lane)
    select m.id, m.position, m.open, m.subscription, m.lane from ostinato_data.delivery_moved m where not m.aside;
    update ostinato_data.subscription s set low = least(s.low, (
        select min(d.position) from ostinato_data.delivery d where d.subscription = s.name));
    drop table ostinato_data.delivery_moved;
end
$$;
drop table ostinato_data.delivery_before, ostinato_data.event_kept;
