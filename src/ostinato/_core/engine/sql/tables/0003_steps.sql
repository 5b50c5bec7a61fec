-- Steps: what a job has done so far, kept so that no later attempt does it again.
--
-- A row of `step` is written once, by the attempt that made it, and never changed; a restart deletes it. Like `job` and
-- `outcome` it is partitioned by job id, so that it leaves with its job.

create table ostinato_data.step (
    job_id       bigint      not null,
    finished_at  timestamptz not null,
    until        timestamptz,
    event_id     bigint,
    position     integer     not null,
    attempt      integer     not null,
    duration_ms  integer,
    type         text        collate "C" not null check (type in ('call', 'sleep', 'event', 'timeout')),
    name         text        collate "C" not null,
    result       json,
    primary key (job_id, position)
) partition by range (job_id);
create table ostinato_data.step_default partition of ostinato_data.step default;

-- The event that a job waits for. The job itself stands in `scheduled`, with the reason 'event'.
create table ostinato_data.job_wait (
    job_id         bigint      primary key,
    registered_at  timestamptz not null,
    deadline       timestamptz,
    position       integer     not null,
    attempt        integer     not null,
    tenant_id      text        collate "C" not null,
    event          text        collate "C" not null,
    key            text        collate "C" not null
);
create index job_wait_event on ostinato_data.job_wait (tenant_id, event, key);

-- Jobs whose wait is over and that are still to be moved to `ready` (see ostinato.wake_jobs). Nearly always empty.
create table ostinato_data.job_wake (
    job_id  bigint primary key
);

-- Holds no rows: its lock keeps those who register waits and those who hand out events apart (see waits.sql).
create table ostinato_data.wait_gate (
    only_row  boolean primary key check (only_row)
);

alter table ostinato_data.scheduled drop constraint scheduled_reason_check;
alter table ostinato_data.scheduled add constraint scheduled_reason_check
    check (reason in ('later', 'retry', 'snooze', 'sleep', 'event'));

select ostinato_data.protect('step'), ostinato_data.protect('step_default'), ostinato_data.protect('job_wait'),
       ostinato_data.protect('job_wake'), ostinato_data.protect('wait_gate');

-- The weeks that job and outcome have already.
do $$
declare
    v_week record;
begin
    for v_week in
        select replace(c.relname, 'job_', 'step_') as name, pg_get_expr(c.relpartbound, c.oid) as bounds
        from pg_catalog.pg_inherits i join pg_catalog.pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'ostinato_data.job'::regclass and c.relname ~ '^job_\d{8}$'
    loop
        execute format('create table ostinato_data.%I partition of ostinato_data.step %s', v_week.name, v_week.bounds);
        perform ostinato_data.protect(v_week.name);
    end loop;
end
$$;
