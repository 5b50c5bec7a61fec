-- The trail of a correlation id: one line for each thing that happened, whatever it is (functions/trail.sql). It is found
-- by the indexes that jobs, events and transitions have by their correlation id; the rest by the ids of those.
create type ostinato_data.trail_line as (
    at timestamptz, place smallint, source text, what text, state text, tenant_id text, job_id bigint, attempt integer, ref text, detail json
);

-- A tenant reads what became of its own jobs: those that the policy of `job` shows to it.
create policy tenant on ostinato_data.outcome for select to ostinato_tenant
    using (exists (select from ostinato_data.job j where j.id = job_id));
create policy tenant on ostinato_data.step for select to ostinato_tenant
    using (exists (select from ostinato_data.job j where j.id = job_id));
grant select on ostinato_data.outcome, ostinato_data.step to ostinato_tenant;
