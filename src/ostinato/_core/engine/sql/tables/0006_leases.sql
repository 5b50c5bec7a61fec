-- Leases: a name that one holder has at a time, per tenant. A row is there while the name is held, and after that until the
-- next holder or the janitor finds out.
--
-- What keeps a lease alive, its `lifetime`:
--   time      its renewals: ttl_seconds after the last one it has expired; a job_id only says which job it is about
--   attempt   the attempt of a job, for as long as a claim holds it: the worker's beat renews it
--   job       a job, for as long as it waits or runs, which its unique key tells; job_attempt is the attempt that has it in hands

-- Tokens never repeat and never go back, also when rows are gone.
create sequence ostinato_data.lease_token_seq as bigint;

create table ostinato_data.lease (
    tenant_id    text        collate "C" not null,
    name         text        collate "C" not null,
    token        bigint      not null,
    attempt      integer     not null,
    holder       text        not null,
    acquired_at  timestamptz not null,
    renewed_at   timestamptz not null,
    lifetime     text        collate "C" not null check (lifetime in ('time', 'attempt', 'job')),
    ttl_seconds  double precision check (ttl_seconds > 0),
    job_id       bigint,
    job_attempt  integer,
    doubted_at   timestamptz,
    primary key (tenant_id, name),
    check (case lifetime when 'time' then ttl_seconds is not null when 'attempt' then job_attempt is not null else job_id is not null end),
    check (job_attempt is null or job_id is not null)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

select ostinato_data.protect('lease', tenants => true);
grant usage on sequence ostinato_data.lease_token_seq to ostinato_worker, ostinato_tenant;
grant select, insert, update, delete on ostinato_data.lease to ostinato_tenant;
