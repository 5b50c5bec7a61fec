-- One read model for workers and tenants (functions/inspect.sql, why.sql), run with the rights of whoever asks.
-- A tenant reads what is kept about its own jobs, by the policy of `job`, and which workers and queues there are.
-- Claims stay closed: one row holds jobs of many tenants.
create policy tenant on ostinato_data.cancel_request for select to ostinato_tenant
    using (exists (select from ostinato_data.job j where j.id = job_id));
create policy tenant on ostinato_data.job_progress for select to ostinato_tenant
    using (exists (select from ostinato_data.job j where j.id = job_id));
create policy tenant on ostinato_data.job_wait for select to ostinato_tenant
    using (tenant_id = nullif(current_setting('app.tenant_id', true), ''));
create policy workers on ostinato_data.worker for select to ostinato_tenant
    using (nullif(current_setting('app.tenant_id', true), '') is not null);
create policy queues on ostinato_data.queue for select to ostinato_tenant
    using (nullif(current_setting('app.tenant_id', true), '') is not null);
grant select on ostinato_data.cancel_request, ostinato_data.job_progress, ostinato_data.job_wait, ostinato_data.worker,
    ostinato_data.queue to ostinato_tenant;

-- A job that a worker holds.
create type ostinato_data.held_job as (
    job_id bigint, attempt integer, failures smallint, crashes smallint, queue text, worker_id uuid,
    claimed_at timestamptz
);
-- One answer of `why`.
create type ostinato_data.reason as (code text, message text, detail json, hint text);
-- A limit that is reached: how many it allows, within how many seconds, how many run, when a rate lets one start.
create type ostinato_data.reached_limit as (
    code text, queue text, limit_key text, most integer, seconds double precision, running bigint, frees_at timestamptz
);
