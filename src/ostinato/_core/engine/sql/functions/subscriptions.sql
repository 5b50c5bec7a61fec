-- Subscriptions: who gets which events. Each event is a job, and the events of a key are jobs one after the other.
--
--   subscribe, drop_subscription, pause_subscription, resume_subscription
--   dispatch_deliveries(subscription, most)  reads on in the log and makes a job of each event
--   leave_lanes(job_ids)        after the commit of handlers that ended their jobs themselves: their lanes go on
--   heal_lanes()                what nobody did who should have: the janitor calls it
--   replay, redeliver, discard  an operator's verbs; cancel, retry and redrive of jobs work too
--
-- A lane is (tenant, key). `delivery` says whose turn it is; its invariants stand at its definition, in
-- tables/0025_one_delivery.sql. The first of a lane is a job like any other. Those behind it are scheduled, with the
-- reason 'behind' and no time. When the first is over (done, cancelled, or dead with on_poison 'skip'), the verb that
-- ended it lets the next one go, in the same transaction. One verb does not: complete_job runs in the transaction of a
-- handler, which must not hold up a subscription; so its caller calls leave_lanes after the commit.
--
-- A claim that has room takes along those behind a first one (take_followers). The worker runs them one after the
-- other, in order; what it does not finish it releases, and keep_order puts it back behind.
--
-- Lock order: claim, subscription (several by name), then single-job rows. take_followers comes with rows of `ready`
-- and settle_cancels while they hold a place, so both skip a subscription that somebody else has locked.
-- What may go wrong: a worker dies with a first and its followers (rescued, the followers behind), or between the
-- commit of a handler and leave_lanes (heal_lanes).

-- Limits the positions of the log that are looked through in one step.
create function ostinato_internal.log_window() returns integer language sql immutable parallel safe as 'select 500';
-- Limits the steps that are taken, however few events are for a subscription.
create function ostinato_internal.log_windows() returns integer language sql immutable parallel safe as 'select 20';
-- `low` is raised when it lies so many positions behind, and so far.
create function ostinato_internal.low_step() returns integer language sql immutable parallel safe as 'select 1000';
-- Returns how many deliveries of a subscription a list counts.
create function ostinato_internal.delivery_cap() returns integer language sql immutable parallel safe as 'select 10000';

-- Declares a subscription, or changes one. A new one begins at `start` ('now', 'beginning'), or behind a position or a
-- time. `types` null: all of them. Its events are jobs of `kind`; null: the kind is named as the subscription is.
create function ostinato.subscribe(
    name text, types text[] default null, tenant_id text default null, kind text default null,
    on_poison text default 'skip', start text default 'now', start_position bigint default null,
    start_time timestamptz default null
) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_position bigint;
begin
    perform ostinato_internal.check_name('subscription', subscribe.name);
    perform ostinato_internal.check_name('kind', coalesce(subscribe.kind, subscribe.name));
    perform ostinato_internal.check_name('type', t) from unnest(types) t
        where t is null or length(t) not between 1 and ostinato_internal.longest_name();
    if subscribe.on_poison is null or subscribe.on_poison not in ('skip', 'block')
       or start is null or start not in ('now', 'beginning') then
        raise exception using errcode = 'OS400',
            message = format('subscription %L with on_poison %L, start %L', subscribe.name, subscribe.on_poison, start),
            detail = json_build_object('name', subscribe.name, 'on_poison', subscribe.on_poison, 'start', start),
            hint = 'on_poison: skip, block. start: now, beginning.';
    end if;
    v_position := coalesce(start_position,
                           case when start_time is not null then ostinato_internal.position_at(start_time) end,
                           case start when 'beginning' then 0 else ostinato.last_position() end);
    insert into subscription as s (name, types, tenant_id, kind, on_poison, position, created_at, registered_at)
    values (subscribe.name, subscribe.types, subscribe.tenant_id, coalesce(subscribe.kind, subscribe.name),
            subscribe.on_poison, least(greatest(v_position, 0), ostinato.last_position()), ostinato.now(),
            ostinato.now())
    on conflict (name) do update set types = excluded.types, tenant_id = excluded.tenant_id, kind = excluded.kind,
        on_poison = excluded.on_poison, registered_at = excluded.registered_at
    -- Every worker that starts declares it: no write, and no wait, when nothing is new.
    where (s.types, s.tenant_id, s.kind, s.on_poison) is distinct from
          (excluded.types, excluded.tenant_id, excluded.kind, excluded.on_poison);
end
$$;

-- Adds a cursor on the log for a part of the engine that reads on by itself, from now: a subscription without a kind,
-- of whose events no jobs are made.
create function ostinato_internal.add_cursor(name text) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    insert into subscription (name, on_poison, position, created_at, registered_at)
    values ($1, 'skip', ostinato.last_position(), ostinato.now(), ostinato.now()) on conflict do nothing
$$;

-- Takes the row lock of a subscription and returns it as it is now; refuses one that is not there.
create function ostinato_internal.lock_subscription(name text) returns ostinato_data.subscription language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_found subscription;
begin
    select * into v_found from subscription s where s.name = lock_subscription.name for update;
    if not found then
        raise exception using errcode = 'OS404', message = format('there is no subscription %L', name),
            detail = json_build_object('subscription', name), hint = 'See: ostinato events subscriptions';
    end if;
    return v_found;
end
$$;

-- Takes the row locks of the subscriptions whose events some jobs are, before the rows of the jobs themselves.
create function ostinato_internal.lock_lanes(job_ids bigint[]) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
    if exists (select from subscription) then
        perform from subscription s
        where s.kind in (select j.kind from job j where j.id = any (job_ids)) order by s.name for update;
    end if;
end
$$;

-- Removes a subscription. Its jobs that have not begun are cancelled; those that have go on, and so do dead letters.
create function ostinato.drop_subscription(name text) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_sub constant ostinato_data.subscription := ostinato_internal.lock_subscription(name);
begin
    perform ostinato_internal.drop_deliveries(v_sub, 0, 'its subscription was removed');
    delete from delivery d where d.subscription = v_sub.name;
    delete from subscription s where s.name = v_sub.name;
    perform ostinato_internal.record('remove', 'subscription', v_sub.name, v_sub.tenant_id);
end
$$;

-- Stops deliveries of a subscription: what is ready goes back behind; what has begun goes on. Retention does not wait
-- for a paused one.
create function ostinato.pause_subscription(name text) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_sub constant ostinato_data.subscription := ostinato_internal.lock_subscription(name);
begin
    update subscription s set paused = true where s.name = v_sub.name;
    perform ostinato_internal.put_behind(array(
        select d.job_id from delivery d where d.subscription = v_sub.name and d.open
          and ostinato_internal.is_ready(d.job_id)));
    perform ostinato_internal.record('pause', 'subscription', v_sub.name, v_sub.tenant_id);
end
$$;

-- Lets deliveries of a subscription go on.
create function ostinato.resume_subscription(name text) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_sub ostinato_data.subscription := ostinato_internal.lock_subscription(name);
begin
    update subscription s set paused = false where s.name = v_sub.name returning * into v_sub;
    perform ostinato_internal.open_lanes(v_sub, array(
        select distinct d.lane from delivery d
        where d.subscription = v_sub.name and not d.open and d.lane is not null));
    perform ostinato_internal.open_deliveries(array(
        select d.job_id from delivery d where d.subscription = v_sub.name and not d.open and d.lane is null));
    perform ostinato_internal.record('resume', 'subscription', v_sub.name, v_sub.tenant_id);
end
$$;

-- Reads on in the log and makes a job of each event that the subscription gets, at most `most`. The first of a free
-- lane is ready, and so is what has no lane; all others are scheduled behind. Returns how many jobs it made.
create function ostinato_internal.dispatch_deliveries(subscription text, most integer default 1000) returns integer
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_sub constant ostinato_data.subscription := ostinato_internal.lock_subscription(dispatch_deliveries.subscription);
    v_last   constant bigint := ostinato.last_position();
    v_cursor bigint := v_sub.position;
    v_made   integer := 0;
    v_step   record;
begin
    if v_sub.paused then
        return 0;
    end if;
    for v_window in 1 .. ostinato_internal.log_windows() loop
        exit when v_cursor >= v_last or v_made >= most;
        v_step := ostinato_internal.dispatch_window(v_sub, v_cursor, most - v_made);
        exit when v_step.reached is null;  -- the rest of the log is gone
        v_cursor := v_step.reached;
        v_made := v_made + v_step.made;
    end loop;
    if v_cursor > v_sub.position then
        update subscription s set position = v_cursor where s.name = v_sub.name;
    end if;
    return v_made;
end
$$;

-- Makes jobs of the events in one part of the log. `reached` is the last position looked at; null: there is none.
create function ostinato_internal.dispatch_window(
    sub ostinato_data.subscription, after bigint, most integer, out made integer, out reached bigint
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_now      constant timestamptz := ostinato.now();
    v_base     constant bigint := ostinato_internal.first_id(v_now);
    v_queue    text;
    v_priority smallint;
begin
    select k.queue, k.priority into v_queue, v_priority from kind k where k.name = sub.kind;
    v_queue := coalesce(v_queue, 'default');
    v_priority := coalesce(v_priority, 0);
    with looked as materialized (
        select l.* from event_log l where l.position > after order by l.position
        limit greatest(most, ostinato_internal.log_window())
    ), matching as (
        select l.* from looked l
        where (sub.types is null or l.type = any (sub.types)) and (sub.tenant_id is null or l.tenant_id = sub.tenant_id)
        order by l.position limit most
    ), chosen as materialized (
        select v_base + nextval('job_id_seq') as id, m.position, e.tenant_id, e.correlation_id, e.subject,
               ostinato_internal.lane(e.tenant_id, e.ordering_key) as lane,
               ostinato_internal.event_args(sub.name, m.position, e) as args
        from (select * from matching order by position) m join event e on e.id = m.event_id
        where e.erased_at is null
    ), placed as materialized (
        select c.*, c.lane is null or (row_number() over (partition by c.lane order by c.position) = 1 and not exists (
                   select from delivery o where o.subscription = sub.name and o.lane = c.lane and o.open
                     and o.lane is not null and o.position >= sub.low) and not exists (
                   select from delivery o where o.subscription = sub.name and o.lane = c.lane and not o.open
                     and o.lane is not null and o.position >= sub.low)) as open
        from chosen c
    ), new_job as (
        insert into job (id, created_at, priority, kind, queue, tenant_id, args, correlation_id, subject)
        select p.id, v_now, v_priority, sub.kind, v_queue, p.tenant_id, p.args, p.correlation_id, p.subject
        from placed p
    ), new_ready as (
        insert into ready select r.* from placed p cross join lateral ostinato_internal.new_place(
            p.id, v_priority, false, v_queue, p.tenant_id, sub.kind, null) r where p.open
    ), new_scheduled as (
        insert into scheduled select s.* from placed p cross join lateral ostinato_internal.new_place(
            p.id, v_priority, false, v_queue, p.tenant_id, sub.kind, null) r
        cross join lateral ostinato_internal.scheduled_row(r, ostinato.never(), 'behind') s where not p.open
    ), new_delivery as (
        insert into delivery (job_id, position, open, subscription, lane)
        select p.id, p.position, p.open, sub.name, p.lane from placed p
    )
    select (select count(*) from placed), case when (select count(*) from matching) = most
           then (select max(m.position) from matching m) else (select max(l.position) from looked l) end
    into made, reached;
end
$$;

-- Returns the args of the job that an event is for a subscription: the whole event.
create function ostinato_internal.event_args(subscription text, "position" bigint, event ostinato_data.event)
returns json
language sql stable as $$
    select json_build_object(
        'subscription', subscription, 'position', "position", 'event_id', (event).id, 'type', (event).type,
        'version', (event).version, 'tenant_id', (event).tenant_id, 'correlation_id', (event).correlation_id,
        'occurred_at', (event).occurred_at, 'producer', (event).producer, 'ordering_key', (event).ordering_key,
        'payload', (event).payload)
$$;

-- Makes the jobs of all subscriptions that are behind the log. Returns the queues that got jobs, to be rung after the
-- commit, and how many each.
create function ostinato.dispatch_events(most integer default 1000) returns table (queue text, jobs bigint)
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    return query
    select coalesce(k.queue, 'default'), sum(d.made)
    from (select s.name, s.kind from subscription s
          where s.kind is not null and not s.paused and s.position < ostinato.last_position() order by s.name) s
    cross join lateral ostinato_internal.dispatch_deliveries(s.name, most) d (made) left join kind k on k.name = s.kind
    where d.made > 0 group by 1;
end
$$;

-- Takes along, for a claim that has room left, the jobs behind those that it took: each lane's next ones, in order.
-- `behind` says after which job of the claim each one runs. A lane of which somebody else still holds a part gives
-- none, and neither does a suspect, nor a queue with limits, whose slots they would hold while they wait.
create function ostinato_internal.take_followers(
    queue text, limits ostinato_data.queue, wanted integer, inout batch ostinato_data.batch, out behind bigint[]
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_heads constant integer := cardinality(batch.job_ids);
    v_room  constant integer := wanted - v_heads;
    v_subs  ostinato_data.subscription[];
    v_got   ostinato_data.batch;
    v_after bigint[];
begin
    if v_room < 1 or limits.concurrency is not null or limits.rate_count is not null
       or limits.key_concurrency is not null or limits.key_rate_count is not null
       or not exists (select from subscription) then
        return;
    end if;
    v_subs := array(
        select s from subscription s
        where s.name in (select d.subscription from delivery d
                         where d.job_id = any (batch.job_ids) and d.lane is not null) and not s.paused
        order by s.name for update skip locked);
    with head as materialized (
        select h.n, h.job_id, d.subscription, d.lane, s.low
        from unnest(batch.job_ids, batch.crashes) with ordinality h (job_id, crashes, n)
        join delivery d on d.job_id = h.job_id join unnest(v_subs) s on s.name = d.subscription
        where d.lane is not null and h.crashes < ostinato_internal.suspect_crashes() and (
            select true from delivery o where o.subscription = d.subscription and o.lane = d.lane and o.open
              and o.lane is not null and o.position >= s.low and o.job_id <> d.job_id limit 1) is null
    ), line as (
        select h.n, h.job_id as head, f.job_id, f.turn, s.attempt, s.failures, s.crashes,
               bool_and(coalesce(s.reason = 'behind' and s.queue = take_followers.queue
                                 and s.crashes < ostinato_internal.suspect_crashes(), false))
                   over (partition by h.n order by f.turn) as whole
        from head h cross join lateral (
            select b.job_id, row_number() over (order by b.position, b.job_id) as turn
            from (select d.job_id, d.position from delivery d
                  where d.subscription = h.subscription and d.lane = h.lane and not d.open and d.lane is not null
                    and d.position >= h.low
                  order by d.position, d.job_id limit ceil(v_room::numeric / v_heads)) b) f
        left join lateral (select s.* from scheduled s where s.job_id = f.job_id limit 1) s on true
    ), taken as materialized (
        select l.*, coalesce(lag(l.job_id) over (partition by l.n order by l.turn), l.head) as after
        from line l where l.whole order by l.turn, l.n limit v_room
    )
    select array_agg(t.job_id order by t.n, t.turn), array_agg(t.attempt order by t.n, t.turn),
           array_agg(t.failures order by t.n, t.turn), array_agg(t.crashes order by t.n, t.turn),
           array_agg(t.after order by t.n, t.turn)
    into v_got.job_ids, v_got.attempts, v_got.failures, v_got.crashes, v_after from taken t;
    if v_got.job_ids is not null then
        delete from scheduled s where s.job_id = any (v_got.job_ids);
        update delivery d set open = true where d.job_id = any (v_got.job_ids);
        v_got.positions := v_got.job_ids;
        v_got.keyed := false;
        behind := array_fill(null::bigint, array[v_heads]) || v_after;
        batch := ostinato_internal.add_batch(batch, v_got);
    end if;
end
$$;

-- Ends the deliveries of jobs that are over, and of dead ones whose subscription skips them; their lanes go on. The
-- caller has ended them in this transaction.
create function ostinato_internal.end_deliveries(over bigint[], dead bigint[] default null) returns void
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_name  text;
    v_sub   ostinato_data.subscription;
    v_jobs  bigint[];
    v_lanes text[];
begin
    -- Where nobody subscribes, one look is cheaper than a probe per job.
    if coalesce(over, dead) is null or not exists (select from subscription) then
        return;
    end if;
    for v_name in select distinct d.subscription from delivery d where d.job_id = any (over || dead) order by 1 loop
        select s.* into v_sub from subscription s where s.name = v_name for update;
        continue when not found;  -- removed just now, with its deliveries
        v_jobs := case v_sub.on_poison when 'skip' then over || dead else over end;
        with gone as (
            delete from delivery d where d.job_id = any (v_jobs) and d.subscription || '' = v_name
            returning d.lane, d.open
        )
        select array_agg(distinct g.lane) into v_lanes from gone g where g.open and g.lane is not null;
        perform ostinato_internal.open_lanes(v_sub, v_lanes), ostinato_internal.raise_low(v_sub);
    end loop;
end
$$;

-- Lets the lanes of jobs go on that were completed in their handlers' own transactions, after these. Others are left
-- alone: it may be called for any job, and again.
create function ostinato.leave_lanes(job_ids bigint[]) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
begin
    perform ostinato_internal.end_deliveries(array(
        select o.job_id from outcome o where o.job_id = any (job_ids) and o.outcome = 'done'));
end
$$;

-- Lets the next one of each lane go, unless the subscription is paused or one of the lane has its turn already.
create function ostinato_internal.open_lanes(sub ostinato_data.subscription, lanes text[]) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
begin
    if not sub.paused and lanes is not null then
        perform ostinato_internal.open_deliveries(array(
            select f.job_id from unnest(lanes) l (lane) cross join lateral (
                select d.job_id from delivery d
                where d.subscription = sub.name and d.lane = l.lane and not d.open and d.lane is not null
                  and d.position >= sub.low
                order by d.position, d.job_id limit 1) f
            -- A probe for each: an `exists` may become a join that reads the whole line first.
            where (select true from delivery o where o.subscription = sub.name and o.lane = l.lane and o.open
                     and o.lane is not null and o.position >= sub.low limit 1) is null));
    end if;
end
$$;

-- Makes jobs ready that were behind.
create function ostinato_internal.open_deliveries(job_ids bigint[]) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_base constant bigint := ostinato_internal.first_id(ostinato.now());
begin
    if job_ids = '{}' then
        return;
    end if;
    update delivery d set open = true where d.job_id = any (job_ids);
    with gone as (
        delete from scheduled s where s.job_id = any (job_ids) and s.reason = 'behind' returning s as was
    )
    insert into ready select r.*
    from (select o.was, v_base + nextval('job_id_seq') as at
          from (select g.was from gone g order by (g.was).job_id) o) w
    cross join lateral ostinato_internal.ready_row(w.was, w.at) r;
end
$$;

-- Puts jobs that are ready back behind; one that a claim has taken meanwhile stays with it.
create function ostinato_internal.put_behind(job_ids bigint[]) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_gone record;
begin
    select array_agg(w.job_id) as ids, array_agg(w.attempt) as attempts, array_agg(w.failures) as failures,
           array_agg(w.crashes) as crashes
    into v_gone from ostinato_internal.take_waiting(job_ids) w;
    update delivery d set open = false where d.job_id = any (v_gone.ids);
    insert into scheduled select s.*
    from unnest(v_gone.ids, v_gone.attempts, v_gone.failures, v_gone.crashes) g (job_id, attempt, failures, crashes)
    join job j on j.id = g.job_id
    cross join lateral ostinato_internal.scheduled_row(
        ostinato_internal.place_of(j, 0, g.attempt, g.failures, g.crashes), ostinato.never(), 'behind') s;
end
$$;

-- Keeps the lanes in order after the caller made jobs ready: of a lane that has its turn already, or whose subscription
-- is paused, they go behind; of another one all but the first.
create function ostinato_internal.keep_order(job_ids bigint[]) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_sub ostinato_data.subscription;
begin
    if job_ids is null or not exists (select from subscription) then
        return;
    end if;
    for v_sub in
        select s.* from subscription s
        where s.name in (select d.subscription from delivery d where d.job_id = any (job_ids))
        order by s.name for update
    loop
        perform ostinato_internal.put_behind(array(
            select m.job_id from (
                select d.job_id, d.lane, row_number() over (partition by d.lane order by d.position, d.job_id) as turn
                from delivery d where d.job_id = any (job_ids) and d.subscription = v_sub.name) m
            where v_sub.paused or (m.lane is not null and (m.turn > 1 or exists (
                select from delivery o where o.subscription = v_sub.name and o.lane = m.lane and o.open
                  and o.lane is not null and o.position >= v_sub.low and not o.job_id = any (job_ids))))));
    end loop;
end
$$;

-- Gives event jobs that come back, from a dead letter or from being cancelled, their place in their lane. The caller
-- has made them ready, and holds the locks of their subscriptions (lock_lanes).
create function ostinato_internal.rejoin_lanes(job_ids bigint[]) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
begin
    if not exists (select from subscription) then
        return;
    end if;
    with back as (
        insert into delivery (job_id, position, open, subscription, lane)
        select j.id, (j.args ->> 'position')::bigint, true, s.name,
               ostinato_internal.lane(j.tenant_id, j.args ->> 'ordering_key')
        from job j join subscription s on s.kind = j.kind and s.name = j.args ->> 'subscription'
        where j.id = any (job_ids) and j.args ->> 'position' is not null
        on conflict (job_id) do nothing
        returning subscription, position
    )
    update subscription s set low = b.low
    from (select subscription, min(position) as low from back group by 1) b
    where s.name = b.subscription and s.low > b.low;
    perform ostinato_internal.keep_order(job_ids);
end
$$;

-- Releases what a dead worker's claim holds behind the first of a lane: the worker had not begun it, or had not begun
-- it alone, so it is not to blame. The caller holds the claim's row lock.
create function ostinato_internal.release_followers(claim_ids bigint[]) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_behind record;
begin
    if not exists (select from subscription) then
        return;
    end if;
    select array_agg(f.job_id) as job_ids, array_agg(f.attempt) as attempts, array_agg(f.claim_id) as claims
    into v_behind
    from (select c.id as claim_id, h.job_id, h.attempt,
                 row_number() over (partition by d.subscription, d.lane order by d.position, h.job_id) as turn
          from claim c cross join unnest(c.job_ids, c.attempts) h (job_id, attempt)
          join delivery d on d.job_id = h.job_id
          where c.id = any (claim_ids) and d.lane is not null) f
    where f.turn > 1;
    if v_behind.job_ids is not null then
        perform ostinato.release_jobs(v_behind.claims, v_behind.job_ids, v_behind.attempts);
    end if;
end
$$;

-- Notes below which position a subscription has no delivery any more, now and then. Only to be fast: under an old
-- snapshot ended deliveries leave dead index entries, and every look into a busy lane would step over all of them.
create function ostinato_internal.raise_low(sub ostinato_data.subscription) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off as $$
declare
    v_low bigint;
begin
    if sub.position - sub.low < ostinato_internal.low_step() then
        return;
    end if;
    select d.position into v_low from delivery d
    where d.subscription = sub.name and d.position >= sub.low order by d.position limit 1;
    v_low := coalesce(v_low, sub.position + 1);
    if v_low - sub.low >= ostinato_internal.low_step() then
        update subscription s set low = v_low where s.name = sub.name;
    end if;
end
$$;

-- Does what was left undone: ends deliveries whose job is over, and opens lanes in which nobody has the turn. Returns
-- how many deliveries it ended. The janitor calls it.
create function ostinato.heal_lanes() returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_sub    ostinato_data.subscription;
    v_strays bigint[];
    v_count  integer := 0;
begin
    for v_sub in select s.* from subscription s order by s.name for update loop
        -- A job that is behind cannot end without its lane hearing of it.
        v_strays := array(
            select d.job_id from delivery d cross join lateral (select ostinato.job_state(d.job_id) as state) j
            where d.subscription = v_sub.name and d.open
              and (j.state is null or j.state in ('done', 'cancelled')
                   or (j.state = 'dead' and v_sub.on_poison = 'skip')));
        perform ostinato_internal.end_deliveries(v_strays);
        v_count := v_count + cardinality(v_strays);
        if not v_sub.paused then
            perform ostinato_internal.open_lanes(v_sub, array(
                select d.lane from delivery d where d.subscription = v_sub.name and d.lane is not null
                group by d.lane having not bool_or(d.open)));
        end if;
    end loop;
    return v_count;
end
$$;

-- Cancels the jobs of a subscription that have not begun, and its dead letters, from behind a position on. The caller
-- holds the lock of the subscription. Returns the lanes that they leave.
create function ostinato_internal.drop_deliveries(sub ostinato_data.subscription, after bigint, reason text)
returns text[]
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    v_lanes text[];
    v_gone  bigint[];
begin
    with dropped as materialized (
        select w.job_id, w.attempt from ostinato_internal.take_waiting(array(
            select d.job_id from delivery d where d.subscription = sub.name and d.position > after
              and (not d.open or (ostinato_internal.is_ready(d.job_id)
                                  and not exists (select from outcome o where o.job_id = d.job_id)
                                  and not exists (select from step s where s.job_id = d.job_id))))) w
    ), written as (
        insert into outcome (job_id, attempt, finished_at, outcome, error)
        select d.job_id, d.attempt, ostinato.now(), 'cancelled', json_build_object('reason', drop_deliveries.reason)
        from dropped d
    ), gone as (
        delete from delivery d using dropped g where d.job_id = g.job_id returning d.lane
    )
    select array_agg(distinct g.lane) filter (where g.lane is not null), (select array_agg(d.job_id) from dropped d)
    into v_lanes, v_gone from gone g;
    perform ostinato_internal.forget_run(v_gone, v_gone);
    return v_lanes;
end
$$;

-- Returns the dead letters of a subscription: its buried events, oldest first.
create function ostinato_internal.buried_jobs(
    subscription text, positions bigint[] default null, after bigint default 0
)
returns setof bigint language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select d.job_id from subscription s join dead_letter d on d.kind = s.kind join job j on j.id = d.job_id
    where s.name = $1 and j.args ->> 'subscription' = s.name
      and ($2 is null or (j.args ->> 'position')::bigint = any ($2)) and (j.args ->> 'position')::bigint > $3
    order by d.job_id
$$;

-- Delivers buried events again, those of some positions or all, at most `most`, oldest first: redrives their jobs.
-- Returns how many; `preview` only counts.
create function ostinato.redeliver(
    subscription text, positions bigint[] default null, most integer default 1000, preview boolean default false
) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_sub constant ostinato_data.subscription := ostinato_internal.lock_subscription(redeliver.subscription);
    v_ids constant bigint[] := array(select b from ostinato_internal.buried_jobs(v_sub.name, positions) b limit most);
    v_count bigint;
begin
    if preview then
        return cardinality(v_ids);
    end if;
    select r.redriven into v_count
    from ostinato_internal.redrive_jobs(null, null, null, null, v_ids, null, false) r;
    perform ostinato_internal.record(
        'redeliver', 'subscription', v_sub.name, v_sub.tenant_id, v_ids, v_count,
        json_build_object('positions', cardinality(positions), 'most', most));
    return v_count;
end
$$;

-- Gives up buried events for good: cancels their jobs, and a lane that they block goes on. Returns how many.
create function ostinato.discard(subscription text, positions bigint[]) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_sub constant ostinato_data.subscription := ostinato_internal.lock_subscription(discard.subscription);
    v_ids constant bigint[] := array(select ostinato_internal.buried_jobs(v_sub.name, positions));
begin
    perform ostinato_internal.cancel_job(i, 'the event was discarded') from unnest(v_ids) i;
    perform ostinato_internal.record('discard', 'subscription', v_sub.name, v_sub.tenant_id, v_ids, cardinality(v_ids),
                                     json_build_object('positions', cardinality(positions)));
    return cardinality(v_ids);
end
$$;

-- Delivers events again, and once more everything behind them: from a position on, or from what was emitted at a time
-- on. Returns how many events that is now (up to delivery_cap()); `preview` only counts. What has not begun comes in
-- its new turn, and so do dead letters; what has begun stays, and comes once more in its turn.
create function ostinato.replay(
    subscription text, from_position bigint default null, from_time timestamptz default null,
    preview boolean default false
) returns bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_sub    ostinato_data.subscription := ostinato_internal.lock_subscription(replay.subscription);
    v_cursor constant bigint := least(
        greatest(coalesce(from_position - 1, ostinato_internal.position_at(from_time)), 0), v_sub.position);
    -- What the log no longer has cannot be delivered again: it stays.
    v_first  constant bigint := coalesce(
        (select l.position from event_log l where l.position > v_cursor order by l.position limit 1),
        v_sub.position + 1);
    v_count  bigint;
    v_lanes  text[];
begin
    if (from_position is null) = (from_time is null) then
        raise exception using errcode = 'OS400',
            message = format('replay of %s from position %s and time %s', v_sub.name, from_position, from_time),
            detail = json_build_object('subscription', v_sub.name, 'from_position', from_position,
                                       'from_time', from_time),
            hint = 'Give a position or a time, one of them.';
    end if;
    select count(*) into v_count from (
        select from event_log l
        where l.position > v_cursor and (v_sub.types is null or l.type = any (v_sub.types))
          and (v_sub.tenant_id is null or l.tenant_id = v_sub.tenant_id)
        limit ostinato_internal.delivery_cap()) c;
    if preview then
        return v_count;
    end if;
    v_sub.low := least(v_sub.low, v_cursor + 1);
    update subscription s set position = v_cursor, low = v_sub.low where s.name = v_sub.name;
    perform ostinato_internal.cancel_job(b, 'the event is replayed')
    from ostinato_internal.buried_jobs(v_sub.name, after => v_first - 1) b;
    perform ostinato_internal.open_lanes(v_sub,
                                         ostinato_internal.drop_deliveries(v_sub, v_first - 1,
        'the event is replayed'));
    perform ostinato_internal.record(
        'replay', 'subscription', v_sub.name, v_sub.tenant_id, count => v_count,
        filter => json_build_object('from_position', from_position, 'from_time', from_time));
    return v_count;
end
$$;

-- Returns the subscriptions and how far they are. `behind` are positions not looked at yet; `waiting` are jobs behind
-- another of their key, `held` those that have their turn, `buried` dead letters (up to delivery_cap() each);
-- `lag_seconds` is the age of the oldest event that is not over.
create function ostinato.list_subscriptions() returns table (
    name text, types text[], tenant_id text, kind text, on_poison text, paused boolean, "position" bigint,
    behind bigint, waiting bigint, held bigint, buried bigint, lag_seconds double precision
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select s.name, s.types, s.tenant_id, s.kind, s.on_poison, s.paused, s.position,
           ostinato.last_position() - s.position,
           (select count(*) from (select from delivery d where d.subscription = s.name and not d.open
                                  limit ostinato_internal.delivery_cap()) c),
           (select count(*) from (select from delivery d where d.subscription = s.name and d.open
                                    and not exists (select from dead_letter x where x.job_id = d.job_id)
                                  limit ostinato_internal.delivery_cap()) c),
           (select count(*)
            from (select from ostinato_internal.buried_jobs(s.name) limit ostinato_internal.delivery_cap()) c),
           coalesce(extract(epoch from ostinato.now() - least(
               (select coalesce(e.emitted_at, j.created_at)
                from (select d.job_id from delivery d where d.subscription = s.name and d.position >= s.low
                        and not exists (select from dead_letter x where x.job_id = d.job_id)
                      order by d.position limit 1) d
                join job j on j.id = d.job_id left join event e on e.id = (j.args ->> 'event_id')::bigint),
               (select e.emitted_at
                from (select l.event_id from (select * from event_log l where l.position > s.position
                                              order by l.position limit ostinato_internal.delivery_cap()) l
                      where (s.types is null or l.type = any (s.types))
                        and (s.tenant_id is null or l.tenant_id = s.tenant_id)
                      order by l.position limit 1) l
                join event e on e.id = l.event_id)))::double precision, 0)
    from subscription s order by s.name
$$;

-- Lists buried events of one subscription or all, newest first: dead letters. `before` is the job of the last one seen.
create function ostinato.list_buried(
    subscription text default null, before bigint default null, most integer default 50
) returns table (
    subscription text, job_id bigint, "position" bigint, event_id bigint, type text, tenant_id text, ordering_key text,
    attempt integer, buried_at timestamptz, reason text, signature text, error json
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select s.name, d.job_id, (j.args ->> 'position')::bigint, (j.args ->> 'event_id')::bigint, j.args ->> 'type',
           d.tenant_id, j.args ->> 'ordering_key', d.attempt, d.died_at, d.reason, d.signature, d.error
    from subscription s cross join lateral ostinato_internal.buried_jobs(s.name) b (job_id)
    join dead_letter d on d.job_id = b.job_id join job j on j.id = d.job_id
    where ($1 is null or s.name = $1) and ($2 is null or d.job_id < $2)
    order by d.job_id desc limit $3
$$;

-- Returns what became of one event: a line for each of its jobs that is not over.
create function ostinato.event_deliveries(event_id bigint) returns table (
    subscription text, job_id bigint, state text, reason text, attempt integer, failures integer, run_at timestamptz,
    error text
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    with found as (
        select s.name, d.job_id from event_log l cross join subscription s
        join delivery d on d.subscription = s.name and d.position = l.position where l.event_id = $1
        union
        select b.subscription, b.job_id from ostinato.list_buried(most => ostinato_internal.delivery_cap()) b
        where b.event_id = $1
    )
    select f.name, f.job_id, j.state, j.reason, j.attempt, j.failures, j.run_at, j.error
    from found f join ostinato_internal.job_summaries(array(select f.job_id from found f)) j on j.id = f.job_id
    order by f.name, f.job_id
$$;

-- Returns what keeps an event's job behind: the one before it of its key, or its subscription.
create function ostinato_internal.why_behind(job_id bigint) returns setof ostinato_data.reason language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select 'behind',
        case when o.job_id is null then format('Job %s waits: its subscription %s is paused.', $1, d.subscription)
             else format('Job %s waits behind job %s of its key: events of a key are delivered in order.', $1, o.job_id)
        end,
        json_strip_nulls(json_build_object('subscription', d.subscription, 'position', d.position,
                                           'behind', o.job_id)),
        case when o.job_id is null then format('Let it go on with: ostinato events resume %s', d.subscription)
             else format('Ask about that one: ostinato why %s', o.job_id) end
    from delivery d left join lateral (
        select o.job_id from delivery o
        where o.subscription = d.subscription and o.lane = d.lane and o.open and o.lane is not null
        order by o.position limit 1) o on true
    where d.job_id = $1
$$;

-- Returns what the relay has to do, and in how many seconds: the part of chores() that is its own.
create function ostinato_internal.event_chores() returns table (name text, due double precision) language sql volatile
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
    select 'relay', 0::double precision
    where ostinato_internal.has_unsequenced()
       or exists (select from subscription s where not s.paused and s.position < ostinato.last_position())
$$;
