-- Jobs whose end a caller waits for. The functions are in ends.sql.

-- A row for each of them, however many wait; the index is for the verbs that end jobs of all tenants. It is not logged:
-- after a crash callers poll until they have written it again.
create unlogged table ostinato_data.job_watch (
    tenant_id text        collate "C" not null,
    job_id    bigint      not null,
    until     timestamptz not null,
    primary key (tenant_id, job_id)
);
create index job_watch_job on ostinato_data.job_watch (job_id);

select ostinato_data.protect('job_watch', tenants => true);
grant select, insert, update, delete on ostinato_data.job_watch to ostinato_tenant;
