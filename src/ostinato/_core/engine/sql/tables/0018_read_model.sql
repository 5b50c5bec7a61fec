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
