-- Bulk actions: one verb on all jobs that match a filter. The functions are in bulk.sql, the filter's in search.sql.

-- Which jobs: those that match every field that is set. The arguments contain `args`, their text contains `text`.
create type ostinato_data.job_filter as (
    queue text, kind text, tenant_id text, correlation_id text, signature text, since timestamptz, until timestamptz,
    args jsonb, text text
);

-- The id of a bulk action is that of the job that does it; only jobs with smaller ids are meant.
create table ostinato_data.bulk (
    id           bigint      primary key,
    created_at   timestamptz not null,
    finished_at  timestamptz,
    -- How far it is: all jobs of `states[place]` on this side of the cursor are done.
    cursor       bigint,
    -- How many matched at the start; `capped` says that there are more.
    matching     bigint      not null,
    done         bigint      not null default 0,
    refused      bigint      not null default 0,
    -- Jobs of a canary that failed again.
    failed       bigint      not null default 0,
    key_id       bigint,
    place        smallint    not null default 1,
    -- Of a canary: 0 one job, 1 ten, 2 the rest.
    stage        smallint    not null default 0,
    canary       boolean     not null,
    capped       boolean     not null,
    -- Null: all tenants.
    tenant_id    text        collate "C",
    verb         text        collate "C" not null check (verb in ('cancel', 'retry', 'discard', 'redrive')),
    state        text        collate "C" not null default 'running'
                             check (state in ('running', 'stopped', 'halted', 'done')),
    states       text[]      not null,
    actor        text        not null,
    actor_type   text        collate "C" not null,
    reason       text,
    note         text,
    filter       json        not null,
    -- Of a canary: the jobs that it waits for, and the attempts that tell.
    watched      bigint[]    not null default '{}',
    attempts     integer[]   not null default '{}'
) with (fillfactor = 70);
create index bulk_tenant on ostinato_data.bulk (tenant_id, id);

-- Jobs that a bulk action left as they are, and why: the first thousand.
create table ostinato_data.bulk_refusal (
    bulk_id    bigint not null,
    job_id     bigint not null,
    tenant_id  text   collate "C",
    reason     text   not null,
    primary key (bulk_id, job_id)
);

-- A bulk action as people see it.
create type ostinato_data.bulk_line as (
    id bigint, verb text, state text, tenant_id text, filter json, matching bigint, capped boolean, done bigint,
    refused bigint, failed bigint, canary boolean, stage smallint, watched bigint, actor text, reason text, note text,
    created_at timestamptz, finished_at timestamptz
);

select ostinato_data.protect('bulk', tenants => true), ostinato_data.protect('bulk_refusal', tenants => true);
grant select on ostinato_data.bulk, ostinato_data.bulk_refusal to ostinato_tenant;

-- When an operator asked a worker to end: it takes no new jobs, finishes those that it has, and stops.
alter table ostinato_data.worker add column drain_asked_at timestamptz;
