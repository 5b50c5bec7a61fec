-- Children: jobs that a job spawned, and waits for. The functions are in children.sql.

-- Null for all others; the index holds children only, so it costs others nothing.
alter table ostinato_data.job add column parent_id bigint, add column group_id bigint;
create index job_children on ostinato_data.job (group_id, id) where group_id is not null;

-- One row for each spawn: how many children it has, and how many of them have ended and how, as far as was counted.
create table ostinato_data.job_group (
    id            bigint      not null,
    parent_id     bigint      not null,
    created_at    timestamptz not null,
    -- One of the children that failed, and how far the rest is cancelled.
    failed_id     bigint,
    walked_to     bigint,
    -- The step that spawned it (null: a restart forgot that step), and the step that waits for it.
    position      integer,
    join_step     integer,
    total         integer     not null default 0,
    done          integer     not null default 0,
    failed        integer     not null default 0,
    cancelled     integer     not null default 0,
    state         text        collate "C" not null default 'open' check (state in ('open', 'cancelling', 'closed')),
    on_failure    text        collate "C" check (on_failure in ('fail', 'collect', 'ignore')),
    tenant_id     text        collate "C" not null,
    primary key (tenant_id, id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create unique index job_group_step on ostinato_data.job_group (parent_id, position);
create index job_group_cancelling on ostinato_data.job_group (id) where state = 'cancelling';

-- What ended since a group was counted last: one row for each group in a set of verdicts, added by whoever writes the
-- verdicts and taken away by whoever counts. So no two finishing children wait for each other.
create table ostinato_data.child_tick (
    tenant_id  text    collate "C" not null,
    group_id   bigint  not null,
    failed_id  bigint,
    done       integer not null default 0,
    failed     integer not null default 0,
    cancelled  integer not null default 0,
    -- The parent was cancelled, or the group is not needed any more.
    cancel     boolean not null default false
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
create index child_tick_group on ostinato_data.child_tick (tenant_id, group_id);

select ostinato_data.protect('job_group', tenants => true), ostinato_data.protect('child_tick', tenants => true);
grant select on ostinato_data.job_group, ostinato_data.child_tick to ostinato_tenant;
