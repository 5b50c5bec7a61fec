-- Indexes by tenant, so that a list of a tenant's own rows costs what these are, whatever others have: under its policy
-- it would walk over theirs.
--
-- Each is written once for a row that is added: of `scheduled` that is a job that waits for a time, a retry included; of
-- `schedule_due` it is a fire.
create index scheduled_tenant on ostinato_data.scheduled (tenant_id, job_id);
create index event_tenant on ostinato_data.event (tenant_id, id);
create index schedule_due_tenant on ostinato_data.schedule_due (tenant_id, next_at);
-- Entries of the audit are few; they are asked for by what they are about. A target may be longer than what an index
-- holds.
create index audit_entry_target on ostinato_data.audit_entry (left(target, 200), tenant_id, id)
where target is not null;
