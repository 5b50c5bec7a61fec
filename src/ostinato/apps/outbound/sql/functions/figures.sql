-- Figures of the outbound application: for the API, for Prometheus, and for the alerts that it declares (rule 7).

-- Messages whose attempts are used up and that nobody has retried, by tenant.
create function outbound.dead_letters() returns table (label text, value double precision) language sql stable
set search_path = outbound, pg_catalog, pg_temp as $$
    select m.tenant_id, count(*)::double precision from message m where m.dead_lettered_at is not null
    group by m.tenant_id
$$;

-- Returns the share of messages that failed among those that ended within the last `minutes`, by tenant; only where
-- `at_least` ended.
create function outbound.failure_rates(minutes integer default 60, at_least integer default 10)
returns table (label text, value double precision) language sql stable
set search_path = outbound, pg_catalog, pg_temp as $$
    with ended as (
        select m.tenant_id, false as failed from message m
        where m.sent_at > ostinato.now() - make_interval(mins => $1) and m.status <> 'FAILED'
        union all
        select m.tenant_id, true from message m where m.status = 'FAILED'
        and m.failed_at > ostinato.now() - make_interval(mins => $1)
    )
    select e.tenant_id, count(*) filter (where e.failed)::double precision / count(*) from ended e
    group by e.tenant_id having count(*) >= $2
$$;

-- Callbacks that were refused because of their signature within the last `minutes`, by provider.
create function outbound.signature_failures(minutes integer default 10) returns table (label text,
    value double precision) language sql stable
set search_path = outbound, pg_catalog, pg_temp as $$
    select r.provider, sum(r.times)::double precision from refused_callback r
    where r.minute > ostinato.now() - make_interval(mins => $1) group by r.provider
$$;

-- Counts the messages of each tenant that wait to be sent.
create function outbound.queue_sizes() returns table (label text, value double precision) language sql stable
set search_path = outbound, pg_catalog, pg_temp as $$
    select m.tenant_id, count(*)::double precision from message m where m.status in ('QUEUED', 'SENDING')
    group by m.tenant_id
$$;

-- Senders that are held because of an error of the provider, by tenant.
create function outbound.held_senders() returns table (label text, value double precision) language sql stable
set search_path = outbound, pg_catalog, pg_temp as $$
    select s.tenant_id, count(*)::double precision from sender s
    where s.held_until > ostinato.now() or s.outage_since is not null
    group by s.tenant_id
$$;

-- Callbacks that nobody has worked through after so many `hours`, by provider: their jobs are dead letters, and they
-- are forgotten one day.
create function outbound.stuck_callbacks(hours integer default 12) returns table (label text,
    value double precision) language sql stable
set search_path = outbound, pg_catalog, pg_temp as $$
    select c.provider, count(*)::double precision from callback c
    where c.processed_at is null and c.received_at < ostinato.now() - make_interval(hours => $1) group by c.provider
$$;

-- Counts error codes that the policy table does not know, met within the last `minutes`, by provider and code.
create function outbound.unknown_codes(minutes integer default 60) returns table (label text,
    value double precision) language sql stable
set search_path = outbound, pg_catalog, pg_temp as $$
    select s.provider || ' ' || a.error_code, count(*)::double precision
    from attempt a join message m on m.tenant_id = a.tenant_id and m.id = a.message_id
    join sender s on s.tenant_id = m.tenant_id and s.id = m.sender_id
    where a.ended_at > ostinato.now() - make_interval(mins => $1) and a.status = 'FAILED' and a.error_class = 'unknown'
    group by 1
$$;

-- Figures of a tenant, or of all of them (null), over the last `minutes`: name, label, value. Latencies are medians and
-- 95 of 100, in seconds.
create function outbound.figures(of_tenant text default null, minutes integer default 60)
returns table (name text, label text, value double precision) language sql stable
set search_path = outbound, pg_catalog, pg_temp as $$
    with since as (
        select ostinato.now() - make_interval(mins => $2) as at
    ), sent as (
        select m.channel, m.status, extract(epoch from m.sent_at - m.created_at) as to_sent,
        extract(epoch from m.delivered_at - m.sent_at) as to_delivered
        from message m, since where m.sent_at > since.at and ($1 is null or m.tenant_id = $1)
    ), failed as (
        select m.channel, m.error_code, m.error_class from message m, since
        where m.status = 'FAILED' and m.failed_at > since.at and ($1 is null or m.tenant_id = $1)
    )
    select 'queue_size', c, (select count(*) from message m where m.channel = c and m.status in ('QUEUED', 'SENDING')
    and ($1 is null or m.tenant_id = $1))::double precision
    from unnest(array['WHATSAPP', 'SMS', 'EMAIL']) c
    union all select 'sent', s.channel, count(*) from sent s group by s.channel
    union all select 'delivered', s.channel, count(*) from sent s where s.to_delivered is not null group by s.channel
    union all select 'failed', f.channel, count(*) from failed f group by f.channel
    union all select 'failed_by_code', f.error_code, count(*) from failed f group by f.error_code
    union all select 'failed_by_class', coalesce(f.error_class, 'unknown'), count(*) from failed f group by 2
    union all select 'failure_rate', '', (select count(*) from failed)::double precision
        / nullif((select count(*) from failed) + (select count(*) from sent s where s.status <> 'FAILED'), 0)
    union all select 'queued_to_sent_p50', s.channel, percentile_cont(0.5) within group (order by s.to_sent) from sent s
    group by s.channel
    union all select 'queued_to_sent_p95', s.channel, percentile_cont(0.95) within group (order by s.to_sent)
    from sent s group by s.channel
    union all select 'sent_to_delivered_p50', s.channel,
    percentile_cont(0.5) within group (order by greatest(s.to_delivered, 0))
        from sent s where s.to_delivered is not null group by s.channel
    union all select 'sent_to_delivered_p95', s.channel,
    percentile_cont(0.95) within group (order by greatest(s.to_delivered, 0))
        from sent s where s.to_delivered is not null group by s.channel
    union all select 'retries', '', count(*) from attempt a, since
    where a.attempt_no > 1 and a.created_at > since.at and ($1 is null or a.tenant_id = $1)
    union all select 'dead_letters', '', count(*) from message m
    where m.dead_lettered_at is not null and ($1 is null or m.tenant_id = $1)
$$;

-- Returns the figures of all tenants together for Prometheus, as ostinato.observe() does the engine's. Runs as the
-- owner, because the API sees no tenant's rows. Providers make up codes: only the most frequent have a label of their
-- own.
create function outbound.observe() returns table (name text, label text, value double precision) language sql stable
security definer
set search_path = outbound, pg_catalog, pg_temp set row_security = on as $$
    select 'outbound_' || f.name, f.label, coalesce(sum(f.value), 0) from (
        select g.name, g.value,
               case when row_number() over (partition by g.name order by g.value desc, g.label) > 50 then 'other'
                    else g.label end as label
        from outbound.figures(null, 60) g) f
    group by f.name, f.label
    union all select 'outbound_signature_failures', s.label, s.value from outbound.signature_failures(60) s
    union all select 'outbound_held_senders', '', coalesce(sum(h.value), 0) from outbound.held_senders() h
$$;
