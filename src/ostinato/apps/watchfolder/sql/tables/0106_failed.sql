-- What a person decided about a file that could not be read: the worker that watches the folder sends it through
-- again, or it stays in error/. `sent_at` is when the worker did; `decision_note` is why it could not, and then the
-- file waits for a person again.
alter table watchfolder.job
    add column decision text check (decision in ('RETRY', 'LEAVE')),
    add column decided_by text,
    add column decided_at timestamptz,
    add column sent_at timestamptz,
    add column decision_note text check (char_length(decision_note) <= 2000),
    add constraint job_decided_by_somebody
        check (decision is null or (decided_by is not null and decided_at is not null));

-- What waits is counted every few seconds and listed oldest first: for a tenant, and for operators of all tenants.
create index job_failed_of_tenant on watchfolder.job (tenant_id, changed_at, job_key)
where state = 'ERROR' and decision is null;
create index job_failed_of_all on watchfolder.job (changed_at, job_key) where state = 'ERROR' and decision is null;
create index job_to_send on watchfolder.job (tenant_id, folder_id) where decision = 'RETRY' and sent_at is null;
