-- Schedules: what is to happen again and again at a local time, and what came of it.
--
--   schedule       the definition, written by people and programs
--   schedule_due   when the next slot is due: a narrow row for each schedule that is neither paused nor over
--   schedule_fire  one row for each slot that was served, ever: append-only, a log by the day of the slot (logs.sql)

create sequence ostinato_data.schedule_id_seq as bigint;

-- A rule of recurrence: `at` (once), or `at_time` (daily), or minutes and hours (a cron text); the days that they hold on.
-- A set of days that is null holds every day; in `days` 32 is the last of the month; weekdays are 1 (Monday) to 7.
create type ostinato_data.recurrence as (
    zone text, gap text, overlap text,
    at timestamp, at_time time, minutes smallint[], hours smallint[],
    days smallint[], months smallint[], weekdays smallint[], either_day boolean
);

create table ostinato_data.schedule (
    id                bigint      primary key default nextval('ostinato_data.schedule_id_seq'),
    created_at        timestamptz not null,
    timed_at          timestamptz not null,  -- when its times were set last
    starts_at         timestamptz,
    ends_at           timestamptz,
    catch_up_seconds  double precision check (catch_up_seconds > 0),
    grace_seconds     double precision not null check (grace_seconds > 0),
    jitter_seconds    double precision not null check (jitter_seconds >= 0),
    catch_up_most     integer     not null check (catch_up_most between 1 and 1000),
    priority          smallint,
    paused            boolean     not null default false,
    catch_up          text        collate "C" not null check (catch_up in ('all', 'last', 'none')),
    tenant_id         text        collate "C" not null,
    name              text        collate "C" not null,
    key               text        collate "C",
    owner             text        collate "C",
    kind              text        collate "C" not null,
    queue             text        collate "C",
    args              json        not null,
    cron              text,
    recurrence        ostinato_data.recurrence not null,
    error             text,
    unique (tenant_id, name)
);
create index schedule_key on ostinato_data.schedule (tenant_id, key) where key is not null;
create index schedule_owner on ostinato_data.schedule (owner) where owner is not null;

-- Every fire moves its row: kept apart from the definition, so that a move is small and touches two indexes.
create table ostinato_data.schedule_due (
    schedule_id  bigint      primary key,
    next_at      timestamptz not null,  -- the slot and its jitter
    slot_at      timestamptz not null,
    slot_local   timestamp   not null,
    missed       integer     not null default 0,
    tenant_id    text        collate "C" not null
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index schedule_due_next on ostinato_data.schedule_due (next_at);

-- A slot is served once: its day follows from its time, so that the key is unique for schedule and slot over all partitions.
create table ostinato_data.schedule_fire (
    day_id       bigint      not null,  -- the first id of the slot's day, see ostinato.first_id
    schedule_id  bigint      not null,
    slot_at      timestamptz not null,
    slot_local   timestamp   not null,
    fired_at     timestamptz not null,
    lateness     double precision not null,
    job_id       bigint      not null,
    missed       integer     not null,
    tenant_id    text        collate "C" not null,
    zone         text        collate "C" not null,
    primary key (schedule_id, slot_at, day_id),
    check (day_id = greatest(0, floor(extract(epoch from slot_at) / 86400)::bigint - 20454) * 10000000000)
) partition by range (day_id);
create table ostinato_data.schedule_fire_default partition of ostinato_data.schedule_fire default;

select ostinato_data.protect('schedule', tenants => true);
select ostinato_data.protect('schedule_due', tenants => true);
select ostinato_data.protect('schedule_fire', tenants => true);
select ostinato_data.protect('schedule_fire_default', tenants => false);
grant usage on sequence ostinato_data.schedule_id_seq to ostinato_worker, ostinato_tenant;
-- A tenant keeps its own schedules and reads what came of them; only workers fire.
grant select, insert, update, delete on ostinato_data.schedule, ostinato_data.schedule_due to ostinato_tenant;
grant select on ostinato_data.schedule_fire to ostinato_tenant;
