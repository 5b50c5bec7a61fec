-- The engine's tables. Private: clients use the functions and views of schema ostinato.
--
-- One job lives in exactly one of these places, and the place is its state:
--   scheduled   waits for its time (later, retry, snooze)
--   ready       may be claimed now
--   claim       held by a worker (one row per batch; the arrays list what is still held)
--   dead_letter gave up; waits for a person
--   (none)      finished: its last outcome row says done or cancelled
-- `job` is written once and never updated; `outcome` is append-only. Both are partitioned by job id, and
-- an id starts with its day (see ostinato.new_id), so a range of ids is a range of time.
--
-- Text columns that take part in hot indexes collate "C": the same order and the same speed on every server.

create sequence ostinato_data.job_id_seq as bigint minvalue 0 maxvalue 9999999999 start 1 cycle;
create sequence ostinato_data.claim_id_seq as bigint;

create table ostinato_data.job (
    id              bigint      not null,
    created_at      timestamptz not null,
    run_at          timestamptz,
    priority        smallint    not null,
    max_attempts    smallint,
    kind            text        collate "C" not null,
    queue           text        collate "C" not null,
    tenant_id       text        collate "C" not null,
    args            json        not null,
    limit_key       text        collate "C",
    unique_key      text        collate "C",
    correlation_id  text        collate "C",
    primary key (id)
) partition by range (id);
create table ostinato_data.job_default partition of ostinato_data.job default;
create index job_correlation on ostinato_data.job (correlation_id) where correlation_id is not null;

create table ostinato_data.outcome (
    job_id       bigint      not null,
    finished_at  timestamptz not null,
    attempt      integer     not null,
    duration_ms  integer,
    worker_id    uuid,
    outcome      text        collate "C" not null check (outcome in ('done', 'failed', 'lost', 'cancelled', 'dead')),
    result       json,
    error        json,
    primary key (job_id, attempt)
) partition by range (job_id);
create table ostinato_data.outcome_default partition of ostinato_data.outcome default;

create table ostinato_data.ready (
    position   bigint   not null,
    job_id     bigint   not null,
    attempt    integer  not null,
    priority   smallint not null,
    failures   smallint not null,
    crashes    smallint not null,
    keyed      boolean  not null,
    queue      text     collate "C" not null,
    tenant_id  text     collate "C" not null,
    kind       text     collate "C" not null,
    limit_key  text     collate "C"
) with (
    -- Every row is deleted within its life: vacuum early, at full speed, by count and not by share.
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_insert_scale_factor = 1, autovacuum_analyze_scale_factor = 1
);
create index ready_lane on ostinato_data.ready (queue, priority, tenant_id, position);
create index ready_limited on ostinato_data.ready (queue, limit_key, priority, position) where limit_key is not null;
create index ready_suspect on ostinato_data.ready (queue, position) where crashes >= 2;
-- A first run has position = job_id and is found by its lane; only moved rows need this index.
create index ready_moved on ostinato_data.ready (job_id) where position <> job_id;

create table ostinato_data.scheduled (
    job_id     bigint      primary key,
    run_at     timestamptz not null,
    attempt    integer     not null,
    priority   smallint    not null,
    failures   smallint    not null,
    crashes    smallint    not null,
    keyed      boolean     not null,
    reason     text        collate "C" not null check (reason in ('later', 'retry', 'snooze')),
    queue      text        collate "C" not null,
    tenant_id  text        collate "C" not null,
    kind       text        collate "C" not null,
    limit_key  text        collate "C"
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);
create index scheduled_due on ostinato_data.scheduled (run_at);

create table ostinato_data.claim (
    id          bigint      primary key,
    worker_id   uuid        not null,
    claimed_at  timestamptz not null,
    queue       text        collate "C" not null,
    keyed       boolean     not null,
    job_ids     bigint[]    not null,
    positions   bigint[]    not null,
    attempts    integer[]   not null,
    failures    smallint[]  not null,
    crashes     smallint[]  not null,
    limit_keys  text[]      collate "C"
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index claim_worker on ostinato_data.claim (worker_id);

create table ostinato_data.dead_letter (
    job_id     bigint      primary key,
    attempt    integer     not null,
    died_at    timestamptz not null,
    kind       text        collate "C" not null,
    queue      text        collate "C" not null,
    tenant_id  text        collate "C" not null,
    reason     text        collate "C" not null,
    signature  text        collate "C" not null,
    error      json
);
create index dead_letter_signature on ostinato_data.dead_letter (signature, job_id);
create index dead_letter_tenant on ostinato_data.dead_letter (tenant_id, job_id);

create table ostinato_data.job_unique (
    tenant_id   text   collate "C" not null,
    unique_key  text   collate "C" not null,
    job_id      bigint not null,
    states      text[] not null,
    primary key (tenant_id, unique_key)
);
create unique index job_unique_job on ostinato_data.job_unique (job_id);

create table ostinato_data.cancel_request (
    job_id        bigint      primary key,
    requested_at  timestamptz not null,
    reason        text        not null
);

create table ostinato_data.job_progress (
    job_id      bigint           primary key,
    attempt     integer          not null,
    done        double precision not null,
    total       double precision,
    note        text,
    updated_at  timestamptz      not null
) with (fillfactor = 70);

create table ostinato_data.kind (
    name             text        collate "C" primary key,
    queue            text        collate "C" not null,
    priority         smallint    not null,
    timeout_seconds  double precision,
    retry            json        not null,
    args_schema      json,
    registered_at    timestamptz not null
);

create table ostinato_data.queue (
    name              text     collate "C" primary key,
    paused            boolean  not null default false,
    concurrency       integer  check (concurrency > 0),
    key_concurrency   integer  check (key_concurrency > 0),
    rate_count        integer  check (rate_count > 0),
    rate_seconds      double precision check (rate_seconds > 0),
    key_rate_count    integer  check (key_rate_count > 0),
    key_rate_seconds  double precision check (key_rate_seconds > 0),
    check ((rate_count is null) = (rate_seconds is null)),
    check ((key_rate_count is null) = (key_rate_seconds is null))
);

-- What was started lately in rate-limited queues: one row per claim and key ('' = the queue itself).
create table ostinato_data.rate_use (
    queue       text        collate "C" not null,
    limit_key   text        collate "C" not null,
    started_at  timestamptz not null,
    started     integer     not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
create index rate_use_window on ostinato_data.rate_use (queue, limit_key, started_at) include (started);

create table ostinato_data.worker (
    id             uuid        primary key,
    name           text        not null,
    started_at     timestamptz not null,
    beat_at        timestamptz not null,
    expiry_seconds double precision not null,
    draining       boolean     not null default false,
    contract       integer     not null,
    queues         text[]      not null,
    kinds          text[]      not null
) with (fillfactor = 50);

-- One row. The time of the last tick, and until when no lease counts as expired (see ostinato.tick).
create table ostinato_data.tick (
    only_row     boolean     primary key default true check (only_row),
    last         timestamptz not null,
    grace_until  timestamptz not null
) with (fillfactor = 20);
insert into ostinato_data.tick (last, grace_until) values (clock_timestamp(), '-infinity');

create table ostinato_data.doorbell (
    queue    text        collate "C" primary key,
    rung_at  timestamptz not null
) with (fillfactor = 20);

-- One row, used only by sessions whose setting ostinato.clock is 'table' (tests and simulations).
create table ostinato_data.test_clock (
    only_row  boolean     primary key default true check (only_row),
    frozen    timestamptz,
    shift     interval    not null default '0'
);
insert into ostinato_data.test_clock (frozen) values (null);

-- What a claim takes, as it travels between the functions of claims.sql.
create type ostinato_data.batch as (
    job_ids bigint[], positions bigint[], attempts integer[], failures smallint[], crashes smallint[],
    limit_keys text[], keyed boolean, cursor text
);
-- The lanes that a claim remembers for the next one: where they were found, when, at what cost, and how far they are taken.
create type ostinato_data.lanes as (
    looked_up_at timestamptz, cost interval, found integer, last_tenant text, priorities smallint[], tenants text[], positions bigint[]
);

-- The lanes as the last large claim of a queue left them, for workers of the same kinds. Only to be fast: may be lost.
create table ostinato_data.claim_hint (
    queue text, kinds text[], lanes ostinato_data.lanes not null,
    primary key (queue, kinds)
) with (fillfactor = 20);
