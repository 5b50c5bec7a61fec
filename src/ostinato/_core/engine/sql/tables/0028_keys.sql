-- The next slot of a schedule belongs to the tenant of that schedule: tenants write both tables, and workers fire what they
-- find due, by the id of the schedule.
alter table ostinato_data.schedule add constraint schedule_of_tenant unique (tenant_id, id);
alter table ostinato_data.schedule_due add constraint schedule_due_of_tenant
    foreign key (tenant_id, schedule_id) references ostinato_data.schedule (tenant_id, id) on delete cascade;
