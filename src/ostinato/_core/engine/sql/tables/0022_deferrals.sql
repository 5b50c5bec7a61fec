-- Jobs whose last attempts ended because of the database's trouble: how often lately, and with what error. Few rows,
-- and only while there is trouble: defer_jobs writes them, the end of the job or upkeep removes them (deferrals.sql).
create table ostinato_data.deferral (
    job_id     bigint      primary key,
    attempt    integer     not null,
    times      integer     not null,
    first_at   timestamptz not null,
    last_at    timestamptz not null,
    error      json        not null
) with (fillfactor = 70);
select ostinato_data.protect('deferral');
create policy tenant on ostinato_data.deferral for select to ostinato_tenant
    using (exists (select from ostinato_data.job j where j.id = job_id));
grant select on ostinato_data.deferral to ostinato_tenant;
