-- The tenant is the first column of every key of a tenant's table; what belongs to a job is found by an index.
alter table enrichment.attachment drop constraint attachment_pkey, add primary key (tenant_id, job_id);
create index attachment_job on enrichment.attachment (job_id);
