-- A tenant's own jobs, newest first, without a walk over those of all others. The tenant 'default' has no entries here:
-- an installation without tenants pays nothing, and its jobs are all of them.
create index job_tenant on ostinato_data.job (tenant_id, id) where tenant_id <> 'default';
