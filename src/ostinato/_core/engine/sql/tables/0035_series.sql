-- Series: what workers did, by minute and by hour, for charts and for "usually". The functions are in series.sql.

-- One row for each step of time, queue and kind in which an attempt ended. Steps are 60 s, kept for two days, and 3,600 s,
-- kept as long as the history. The kinds and queues are those that workers run, so tenants cannot make rows of their own.
create table ostinato_data.series (
    step         smallint         not null check (step in (60, 3600)),
    at           timestamptz      not null,
    queue        text             collate "C" not null,
    kind         text             collate "C" not null,
    -- Jobs that were claimed for the first time: what came in, a wait later.
    first        bigint           not null,
    done         bigint           not null,
    failed       bigint           not null,
    dead         bigint           not null,
    run_seconds  double precision not null,
    -- How many started within each bound of ostinato_internal.latency_bounds(); the last is beyond all.
    latency      bigint[]         not null,
    primary key (step, at, queue, kind)
) with (fillfactor = 70);

-- The same for each tenant, without queues and kinds: minutes for three hours, hours as long as the history.
create table ostinato_data.tenant_series (
    tenant_id    text             collate "C" not null,
    step         smallint         not null check (step in (60, 3600)),
    at           timestamptz      not null,
    first        bigint           not null,
    done         bigint           not null,
    failed       bigint           not null,
    dead         bigint           not null,
    run_seconds  double precision not null,
    latency      bigint[]         not null,
    primary key (tenant_id, step, at)
) with (fillfactor = 70);
create index tenant_series_at on ostinato_data.tenant_series (step, at);

select ostinato_data.protect('series'), ostinato_data.protect('tenant_series', tenants => true);
grant select on ostinato_data.tenant_series to ostinato_tenant;
