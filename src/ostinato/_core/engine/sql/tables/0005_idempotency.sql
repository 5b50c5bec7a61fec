-- Keys of requests that may come twice: what was asked under a key, who works on it, what was answered.
--
-- One row per (tenant, scope, key), and its state:
--   in_flight   somebody works on it, until renewed_at + lease_seconds unless renewed or taken over
--   abandoned   somebody gave up half-way; the next one to ask the same takes over at once
--   done        answered; kept until expires_at, for those who ask again
-- Nothing of a request is stored but hashes, each sealed with its own tenant, scope and key (see ostinato.seal): equal
-- requests do not look equal, and a list of hashes made beforehand finds nobody.

-- Tokens never repeat and never go back, also when rows are pruned.
create sequence ostinato_data.idempotency_token_seq as bigint;

create table ostinato_data.idempotency (
    tenant_id      text        collate "C" not null,
    scope          text        collate "C" not null,
    key            text        collate "C" not null,
    token          bigint      not null,
    attempt        integer     not null,
    state          text        collate "C" not null check (state in ('in_flight', 'abandoned', 'done')),
    holder         text        not null,
    started_at     timestamptz not null,
    renewed_at     timestamptz not null,
    lease_seconds  double precision not null check (lease_seconds > 0),
    ttl_seconds    double precision not null check (ttl_seconds > 0),
    expires_at     timestamptz not null,
    doubted_at     timestamptz,
    finished_at    timestamptz,
    declaration    text        collate "C" not null,
    fingerprint    text        collate "C" not null,
    fields         json        not null,
    resource       text,
    answer         json,
    primary key (tenant_id, scope, key)
) with (
    fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0
);
create index idempotency_expires on ostinato_data.idempotency (expires_at);

select ostinato_data.protect('idempotency', tenants => true);
grant usage on sequence ostinato_data.idempotency_token_seq to ostinato_worker, ostinato_tenant;
grant select, insert, update, delete on ostinato_data.idempotency to ostinato_tenant;
-- Whether a holder is late or the database was away: the tick tells, and holds nothing of anybody's.
create policy tick on ostinato_data.tick for select to ostinato_tenant using (true);
grant select on ostinato_data.tick to ostinato_tenant;
