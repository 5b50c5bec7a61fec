-- Webhooks: who wants to be told, with which secrets, and what became of each message. The functions are in webhooks.sql.

create table ostinato_data.webhook_endpoint (
    id                     bigint      primary key,
    tenant_id              text        collate "C" not null,
    name                   text        collate "C" not null,
    url                    text        not null,
    event_types            text[]      not null,
    state                  text        collate "C" not null default 'active' check (state in ('active', 'paused', 'disabled')),
    reason                 text,
    description            text        not null,
    headers                json        not null,
    retry                  json        not null,
    timeout_seconds        double precision not null,
    disable_after_seconds  double precision not null,
    ordered                boolean     not null,
    created_at             timestamptz not null,
    changed_at             timestamptz not null,
    failing_since          timestamptz,
    from_position          bigint      not null,
    unique (tenant_id, name),
    unique (tenant_id, id)
);

-- Apart from the endpoints, so that nobody who may look at an endpoint sees a secret by mistake.
create table ostinato_data.webhook_secret (
    id           bigint      primary key,
    endpoint_id  bigint      not null references ostinato_data.webhook_endpoint on delete cascade,
    secret       text        not null,
    created_at   timestamptz not null,
    expires_at   timestamptz
);
create index webhook_secret_endpoint on ostinato_data.webhook_secret (endpoint_id, id);
create index webhook_secret_expiry on ostinato_data.webhook_secret (expires_at) where expires_at is not null;

-- An event as it is sent: the same bytes at every attempt, to every endpoint.
create table ostinato_data.webhook_message (
    id              bigint      primary key,
    tenant_id       text        collate "C" not null,
    event_id        text        collate "C" not null,
    event_type      text        collate "C" not null,
    correlation_id  text        collate "C" not null,
    body            text        not null,
    created_at      timestamptz not null,
    unique (tenant_id, event_id)
);

-- One message for one endpoint. Its state:
--   pending    has a job, which tries it now or at its next time
--   waiting    comes after an earlier one of its key that is not settled yet (ordered endpoints)
--   held       its endpoint is paused or disabled
--   delivered  was answered with 2xx
--   dead       gave up; its last job, if it has one, is a dead letter
create table ostinato_data.webhook_delivery (
    id            bigint      primary key,
    tenant_id     text        collate "C" not null,
    endpoint_id   bigint      not null,
    message_id    bigint      not null references ostinato_data.webhook_message on delete cascade,
    seq           bigint      not null,
    ordering_key  text        collate "C",
    state         text        collate "C" not null check (state in ('pending', 'waiting', 'held', 'delivered', 'dead')),
    job_id        bigint,
    attempts      integer     not null default 0,
    last_status   integer,
    last_error    text,
    created_at    timestamptz not null,
    settled_at    timestamptz,
    unique (endpoint_id, message_id),
    foreign key (tenant_id, endpoint_id) references ostinato_data.webhook_endpoint (tenant_id, id) on delete cascade
) with (fillfactor = 80);
create index webhook_delivery_endpoint on ostinato_data.webhook_delivery (endpoint_id, id);
create index webhook_delivery_message on ostinato_data.webhook_delivery (message_id);
create index webhook_delivery_key on ostinato_data.webhook_delivery (endpoint_id, ordering_key, seq, id)
    where state in ('pending', 'waiting', 'held');
create index webhook_delivery_held on ostinato_data.webhook_delivery (endpoint_id, seq, id) where state = 'held';
create index webhook_delivery_pending on ostinato_data.webhook_delivery (endpoint_id, id) where state = 'pending';
create index webhook_delivery_job on ostinato_data.webhook_delivery (job_id) where state = 'pending';
create index webhook_delivery_delivered on ostinato_data.webhook_delivery (id) where state = 'delivered';

-- What each attempt met. A log: weekly partitions, dropped as a whole.
create table ostinato_data.webhook_attempt (
    id           bigint      not null,
    delivery_id  bigint      not null,
    tenant_id    text        collate "C" not null,
    attempt      integer     not null,
    at           timestamptz not null,
    outcome      text        collate "C" not null,
    status       integer,
    duration_ms  integer     not null,
    answer       text,
    error        text,
    next_at      timestamptz,
    primary key (id)
) partition by range (id);
create table ostinato_data.webhook_attempt_default partition of ostinato_data.webhook_attempt default;
create index webhook_attempt_delivery on ostinato_data.webhook_attempt (delivery_id, id);

-- The ids of messages that came in and were accepted, for as long as their signature is.
create table ostinato_data.webhook_receipt (
    tenant_id    text        collate "C" not null,
    source       text        collate "C" not null,
    message_id   text        collate "C" not null,
    received_at  timestamptz not null,
    keep_until   timestamptz not null,
    primary key (tenant_id, source, message_id)
);
create index webhook_receipt_age on ostinato_data.webhook_receipt (keep_until);

select ostinato_data.protect('webhook_endpoint', tenants => true), ostinato_data.protect('webhook_secret'),
       ostinato_data.protect('webhook_message', tenants => true), ostinato_data.protect('webhook_delivery', tenants => true),
       ostinato_data.protect('webhook_attempt', tenants => true), ostinato_data.protect('webhook_attempt_default'),
       ostinato_data.protect('webhook_receipt');

-- A tenant reads what became of its messages; headers may hold a password, and a body is read from the outbox.
grant select (id, tenant_id, name, url, event_types, state, reason, description, retry, timeout_seconds, disable_after_seconds, ordered,
              created_at, changed_at, failing_since, from_position) on ostinato_data.webhook_endpoint to ostinato_tenant;
grant select (id, tenant_id, event_id, event_type, correlation_id, created_at) on ostinato_data.webhook_message to ostinato_tenant;
grant select on ostinato_data.webhook_delivery, ostinato_data.webhook_attempt to ostinato_tenant;
