-- Events: what happened, written in the transaction in which it happened, and handed on in order.
--
-- An event is in `event` for as long as retention says. Until it has its position it is also in `event_unsequenced`; from
-- then on it is also in `event_log`. A subscription is a cursor on that log, and `delivery` holds what lies between: the
-- events that a subscription was given and has not settled yet. Nothing here is updated but a cursor and a delivery.

-- The order in which events of one key were drawn. Not their id: that starts with its day, and a clock can be set back.
create sequence ostinato_data.event_seq as bigint;

create table ostinato_data.event (
    id              bigint      not null,
    occurred_at     timestamptz not null,
    emitted_at      timestamptz not null,
    version         integer     not null,
    type            text        collate "C" not null,
    tenant_id       text        collate "C" not null,
    correlation_id  text        collate "C" not null,
    producer        text        collate "C" not null,
    ordering_key    text        collate "C",
    payload         json        not null,
    primary key (id)
) partition by range (id);
create table ostinato_data.event_default partition of ostinato_data.event default;
create index event_correlation on ostinato_data.event (correlation_id);

-- Committed or about to be, and without a position yet.
create table ostinato_data.event_unsequenced (
    seq           bigint primary key,
    event_id      bigint not null,
    type          text   collate "C" not null,
    tenant_id     text   collate "C" not null,
    ordering_key  text   collate "C"
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);

-- The gap-free order in which every subscription sees the events.
create table ostinato_data.event_log (
    event_id      bigint      not null,
    position      bigint      not null,
    sequenced_at  timestamptz not null,
    type          text        collate "C" not null,
    tenant_id     text        collate "C" not null,
    ordering_key  text        collate "C",
    primary key (event_id)
) partition by range (event_id);
create table ostinato_data.event_log_default partition of ostinato_data.event_log default;
create index event_log_position on ostinato_data.event_log (position);

-- One row, made by the first who stamps: whoever holds its lock stamps. Every seq up to safe_seq is stamped or was rolled back; every one up to
-- pending_seq will be so when the transactions before pending_xid have ended.
create table ostinato_data.event_sequencer (
    only_row     boolean primary key default true check (only_row),
    position     bigint  not null,
    safe_seq     bigint  not null,
    pending_seq  bigint  not null,
    pending_xid  xid8    not null
) with (fillfactor = 20);

create table ostinato_data.event_type (
    name            text        collate "C" not null,
    version         integer     not null,
    payload_schema  json,
    registered_at   timestamptz not null,
    primary key (name, version)
);

-- `position` is the cursor. No delivery that is not buried is below `low`: it is where to look from.
create table ostinato_data.subscription (
    name           text        collate "C" primary key,
    types          text[]      collate "C",
    tenant_id      text        collate "C",
    mode           text        collate "C" not null check (mode in ('relay', 'job')),
    kind           text        collate "C",
    on_poison      text        collate "C" not null check (on_poison in ('skip', 'block')),
    paused         boolean     not null default false,
    position       bigint      not null,
    low            bigint      not null default 0,
    replays        integer     not null default 0,
    created_at     timestamptz not null,
    registered_at  timestamptz not null,
    check ((mode = 'job') = (kind is not null))
) with (fillfactor = 20);

-- What a subscription was given and has not settled: waiting (due_at: its time, or infinity behind another event of its
-- lane), held (by a worker, or by a job), done (in the handler's own transaction, to be cleared away), or buried. A lane is
-- (tenant, key). At most one row of a lane that waits has a time, and none while a row of it is held.
create table ostinato_data.delivery (
    subscription  text        collate "C" not null,
    position      bigint      not null,
    event_id      bigint      not null,
    job_id        bigint,
    due_at        timestamptz not null,
    held_at       timestamptz,
    buried_at     timestamptz,
    worker_id     uuid,
    attempt       integer     not null,
    failures      smallint    not null,
    crashes       smallint    not null,
    again         boolean     not null default false,  -- a replay came while it was held: it is delivered once more, in its turn
    state         text        collate "C" not null check (state in ('waiting', 'held', 'done', 'buried')),
    lane          text        collate "C",
    reason        text        collate "C",
    signature     text        collate "C",
    error         json,
    primary key (subscription, position)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);
create index delivery_lane on ostinato_data.delivery (subscription, lane, position) where lane is not null and state <> 'buried';
create index delivery_active on ostinato_data.delivery (subscription, lane, position) where state <> 'buried' and due_at < 'infinity';
create index delivery_due on ostinato_data.delivery (subscription, due_at, position) where state = 'waiting' and due_at < 'infinity';
create index delivery_holder on ostinato_data.delivery (worker_id) where state in ('held', 'done') and worker_id is not null;
create index delivery_job on ostinato_data.delivery (job_id) where state in ('held', 'done') and job_id is not null;
create index delivery_buried on ostinato_data.delivery (subscription, lane, position) where state = 'buried';

-- Copies of events that are buried somewhere: they outlive the week of the event.
create table ostinato_data.event_kept (like ostinato_data.event including all);

select ostinato_data.protect(name, tenants => name in ('event', 'event_default', 'event_unsequenced', 'event_log', 'event_log_default'))
from unnest(array['event', 'event_default', 'event_unsequenced', 'event_log', 'event_log_default', 'event_sequencer',
                  'event_type', 'subscription', 'delivery', 'event_kept']) name;
grant usage, select on sequence ostinato_data.event_seq to ostinato_worker;
grant usage on sequence ostinato_data.event_seq to ostinato_tenant;
-- A tenant tells and reads its own events.
grant select, insert on ostinato_data.event to ostinato_tenant;
grant insert on ostinato_data.event_unsequenced to ostinato_tenant;
grant select on ostinato_data.event_log to ostinato_tenant;
create policy types on ostinato_data.event_type for select to ostinato_tenant using (true);
grant select on ostinato_data.event_type to ostinato_tenant;
